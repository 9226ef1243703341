// RUN: cubelane opt -p convert-tensor-to-tile %s | filecheck %s
// Conversion leaves nothing behind that nobody reads; stores stay.

builtin.module {
  func.func @k(%x: !gm.tensor<8x8xf32>, %o: !gm.tensor<8x8xf32>) attributes {kernel.kind = #kernel.kind<incore>} {
    %z = "gm.exp"(%x) : (!gm.tensor<8x8xf32>) -> !gm.tensor<8x8xf32>
    %c0 = arith.constant 0 : index
    %t = "tile.load"(%x, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<8x8xf32>, index, index) -> !tile.tile<8x8xf32, vec>
    %u = "tile.exp"(%t) : (!tile.tile<8x8xf32, vec>) -> !tile.tile<8x8xf32, vec>
    %v = "tile.neg"(%u) : (!tile.tile<8x8xf32, vec>) -> !tile.tile<8x8xf32, vec>
    %s = "tile.store"(%u, %c0, %c0, %o) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tile.tile<8x8xf32, vec>, index, index, !gm.tensor<8x8xf32>) -> !gm.tensor<8x8xf32>
    func.return
  }
}

// CHECK:      %u = "tile.exp"
// CHECK-NEXT: %s = "tile.store"
// CHECK-NEXT: func.return
