// RUN: cubelane opt -p convert-tensor-to-tile %s | filecheck %s
// A returned tile is stored to a new Out parameter, which the caller makes.

builtin.module {
  func.func @f(%x: !gm.tensor<8x16xf32>) -> !gm.tensor<8x16xf32> attributes {kernel.kind = #kernel.kind<incore>} {
    %y = "gm.exp"(%x) : (!gm.tensor<8x16xf32>) -> !gm.tensor<8x16xf32>
    func.return %y : !gm.tensor<8x16xf32>
  }
  func.func @main(%x: !gm.tensor<8x16xf32>) -> !gm.tensor<8x16xf32> attributes {kernel.kind = #kernel.kind<orchestration>} {
    %r = func.call @f(%x) : (!gm.tensor<8x16xf32>) -> !gm.tensor<8x16xf32>
    func.return %r : !gm.tensor<8x16xf32>
  }
}

// CHECK:      func.func @f(%x: !gm.tensor<8x16xf32>, %ret0__out: !gm.tensor<8x16xf32> {kernel.direction = #kernel.direction<out>})
// CHECK:        %y__tile = "tile.exp"(%x__tile)
// CHECK-NEXT:   %ret0__store = "tile.store"(%y__tile
// CHECK-SAME:     %ret0__out
// CHECK-NEXT:   func.return %ret0__store
// CHECK:      func.func @main
// CHECK-NEXT:   %ret0__out = "gm.create"()
// CHECK-NEXT:   %r = func.call @f(%x, %ret0__out)
