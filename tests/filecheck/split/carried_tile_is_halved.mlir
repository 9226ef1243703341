// RUN: cubelane opt -p lower-auto-vector-split %s | filecheck %s
// A carry is halved with what it meets: the seed, the argument, the result.

builtin.module {
  func.func @f(%acc: !tile.tile<32x24xf32, acc>, %out: !gm.tensor<32x24xf32>) -> !gm.tensor<32x24xf32> attributes {kernel.kind = #kernel.kind<incore>, kernel.split = #kernel.split<left_right>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %z = "tile.full"() <{value = 0.0 : f64}> : () -> !tile.tile<32x24xf32, vec>
    %s = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %z) -> (!tile.tile<32x24xf32, vec>) {
      %v = "tile.move"(%acc) : (!tile.tile<32x24xf32, acc>) -> !tile.tile<32x24xf32, vec>
      %b = "tile.add"(%a, %v) : (!tile.tile<32x24xf32, vec>, !tile.tile<32x24xf32, vec>) -> !tile.tile<32x24xf32, vec>
      scf.yield %b : !tile.tile<32x24xf32, vec>
    }
    %o = "tile.store"(%s, %c0, %c0, %out) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tile.tile<32x24xf32, vec>, index, index, !gm.tensor<32x24xf32>) -> !gm.tensor<32x24xf32>
    func.return %o : !gm.tensor<32x24xf32>
  }
}

// CHECK:      %z = "tile.full"() {{.*}} -> !tile.tile<32x12xf32, vec>
// CHECK-NEXT: %s = scf.for {{.*}} iter_args(%a = %z) -> (!tile.tile<32x12xf32, vec>)
// CHECK-NEXT:   %v = "tile.aiv_shard"(%acc) <{split = 2 : i64}>
// CHECK:      "tile.store"(%s, %c0, %{{.*}}, %out)
