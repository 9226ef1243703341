// RUN: cubelane opt -p auto-tile-matmul-l0 %s | filecheck %s
// 256 KiB do not fit into L0A: the depth becomes a pipelined loop of 128 columns a step.

builtin.module attributes {kernel.target = "a2a3"} {
  func.func @k(%a: !tile.tile<128x1024xf16, mat>, %b: !tile.tile<1024x128xf16, mat>) attributes {kernel.kind = #kernel.kind<incore>} {
    %c = "tile.matmul"(%a, %b) : (!tile.tile<128x1024xf16, mat>, !tile.tile<1024x128xf16, mat>) -> !tile.tile<128x128xf32, acc>
    %d = "tile.move"(%c) : (!tile.tile<128x128xf32, acc>) -> !tile.tile<128x128xf32, vec>
    func.return
  }
}

// CHECK:      "tile.extract"(%a
// CHECK-SAME:   -> !tile.tile<128x128xf16, left
// CHECK:      "tile.extract"(%b
// CHECK-SAME:   -> !tile.tile<128x128xf16, right
// CHECK-NEXT: %c__tile_l0_first = "tile.matmul"
// CHECK-NEXT: scf.for
// CHECK:        "tile.matmul_acc"(%c__tile_l0
// CHECK:      } {kernel.loop = #kernel.loop<pipeline>, kernel.stage = 2 : i64}
// CHECK-NEXT: "tile.move"(%c__tile)
