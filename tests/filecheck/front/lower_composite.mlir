// RUN: cubelane opt -p lower-composite-ops %s | filecheck %s
// A sine becomes a reduction of the angle, a series and a sign; what else is there stays.

builtin.module attributes {kernel.target = "a2a3"} {
  func.func @k(%x: !tile.tile<8x32xf32, vec>) attributes {kernel.kind = #kernel.kind<incore>} {
    %e = "tile.exp"(%x) : (!tile.tile<8x32xf32, vec>) -> !tile.tile<8x32xf32, vec>
    %s = "tile.sin"(%e) : (!tile.tile<8x32xf32, vec>) -> !tile.tile<8x32xf32, vec>
    func.return
  }
}

// CHECK:      %e = "tile.exp"(%x)
// CHECK:      %s__turns_tmp = "tile.muls"(%e,
// CHECK-NEXT: %s__count_whole_tmp = "tile.cast"(%s__turns_tmp) <{mode = "rint"}>
// CHECK-NEXT: %s__count_tmp = "tile.cast"(%s__count_whole_tmp) <{mode = "none"}>
// CHECK:      %s__rest_1_tmp = "tile.sub"(%e, %s__part_1_tmp)
// CHECK:      %s__square_tmp = "tile.mul"(%s__rest_3_tmp, %s__rest_3_tmp)
// CHECK:      %s = "tile.mul"(%s__wave_tmp, %s__sign_tmp)
// CHECK-NOT:  tile.sin
