"""Where a body crosses between the cores, and with which transport code (spec/passes.md 2, 3.7, 5.4)."""

from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, Region, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.levels import tensors_left
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import PLACEMENT
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import GatherOp, ShardOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.traits import CoreAffinity, has_trait
from cubelane.ir.types import DYNAMIC, SplitMode, TileType
from cubelane.ir.walk import ops_in


class Boundary(NamedTuple):
    """One crossing of the body: `to_lanes` from the cube to the lanes, else the other way.

    `authored` tells `aiv_shard` / `aic_gather` (which carry a mode) from a plain move (which has none).
    """

    op: Operation
    to_lanes: bool
    source: SSAValue
    result: SSAValue
    mode: SplitMode
    lane_stride: int | None
    authored: bool

    @property
    def producer(self) -> Affinity:
        """The core that pushes."""
        return Affinity.CUBE if self.to_lanes else Affinity.VECTOR

    @property
    def source_type(self) -> TileType:
        """Type of the tile that is pushed."""
        assert isinstance(self.source.type, TileType)
        return self.source.type

    @property
    def result_type(self) -> TileType:
        """Type of the tile on the other side."""
        assert isinstance(self.result.type, TileType)
        return self.result.type


def place_of(op: Operation) -> Affinity:
    """The core an op runs on: its stated placement counts where the op itself does not fix one (spec 2.4)."""
    core = classify(op)
    placement = op.attributes.get(PLACEMENT)
    if core is Affinity.SHARED and isinstance(placement, StringAttr):
        return Affinity.VECTOR if placement.data == "aiv" else Affinity.CUBE
    return core


def boundary_of(op: Operation) -> Boundary | None:
    """The crossing an op stands for, None if it is none."""
    if is_one(op, (ShardOp, GatherOp)):
        stride = python_value(op.properties.get("lane_stride"))
        mode = SplitMode(python_value(op.split) or 0)
        return Boundary(op, is_one(op, ShardOp), op.tile, op.result, mode, stride or None, True)
    if not has_trait(op, CoreAffinity) or classify(op) is not Affinity.MIXED:
        return None
    if not is_one(op, MoveOp):
        raise tensors_left(op)
    assert isinstance(op.tile.type, TileType) and op.tile.type.memory is not None
    return Boundary(op, op.tile.type.memory.is_cube, op.tile, op.result, SplitMode.NONE, None, False)


def boundaries_of(body: Region) -> dict[Operation, Boundary]:
    """All crossings of a body in program order, nested ones included."""
    found = ((op, boundary_of(op)) for op in ops_in(body))
    return {op: boundary for op, boundary in found if boundary is not None}


def lane_extents(tile: TileType, axis: int, stride: int | None = None) -> tuple[int, int] | None:
    """Valid extents of lane 0 and lane 1 on the split axis of a full tile; None where they are run-time values."""
    box, valid = tile.shape[axis], tile.valid[axis]
    if DYNAMIC in (box, valid):
        return None
    step = stride or (box + 1) // 2
    return min(valid, step), min(max(valid - step, 0), step)


def shard_code(boundary: Boundary, mode: SplitMode, tile: TileType, stride: int | None) -> int:
    """Transport code of a crossing to the lanes: even for equal lanes or an empty lane 1, odd for one cell more."""
    if mode is SplitMode.NONE:
        return 0
    extents = lane_extents(tile, mode.axis, stride)
    if extents is None or extents[0] == extents[1]:
        return mode.value
    if extents[0] == extents[1] + 1:
        return mode.value + 2
    if extents[1] == 0:
        return mode.value
    raise unplaceable(boundary, tile, mode, extents)


def gather_code(boundary: Boundary, mode: SplitMode, tile: TileType) -> int:
    """Transport code of a crossing to the cube; `tile` is the joined tile."""
    if mode is SplitMode.NONE:
        return 0
    extents = lane_extents(tile, mode.axis)
    if extents is None or extents[0] == extents[1] or extents[1] == 0:
        return mode.value
    raise refuse(
        boundary.op,
        f"{boundary.op.name} of `{boundary.result.name_hint or 'a tile'}`: the lanes hold {extents[0]} and "
        f"{extents[1]} {_axis_word(mode)} ({mode.name}, axis {mode.axis}), which cannot be joined to one tile",
        f"`aic_gather` puts the halves side by side; {extents[0]} and {extents[1]} leave a gap between them",
        instead="gather a tile whose lanes hold the same amount (widen it with fillpad or set_validshape first)",
        code="gather-lanes",
    )


def unplaceable(boundary: Boundary, tile: TileType, mode: SplitMode, extents: tuple[int, int]) -> Diagnostic:
    """E-SHARD (spec 3.7): no transport code places bands of these two extents."""
    word = _axis_word(mode)
    return refuse(
        boundary.op,
        f"{boundary.op.name} of `{boundary.source.name_hint or 'a tile'}`: the lanes would hold {extents[0]} and "
        f"{extents[1]} {word} ({mode.name}, axis {mode.axis}), which no transport code can place",
        f"{tile.valid[mode.axis]} of {tile.shape[mode.axis]} {word} are valid; lane 1 may hold as many as lane 0, "
        "one fewer, or none",
        instead="make the tile fully valid before it crosses (set_validshape), or drop the split: "
        "pl.split(pl.SplitMode.NONE)",
        code="shard-lanes",
    )


def _axis_word(mode: SplitMode) -> str:
    return "rows" if mode is SplitMode.UP_DOWN else "columns"
