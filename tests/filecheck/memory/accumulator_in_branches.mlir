// RUN: cubelane opt -p materialize-semantic-aliases,allocate-memory-addr %s | filecheck %s
// On one way a fresh product, on the other one added in place: the carry is not needed on the first, so all share a place.

builtin.module attributes {kernel.target = "a5"} {
  func.func @f(%first: i1) attributes {kernel.kind = #kernel.kind<aic>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %l = "tile.create"() : () -> !tile.tile<16x16xf16, left>
    %r = "tile.create"() : () -> !tile.tile<16x16xf16, right>
    %z = "tile.create"() : () -> !tile.tile<16x16xf32, acc>
    %s = scf.for %k = %c0 to %c1 step %c1 iter_args(%a = %z) -> (!tile.tile<16x16xf32, acc>) {
      %n = scf.if %first -> (!tile.tile<16x16xf32, acc>) {
        %f = "tile.matmul"(%l, %r) : (!tile.tile<16x16xf16, left>, !tile.tile<16x16xf16, right>) -> !tile.tile<16x16xf32, acc>
        scf.yield %f : !tile.tile<16x16xf32, acc>
      } else {
        %g = "tile.matmul_acc"(%a, %l, %r) : (!tile.tile<16x16xf32, acc>, !tile.tile<16x16xf16, left>, !tile.tile<16x16xf16, right>) -> !tile.tile<16x16xf32, acc>
        scf.yield %g : !tile.tile<16x16xf32, acc>
      }
      scf.yield %n : !tile.tile<16x16xf32, acc>
    }
    func.return
  }
}

// CHECK-NOT: tile.move
// CHECK: scf.for {{.*}} -> (!tile.tile<16x16xf32, acc, at = 0>)
// CHECK: "tile.matmul"{{.*}} -> !tile.tile<16x16xf32, acc, at = 0>
// CHECK: "tile.matmul_acc"{{.*}} -> !tile.tile<16x16xf32, acc, at = 0>
