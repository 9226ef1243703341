// RUN: cubelane opt -p allocate-memory-addr %s | filecheck %s
// The ring lies first. A tile may take the place of an operand that is read for the last time, cell by cell only. A
// view lies where its tile lies; a window of a tile and a tile in a slot have no address.

builtin.module attributes {kernel.target = "a5"} {
  func.func @f() attributes {kernel.kind = #kernel.kind<aiv>} {
    %c0 = arith.constant 0 : index
    %r = "system.reserve_buffer"() <{buffer_name = "ring", size = 1000 : i64, base = -1 : i64}> : () -> i32
    %z = arith.constant 0 : i32
    "system.aiv_initialize_pipe"(%r, %z) <{dir_mask = 1 : i64, slot_size = 500 : i64, slot_num = 2 : i64}> : (i32, i32) -> ()
    %p = "tile.tpop_from_aic"() <{split = 0 : i64}> : () -> !tile.tile<8x8xf32, vec>
    %a = "tile.exp"(%p) : (!tile.tile<8x8xf32, vec>) -> !tile.tile<8x8xf32, vec>
    "system.tfree_to_aic"(%p) <{split = 0 : i64}> : (!tile.tile<8x8xf32, vec>) -> ()
    %b = "tile.neg"(%a) : (!tile.tile<8x8xf32, vec>) -> !tile.tile<8x8xf32, vec>
    %h = "tile.cast"(%b) <{mode = "rint"}> : (!tile.tile<8x8xf32, vec>) -> !tile.tile<8x8xf16, vec>
    %v = "tile.reshape"(%h) : (!tile.tile<8x8xf16, vec>) -> !tile.tile<4x16xf16, vec>
    %w = "tile.slice"(%v, %c0, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!tile.tile<4x16xf16, vec>, index, index) -> !tile.tile<2x16xf16, vec>
    %e = "tile.neg"(%w) : (!tile.tile<2x16xf16, vec>) -> !tile.tile<2x16xf16, vec>
    func.return
  }
}

// CHECK: "system.reserve_buffer"() <{buffer_name = "ring", size = 1000 : i64, base = 0 : i64}>
// CHECK: "tile.tpop_from_aic"() {{.*}} -> !tile.tile<8x8xf32, vec>{{$}}
// CHECK: "tile.exp"{{.*}} -> !tile.tile<8x8xf32, vec, at = 1024>
// CHECK: "tile.neg"{{.*}} -> !tile.tile<8x8xf32, vec, at = 1024>
// CHECK: "tile.cast"{{.*}} -> !tile.tile<8x8xf16, vec, at = 1280>
// CHECK: "tile.reshape"{{.*}} -> !tile.tile<4x16xf16, vec, at = 1280>
// CHECK: "tile.slice"{{.*}} -> !tile.tile<2x16xf16, vec>{{$}}
// CHECK: "tile.neg"{{.*}} -> !tile.tile<2x16xf16, vec, at = 1024>
