// RUN: cubelane opt -p materialize-semantic-aliases %s | filecheck %s
// Two carries that change places: each needs a copy, and one of the copies a place of its own until the other is made.

builtin.module attributes {kernel.target = "a5"} {
  func.func @f() attributes {kernel.kind = #kernel.kind<aiv>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %x = "tile.full"() <{value = 0.0 : f64}> : () -> !tile.tile<8x8xf32, vec>
    %y = "tile.full"() <{value = 1.0 : f64}> : () -> !tile.tile<8x8xf32, vec>
    %p, %q = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (!tile.tile<8x8xf32, vec>, !tile.tile<8x8xf32, vec>) {
      scf.yield %b, %a : !tile.tile<8x8xf32, vec>, !tile.tile<8x8xf32, vec>
    }
    %s = "tile.add"(%p, %q) : (!tile.tile<8x8xf32, vec>, !tile.tile<8x8xf32, vec>) -> !tile.tile<8x8xf32, vec>
    func.return
  }
}

// CHECK:      scf.for
// CHECK-NEXT:   [[TB:%.*]] = "tile.move"(%b)
// CHECK-NEXT:   [[TA:%.*]] = "tile.move"(%a)
// CHECK:        scf.yield
