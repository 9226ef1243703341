// RUN: cubelane opt -p convert-tensor-to-tile %s | filecheck %s
// Factors are loaded to L1 right before the product and turned there; a tensor read whole is loaded at the top.

builtin.module {
  func.func @k(%q: !gm.tensor<16x64xbf16>, %k: !gm.tensor<32x64xbf16>, %bias: !gm.tensor<16x32xf32>, %out: !gm.tensor<16x32xf32>) -> !gm.tensor<16x32xf32> attributes {kernel.kind = #kernel.kind<incore>} {
    %c0 = arith.constant 0 : index
    %s = "gm.matmul"(%q, %k) <{b_trans = true}> : (!gm.tensor<16x64xbf16>, !gm.tensor<32x64xbf16>) -> !gm.tensor<16x32xf32>
    %p = "gm.add"(%s, %bias) : (!gm.tensor<16x32xf32>, !gm.tensor<16x32xf32>) -> !gm.tensor<16x32xf32>
    %o = "gm.assemble"(%out, %p, %c0, %c0) : (!gm.tensor<16x32xf32>, !gm.tensor<16x32xf32>, index, index) -> !gm.tensor<16x32xf32>
    func.return %out : !gm.tensor<16x32xf32>
  }
}

// CHECK:      func.func @k
// CHECK-SAME:   %out: !gm.tensor<16x32xf32> {kernel.direction = #kernel.direction<out>}
// CHECK:        %bias__tile = "tile.load"(%bias
// CHECK-SAME:     -> !tile.tile<16x32xf32, vec>
// CHECK:        %q_mat = "tile.load"(%q
// CHECK-SAME:     -> !tile.tile<16x64xbf16, mat>
// CHECK-NEXT:   %k_mat = "tile.load"(%k
// CHECK-NEXT:   %k_mat_t = "tile.transpose_view"(%k_mat)
// CHECK-SAME:     -> !tile.tile<64x32xbf16, mat, row_major, col_major, 512, null>
// CHECK-NEXT:   %s__tile = "tile.matmul"(%q_mat, %k_mat_t)
// CHECK-NEXT:   %p__tile = "tile.add"(%s__tile, %bias__tile)
// CHECK-NEXT:   %o__tile = "tile.store"(%p__tile, %c0, %c0, %out)
// CHECK-NEXT:   func.return %out
