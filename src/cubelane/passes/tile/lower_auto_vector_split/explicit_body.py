"""Regions with explicit boundary ops: the body is half width already, so it is checked and localized (spec 4.8 a to c).

Which valid extent a lane sees is settled here: the shard's result and all that follows it become per-lane, ragged
halves are joined for the cube at their place, and a lane that holds nothing stores nothing.
"""

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.lane_share import Split, axis_word, name_of
from cubelane.analysis.lane_values import LaneValues, control_of
from cubelane.analysis.valid_extents import LaneExtent, ValidExtents, lane_share_of
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.kernel import SplitRegionOp
from cubelane.ir.narrowing import is_one
from cubelane.ir.retyping import retyped
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import Split as Behaviour
from cubelane.ir.traits import Splits, trait_of
from cubelane.ir.types import DYNAMIC, SplitMode, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.lower_auto_vector_split.crossing import Crossing, gather, remove, shard
from cubelane.passes.tile.lower_auto_vector_split.lane_math import LaneMath
from cubelane.passes.tile.lower_auto_vector_split.revalidate import revalidate


def behaviour_of(op: Operation) -> Behaviour | None:
    """The declared split behaviour of an op."""
    splits = trait_of(op, Splits)
    return None if splits is None else splits.behaviour


def tile_type(value: SSAValue) -> TileType:
    """The type of a value known to be a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def check(block: Block, mode: SplitMode) -> None:
    """Refuses what a hand-written half-width body must not hold."""
    values = LaneValues(block, mode.axis)
    if values.offenders:
        _refuse_mixed_width(values.offenders, mode)
    for op in ops_in(block):
        behaviour = behaviour_of(op)
        if behaviour is Behaviour.TRANSPOSES:
            _check_transpose(op, mode)
        elif behaviour is Behaviour.REDUCES:
            _check_reduction(op, mode, values)
        elif behaviour is Behaviour.BOUNDARY:
            _check_control(op, values)
    region, end = block.parent_op(), block.last_op
    assert is_one(region, SplitRegionOp) and end is not None
    for value, result in zip(end.operands, region.results, strict=True):
        if value in values.halves and not _stays_on_the_lanes(result, mode):
            raise refuse(
                end,
                f"'{name_of(value)}' is used outside the region, but each lane holds only its part of it",
                instead="join the parts inside the region: pl.aic_gather(..), or store the tile there",
                code="halved-value-leaves-region",
            )


def _stays_on_the_lanes(result: SSAValue, mode: SplitMode) -> bool:
    """Whether a half leaves its region only for other regions of the same mode, where each lane still has its own."""
    for use in result.uses:
        inside: Operation | None = use.operation
        while inside is not None and not is_one(inside, SplitRegionOp):
            inside = inside.parent_op()
        if inside is None or inside.mode.mode is not mode:
            return False
    return True


def _to_lanes(op: Operation) -> bool:
    memory = tile_type(op.results[0]).memory
    return memory is None or not memory.is_cube


def _refuse_mixed_width(offenders: list[Operation], mode: SplitMode) -> None:
    names = list(dict.fromkeys(op.name for op in offenders))
    first = offenders[0]
    raise refuse(
        first,
        f"full-width vector work beside an explicit boundary ({mode.name}): {', '.join(names)}; both lanes would do "
        f"all of it, first at '{name_of(first.results[0])}'",
        *(f"{op.name} makes '{name_of(op.results[0])}' at {Location.of(op)}" for op in offenders[1:4]),
        instead="derive the tile from pl.aiv_shard, read it at an address with the lane index, or leave the explicit "
        "boundary out and let the compiler share the body out",
        code="mixed-width-region",
    )


def _check_transpose(op: Operation, mode: SplitMode) -> None:
    source = tile_type(op.operands[0])
    rank = len(source.shape)
    bound: dict[str, int] = getattr(op, "bound")().values  # noqa: B009
    swapped = {bound.get("axis0", -1) % rank, bound.get("axis1", -2) % rank}
    if mode.axis in swapped and source.shape[mode.axis] != 1:
        raise refuse(
            op,
            f"'{name_of(op.results[0])}' = {op.name}({name_of(op.operands[0])}) swaps the split axis: the region "
            f"shares out axis {mode.axis} ({mode.name})",
            instead="take a column slice, or transpose outside the region",
            code="transpose-of-split-axis",
        )


def _check_reduction(op: Operation, mode: SplitMode, values: LaneValues) -> None:
    source, splits = op.operands[0], trait_of(op, Splits)
    assert splits is not None and splits.axis is not None
    type_ = tile_type(source)
    if source in values.halves and splits.axis % len(type_.shape) == mode.axis and type_.shape[mode.axis] != 1:
        raise refuse(
            op,
            f"{op.name} reduces '{name_of(source)}' {list(type_.shape)} over the split axis ({mode.name}, axis "
            f"{mode.axis}): each lane would see only its own part",
            instead="join the parts first: pl.aic_gather(..), or reduce over the other axis",
            code="reduce-on-split-axis",
        )


def _check_control(op: Operation, values: LaneValues) -> None:
    """The cube takes part in every crossing, so none may hang on what only a lane knows."""
    parent = op.parent_op()
    while parent is not None:
        if any(value in values.scalars for value in control_of(parent)):
            raise refuse(
                op,
                f"'{name_of(op.results[0])}' = {op.name}(..) stands under a condition on the lane index; the cube "
                f"core, which takes part in every crossing, has no lane index",
                f"the condition is at {Location.of(parent)}",
                instead="cross outside the condition and use the tile inside it",
                code="crossing-under-lane-test",
            )
        parent = parent.parent_op()


def localize(function: FuncOp, ops: list[Operation], mode: SplitMode) -> None:
    """Makes the valid extents of a spliced body per-lane (spec 4.8 c)."""
    lane = next(op.results[0] for op in ops if is_one(op, SubblockIdxOp))
    boundaries = [op for op in ops if behaviour_of(op) is Behaviour.BOUNDARY]
    gathers = [op for op in boundaries if not _to_lanes(op)]
    changed = [_shard(op, function, mode, lane) for op in boundaries if _to_lanes(op)]
    ragged = [value for value in changed if value is not None]
    revalidate(ragged)
    for op in gathers:
        _check_bands(op, mode)
        _gather(op, function, mode, lane)
    if not ragged:
        return
    extents = ValidExtents(function)
    for op in ops:
        if op.parent is not None and behaviour_of(op) is Behaviour.STORES:
            _guard(op, extents, lane)


def _shard(op: Operation, function: FuncOp, mode: SplitMode, lane: SSAValue) -> SSAValue | None:
    """The result of a shard whose lanes hold different amounts; None where both hold a full box."""
    full = tile_type(op.operands[0])
    share = Split.of(mode.axis, full.shape[mode.axis])
    if full.valid[mode.axis] == full.shape[mode.axis] and share.even and full.fully_valid:
        return None
    extents = ValidExtents(function)
    stated = tuple(extents.of(op.operands[0], axis) for axis in (0, 1))
    crosses = Crossing(LaneMath(lane, op), op.operands[0], (stated[0], stated[1]))
    if crosses.box_travels(share):
        part = shard(crosses, share, op.results[0].name_hint)
        remove(op, part)
        return part
    type_ = tile_type(op.results[0])
    valid = list(type_.valid)
    valid[mode.axis] = share.lane_valid(full.valid[mode.axis], full.shape[mode.axis])
    return retyped(op.results[0], type_.replaced(valid=tuple(valid)))


def _check_bands(op: Operation, mode: SplitMode) -> None:
    """Halves are joined by position; a half that the author made partly valid leaves a hole (no. 28)."""
    source = op.operands[0]
    type_ = tile_type(source)
    valid, box = type_.valid[mode.axis], type_.shape[mode.axis]
    if valid in (box, DYNAMIC):
        return
    raise refuse(
        op,
        f"each lane's half '{name_of(source)}' is valid to {valid} of {box} {axis_word(mode.axis)} on axis {mode.axis} "
        f"({mode.name}): {op.name} joins them by position, which leaves a hole in the middle",
        instead="fill the half first: pl.tile.fillpad(..)",
        code="ragged-bands",
    )


def _gather(op: Operation, function: FuncOp, mode: SplitMode, lane: SSAValue) -> None:
    source, result = op.operands[0], op.results[0]
    type_ = tile_type(source)
    if type_.valid[mode.axis] != DYNAMIC:
        return
    extents = ValidExtents(function)
    held = lane_share_of(extents.lane_extent(source, mode.axis))
    if held is None or held.stride != type_.shape[mode.axis]:
        raise refuse(
            op,
            f"how much of '{name_of(source)}' each lane holds on axis {mode.axis} ({mode.name}) is not known where "
            f"{op.name} joins the halves",
            instead="fill the half first: pl.tile.fillpad(..)",
            code="ragged-bands",
        )
    other = extents.of(source, 1 - mode.axis)
    valid = (held.total, other) if mode.axis == 0 else (other, held.total)
    share = Split.of(mode.axis, tile_type(result).shape[mode.axis])
    joined = list(tile_type(result).valid)
    joined[mode.axis] = held.total if isinstance(held.total, int) else DYNAMIC
    crosses = Crossing(LaneMath(lane, op), source, valid)
    full = tile_type(result).replaced(valid=tuple(joined))
    whole = gather(crosses, share, type_, full, result.name_hint)
    remove(op, whole)
    revalidate([whole])


def _guard(op: Operation, extents: ValidExtents, lane: SSAValue) -> None:
    tile = op.operands[0]
    for axis, valid in enumerate(tile_type(tile).valid):
        if valid != DYNAMIC:
            continue
        extent = extents.lane_extent(tile, axis)
        held = lane_share_of(extent)
        if held is None or not held.may_be_empty:
            continue
        math = LaneMath(lane, op)
        amount = math.clamp(held.total, held.stride) if isinstance(extent, LaneExtent) else extent
        assert isinstance(amount, SSAValue)
        target: SSAValue = getattr(op, "target")  # noqa: B009
        return math.guard(op, "sgt", amount, 0, target)
