// RUN: cubelane opt -p simplify %s | filecheck %s
// Constants fold, a proven branch and a loop of one trip go, a division that may be by zero and a marked loop stay.

builtin.module {
  func.func @main(%n: index, %x: !gm.tensor<64x64xf32>) -> !gm.tensor<64x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %m = arith.muli %n, %c8 : index
    %q = arith.floordivsi %m, %c4 : index
    %dead = arith.addi %q, %c3 : index
    %more = arith.addi %n, %c3 : index
    %three = arith.subi %more, %n : index
    %one = scf.for %i = %c3 to %c4 step %c1 iter_args(%a = %x) -> (!gm.tensor<64x64xf32>) {
      %b = "gm.write"(%a, %three, %i, %q) : (!gm.tensor<64x64xf32>, index, index, index) -> !gm.tensor<64x64xf32>
      scf.yield %b : !gm.tensor<64x64xf32>
    }
    %kept = scf.for %k = %c0 to %c1 step %c1 iter_args(%a2 = %one) -> (!gm.tensor<64x64xf32>) {
      %some = arith.floordivsi %c8, %n : index
      %b2 = "gm.write"(%a2, %k, %k, %some) : (!gm.tensor<64x64xf32>, index, index, index) -> !gm.tensor<64x64xf32>
      scf.yield %b2 : !gm.tensor<64x64xf32>
    } {kernel.loop = #kernel.loop<parallel>}
    %many = scf.for %j = %c0 to %c8 step %c1 iter_args(%a3 = %kept) -> (!gm.tensor<64x64xf32>) {
      %small = arith.cmpi slt, %j, %c8 : index
      %r = scf.if %small -> (!gm.tensor<64x64xf32>) {
        %b3 = "gm.write"(%a3, %j, %c0, %c1) : (!gm.tensor<64x64xf32>, index, index, index) -> !gm.tensor<64x64xf32>
        scf.yield %b3 : !gm.tensor<64x64xf32>
      } else {
        scf.yield %a3 : !gm.tensor<64x64xf32>
      }
      scf.yield %r : !gm.tensor<64x64xf32>
    }
    func.return %many : !gm.tensor<64x64xf32>
  }
}

// CHECK:      func.func @main
// CHECK:        %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:   %q = arith.muli %n, %[[TWO]] : index
// CHECK-NEXT:   %b = "gm.write"(%x, %c3, %c3, %q)
// CHECK-NEXT:   %kept = scf.for %k = %c0 to %c1
// CHECK-NEXT:     %some = arith.floordivsi %c8, %n : index
// CHECK:        %many = scf.for %j = %c0 to %c8
// CHECK-NEXT:     %b3 = "gm.write"(%a3, %j, %c0, %c1)
// CHECK-NEXT:     scf.yield %b3
// CHECK-NEXT:   }
// CHECK-NEXT:   func.return %many
