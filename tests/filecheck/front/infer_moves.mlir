// RUN: cubelane opt -p infer-tile-memory-space %s | filecheck %s
// One move an operand before its first reader; what leaves the accumulator arrives row-major.

builtin.module {
  func.func @k(%a: !gm.tensor<16x16xf16>, %b: !gm.tensor<16x16xf16>) attributes {kernel.kind = #kernel.kind<incore>} {
    %c0 = arith.constant 0 : index
    %a_ = "tile.load"(%a, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<16x16xf16>, index, index) -> !tile.tile<16x16xf16, mat>
    %b_ = "tile.load"(%b, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<16x16xf16>, index, index) -> !tile.tile<16x16xf16, mat>
    %c = "tile.matmul"(%a_, %b_) : (!tile.tile<16x16xf16, mat>, !tile.tile<16x16xf16, mat>) -> !tile.tile<16x16xf32, acc>
    %d = "tile.exp"(%c) : (!tile.tile<16x16xf32, acc>) -> !tile.tile<16x16xf32, vec, col_major, row_major, 1024, null>
    %e = "tile.add"(%d, %c) : (!tile.tile<16x16xf32, vec, col_major, row_major, 1024, null>, !tile.tile<16x16xf32, acc>) -> !tile.tile<16x16xf32, vec, col_major, row_major, 1024, null>
    func.return
  }
}

// CHECK:      %a__Left = "tile.move"(%a_) : (!tile.tile<16x16xf16, mat>) -> !tile.tile<16x16xf16, left>
// CHECK-NEXT: %b__Right = "tile.move"(%b_) : (!tile.tile<16x16xf16, mat>) -> !tile.tile<16x16xf16, right>
// CHECK-NEXT: %c = "tile.matmul"(%a__Left, %b__Right)
// CHECK-NEXT: %c_Vec = "tile.move"(%c) : (!tile.tile<16x16xf32, acc>) -> !tile.tile<16x16xf32, vec>
// CHECK-NEXT: %d = "tile.exp"(%c_Vec) : (!tile.tile<16x16xf32, vec>) -> !tile.tile<16x16xf32, vec>
// CHECK-NEXT: %e = "tile.add"(%d, %c_Vec)
