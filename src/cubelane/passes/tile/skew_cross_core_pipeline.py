"""Overlaps the trips of pipelined loops across the cores (spec/front.md 3.1, pass 27).

`for i in pl.pipeline(n, stage=2)` whose body sends a tile to the other core and waits for the answer becomes rounds
in which the core sends for trip i + 1 before it takes the answer of trip i: one round before the loop, one round after
it, and between them what lags behind goes round as loop carries. analysis/pipeline_stages.py decides which loops.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.channel_protocol import CoreGroup, core_groups
from cubelane.analysis.memory_budget import usages
from cubelane.analysis.pipeline_stages import Skew, StagedLoop, read_by, skews
from cubelane.ir.kernel import SKEWED, target_name
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import constant_of
from cubelane.targets import TARGETS, Target

Key = SSAValue | int
"""What has an instance in every round: a value of the body, or a carry by its position."""
Made = dict[tuple[Key, int], SSAValue]
"""The instances by the round they were made in."""


class LoopSkewer:
    """Rewrites one loop; used once.

    Rounds are counted so that the first one with all stages is number `lag`. The loop that remains is written as that
    round, and the rounds behind it go on counting from there.
    """

    def __init__(self, staged: StagedLoop, trips: int | None):
        self.staged, self.trips, self.lag = staged, trips, staged.lag
        self.loop, self.body = staged.loop, staged.loop.body.block
        last = self.body.last_op
        assert isinstance(last, scf.YieldOp)
        self.yielded = list(last.operands)
        self.into = Block()
        self.made: Made = {(i, stage - 1): self.loop.iter_args[i] for i, stage in enumerate(staged.carried)}

    def run(self) -> None:
        """Replaces the loop."""
        results = self._rounds()
        if self.trips is None:
            ends = self._add(scf.YieldOp(*results))
            assert ends.parent is self.into
            there, self.into = self.into, Block()
            condition = self._add(arith.CmpiOp(self.loop.lb, self.loop.ub, "slt")).results[0]
            nothing = Block([scf.YieldOp(*self.loop.iter_args)])
            guard = scf.IfOp(condition, self.loop.result_types, Region(there), Region(nothing))
            results = list(self._add(guard).results)
        for old, new in zip(self.loop.results, results, strict=True):
            if old.first_use is not None and isinstance(new.owner, Operation):
                new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        home = self.loop.parent
        assert home is not None
        for op in list(self.into.ops):
            op.detach()
            home.insert_op_before(op, self.loop)
        home.erase_op(self.loop)

    def _rounds(self) -> list[SSAValue]:
        lag = self.lag
        for time in range(lag):
            self._round(time, range(time + 1), lambda stage, time=time: self._from_start(time - stage))
        if self.trips is None or self.trips > lag:
            self._steady()
        for time in range(lag, 2 * lag):
            behind = time - lag
            self._round(time, range(behind + 1, lag + 1), lambda stage, behind=behind: self._from_end(stage - behind))
        return [self.made[i, lag - 1 + stage] for i, stage in enumerate(self.staged.carried)]

    # --- counters ------------------------------------------------------------------------------------------------

    def _add(self, op: Operation) -> Operation:
        op.location = self.loop.location
        self.into.add_op(op)
        return op

    def _index(self, number: int) -> SSAValue:
        return self._add(arith.ConstantOp(IntegerAttr(number, IndexType()))).results[0]

    @property
    def _step(self) -> int:
        step = constant_of(self.loop.step)
        assert step is not None
        return step

    def _from_start(self, trip: int) -> SSAValue:
        """The counter of a trip, counted from the first."""
        if not trip:
            return self.loop.lb
        lower = constant_of(self.loop.lb)
        if lower is not None:
            return self._index(lower + trip * self._step)
        return self._add(arith.AddiOp(self.loop.lb, self._index(trip * self._step))).results[0]

    def _from_end(self, back: int) -> SSAValue:
        """The counter of a trip, counted from behind the last: 1 is the last one."""
        if self.trips is not None:
            return self._from_start(self.trips - back)
        last = self._add(arith.SubiOp(self.loop.ub, self._index(1))).results[0]
        if self._step == 1:
            return last
        span = self._add(arith.SubiOp(last, self.loop.lb)).results[0]
        step = self._index(self._step)
        whole = self._add(arith.DivSIOp(span, step)).results[0]
        return self._add(arith.AddiOp(self.loop.lb, self._add(arith.MuliOp(whole, step)).results[0])).results[0]

    # --- one round -----------------------------------------------------------------------------------------------

    def _age(self, value: SSAValue, stage: int) -> tuple[Key, int] | None:
        """What an op of `stage` reads and how many rounds ago it was made; None for what every round finds ready."""
        if is_one(value, BlockArgument) and value.owner is self.body and value.index:
            return value.index - 1, stage + 1 - self.staged.carried[value.index - 1]
        if isinstance(value.owner, Operation) and value.owner in self.staged.stage:
            return value, stage - self.staged.stage[value.owner]
        return None

    def _round(self, time: int, stages: Iterable[int], counter: Callable[[int], SSAValue]) -> None:
        """Writes the ops of some stages. `counter` gives the loop counter that a stage works on."""
        for stage in stages:
            mapped: dict[SSAValue, SSAValue] = {}
            for op, its_stage in self.staged.stage.items():
                if its_stage == stage:
                    for value in read_by(op):
                        self._map(value, stage, time, counter, mapped)
                    new = op.clone(mapped)
                    self.into.add_op(new)
                    self.made.update({(old, time): new.results[i] for i, old in enumerate(op.results)})
            for i, value in enumerate(self.yielded):
                if self.staged.carried[i] == stage:
                    self._map(value, stage, time, counter, mapped)
                    self.made[i, time] = mapped.get(value, value)

    def _map(
        self,
        value: SSAValue,
        stage: int,
        time: int,
        counter: Callable[[int], SSAValue],
        mapped: dict[SSAValue, SSAValue],
    ) -> None:
        """Finds what stands for a value of the body in this round."""
        if value in mapped:
            return
        if value is self.body.args[0]:
            mapped[value] = counter(stage)
        elif (read := self._age(value, stage)) is not None:
            mapped[value] = self.made[read[0], time - read[1]]
        elif isinstance(value.owner, Operation) and value.owner in self.staged.repeated:
            for operand in value.owner.operands:
                self._map(operand, stage, time, counter, mapped)
            self.into.add_op(value.owner.clone(mapped))

    # --- the loop that remains -----------------------------------------------------------------------------------

    def _oldest(self) -> dict[Key, int]:
        """For everything that a later round reads, how many rounds it is carried."""
        reads = [(value, stage) for op, stage in self.staged.stage.items() for value in read_by(op)]
        reads += zip(self.yielded, self.staged.carried, strict=True)
        oldest: dict[Key, int] = {}
        for read in (self._age(value, stage) for value, stage in reads):
            if read is not None and read[1] > 0:
                oldest[read[0]] = max(oldest.get(read[0], 0), read[1])
        for i, stage in enumerate(self.staged.carried):
            if stage == 0:
                # the value behind the loop was made in its last round
                oldest[i] = max(oldest.get(i, 0), 1)
        return oldest

    def _steady(self) -> None:
        """All rounds in which every stage works: the loop."""
        lag = self.lag
        carried = [(key, age) for key, oldest in self._oldest().items() for age in range(1, oldest + 1)]
        starts = [self.made[key, lag - age] for key, age in carried]
        lower = self._from_start(lag)
        body = Block(arg_types=[IndexType(), *(value.type for value in starts)])
        counter = body.args[0]
        counter.name_hint = self.body.args[0].name_hint
        outside, self.into = self.into, body
        for (key, age), argument in zip(carried, body.args[1:], strict=True):
            argument.name_hint = self._name(key)
            self.made[key, lag - age] = argument
        self._round(lag, range(lag + 1), lambda stage: self._behind(counter, stage))
        self._add(scf.YieldOp(*(self.made[key, lag - age + 1] for key, age in carried)))
        self.into = outside
        loop = scf.ForOp(lower, self.loop.ub, self.loop.step, starts, Region(body))
        loop.attributes.update(self.loop.attributes)
        self._add(loop)
        for (key, age), result in zip(carried, loop.results, strict=True):
            result.name_hint = self._name(key)
            self.made[key, lag - age] = result

    def _behind(self, counter: SSAValue, stage: int) -> SSAValue:
        if not stage:
            return counter
        return self._add(arith.SubiOp(counter, self._index(stage * self._step))).results[0]

    def _name(self, key: Key) -> str | None:
        return (self.body.args[key + 1] if isinstance(key, int) else key).name_hint


def skew_group(group: CoreGroup, target: Target) -> None:
    """Skews the pipelined loops of one cube and its lanes; a program that would no longer fit stays as it was."""
    found = [skew for skew in skews(group) if isinstance(skew, Skew)]
    if not found:
        return
    functions = [agent.function for agent in group.agents[:2]]
    before = [function.body.clone() for function in functions]
    for skew in found:
        for staged in skew.loops:
            staged.loop.attributes[SKEWED] = IntegerAttr(staged.lag, i64)
            if staged.lag:
                LoopSkewer(staged, skew.trips).run()
    if not all(usage.fits for function in functions for usage in usages(function, target)):
        for function, body in zip(functions, before, strict=True):
            function.detach_region(function.body)
            function.add_region(body)


class SkewCrossCorePipeline(ModulePass):
    """Sends for the next trip before the answer of this one is taken, in loops marked `pl.pipeline`."""

    name = "skew-cross-core-pipeline"
    required: ClassVar = frozenset({"MixedKernelExpanded"})
    produced: ClassVar = frozenset({"MixedKernelExpanded"})
    invalidated: ClassVar = frozenset[str]()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        if target is not None:
            for group in core_groups(op):
                skew_group(group, target)
