// RUN: cubelane opt -p outline-incore-scopes %s | filecheck %s
// A scope with lane regions of one mode carries both facts; a parameter that is read and written is InOut.

builtin.module {
  func.func @main(%x: !gm.tensor<16x8xf32>) -> !gm.tensor<16x8xf32> {
    %c0 = arith.constant 0 : index
    %r = "kernel.scope"() <{level = "CORE_GROUP", name_hint = "twice"}> ({
      %s = "kernel.split_aiv"() <{mode = #kernel.split<up_down>}> ({
        %lane = "tile.get_subblock_idx"() : () -> index
        %p = "gm.slice"(%x, %lane, %c0) <{window = array<i64: 8, 8>, operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<16x8xf32>, index, index) -> !gm.tensor<8x8xf32>
        %o = "gm.assemble"(%x, %p, %lane, %c0) : (!gm.tensor<16x8xf32>, !gm.tensor<8x8xf32>, index, index) -> !gm.tensor<16x8xf32>
        kernel.yield %o : !gm.tensor<16x8xf32>
      }) : () -> !gm.tensor<16x8xf32>
      kernel.yield %s : !gm.tensor<16x8xf32>
    }) : () -> !gm.tensor<16x8xf32>
    func.return %r : !gm.tensor<16x8xf32>
  }
}

// CHECK:      func.func @twice(%x: !gm.tensor<16x8xf32> {kernel.direction = #kernel.direction<inout>})
// CHECK-SAME:   kernel.split_aiv, kernel.split = #kernel.split<up_down>
// CHECK:        func.return %x
