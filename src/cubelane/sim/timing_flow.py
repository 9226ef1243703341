"""Which execution made a value: follows SSA through loops, branches and views during a replay."""

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import InPlace
from cubelane.sim.timing_trace import ELSE, ENTER, NEXT, THEN, Step

Makers = tuple[int, ...]
"""Numbers of the events that a value depends on."""


class ValueFlow:
    """The events behind every value of one agent, as of the step replayed last."""

    def __init__(self) -> None:
        self.made: dict[SSAValue, Makers] = {}
        self._roots: dict[SSAValue, tuple[SSAValue, ...]] = {}

    def of(self, value: SSAValue) -> Makers:
        """The events that made a value; none for constants and parameters. A view no statement makes is its source."""
        known = self.made.get(value)
        if known is not None:
            return known
        if isinstance(value, OpResult):
            owner = value.op
            if isinstance(owner, scf.ForOp):
                return self.made.get(owner.body.block.args[value.index + 1], ())
            if isinstance(owner, scf.WhileOp):
                return self.of(_condition(owner).args[value.index])
            if not isinstance(owner, SurfaceOp | scf.IfOp):
                return self._merged(self._scalar_roots(value))
            view = owner.get_trait(InPlace)
            return () if view is None else self.of(getattr(owner, view.operand))
        assert isinstance(value, BlockArgument)
        owner = value.block.parent_op()
        if isinstance(owner, scf.WhileOp) and value.block is owner.after_region.block:
            return self.of(_condition(owner).args[value.index])
        return ()

    def _merged(self, values: tuple[SSAValue, ...]) -> Makers:
        return tuple(dict.fromkeys(maker for value in values for maker in self.of(value)))

    def _scalar_roots(self, value: SSAValue) -> tuple[SSAValue, ...]:
        """What a scalar expression is computed from, past all arithmetic."""
        found = self._roots.get(value)
        if found is None:
            found = self._roots[value] = tuple(dict.fromkeys(self._walk(value)))
        return found

    def _walk(self, value: SSAValue) -> list[SSAValue]:
        owner = value.owner
        if isinstance(owner, Block) or isinstance(owner, SurfaceOp) or owner.regions:
            return [value]
        return [root for operand in owner.operands for root in self._scalar_roots(operand)]

    def control(self, step: Step) -> None:
        """Follows a loop that begins or goes round, or a branch that ended."""
        op = step.op
        if step.kind == ENTER:
            self._bind(_arguments(op), op.iter_args if isinstance(op, scf.ForOp) else op.operands)
        elif step.kind == NEXT:
            body = op.body.block if isinstance(op, scf.ForOp) else op.regions[1].block
            if isinstance(last := body.last_op, scf.YieldOp):
                self._bind(_arguments(op), last.operands)
        elif step.kind in (THEN, ELSE):
            block = op.regions[0 if step.kind == THEN else 1].block
            if isinstance(last := block.last_op, scf.YieldOp):
                self._bind(op.results, last.operands)

    def _bind(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        values = [self.of(source) for source in sources]
        self.made.update(zip(targets, values, strict=False))


def _arguments(loop: Operation) -> tuple[SSAValue, ...]:
    """The values a loop carries, as its body sees them at the start of an iteration."""
    if isinstance(loop, scf.ForOp):
        return tuple(loop.body.block.args[1:])
    assert isinstance(loop, scf.WhileOp)
    return tuple(loop.before_region.block.args)


def _condition(loop: scf.WhileOp) -> scf.ConditionOp:
    last = loop.before_region.block.last_op
    assert isinstance(last, scf.ConditionOp)
    return last
