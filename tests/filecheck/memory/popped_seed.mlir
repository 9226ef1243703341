// RUN: cubelane opt -p materialize-semantic-aliases,allocate-memory-addr %s | filecheck %s
// A popped tile that seeds a carry is copied before its slot is given back. Carry, result and seed share one place.

builtin.module attributes {kernel.target = "a2a3"} {
  func.func @f() attributes {kernel.kind = #kernel.kind<aiv>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %one = arith.constant 1.0 : f32
    %p = "tile.tpop_from_aic"() <{split = 0 : i64}> : () -> !tile.tile<8x8xf32, vec>
    "system.tfree_to_aic"(%p) <{split = 0 : i64}> : (!tile.tile<8x8xf32, vec>) -> ()
    %s = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %p) -> (!tile.tile<8x8xf32, vec>) {
      %n = "tile.adds"(%a, %one) : (!tile.tile<8x8xf32, vec>, f32) -> !tile.tile<8x8xf32, vec>
      scf.yield %n : !tile.tile<8x8xf32, vec>
    }
    func.return
  }
}

// CHECK:      %p = "tile.tpop_from_aic"
// CHECK-NEXT: %p_mv = "tile.move"(%p) {{.*}} -> !tile.tile<8x8xf32, vec, at = 0>
// CHECK-NEXT: "system.tfree_to_aic"(%p)
// CHECK-NEXT: %s = scf.for {{.*}} iter_args(%a = %p_mv) -> (!tile.tile<8x8xf32, vec, at = 0>)
// CHECK-NEXT:   "tile.adds"(%a, %one) {{.*}} -> !tile.tile<8x8xf32, vec, at = 0>
