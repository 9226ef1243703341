// RUN: cubelane opt -p lower-auto-vector-split %s | filecheck %s
// The crossing move becomes a shard, vector work is halved, the store is offset, the cube tile stays whole.

builtin.module {
  func.func @f(%qk: !tile.tile<128x128xf32, mat>, %out: !gm.tensor<128x128xf32>) -> !gm.tensor<128x128xf32> attributes {kernel.kind = #kernel.kind<incore>, kernel.split = #kernel.split<up_down>} {
    %c0 = arith.constant 0 : index
    %p = "tile.move"(%qk) : (!tile.tile<128x128xf32, mat>) -> !tile.tile<128x128xf32, vec>
    %y = "tile.add"(%p, %p) : (!tile.tile<128x128xf32, vec>, !tile.tile<128x128xf32, vec>) -> !tile.tile<128x128xf32, vec>
    %o = "tile.store"(%y, %c0, %c0, %out) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tile.tile<128x128xf32, vec>, index, index, !gm.tensor<128x128xf32>) -> !gm.tensor<128x128xf32>
    func.return %o : !gm.tensor<128x128xf32>
  }
}

// CHECK:      kernel.split = #kernel.split<up_down>, kernel.split_aiv}
// CHECK-NEXT:   %subblock_idx = "tile.get_subblock_idx"()
// CHECK:        %p = "tile.aiv_shard"(%qk) <{split = 1 : i64}> : (!tile.tile<128x128xf32, mat>) -> !tile.tile<64x128xf32, vec>
// CHECK-NEXT:   %y = "tile.add"(%p, %p) : (!tile.tile<64x128xf32, vec>, !tile.tile<64x128xf32, vec>) -> !tile.tile<64x128xf32, vec>
// CHECK-NEXT:   %0 = arith.constant 64 : index
// CHECK-NEXT:   %1 = arith.muli %subblock_idx, %0 : index
// CHECK-NEXT:   %2 = arith.addi %c0, %1 : index
// CHECK-NEXT:   %o = "tile.store"(%y, %2, %c0, %out)
