"""Tiles and views of global memory: where they lie, and the tile ops that move whole rows (spec/pto.md 4.5, 4.9).

A tile is its address, a view an address with extents and strides. Ops that compute on tiles are refused by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.types import TileFields, View
from cubelane.sim.micro.cluster import Core
from cubelane.sim.micro.elements import dtype_of
from cubelane.sim.micro.memory import Fault
from cubelane.sim.micro.program import Control, Decode, Units, not_modelled
from cubelane.sim.micro.transfers import Burst, Operands

Values = Sequence[Any]


@dataclass(frozen=True)
class Window:
    """A view at run time: address, extents, strides in elements."""

    start: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """A tile at run time: address and valid extents."""

    start: int
    valid: tuple[int, int]


def _alloc(op: PtoOp, arch: str) -> Control:
    operands, kind = Operands(op), op.results[0].type
    if "addr" not in operands.clauses or not isinstance(kind, TileFields):
        raise not_modelled(op, "a tile without an address")
    stated = [n.data for n in kind.valid]

    def run(core: Core, place: int, values: Values) -> Box:
        given = [operands.clause(values, name) for name in ("valid_row", "valid_col")]
        rows, columns = (
            extent if extent != DYNAMIC_INDEX else (found or [0])[0]
            for extent, found in zip(stated, given, strict=True)
        )
        return Box((operands.clause(values, "addr") or [0])[0], (rows, columns))

    return run


def _view(op: PtoOp, arch: str) -> Control:
    operands = Operands(op)

    def run(core: Core, place: int, values: Values) -> Window:
        shape, strides = (operands.clause(values, name) or [] for name in ("shape", "strides"))
        return Window(values[0], tuple(shape), tuple(strides))

    return run


def _partition(op: PtoOp, arch: str) -> Control:
    operands, kind = Operands(op), op.operands[0].type
    assert isinstance(kind, View)
    size = dtype_of(kind.element).itemsize

    def run(core: Core, place: int, values: Values) -> Window:
        view: Window = values[0]
        offsets, sizes = (operands.clause(values, name) or [] for name in ("offsets", "sizes"))
        for offset, count, extent in zip(offsets, sizes, view.sizes, strict=True):
            if offset < 0 or offset + count > extent:
                raise Fault(f"the window {offset} to {offset + count} leaves an axis of {extent}", code="out-of-bounds")
        start = view.start + sum(o * s for o, s in zip(offsets, view.strides, strict=True)) * size
        return Window(start, tuple(sizes), view.strides)

    return run


def _transfer(op: PtoOp, arch: str) -> Decode:
    """`tload` from a window into a plain tile in UB, `tstore` out of one into a window."""
    loads = op.decl.name == "tload"
    tile = op.operands[1 if loads else 0].type
    if not isinstance(tile, TileFields) or tile.space is not Space.UB or len(tile.layout):
        raise not_modelled(op, "tiles other than plain ones in ub")
    size, columns = dtype_of(tile.element).itemsize, tile.dims.data[1].data

    def decode(core: Core, values: Values) -> Burst:
        window, box = (values[0], values[1]) if loads else (values[1], values[0])
        if len(window.sizes) != 2 or window.strides[1] != 1:
            raise Fault("the machine moves windows of two axes with a dense last axis", code="not-modelled")
        rows, wide = window.sizes
        if rows > box.valid[0] or wide > box.valid[1]:
            message = (
                f"a window of {rows} x {wide} does not fit a tile that is valid up to {box.valid[0]} x {box.valid[1]}"
            )
            raise Fault(message, code="tile-extent")
        outer, inner = ((rows, window.strides[0] * size),), ((rows, columns * size),)
        far, near = (Space.GM, window.start), (Space.UB, box.start)
        return Burst(far, near, wide * size, outer, inner) if loads else Burst(near, far, wide * size, inner, outer)

    return decode


def register(units: Units) -> None:
    """The ops of this module."""
    units.controls |= {"alloc_tile": _alloc, "make_tensor_view": _view, "partition_view": _partition}
    units.queues |= {"tload": _transfer, "tstore": _transfer}
