"""Lane 1 of a kernel without split: it takes part in every handshake and has no visible effect (spec/passes.md 7.4).

The body runs on lane 0; lane 1 runs a replay of it in which every tile is empty (no valid cell), nothing is read from
or written to global memory, and every push, pop and free is there.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.arith import CmpiOp, ConstantOp
from xdsl.dialects.builtin import Float32Type, FloatAttr, IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import Bound, SurfaceOp, constant_of
from cubelane.ir.tile.channel import InitializePipeOp, SubblockIdxOp
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.shaping import SetValidShapeOp
from cubelane.ir.traits import RunsOnce, Split, Splits, has_trait, trait_of
from cubelane.ir.types import TensorType, TileType, is_float
from cubelane.passes.tile.expand_mixed_kernel.pipes import is_setup

Values = dict[SSAValue, SSAValue]


def empty(tile: TileType) -> TileType:
    """The same box without a valid cell."""
    return tile.replaced(valid=(0,) * len(tile.shape))


def is_empty(tile: TileType) -> bool:
    """Whether a tile provably has no valid cell."""
    return 0 in tile.valid


def behaviour(op: Operation) -> Split | None:
    """What the op's `Splits` trait says."""
    trait = trait_of(op, Splits)
    return trait.behaviour if trait is not None else None


class Replay:
    """Writes the replay of a block."""

    def __init__(self, values: Values):
        self.values = values
        self.block = Block()

    def run(self, source: Block, target: Block) -> None:
        """Replays all ops but the terminator."""
        outer, self.block = self.block, target
        for op in source.ops:
            if op is not source.last_op:
                self._op(op)
        self.block = outer

    def value(self, old: SSAValue) -> SSAValue:
        """What stands for a value on lane 1."""
        return self.values.get(old, old)

    def fitted(self, old: SSAValue, kind: Attribute, like: Operation) -> SSAValue:
        """The value with the type that a carry or a branch result has."""
        new = self.value(old)
        if new.type == kind or not isinstance(kind, TileType):
            return new
        return self._cut(new, kind, like)

    def _add(self, op: Operation, like: Operation) -> Operation:
        op.location = like.location
        self.block.add_op(op)
        return op

    def _number(self, number: int, like: Operation) -> SSAValue:
        return self._add(ConstantOp(IntegerAttr(number, IndexType())), like).results[0]

    def _cut(self, tile: SSAValue, kind: TileType, like: Operation) -> SSAValue:
        rows, columns = (self._number(extent, like) for extent in kind.valid)
        cut = SetValidShapeOp.from_call(Bound({"tile": tile, "rows": rows, "columns": columns}), kind)
        cut.results[0].name_hint = tile.name_hint
        return self._add(cut, like).results[0]

    def _op(self, op: Operation) -> None:
        match op:
            case ForOp():
                self._for(op)
            case WhileOp():
                self._while(op)
            case IfOp():
                self._if(op)
            case _:
                self._leaf(op)

    def _leaf(self, op: Operation) -> None:
        channel = behaviour(op) is Split.CHANNEL
        if not channel and (has_trait(op, MemoryWriteEffect) or has_trait(op, RunsOnce)):
            self._drop(op)
        elif behaviour(op) is Split.READS_CELL:
            self._zero(op)
        elif len(op.results) == 1 and isinstance(op.results[0].type, TileType):
            self._tile(op, op.results[0].type, channel)
        else:
            self._add(op.clone(self.values), op)

    def _drop(self, op: Operation) -> None:
        """A store does not happen; its result names the tensor it would have written."""
        target = getattr(op, "target", None)
        for result in op.results:
            if isinstance(result.type, TensorType) and is_value(target):
                self.values[result] = self.value(target)

    def _zero(self, op: Operation) -> None:
        """A cell of an empty tile does not exist; lane 1 goes on with 0."""
        kind = op.results[0].type
        zero = FloatAttr(0.0, cast(Float32Type, kind)) if is_float(kind) else IntegerAttr(0, cast(IndexType, kind))
        self.values[op.results[0]] = self._add(ConstantOp(zero), op).results[0]

    def _tile(self, op: Operation, kind: TileType, channel: bool) -> None:
        reads_memory = has_trait(op, MemoryReadEffect) and not channel
        if reads_memory or behaviour(op) in (Split.SLICES, Split.TRANSPOSES):
            made = self._created(op, kind)
        elif is_one(op, SetValidShapeOp):
            made = self._cut(self.value(op.tile), empty(kind), op)
        elif channel:
            made = self._add(op.create(properties=op.properties, result_types=[empty(kind)]), op).results[0]
        else:
            made = self._recomputed(op, kind)
        made.name_hint = op.results[0].name_hint
        self.values[op.results[0]] = made

    def _created(self, op: Operation, kind: TileType) -> SSAValue:
        whole = kind.replaced(valid=kind.shape)
        made = self._add(CreateOp.from_call(Bound({}), whole), op).results[0]
        made.name_hint = op.results[0].name_hint
        return self._cut(made, empty(kind), op) if len(kind.shape) == 2 else made

    def _recomputed(self, op: Operation, kind: TileType) -> SSAValue:
        """The same op on empty operands; where its result would not be empty by itself, that is stated."""
        operands = [self.value(o) for o in op.operands]
        trial = op.create(operands=operands, properties=dict(op.properties), result_types=[kind])
        assert isinstance(trial, SurfaceOp)
        try:
            ruled = trial.result_type(trial.bound())
        except Diagnostic:
            ruled = None
        trial.erase()
        if not isinstance(ruled, TileType):
            return self._created(op, kind)
        shown = empty(kind) if all(v <= 0 for v in ruled.valid) else kind.replaced(valid=ruled.valid)
        plain = op.create(operands=operands, properties=dict(op.properties), result_types=[shown])
        result = self._add(plain, op).results[0]
        if is_empty(shown) or len(kind.shape) != 2:
            return result
        result.name_hint = op.results[0].name_hint
        return self._cut(result, empty(kind), op)

    def _open(self, source: Block, types: Sequence[Attribute]) -> Block:
        block = Block(arg_types=list(types))
        for old, new in zip(source.args, block.args, strict=True):
            new.name_hint = old.name_hint
            self.values[old] = new
        return block

    def _close(self, source: Block, block: Block, types: Sequence[Attribute], like: Operation) -> None:
        last = source.last_op
        values = last.operands if last is not None else ()
        outer, self.block = self.block, block
        fitted = [self.fitted(v, t, like) for v, t in zip(values, types, strict=True)]
        self._add(YieldOp(*fitted), like)
        self.block = outer

    def _finish(self, old: Operation, new: Operation) -> None:
        new.attributes = dict(old.attributes)
        self._add(new, old)
        for before, after in zip(old.results, new.results, strict=True):
            after.name_hint = before.name_hint
            self.values[before] = after

    def _for(self, op: ForOp) -> None:
        inits = [self.value(v) for v in op.iter_args]
        types = [v.type for v in inits]
        body = self._open(op.body.block, [op.body.block.args[0].type, *types])
        self.run(op.body.block, body)
        self._close(op.body.block, body, types, op)
        self._finish(op, ForOp(self.value(op.lb), self.value(op.ub), self.value(op.step), inits, Region(body)))

    def _while(self, op: WhileOp) -> None:
        inits = [self.value(v) for v in op.arguments]
        types = [v.type for v in inits]
        before = self._open(op.before_region.block, types)
        self.run(op.before_region.block, before)
        last = op.before_region.block.last_op
        assert isinstance(last, ConditionOp)
        outer, self.block = self.block, before
        passed = [self.value(v) for v in last.args]
        self._add(ConditionOp(self.value(last.condition), *passed), last)
        self.block = outer
        handed = [v.type for v in passed]
        after = self._open(op.after_region.block, handed)
        self.run(op.after_region.block, after)
        self._close(op.after_region.block, after, types, op)
        self._finish(op, WhileOp(inits, handed, Region(before), Region(after)))

    def _if(self, op: IfOp) -> None:
        regions: list[Region] = []
        types: list[Attribute] = [
            empty(r.type) if isinstance(r.type, TileType) and len(r.type.shape) == 2 else r.type for r in op.results
        ]
        for region in op.regions:
            if not region.blocks:
                regions.append(Region())
                continue
            block = Block()
            self.run(region.block, block)
            self._close(region.block, block, types, op)
            regions.append(Region(block))
        self._finish(op, IfOp(self.value(op.cond), types, regions[0], regions[1]))


def is_replayed(function: FuncOp) -> bool:
    """Whether a program has the form that `replay_on_lane_1` gives it: set-up, the rest under a test of the lane."""
    ops = list(function.body.block.ops)
    branch = ops[-2] if len(ops) > 1 else None
    if not is_one(branch, IfOp) or not isinstance(test := branch.cond.owner, CmpiOp):
        return False
    tests_lane = is_one(test.lhs.owner, SubblockIdxOp) and constant_of(test.rhs) == 0
    return tests_lane and all(is_one(op, (SubblockIdxOp, ConstantOp, CmpiOp)) or is_setup(op) for op in ops[:-2])


def replay_on_lane_1(function: FuncOp) -> None:
    """`if lane == 0: <body> else: <replay>` behind the set-up of the pipes, which both lanes run."""
    block = function.body.block
    end = block.last_op
    assert isinstance(end, ReturnOp)
    ops = [op for op in block.ops if op is not end]
    shared = _prologue(ops)
    rest = ops[len(shared) :]
    lane = SubblockIdxOp(result_types=[IndexType()])
    lane.results[0].name_hint = "subblock_idx"
    zero = ConstantOp(IntegerAttr(0, IndexType()))
    condition = CmpiOp(lane.results[0], zero.result, "eq")
    mine, other = Block(), Block()
    for op in rest:
        op.detach()
        mine.add_op(op)
    types = [v.type for v in end.operands]
    mine.add_op(YieldOp(*end.operands))
    _replayed(mine, other, types, end)
    branch = IfOp(condition.result, types, Region(mine), Region(other))
    for old, new in zip(end.operands, branch.results, strict=True):
        new.name_hint = old.name_hint
    first = block.first_op
    assert first is not None
    block.insert_op_before(lane, first)
    block.insert_ops_before([zero, condition, branch], end)
    for op in (lane, zero, condition, branch):
        op.location = function.location
    end.operands = list(branch.results)


def _replayed(source: Block, target: Block, types: Sequence[Attribute], end: Operation) -> None:
    replay = Replay({})
    replay.run(source, target)
    replay.block = target
    last = source.last_op
    assert last is not None
    values = [replay.fitted(v, t, end) for v, t in zip(last.operands, types, strict=True)]
    target.add_op(YieldOp(*values))


def _prologue(ops: list[Operation]) -> list[Operation]:
    """The longest prefix of pipe set-up, with the constants it uses."""
    taken = 0
    for position, op in enumerate(ops):
        if is_setup(op):
            taken = position + 1
        elif not (is_one(op, ConstantOp) and _only_for_setup(op)):
            break
    return ops[:taken]


def _only_for_setup(op: Operation) -> bool:
    return all(is_one(use.operation, InitializePipeOp) for use in op.results[0].uses)
