// RUN: cubelane opt -p unroll-loops %s | filecheck %s
// The trips of an unrolled loop follow each other, inner loops within outer ones; the carried value goes through them.

builtin.module {
  func.func @main(%x: !gm.tensor<8x8xf32>) -> !gm.tensor<8x8xf32> {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %r = scf.for %i = %c0 to %c4 step %c2 iter_args(%a = %x) -> (!gm.tensor<8x8xf32>) {
      %e = "gm.exp"(%a) : (!gm.tensor<8x8xf32>) -> !gm.tensor<8x8xf32>
      %s = scf.for %j = %c0 to %c2 step %c2 iter_args(%b = %e) -> (!gm.tensor<8x8xf32>) {
        %w = "gm.write"(%b, %i, %j, %i) : (!gm.tensor<8x8xf32>, index, index, index) -> !gm.tensor<8x8xf32>
        scf.yield %w : !gm.tensor<8x8xf32>
      } {kernel.loop = #kernel.loop<unroll>}
      scf.yield %s : !gm.tensor<8x8xf32>
    } {kernel.loop = #kernel.loop<unroll>}
    func.return %r : !gm.tensor<8x8xf32>
  }
}

// CHECK:        %c4 = arith.constant 4 : index
// CHECK-NEXT:   %[[A:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %e = "gm.exp"(%x)
// CHECK-NEXT:   %[[J:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %w = "gm.write"(%e, %[[A]], %[[J]], %[[A]])
// CHECK-NEXT:   %[[B:.*]] = arith.constant 2 : index
// CHECK-NEXT:   %[[E:.*]] = "gm.exp"(%w)
// CHECK-NEXT:   %[[K:.*]] = arith.constant 0 : index
// CHECK-NEXT:   %[[W:.*]] = "gm.write"(%[[E]], %[[B]], %[[K]], %[[B]])
// CHECK-NEXT:   func.return %[[W]]
