// RUN: cubelane opt -p resolve-backend-op-layouts %s | filecheck %s
// If one operand is a column, all are seen as rows, also a column that happens to be row-major.

builtin.module {
  func.func @k(%m: !tile.tile<16x1xf32, vec>) attributes {kernel.kind = #kernel.kind<incore>} {
    %f = "tile.full"() <{value = 0.0 : f64}> : () -> !tile.tile<16x1xf32, vec, row_major, none_box, 512, null>
    %n = "tile.maximum"(%m, %f) : (!tile.tile<16x1xf32, vec>, !tile.tile<16x1xf32, vec, row_major, none_box, 512, null>) -> !tile.tile<16x1xf32, vec>
    %k = "tile.neg"(%n) : (!tile.tile<16x1xf32, vec>) -> !tile.tile<16x1xf32, vec>
    func.return
  }
}

// CHECK:      %n__rm_a0_tmp_v0 = "tile.reshape"(%m) : (!tile.tile<16x1xf32, vec>) -> !tile.tile<1x16xf32, vec>
// CHECK-NEXT: %n__rm_a1_tmp_v1 = "tile.reshape"(%f)
// CHECK-SAME:   -> !tile.tile<1x16xf32, vec>
// CHECK-NEXT: %n__row_major_tmp_v2 = "tile.maximum"(%n__rm_a0_tmp_v0, %n__rm_a1_tmp_v1)
// CHECK-NEXT: %n = "tile.reshape"(%n__row_major_tmp_v2) : (!tile.tile<1x16xf32, vec>) -> !tile.tile<16x1xf32, vec>
// CHECK-NEXT: %k = "tile.neg"(%n)
