"""How far each tile is valid: per value and axis the number or the SSA value that says so (spec/passes.md 0.3, 3.4).

Types hold numbers, and DYNAMIC where an extent is known at run time only. The op that stated such an extent has it as
an operand (load, slice, set_validshape, pop); all other ops take it over from an operand. This analysis finds it again.

    extents = ValidExtents(function)
    extents.of(value, axis)             # int | SSAValue | None (nobody stated it, or two paths disagree)
    extents.lane_extent(value, axis)    # also LaneExtent: what a lane holds after an aiv_shard

The SSA value found dominates the op that made `value`, and so every use of it. A pop that takes the place of an
`aiv_shard` with the operand `tile` therefore states, on the split axis, `min(max(V, i*S) - i*S, S)` of
`V = extents.of(tile, axis)`, and `extents.of(result, axis)` on the other one.
"""

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from cubelane.ir.kernel import BodyOp
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import constant_of, python_value
from cubelane.ir.tile.channel import half
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import DYNAMIC, SplitMode, TileType


@dataclass(frozen=True)
class LaneExtent:
    """`min(max(total, lane*stride) - lane*stride, stride)`: what a lane holds of `total` cells (spec 3.4 rule 4)."""

    total: "int | SSAValue"
    stride: int

    @property
    def may_be_empty(self) -> bool:
        """Whether a lane can hold nothing: lane 1 of few cells, any lane of a run-time number of cells."""
        return not isinstance(self.total, int) or self.total <= self.stride


Extent = int | SSAValue | LaneExtent
Place = tuple[SSAValue, int]


def same_extent(one: Extent | None, two: Extent | None, depth: int = 8) -> bool:
    """Whether two extents are provably one number: equal, or the same expression over the same values."""
    if one is None or two is None:
        return False
    if isinstance(one, LaneExtent) or isinstance(two, LaneExtent):
        return (
            isinstance(one, LaneExtent)
            and isinstance(two, LaneExtent)
            and one.stride == two.stride
            and same_extent(one.total, two.total, depth)
        )
    first = constant_of(one) if is_value(one) else one
    second = constant_of(two) if is_value(two) else two
    if first is not None or second is not None:
        return first == second
    return is_value(one) and is_value(two) and _same_expression(one, two, depth)


def lane_share_of(extent: Extent | None) -> LaneExtent | None:
    """What a lane holds of which whole: a shard's share, or the same written out as a clamp expression."""
    if extent is None or isinstance(extent, int | LaneExtent):
        return extent if isinstance(extent, LaneExtent) else None
    match extent.owner:
        case arith.MinSIOp(lhs=SSAValue(owner=arith.SubiOp(lhs=SSAValue(owner=arith.MaxSIOp(lhs=total)))), rhs=limit):
            stride = constant_of(limit)
            return None if stride is None else LaneExtent(_number(total), stride)
        case _:
            return None


def _same_expression(one: SSAValue, two: SSAValue, depth: int) -> bool:
    if one is two:
        return True
    a, b = one.owner, two.owner
    if depth == 0 or not isinstance(a, Operation) or not isinstance(b, Operation):
        return False
    if a.name != b.name or a.dialect_name() != arith.Arith.name or a.properties != b.properties:
        return False
    return all(same_extent(x, y, depth - 1) for x, y in zip(a.operands, b.operands, strict=True))


class ValidExtents:
    """The valid extents of the tiles of a function; see the module's docstring. Built in no time, answers on demand."""

    def __init__(self, function: FuncOp | Operation):
        self.function = function
        self._known: dict[Place, Extent | None] = {}
        self._open: set[Operation] = set()

    def of(self, value: SSAValue, axis: int) -> int | SSAValue | None:
        """The extent as a number or SSA value; None where no single one states it."""
        extent = self.lane_extent(value, axis)
        return None if isinstance(extent, LaneExtent) else extent

    def lane_extent(self, value: SSAValue, axis: int) -> Extent | None:
        """The extent, also as what a lane holds of a crossing tile: the one that all its sources state."""
        seen: dict[Place, None] = {}
        pending: list[Place] = [(value, axis)]
        answer: Extent | None = None
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen[place] = None
            step = self._known[place] if place in self._known else self._step(*place)
            if isinstance(step, list):
                pending.extend(step)
            elif isinstance(step, tuple):
                pending.append(step)
            elif step is None or (answer is not None and not same_extent(answer, step)):
                self._known[value, axis] = None
                return None
            else:
                answer = step if answer is None else answer
        for place in seen:
            self._known[place] = answer if answer is not None and self._visible(answer, place[0]) else None
        return self._known[value, axis]

    @staticmethod
    def _visible(extent: Extent, value: SSAValue) -> bool:
        """Whether an extent's SSA value can be named where `value` lives."""
        name = extent.total if isinstance(extent, LaneExtent) else extent
        if not is_value(name):
            return True
        home = name.owner if isinstance(name.owner, Block) else name.owner.parent
        here: Block | None = value.owner if isinstance(value.owner, Block) else value.owner.parent
        while here is not None:
            if here is home:
                return True
            parent = here.parent_op()
            here = parent.parent if parent is not None else None
        return False

    def _step(self, value: SSAValue, axis: int) -> Extent | Place | list[Place] | None:
        """The extent where it is known at once, else the places it comes from."""
        type_ = value.type
        if not isinstance(type_, TileType):
            return None
        if type_.valid[axis] != DYNAMIC:
            return type_.valid[axis]
        owner = value.owner
        if isinstance(owner, Block):
            return _into_block(owner, value, axis)
        index = next(i for i, r in enumerate(owner.results) if r is value)
        if owner.regions:
            return _out_of(owner, index, axis)
        return self._leaf(owner, axis)

    def _leaf(self, op: Operation, axis: int) -> Extent | Place | list[Place] | None:
        splits = trait_of(op, Splits)
        if splits is None:
            return None
        rule = _RULES.get(splits.behaviour)
        if rule is not None:
            return rule(op, axis)
        if splits.behaviour is Split.BOUNDARY:
            return self._boundary(op, axis)
        return _first_tile(op, axis)

    def _boundary(self, op: Operation, axis: int) -> Extent | Place | None:
        source, result = op.operands[0], op.results[0].type
        mode = int(python_value(op.properties.get("split")) or 0)
        assert isinstance(source.type, TileType) and isinstance(result, TileType)
        if mode == 0 or axis != SplitMode(mode).axis:
            return source, axis
        if op in self._open:
            return None
        self._open.add(op)
        extent = self.lane_extent(source, axis)
        self._open.discard(op)
        if result.memory is not None and result.memory.is_cube:
            whole = isinstance(extent, LaneExtent) and extent.stride == source.type.shape[axis]
            return extent.total if isinstance(extent, LaneExtent) and whole else None
        if extent is None or isinstance(extent, LaneExtent):
            return None
        stated = python_value(op.properties.get("lane_stride"))
        return LaneExtent(extent, int(stated or half(source.type.shape[axis])))


def _into_block(block: Block, value: SSAValue, axis: int) -> list[Place] | None:
    """Where a loop-carried tile comes from: its first value, and what the body hands on."""
    parent = block.parent_op()
    index = next(i for i, a in enumerate(block.args) if a is value)
    if is_one(parent, scf.ForOp) and index > 0:
        yielded = block.last_op
        return [(parent.iter_args[index - 1], axis), *([(yielded.operands[index - 1], axis)] if yielded else [])]
    if is_one(parent, scf.WhileOp):
        before, after = parent.before_region.block, parent.after_region.block
        if block is before:
            back = after.last_op
            return [(parent.arguments[index], axis), *([(back.operands[index], axis)] if back else [])]
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        return [(condition.args[index], axis)]
    return None


def _out_of(op: Operation, index: int, axis: int) -> list[Place] | None:
    """Where the result of a loop, a branch or a region comes from."""
    match op:
        case scf.ForOp():
            last = op.body.block.last_op
            return [(op.iter_args[index], axis), *([(last.operands[index], axis)] if last else [])]
        case scf.WhileOp():
            condition = op.before_region.block.last_op
            assert isinstance(condition, scf.ConditionOp)
            return [(condition.args[index], axis)]
        case scf.IfOp():
            ends = [region.block.last_op for region in op.regions if region.blocks]
            return [(end.operands[index], axis) for end in ends if end is not None]
        case BodyOp():
            return [(op.yielded.arguments[index], axis)]
        case _:
            return None


def _number(value: SSAValue) -> int | SSAValue:
    known = constant_of(value)
    return value if known is None else known


def _stated(op: Operation, axis: int) -> Extent | None:
    """The `valid` operands of a load or a slice."""
    stated: list[SSAValue] = list(getattr(op, "valid", ()))
    return _number(stated[axis]) if axis < len(stated) else None


def _popped(op: Operation, axis: int) -> Extent | None:
    """The `valid` operands of a pop: only its run-time extents, in axis order."""
    stated: list[SSAValue] = list(getattr(op, "valid", ()))
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    position = sum(extent == DYNAMIC for extent in type_.valid[:axis])
    return _number(stated[position]) if position < len(stated) else None


def _window(op: Operation, axis: int) -> Extent | Place | None:
    """A slice without stated extents: those of the source where the window starts at its first cell and is as large."""
    if (stated := _stated(op, axis)) is not None:
        return stated
    source, result = op.operands[0], op.results[0].type
    offsets: list[SSAValue] = list(getattr(op, "offsets", ())) or list(op.operands[1:3])
    assert isinstance(source.type, TileType) and isinstance(result, TileType)
    whole = constant_of(offsets[axis]) == 0 and source.type.shape[axis] == result.shape[axis]
    return (source, axis) if whole else None


def _set(op: Operation, axis: int) -> Extent | None:
    return _number(op.operands[1 + axis])


def _reshaped(op: Operation, axis: int) -> Place | None:
    """The same shape keeps the axis; a row that becomes a column turns it."""
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    if source.shape == result.shape:
        return op.operands[0], axis
    moved = [i for i, extent in enumerate(source.valid) if extent == DYNAMIC]
    return (op.operands[0], moved[0]) if len(moved) == 1 else None


def _swapped(op: Operation, axis: int) -> Place:
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    rank = len(type_.shape)
    a = int(python_value(op.properties.get("axis0")) or 0) if "axis0" in op.properties else rank - 1
    b = int(python_value(op.properties.get("axis1")) or 0) if "axis1" in op.properties else rank - 2
    pair = {a % rank: b % rank, b % rank: a % rank}
    return op.operands[0], pair.get(axis, axis)


def _product(op: Operation, axis: int) -> Place | None:
    """Rows of a product are those of the left operand, columns those of the right one."""
    assert isinstance(op, IRDLOperation)
    name = "lhs" if axis == 0 else "rhs"
    return (cast(SSAValue, getattr(op, name)), axis) if hasattr(op, name) else None


def _first_tile(op: Operation, axis: int) -> Place | None:
    """Most ops follow their first tile operand, or the first that does not broadcast along the axis."""
    result, splits = op.results[0].type, trait_of(op, Splits)
    assert isinstance(result, TileType) and splits is not None
    if "result" in splits.packed and axis == len(result.shape) - 1:
        return None
    aside = [getattr(op, name, None) for name in (*splits.scratch, *splits.packed)]
    tiles = [(v, v.type) for v in op.operands if isinstance(v.type, TileType) and not any(v is a for a in aside)]
    for operand, type_ in tiles:
        if type_.shape == result.shape:
            return operand, axis
    for operand, type_ in tiles:
        if len(type_.shape) == len(result.shape) and type_.valid[axis] == DYNAMIC:
            return operand, axis
    return None


_RULES = {
    Split.LOADS: _stated,
    Split.SLICES: _window,
    Split.SETS_VALID: _set,
    Split.RESHAPES: _reshaped,
    Split.TRANSPOSES: _swapped,
    Split.CUBE: _product,
    Split.CHANNEL: _popped,
}
