// RUN: cubelane opt -p skew-cross-core-pipeline %s | filecheck %s
// The cube sends for trip i + 1 before it takes the answer of trip i; the lanes only answer and keep their loop.

builtin.module attributes {kernel.target = "a5"} {
  func.func @k_aic(%x: !gm.tensor<64x16xf16>, %y: !gm.tensor<64x16xf16>) attributes {kernel.kind = #kernel.kind<aic>} {
    %b = "system.reserve_buffer"() <{buffer_name = "k_v2c", size = 1024 : i64, base = -1 : i64}> : () -> i32
    %a = "system.import_peer_buffer"() <{buffer_name = "k_c2v", peer_func = "k_aiv"}> : () -> i32
    "system.aic_initialize_pipe"(%a, %b) <{dir_mask = 3 : i64, slot_size = 512 : i64, slot_num = 2 : i64}> : (i32, i32) -> ()
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 64 : index
    %c1 = arith.constant 16 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %m = "tile.load"(%x, %i, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!gm.tensor<64x16xf16>, index, index) -> !tile.tile<16x16xf16, mat>
      "tile.tpush_to_aiv"(%m) <{split = 0 : i64}> : (!tile.tile<16x16xf16, mat>) -> ()
      %answer = "tile.tpop_from_aiv"() <{split = 0 : i64}> : () -> !tile.tile<16x16xf16, mat>
      %o = "tile.store"(%answer, %i, %c0, %y) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}> : (!tile.tile<16x16xf16, mat>, index, index, !gm.tensor<64x16xf16>) -> !gm.tensor<64x16xf16>
      "system.tfree_to_aiv"(%answer) <{split = 0 : i64}> : (!tile.tile<16x16xf16, mat>) -> ()
    } {kernel.loop = #kernel.loop<pipeline>, kernel.stage = 2 : i64}
    func.return
  }
  func.func @k_aiv(%x: !gm.tensor<64x16xf16>, %y: !gm.tensor<64x16xf16>) attributes {kernel.kind = #kernel.kind<aiv>} {
    %b = "system.import_peer_buffer"() <{buffer_name = "k_v2c", peer_func = "k_aic"}> : () -> i32
    %a = "system.reserve_buffer"() <{buffer_name = "k_c2v", size = 1024 : i64, base = -1 : i64}> : () -> i32
    "system.aiv_initialize_pipe"(%a, %b) <{dir_mask = 3 : i64, slot_size = 512 : i64, slot_num = 2 : i64}> : (i32, i32) -> ()
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 64 : index
    %c1 = arith.constant 16 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %t = "tile.tpop_from_aic"() <{split = 0 : i64}> : () -> !tile.tile<16x16xf16, vec>
      %n = "tile.neg"(%t) : (!tile.tile<16x16xf16, vec>) -> !tile.tile<16x16xf16, vec>
      "system.tfree_to_aic"(%t) <{split = 0 : i64}> : (!tile.tile<16x16xf16, vec>) -> ()
      "tile.tpush_to_aic"(%n) <{split = 0 : i64}> : (!tile.tile<16x16xf16, vec>) -> ()
    } {kernel.loop = #kernel.loop<pipeline>, kernel.stage = 2 : i64}
    func.return
  }
}

// CHECK:      func.func @k_aic
// CHECK:      %m = "tile.load"(%x, %c0, %c0)
// CHECK-NEXT: "tile.tpush_to_aiv"(%m)
// CHECK-NEXT: %[[SECOND:\S+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for %i = %[[SECOND]] to %c4 step %c1 {
// CHECK-NEXT:   %m_1 = "tile.load"(%x, %i, %c0)
// CHECK-NEXT:   "tile.tpush_to_aiv"(%m_1)
// CHECK-NEXT:   %answer = "tile.tpop_from_aiv"()
// CHECK:        %[[BEFORE:\S+]] = arith.subi %i
// CHECK-NEXT:   %o = "tile.store"(%answer, %[[BEFORE]], %c0, %y)
// CHECK-NEXT:   "system.tfree_to_aiv"(%answer)
// CHECK-NEXT: } {kernel.loop = #kernel.loop<pipeline>, kernel.stage = 2 : i64, kernel.skewed = 1 : i64}
// CHECK-NEXT: %answer_1 = "tile.tpop_from_aiv"()
// CHECK-NEXT: %[[LAST:\S+]] = arith.constant 48 : index
// CHECK-NEXT: "tile.store"(%answer_1, %[[LAST]], %c0, %y)
// CHECK:      func.func @k_aiv
// CHECK:      scf.for %i = %c0 to %c4 step %c1 {
// CHECK-NOT:  arith.subi
// CHECK:      } {kernel.loop = #kernel.loop<pipeline>, kernel.stage = 2 : i64, kernel.skewed = 0 : i64}
