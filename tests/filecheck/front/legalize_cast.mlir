// RUN: cubelane opt -p legalize-tile-cast %s | filecheck %s
// A cast without an instruction becomes a chain; every link rounds as the author said.

builtin.module attributes {kernel.target = "a2a3"} {
  func.func @k(%x: !tile.tile<8x32xf32, vec>, %i: !tile.tile<8x32xi8, vec>) attributes {kernel.kind = #kernel.kind<incore>} {
    %q = "tile.cast"(%x) <{mode = "rint"}> : (!tile.tile<8x32xf32, vec>) -> !tile.tile<8x32xi8, vec>
    %w = "tile.cast"(%i) <{mode = "none"}> : (!tile.tile<8x32xi8, vec>) -> !tile.tile<8x32xf32, vec>
    %d = "tile.cast"(%x) <{mode = "rint"}> : (!tile.tile<8x32xf32, vec>) -> !tile.tile<8x32xbf16, vec>
    func.return
  }
}

// CHECK:      %q__cast_fp16_tmp = "tile.cast"(%x) <{mode = "rint"}>
// CHECK-NEXT: %q = "tile.cast"(%q__cast_fp16_tmp) <{mode = "rint"}>
// CHECK-NEXT: %w__cast_fp16_tmp = "tile.cast"(%i) <{mode = "none"}>
// CHECK-NEXT: %w = "tile.cast"(%w__cast_fp16_tmp) <{mode = "none"}>
// CHECK-NEXT: %d = "tile.cast"(%x) <{mode = "rint"}>
