"""SpreadBroadcasts: rows and columns beside a tile are spread by ops that the machine has (spec/front.md 2.3, 2.4).

Requires tiles of two axes. Guarantees that the operands of every op that declares `Broadcasts` have one shape. A sum
with a row becomes `col_expand_add`; where there is no such op, or both sides are narrow, the narrow one is written out
as a full tile first.
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.ir.kernel import functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile import Tile
from cubelane.ir.tile.base import TileOp, broadcast
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.traits import Broadcasts, trait_of
from cubelane.ir.types import MemorySpace, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import base_name, build, replace

TILE_OPS: dict[str, type[SurfaceOp]] = {op.name: op for op in Tile.operations if issubclass(op, SurfaceOp)}
"""The ops of the tile level by IR name."""

Shape = tuple[int, ...]


def _direction(narrow: Shape, box: Shape) -> str | None:
    """Whether a narrow tile has one cell per row (`row`) or per column (`col`) of a box; None for neither."""
    if narrow == (box[0], 1):
        return "row"
    return "col" if narrow == (1, box[1]) else None


def _tile(value: SSAValue) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _shape(value: SSAValue) -> Shape:
    """The shape of a tile, a vector of one axis being a row."""
    shape = _tile(value).shape
    return (1,) * (2 - len(shape)) + shape


def _as_expansion(op: TileOp, trait: Broadcasts, wide: SSAValue, narrow: SSAValue, box: Shape) -> SSAValue | None:
    """The op on a tile and one row or column, where the machine has it."""
    direction = _direction(_shape(narrow), box)
    if trait.expands is None or direction is None:
        return None
    kind = TILE_OPS[f"tile.{direction}_expand_{trait.expands}"]
    tile, vector = kind.PARAMETERS[0].name, kind.PARAMETERS[1].name
    return build(kind, op, op.results[0].name_hint, {tile: wide, vector: narrow})


def spread(value: SSAValue, box: Shape, anchor: Operation, like: SSAValue | None = None) -> SSAValue:
    """A narrow tile written out: one row over all rows, then one column over all columns.

    The result is valid where `like`, a tile of the whole box, is; without it, everywhere.
    """
    for direction, between in (("col", (box[0], _shape(value)[1])), ("row", box)):
        if _shape(value) == between:
            continue
        kind, name = TILE_OPS[f"tile.{direction}_expand"], base_name(value)
        room = _room(between, _tile(value), anchor, like if between == box else None)
        names = [parameter.name for parameter in kind.PARAMETERS]
        value = build(kind, anchor, f"{name}__tile", dict(zip(names, (room, value), strict=True)))
    return value


def _room(shape: Shape, tile: TileType, anchor: Operation, like: SSAValue | None) -> SSAValue:
    """A tile of the element type of `tile` that only says where a result is valid; its content is not read."""
    if like is None or _shape(like) != shape:
        arguments = {"shape": shape, "dtype": tile.dtype, "target_memory": MemorySpace.VEC}
        return build(CreateOp, anchor, "tmp_tile", arguments)
    if _tile(like).dtype == tile.dtype:
        return like
    return build(TILE_OPS["tile.cast"], anchor, "tmp_tile", {"tile": like, "target_type": tile.dtype, "mode": "round"})


def equalize(op: TileOp, trait: Broadcasts) -> None:
    """Gives an op operands of one shape, or puts the op in its place that spreads one of them."""
    lhs, rhs = (getattr(op, name) for name in trait.operands)
    if _tile(lhs).shape == _tile(rhs).shape:
        return
    box = broadcast(_tile(lhs), _tile(rhs))
    value = None
    if _shape(lhs) == box:
        value = _as_expansion(op, trait, lhs, rhs, box)
    elif _shape(rhs) == box and trait.commutes:
        value = _as_expansion(op, trait, rhs, lhs, box)
    if value is None:
        arguments = op.bound().values
        for name in trait.operands:
            arguments[name] = spread(arguments[name], box, op, rhs)
        value = build(type(op), op, op.results[0].name_hint, arguments)
    replace(op, value)


class SpreadBroadcasts(ModulePass):
    """One shape for the operands of every elementwise op of InCore functions."""

    name = "spread-broadcasts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if kind_of(function).in_core:
                for inner in ops_in(function):
                    trait = trait_of(inner, Broadcasts)
                    if trait is not None and is_one(inner, TileOp):
                        equalize(inner, trait)
