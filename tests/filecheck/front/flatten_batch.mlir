// RUN: cubelane opt -p flatten-tile-nd-to-2d %s | filecheck %s
// Leading axes become rows: the load reads the tensor as a matrix, the store states its window.

builtin.module {
  func.func @k(%x: !gm.tensor<4x8x16xf32>, %b: index, %o: !gm.tensor<4x8x16xf32>) attributes {kernel.kind = #kernel.kind<incore>} {
    %c0 = arith.constant 0 : index
    %t = "tile.load"(%x, %b, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 3, 0>}> : (!gm.tensor<4x8x16xf32>, index, index, index) -> !tile.tile<2x8x16xf32, vec>
    %u = "tile.exp"(%t) : (!tile.tile<2x8x16xf32, vec>) -> !tile.tile<2x8x16xf32, vec>
    %s = "tile.store"(%u, %b, %c0, %c0, %o) <{operandSegmentSizes = array<i32: 1, 3, 1, 0>}> : (!tile.tile<2x8x16xf32, vec>, index, index, index, !gm.tensor<4x8x16xf32>) -> !gm.tensor<4x8x16xf32>
    func.return
  }
}

// CHECK:      %t__view2d = "gm.reshape"(%x) : (!gm.tensor<4x8x16xf32>) -> !gm.tensor<32x16xf32>
// CHECK-NEXT: %{{.*}} = arith.muli %b, %{{.*}} : index
// CHECK-NEXT: %t = "tile.load"(%t__view2d, %{{.*}}, %c0)
// CHECK-SAME:   -> !tile.tile<16x16xf32, vec>
// CHECK-NEXT: %u = "tile.exp"(%t) : (!tile.tile<16x16xf32, vec>)
// CHECK-NEXT: %s = "tile.store"(%u, %b, %c0, %c0, %o, %{{.*}}, %{{.*}}, %{{.*}})
