// RUN: cubelane opt -p resolve-backend-op-layouts %s | filecheck %s
// A tile that is no column is moved to row-major form, and the result back to its own.

builtin.module {
  func.func @k(%p: !tile.tile<16x256xf32, vec, col_major, none_box, 512, null>) attributes {kernel.kind = #kernel.kind<incore>} {
    %e = "tile.exp"(%p) : (!tile.tile<16x256xf32, vec, col_major, none_box, 512, null>) -> !tile.tile<16x256xf32, vec, col_major, none_box, 512, null>
    %s = "tile.neg"(%e) : (!tile.tile<16x256xf32, vec, col_major, none_box, 512, null>) -> !tile.tile<16x256xf32, vec, col_major, none_box, 512, null>
    func.return
  }
}

// CHECK:      %e__rm_a0_tmp_v0 = "tile.move"(%p)
// CHECK-SAME:   -> !tile.tile<16x256xf32, vec>
// CHECK-NEXT: %e__row_major_tmp_v1 = "tile.exp"(%e__rm_a0_tmp_v0)
// CHECK-NEXT: %e = "tile.move"(%e__row_major_tmp_v1)
// CHECK-SAME:   -> !tile.tile<16x256xf32, vec, col_major, none_box, 512, null>
// CHECK-NEXT: %s = "tile.neg"(%e)
