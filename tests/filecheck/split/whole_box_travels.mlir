// RUN: cubelane opt -p lower-auto-vector-split %s | filecheck %s
// 50 of 64 rows beside an independent load: bands of 32 and 18 cannot be placed, so the whole box crosses.

builtin.module {
  func.func @f(%acc: !tile.tile<64x16xf32, acc, valid = [50, 16]>, %t: !gm.tensor<64x16xf32>, %out: !gm.tensor<64x16xf32>) -> !gm.tensor<64x16xf32> attributes {kernel.kind = #kernel.kind<incore>, kernel.split = #kernel.split<up_down>} {
    %c0 = arith.constant 0 : index
    %v = "tile.move"(%acc) : (!tile.tile<64x16xf32, acc, valid = [50, 16]>) -> !tile.tile<64x16xf32, vec, valid = [50, 16]>
    %b = "tile.load"(%t, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<64x16xf32>, index, index) -> !tile.tile<64x16xf32, vec>
    %y = "tile.add"(%v, %b) : (!tile.tile<64x16xf32, vec, valid = [50, 16]>, !tile.tile<64x16xf32, vec>) -> !tile.tile<64x16xf32, vec, valid = [50, 16]>
    %o = "tile.store"(%y, %c0, %c0, %out) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tile.tile<64x16xf32, vec, valid = [50, 16]>, index, index, !gm.tensor<64x16xf32>) -> !gm.tensor<64x16xf32>
    func.return %o : !gm.tensor<64x16xf32>
  }
}

// CHECK:      %acc_1 = "tile.set_validshape"(%acc
// CHECK-SAME:   -> !tile.tile<64x16xf32, acc>
// CHECK:      %v = "tile.aiv_shard"(%acc_1) <{split = 1 : i64}> : (!tile.tile<64x16xf32, acc>) -> !tile.tile<32x16xf32, vec>
// CHECK:      arith.minsi
// CHECK:      %v_1 = "tile.set_validshape"(%v
// CHECK-SAME:   -> !tile.tile<32x16xf32, vec, valid = [?, 16]>
// CHECK:      %y = "tile.add"(%v_1, %b)
