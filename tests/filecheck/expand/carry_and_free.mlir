// RUN: cubelane opt -p expand-mixed-kernel %s | filecheck %s
// The cube has no carry; the carried tile is copied out of its slot before the slot goes back.

builtin.module attributes {kernel.target = "a5"} {
  func.func @k(%x: !gm.tensor<16x16xf16>, %y: !gm.tensor<16x16xf32>) -> !gm.tensor<16x16xf32> attributes {kernel.kind = #kernel.kind<incore>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %z = "tile.full"() <{value = 0.0 : f64}> : () -> !tile.tile<16x16xf32, vec>
    %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%it = %z) -> (!tile.tile<16x16xf32, vec>) {
      %m = "tile.load"(%x, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<16x16xf16>, index, index) -> !tile.tile<16x16xf16, mat>
      %l = "tile.move"(%m) : (!tile.tile<16x16xf16, mat>) -> !tile.tile<16x16xf16, left>
      %r = "tile.move"(%m) : (!tile.tile<16x16xf16, mat>) -> !tile.tile<16x16xf16, right>
      %acc = "tile.matmul"(%l, %r) : (!tile.tile<16x16xf16, left>, !tile.tile<16x16xf16, right>) -> !tile.tile<16x16xf32, acc>
      %v = "tile.move"(%acc) : (!tile.tile<16x16xf32, acc>) -> !tile.tile<16x16xf32, vec>
      scf.yield %v : !tile.tile<16x16xf32, vec>
    }
    %o = "tile.store"(%s, %c0, %c0, %y) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tile.tile<16x16xf32, vec>, index, index, !gm.tensor<16x16xf32>) -> !gm.tensor<16x16xf32>
    func.return %o : !gm.tensor<16x16xf32>
  }
}

// CHECK:      func.func @k_aic
// CHECK-NOT:  tile.full
// CHECK:      scf.for %i = %c0 to %c4 step %c1 {
// CHECK:      "tile.tpush_to_aiv"(%acc) <{split = 0 : i64}>
// CHECK:      func.func @k_aiv
// CHECK:      "tile.full"
// CHECK:      %v = "tile.tpop_from_aic"
// CHECK-NEXT: %v_copy = "tile.move"(%v)
// CHECK-NEXT: "system.tfree_to_aic"(%v)
// CHECK-NEXT: scf.yield %v_copy
