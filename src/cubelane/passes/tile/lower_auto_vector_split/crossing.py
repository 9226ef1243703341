"""Crossing moves become boundary ops: `aiv_shard` to the lanes, `aic_gather` to the cube (spec/passes.md 4.3).

Where no transport code can place the two bands, or a band would be ragged on its way to the cube, the whole box
travels, which is always placeable, and the side that takes it states its valid extent (docs/deviations.md).
"""

from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.lane_share import Split, name_of, placeable
from cubelane.ir.diagnostic import refuse
from cubelane.ir.tile.channel import GatherOp, ShardOp
from cubelane.ir.tile.shaping import SetValidShapeOp
from cubelane.ir.types import DYNAMIC, MemorySpace, TileType
from cubelane.passes.tile.lower_auto_vector_split.lane_math import LaneMath

Extent = int | SSAValue


class Crossing(NamedTuple):
    """A crossing under rewrite: the place, the tile that crosses, its valid extents (None: nobody stated it)."""

    math: LaneMath
    tile: SSAValue
    valid: tuple[Extent | None, Extent | None]

    @property
    def type(self) -> TileType:
        """The type of the tile that crosses."""
        assert isinstance(self.tile.type, TileType)
        return self.tile.type

    def stated(self, axis: int) -> Extent:
        """The valid extent of an axis; a refusal where no value states it."""
        extent = self.valid[axis]
        if extent is not None:
            return extent
        raise refuse(
            self.math.anchor,
            f"how much of '{name_of(self.tile)}' is valid on axis {axis} differs on the ways to this crossing "
            f"({self.math.anchor.name})",
            instead="state it before the crossing: pl.tile.set_validshape(..)",
            code="unknown-extent",
        )

    def declared(self, tile: SSAValue, extents: tuple[Extent, Extent], type_: TileType) -> SSAValue:
        """States valid extents of a tile."""
        rows, columns = (self.math.value(extent) for extent in extents)
        return self.math.tile(SetValidShapeOp, {"tile": tile, "rows": rows, "columns": columns}, type_, tile.name_hint)

    def box_travels(self, share: Split) -> bool:
        """Whether the tile must cross as a whole box: the bands cannot be placed, or the other axis is ragged (3.8)."""
        axis, type_ = share.axis, self.type
        valid, other = type_.valid[axis], type_.valid[1 - axis]
        if axis == 1 and type_.valid[1] != type_.shape[1]:
            return True
        if axis == 0 and other != type_.shape[1] and (other == DYNAMIC or valid != type_.shape[0]):
            return True
        return valid != DYNAMIC and not placeable(share.lanes(valid))


def shard(crossing: Crossing, share: Split | None, name: str | None) -> SSAValue:
    """The lane's part of a cube tile: half of it, or all of it where there is nothing to share out (share None)."""
    if share is None:
        return _boundary(ShardOp, crossing, crossing.tile, 0, crossing.type.replaced(), name, MemorySpace.VEC)
    tile, full = crossing.tile, crossing.type
    whole = crossing.box_travels(share)
    if whole:
        full = full.replaced(valid=full.shape)
        tile = crossing.declared(tile, (full.shape[0], full.shape[1]), full)
    half = _boundary(ShardOp, crossing, tile, share.axis + 1, share.lane_type(full), name, MemorySpace.VEC)
    if share.stride != share.box:
        assert isinstance(half.owner, Operation)
        half.owner.properties["lane_stride"] = IntegerAttr(share.stride, i64)
    if not whole:
        return half
    lane = crossing.math.clamp(crossing.stated(share.axis), share.stride)
    other = crossing.stated(1 - share.axis)
    type_ = half.type
    assert isinstance(type_, TileType)
    valid = (DYNAMIC, crossing.type.valid[1]) if share.axis == 0 else (crossing.type.valid[0], DYNAMIC)
    extents = (lane, other) if share.axis == 0 else (other, lane)
    return crossing.declared(half, extents, type_.replaced(valid=valid))


def gather(crossing: Crossing, share: Split, lane_type: TileType, joined: TileType, name: str | None) -> SSAValue:
    """The tile the cube expects (`joined`), put together from the lanes' halves along the operand's own axis."""
    tile, axis = crossing.tile, share.axis
    ragged = joined.valid[axis] != joined.shape[axis]
    if ragged:
        extents = tuple(share.box if a == axis else crossing.stated(a) for a in (0, 1))
        valid = tuple(share.box if a == axis else joined.valid[a] for a in (0, 1))
        tile = crossing.declared(tile, (extents[0], extents[1]), lane_type.replaced(valid=valid))
    boxed = joined.replaced(valid=tuple(joined.shape[a] if a == axis else joined.valid[a] for a in (0, 1)))
    result = _boundary(GatherOp, crossing, tile, axis + 1, boxed, name, MemorySpace.MAT)
    if not ragged:
        return result
    type_ = result.type
    assert isinstance(type_, TileType)
    return crossing.declared(result, (crossing.stated(0), crossing.stated(1)), type_.replaced(valid=joined.valid))


def _boundary(
    kind: type[ShardOp] | type[GatherOp],
    crossing: Crossing,
    tile: SSAValue,
    mode: int,
    like: TileType,
    name: str | None,
    memory: MemorySpace,
) -> SSAValue:
    """A boundary op; its result has the plain layout of the consuming side's space (3.8)."""
    type_ = TileType.make(like.shape, like.dtype, memory, like.valid)
    return crossing.math.tile(kind, {"tile": tile, "split": mode}, type_, name)


def remove(op: Operation, value: SSAValue) -> None:
    """Lets all uses of a move see what took its place."""
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()
