"""Applies the split axes to a body: retypes results, localizes offsets and extents (spec/passes.md 4.2 to 4.4).

It decides nothing: which value is shared out how is the answer of `SplitAxes`, this module writes it down.
"""

from collections.abc import Callable
from typing import cast

from xdsl.ir import Block, Operation, OpResult, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.lane_share import Replicated, Share, Split
from cubelane.analysis.rebalance import is_crossing, to_cube
from cubelane.analysis.split_axis import SplitAxes, flows
from cubelane.analysis.split_leaf import splits_of
from cubelane.analysis.valid_extents import ValidExtents
from cubelane.ir.affinity import Affinity
from cubelane.ir.retyping import retyped
from cubelane.ir.surface import constant_of
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.shaping import AssembleOp, SetValidShapeOp, SliceOp
from cubelane.ir.traits import Meaning, trait_of
from cubelane.ir.traits import Split as Behaviour
from cubelane.ir.types import DYNAMIC, Layout, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.lower_auto_vector_split.crossing import Crossing, gather, remove, shard
from cubelane.passes.tile.lower_auto_vector_split.lane_math import LaneMath
from cubelane.passes.tile.lower_auto_vector_split.operands import operands, set_operands

Extent = int | SSAValue


def tile_type(value: SSAValue) -> TileType:
    """The type of a value known to be a tile."""
    type_ = value.type
    assert isinstance(type_, TileType)
    return type_


class Halver:
    """One run over one body. `lane` is the lane index, `extents` the valid extents of the body before the run."""

    def __init__(self, axes: SplitAxes, lane: SSAValue, extents: ValidExtents):
        self.axes, self.lane, self.extents = axes, lane, extents
        self._new: dict[SSAValue, Share] = {}
        self._types: dict[SSAValue, TileType] = {}
        self._totals: dict[Operation, tuple[Extent | None, ...]] = {}
        self._carried: dict[Operation, TileType] = {}

    def run(self, block: Block) -> None:
        """Rewrites the body in place; every op is visited once."""
        ops = ops_in(block)
        for op in ops:
            self._measure(op)
        for op in ops:
            self._edges(op)
            if not op.regions:
                self._leaf(op)
        for op in ops:
            self._retype(op)
        for value, type_ in self._types.items():
            retyped(value, type_)

    def share(self, value: SSAValue) -> Share:
        """The share of a value of the body, or of one that took its place."""
        known = self._new.get(value)
        return self.axes[value] if known is None else known

    def part(self, value: SSAValue, share: Split, math: LaneMath) -> SSAValue:
        """The lane's part of a tile that both lanes hold in full: a slice of it (4.4 "lift")."""
        full = tile_type(value)
        source = value if share.stride + share.box <= full.shape[share.axis] else self._padded(value, share, math)
        offsets = [
            math.start(share.stride) if axis == share.axis else math.constant(0) for axis in range(len(full.shape))
        ]
        lane_type = share.lane_type(full)
        valid: list[SSAValue] = []
        if DYNAMIC in lane_type.valid:
            valid = [self._valid_on(value, axis, share, math) for axis in range(len(full.shape))]
        cut = math.tile(SliceOp, {"tile": source, "offsets": offsets, "valid": valid}, lane_type, value.name_hint)
        self._new[cut] = share
        return cut

    def _padded(self, value: SSAValue, share: Split, math: LaneMath) -> SSAValue:
        """The tile in a box that holds both lanes' boxes: lane 1's part of an odd extent would overhang its end."""
        full = tile_type(value)
        box = (*full.shape[: share.axis], share.stride + share.box, *full.shape[share.axis + 1 :])
        larger = full.replaced(shape=box, valid=box)
        room = math.tile(CreateOp, {}, larger, None)
        offsets = [math.constant(0) for _ in box]
        return math.tile(AssembleOp, {"target": room, "source": value, "offsets": offsets}, larger, value.name_hint)

    def _valid_on(self, value: SSAValue, axis: int, share: Split, math: LaneMath) -> SSAValue:
        extent = self.extents.of(value, axis)
        known = tile_type(value).shape[axis] if extent is None else extent
        return math.clamp(known, share.stride) if axis == share.axis else math.value(known)

    def narrowed(self, value: OpResult, share: Split, totals: list[Extent]) -> SSAValue:
        """Behind the op of `value`: states what of its box belongs to the lane; all other uses see the statement."""
        after = value.op.next_op
        assert after is not None
        uses = list(value.uses)
        math = LaneMath(self.lane, after, value.op.location)
        extents = [
            math.clamp(total, share.stride) if axis == share.axis else math.value(total)
            for axis, total in enumerate(totals)
        ]
        type_ = tile_type(value)
        stated = share.lane_type(type_)
        arguments: dict[str, object] = {"tile": value, "rows": extents[0], "columns": extents[1]}
        cut = math.tile(SetValidShapeOp, arguments, stated, value.name_hint)
        for use in uses:
            use.operation.operands[use.index] = cut
        self._new[cut] = share
        valid = list(stated.valid)
        valid[share.axis] = share.box
        self._types[value] = stated.replaced(valid=tuple(valid))
        return cut

    def _measure(self, op: Operation) -> None:
        """Looks up, before anything changes, how far the tile of a store or a crossing is valid."""
        splits = splits_of(op)
        if splits is not None and (splits.behaviour is Behaviour.STORES or is_crossing(op)):
            tile = op.operands[0]
            self._carried[op] = tile_type(tile)
            self._totals[op] = tuple(self.extents.of(tile, axis) for axis in range(len(tile_type(tile).shape)))

    def total(self, op: Operation, axis: int) -> Extent | None:
        """How many cells of an axis a store carries, before the split; None where nobody stated it."""
        return self._totals[op][axis]

    def _edges(self, op: Operation) -> None:
        """Cuts the lane's part where a replicated value becomes a halved carry, result or argument."""
        for source, target in flows(op):
            share = self.axes[target]
            if isinstance(share, Split) and isinstance(self.share(source), Replicated):
                cut = self.part(source, share, LaneMath(self.lane, op))
                for index, operand in enumerate(op.operands):
                    if operand is source and self._becomes(op, index, share):
                        op.operands[index] = cut

    def _becomes(self, op: Operation, index: int, share: Split) -> bool:
        pairs = flows(op)
        return any(s is op.operands[index] and self.axes[t] == share for s, t in pairs)

    def _leaf(self, op: Operation) -> None:
        splits = splits_of(op)
        if splits is None:
            return
        for index, share in self.axes.needs.get(op, {}).items():
            if isinstance(self.share(op.operands[index]), Replicated):
                op.operands[index] = self.part(op.operands[index], share, LaneMath(self.lane, op))
        if is_crossing(op):
            return self._crossing(op)
        action = _ACTIONS.get(splits.behaviour)
        if action is not None and classify(op) is not Affinity.CUBE:
            action(self, op)
        self._own_box(op)

    def _crossing(self, op: Operation) -> None:
        tile, result = op.operands[0], op.results[0]
        full = self._carried[op]
        extents = (*self._totals[op], None, None)
        crosses = Crossing(LaneMath(self.lane, op), tile, (extents[0], extents[1]))
        if not to_cube(op):
            share = self.axes[result]
            part = shard(crosses, share if isinstance(share, Split) else None, result.name_hint)
            if tile_type(result).data.slayout is Layout.NONE_BOX or any(flows(use.operation) for use in result.uses):
                part = _laid_out_like(part, tile_type(result))
            self._new[part] = share
            return remove(op, part)
        share = self.share(tile)
        assert isinstance(share, Split)
        name = f"{result.name_hint}_mat" if result.name_hint else None
        op.operands[0] = gather(crosses, share, share.lane_type(full), full, name)

    def _own_box(self, op: Operation) -> None:
        """An op that declares its whole box valid claims cells of nobody where the boxes overlap or overhang."""
        for result in op.results:
            share, meaning = self.share(result), trait_of(op, Meaning)
            if not isinstance(share, Split) or share.even or meaning is None:
                continue
            takes_over = any(isinstance(v.type, TileType) for v in op.operands) and meaning.valid is None
            if not takes_over and meaning.valid in (None, "{shape}"):
                self.narrowed(result, share, list(tile_type(result).shape))

    def _retype(self, op: Operation) -> None:
        values = [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]
        for value in values:
            share = self.axes[value]
            if isinstance(share, Split) and value not in self._types and value not in self._new:
                self._types[value] = share.lane_type(tile_type(value))

    def kept_full(self, value: SSAValue) -> None:
        """The value keeps its full type although its share was asked for: its part was cut from it."""
        self._types[value] = tile_type(value)


def _laid_out_like(value: SSAValue, like: TileType) -> SSAValue:
    """A crossing tile arrives in the plain layout unless the author chose another unboxed one, or a carry fixes it."""
    d = like.data
    type_ = tile_type(value).replaced(blayout=d.blayout, slayout=d.slayout, fractal=d.fractal, pad=d.pad)
    return retyped(value, type_)


def _localize_valid(halver: Halver, op: Operation, share: Split, full: TileType) -> None:
    """Clamps the stated extent of the split axis; states one where the type had it and no operand did."""
    stated = operands(op, "valid")
    valid, physical = full.valid[share.axis], full.shape[share.axis]
    math = LaneMath(halver.lane, op)
    if stated:
        given = stated[share.axis]
        known = constant_of(given)
        even = share.even and known == physical
        stated[share.axis] = math.constant(share.box) if even else math.clamp(given, share.stride)
    elif not (share.even and valid == physical):
        stated = [
            math.clamp(extent, share.stride) if axis == share.axis else math.constant(extent)
            for axis, extent in enumerate(full.valid)
        ]
    set_operands(op, "valid", stated)


def _load(halver: Halver, op: Operation) -> None:
    share = halver.share(op.results[0])
    if not isinstance(share, Split):
        return
    offsets = operands(op, "offsets")
    axis = share.axis + len(offsets) - len(tile_type(op.results[0]).shape)
    offsets[axis] = LaneMath(halver.lane, op).shifted(offsets[axis], share.stride)
    set_operands(op, "offsets", offsets)
    _localize_valid(halver, op, share, tile_type(op.results[0]))


def _store(halver: Halver, op: Operation) -> None:
    share = halver.share(op.operands[0])
    math = LaneMath(halver.lane, op)
    target = cast(SSAValue, getattr(op, "target"))  # noqa: B009
    if not isinstance(share, Split):
        if "atomic" in op.properties and isinstance(share, Replicated) and _adds(op):
            math.guard(op, "eq", halver.lane, 0, target)
        return
    offsets = operands(op, "offsets")
    rank = len(tile_type(op.operands[0]).shape)
    axis = share.axis + len(offsets) - rank
    offsets[axis] = math.shifted(offsets[axis], share.stride)
    set_operands(op, "offsets", offsets)
    if shapes := operands(op, "shapes"):
        shapes[share.axis + len(shapes) - rank] = math.constant(share.box)
        set_operands(op, "shapes", shapes)
    total = halver.total(op, share.axis)
    if total is not None and (not isinstance(total, int) or total <= share.stride):
        math.guard(op, "sgt", math.clamp(total, share.stride), 0, target)


def _adds(op: Operation) -> bool:
    atomic = cast(int | None, getattr(op, "bound")().get("atomic"))  # noqa: B009
    return bool(atomic)


def _slice(halver: Halver, op: Operation) -> None:
    share = halver.share(op.results[0])
    if not isinstance(share, Split):
        return
    if isinstance(halver.share(op.operands[0]), Replicated):
        if not share.even:
            return _view(halver, op)
        math = LaneMath(halver.lane, op)
        if hasattr(op, "offsets"):
            offsets = operands(op, "offsets")
            offsets[share.axis] = math.shifted(offsets[share.axis], share.stride)
            set_operands(op, "offsets", offsets)
        else:
            op.operands[1 + share.axis] = math.shifted(op.operands[1 + share.axis], share.stride)
    elif not operands(op, "valid"):
        return
    if hasattr(op, "valid"):
        _localize_valid(halver, op, share, tile_type(op.results[0]))


def _view(halver: Halver, op: Operation) -> None:
    """A view of a full source stays full; the lane's part is cut from it."""
    result = op.results[0]
    share = halver.share(result)
    if not isinstance(share, Split) or not isinstance(halver.share(op.operands[0]), Replicated):
        return
    uses, after = list(result.uses), op.next_op
    assert after is not None
    cut = halver.part(result, share, LaneMath(halver.lane, after, op.location))
    for use in uses:
        use.operation.operands[use.index] = cut
    halver.kept_full(result)


def _set_valid(halver: Halver, op: Operation) -> None:
    share = halver.share(op.results[0])
    if not isinstance(share, Split):
        return
    index = 1 + share.axis
    stated = op.operands[index]
    math = LaneMath(halver.lane, op)
    if share.even and constant_of(stated) == share.extent:
        op.operands[index] = math.constant(share.box)
    else:
        op.operands[index] = math.clamp(stated, share.stride)


def _gather_rows(halver: Halver, op: Operation) -> None:
    share = halver.share(op.results[0])
    if not isinstance(share, Split):
        return
    math = LaneMath(halver.lane, op)
    reads, sizes = operands(op, "source_offsets"), operands(op, "sizes")
    reads[share.axis] = math.shifted(reads[share.axis], share.stride)
    sizes[share.axis] = math.constant(share.box)
    set_operands(op, "source_offsets", reads)
    set_operands(op, "sizes", sizes)


_ACTIONS: dict[Behaviour, Callable[[Halver, Operation], None]] = {
    Behaviour.LOADS: _load,
    Behaviour.STORES: _store,
    Behaviour.SLICES: _slice,
    Behaviour.RESHAPES: _view,
    Behaviour.REINTERPRETS: _view,
    Behaviour.SETS_VALID: _set_valid,
    Behaviour.GATHERS_ROWS: _gather_rows,
}
