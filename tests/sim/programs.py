"""Small final programs for the simulator, written as MLIR."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from cubelane.ir.context import new_context

PAIR = """
builtin.module {
  func.func @k_aic(%x : !gm.tensor<32x16xf16>, %w : !gm.tensor<16x8xf16>, %y : !gm.tensor<32x8xf32>)
      attributes {kernel.kind = #kernel.kind<aic>, kernel.split = #kernel.split<up_down>} {
    %none = arith.constant 0 : i32
    "system.aic_initialize_pipe"(%none, %none) <{dir_mask = 1 : i64, slot_size = 1024 : i64, slot_num = SLOTS : i64}>
        : (i32, i32) -> ()
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %trips = arith.constant TRIPS : index
    scf.for %i = %zero to %trips step %one {
      %a = "tile.load"(%x, %zero, %zero) <{operandSegmentSizes = array<i32: 1, 2, 0>}>
          : (!gm.tensor<32x16xf16>, index, index) -> !tile.tile<32x16xf16, mat>
      %l = "tile.move"(%a) : (!tile.tile<32x16xf16, mat>) -> !tile.tile<32x16xf16, left>
      %b = "tile.load"(%w, %zero, %zero) <{operandSegmentSizes = array<i32: 1, 2, 0>}>
          : (!gm.tensor<16x8xf16>, index, index) -> !tile.tile<16x8xf16, mat>
      %r = "tile.move"(%b) : (!tile.tile<16x8xf16, mat>) -> !tile.tile<16x8xf16, right>
      %acc = "tile.matmul"(%l, %r) : (!tile.tile<32x16xf16, left>, !tile.tile<16x8xf16, right>)
          -> !tile.tile<32x8xf32, acc>
      "tile.tpush_to_aiv"(%acc) <{split = 1 : i64}> : (!tile.tile<32x8xf32, acc>) -> ()
    }
    func.return
  }
  func.func @k_aiv(%x : !gm.tensor<32x16xf16>, %w : !gm.tensor<16x8xf16>,
                   %y : !gm.tensor<32x8xf32> {kernel.direction = #kernel.direction<out>}) -> !gm.tensor<32x8xf32>
      attributes {kernel.kind = #kernel.kind<aiv>, kernel.split = #kernel.split<up_down>, kernel.dual_aiv_dispatch} {
    %lane = "tile.get_subblock_idx"() : () -> index
    %none = arith.constant 0 : i32
    "system.aiv_initialize_pipe"(%none, %none) <{dir_mask = 1 : i64, slot_size = 1024 : i64, slot_num = SLOTS : i64}>
        : (i32, i32) -> ()
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %half = arith.constant 16 : index
    %row = arith.muli %lane, %half : index
    %trips = arith.constant TRIPS : index
    %start = "tile.full"() <{value = 0.0 : f64}> : () -> !tile.tile<16x8xf32, vec>
    %sum = scf.for %i = %zero to %trips step %one iter_args(%s = %start) -> (!tile.tile<16x8xf32, vec>) {
      %v = "tile.tpop_from_aic"() <{split = 1 : i64}> : () -> !tile.tile<16x8xf32, vec>
      %t = "tile.add"(%s, %v) : (!tile.tile<16x8xf32, vec>, !tile.tile<16x8xf32, vec>) -> !tile.tile<16x8xf32, vec>
      "system.tfree_to_aic"(%v) <{split = 1 : i64}> : (!tile.tile<16x8xf32, vec>) -> ()
      scf.yield %t : !tile.tile<16x8xf32, vec>
    }
    %out = "tile.store"(%sum, %row, %zero, %y) <{operandSegmentSizes = array<i32: 1, 2, 1, 0>}>
        : (!tile.tile<16x8xf32, vec>, index, index, !gm.tensor<32x8xf32>) -> !gm.tensor<32x8xf32>
    func.return %out : !gm.tensor<32x8xf32>
  }
}
"""
"""A cube that pushes its product TRIPS times, lanes that add them up; rings of SLOTS slots."""


def read(text: str, **numbers: int) -> ModuleOp:
    """The module of a text with its capital words replaced."""
    for word, number in numbers.items():
        text = text.replace(word, str(number))
    return Parser(new_context(), text, "program.mlir").parse_module()


def pair(trips: int = 3, slots: int = 2) -> ModuleOp:
    """The program `PAIR`."""
    return read(PAIR, TRIPS=trips, SLOTS=slots)
