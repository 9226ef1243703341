// RUN: cubelane opt -p outline-incore-scopes %s | filecheck %s
// A scope becomes a function: captured values in order of use, constants copied, the written parameter handed back.

builtin.module {
  func.func @main(%a: !gm.tensor<8x8xf32>, %n: index, %out: !gm.tensor<8x8xf32> {kernel.direction = #kernel.direction<out>}) -> !gm.tensor<8x8xf32> {
    %c0 = arith.constant 0 : index
    %r = "kernel.scope"() <{level = "CORE_GROUP", split = #kernel.split<left_right>, slot_num = 4 : i64}> ({
      %e = "gm.exp"(%a) : (!gm.tensor<8x8xf32>) -> !gm.tensor<8x8xf32>
      %o = "gm.assemble"(%out, %e, %n, %c0) : (!gm.tensor<8x8xf32>, !gm.tensor<8x8xf32>, index, index) -> !gm.tensor<8x8xf32>
      kernel.yield %o : !gm.tensor<8x8xf32>
    }) : () -> !gm.tensor<8x8xf32>
    func.return %r : !gm.tensor<8x8xf32>
  }
}

// CHECK:      func.func @main_incore_0(%a: !gm.tensor<8x8xf32>, %out: !gm.tensor<8x8xf32> {kernel.direction = #kernel.direction<out>}, %n: index)
// CHECK-SAME:   kernel.kind = #kernel.kind<incore>, kernel.split = #kernel.split<left_right>, kernel.slot_num = 4 : i64
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %e = "gm.exp"(%a)
// CHECK-NEXT:   %o = "gm.assemble"(%out, %e, %n, %c0)
// CHECK-NEXT:   func.return %out
// CHECK:      func.func @main
// CHECK-SAME:   kernel.kind = #kernel.kind<orchestration>
// CHECK:        %r = func.call @main_incore_0(%a, %out, %n)
// CHECK-NEXT:   func.return %r
