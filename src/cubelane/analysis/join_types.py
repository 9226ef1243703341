"""The one type of a tile where several meet: at loop carries, if-results and values handed out of regions.

Memory spaces, layouts and valid extents may differ between the values that arrive; shapes and element types may not.
"""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.making import CreateOp, FullOp
from cubelane.ir.types import DYNAMIC, MemorySpace, Pad, TileType, implicit_layout


def is_column(tile: TileType) -> bool:
    """Whether the tile is one column of several rows, not boxed."""
    shape = tile.shape
    return len(shape) == 2 and shape[1] == 1 and shape[0] > 1


def join_space(spaces: Sequence[MemorySpace | None]) -> MemorySpace | None:
    """The space where values of several spaces meet: the one that the others can be moved to."""
    known = {space for space in spaces if space is not None}
    if len(known) <= 1:
        return next(iter(known), None)
    if MemorySpace.MAT in known or MemorySpace.VEC not in known:
        return MemorySpace.MAT
    return MemorySpace.VEC


def join_type(name: str | None, values: Sequence[SSAValue]) -> TileType:
    """The type that all `values` can be brought to.

    An undefined tile (`create`) takes any space. A column, and a tile whose layouts differ, takes the implicit layout.
    """
    types = [value.type for value in values if isinstance(value.type, TileType)]
    first = types[0]
    if all(t == first for t in types):
        return first
    for other in types[1:]:
        if other.shape != first.shape or other.dtype != first.dtype:
            raise Diagnostic(
                f"`{name or 'the value'}` is {list(first.shape)} {first.dtype} on one way and "
                f"{list(other.shape)} {other.dtype} on another",
                notes=("a value carried by a loop or chosen by an `if` keeps its shape and element type",),
                instead="bring both to one shape and element type, with reshape, slice or cast",
                code="carried-type-changes",
            )
    fixed = [v.type for v in values if isinstance(v.type, TileType) and not is_one(v.owner, CreateOp)]
    memory = join_space([t.memory for t in fixed or types])
    valid = tuple(
        extents[0] if all(e == extents[0] for e in extents) else DYNAMIC
        for extents in zip(*(t.valid for t in types), strict=True)
    )
    layouts = {(t.memory, t.data.blayout, t.data.slayout, t.data.fractal) for t in fixed or types}
    blayout, slayout, fractal = implicit_layout(first.shape, memory)
    if len(layouts) == 1 and not is_column(first):
        _, blayout, slayout, fractal = layouts.pop()
    pads = {t.data.pad for t in types}
    return TileType.make(
        first.shape,
        first.dtype,
        memory,
        valid,
        blayout=blayout,
        slayout=slayout,
        fractal=fractal,
        pad=pads.pop() if len(pads) == 1 else Pad.NULL,
    )


def can_take(value: SSAValue, wanted: TileType) -> bool:
    """Whether the op that makes the value can make it in the wanted type at once, instead of a move behind it."""
    tile, maker = value.type, value.owner
    if not isinstance(tile, TileType) or tile.valid != wanted.valid:
        return False
    return is_one(maker, CreateOp) or (is_one(maker, FullOp) and tile.memory is wanted.memory)
