"""Where values go through control flow: the block arguments and results that an operand arrives at.

A *join* is a place where values of several edges meet and share one type: the carry of a loop, the result of an
`if`, a value handed out of a scope or region. Passes that change types ask here and know no other control flow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue, Use

from cubelane.ir.kernel import BodyOp, YieldOp
from cubelane.ir.narrowing import is_one

_BOUNDS = 3
"""Operands of a for loop before its initial values: lower bound, upper bound, step."""


@dataclass(frozen=True)
class Slot:
    """An operand of an operation, by position."""

    op: Operation
    index: int

    @property
    def value(self) -> SSAValue:
        """The value in the slot now."""
        return self.op.operands[self.index]


class Join(NamedTuple):
    """Slot `index` of a compound op: the values that have its type, and the operands that arrive there."""

    owner: Operation
    targets: tuple[SSAValue, ...]
    sources: tuple[Slot, ...]

    @property
    def name(self) -> str | None:
        """The user's name of the value."""
        return next((t.name_hint for t in self.targets if t.name_hint), self.sources[-1].value.name_hint)


def terminator(region_owner: Operation, region: int) -> Operation:
    """The last op of a region with one block."""
    last = region_owner.regions[region].block.last_op
    assert last is not None
    return last


def joins_of(op: Operation) -> Iterator[Join]:
    """The joins of a compound op, in order of their results; none for other ops."""
    if is_one(op, scf.ForOp):
        end = terminator(op, 0)
        arguments = op.body.block.args[1:]
        for i, (argument, result) in enumerate(zip(arguments, op.results, strict=True)):
            yield Join(op, (argument, result), (Slot(op, _BOUNDS + i), Slot(end, i)))
    elif is_one(op, scf.IfOp):
        ends = [terminator(op, r) for r in range(2) if op.regions[r].blocks]
        for i, result in enumerate(op.results):
            yield Join(op, (result,), tuple(Slot(end, i) for end in ends))
    elif is_one(op, scf.WhileOp):
        condition, end = terminator(op, 0), terminator(op, 1)
        for i, argument in enumerate(op.before_region.block.args):
            yield Join(op, (argument,), (Slot(op, i), Slot(end, i)))
        for i, (argument, result) in enumerate(zip(op.after_region.block.args, op.results, strict=True)):
            yield Join(op, (argument, result), (Slot(condition, 1 + i),))
    elif is_one(op, BodyOp):
        for i, result in enumerate(op.results):
            yield Join(op, (result,), (Slot(op.yielded, i),))


def arrives_at(use: Use) -> tuple[SSAValue, ...]:
    """The block arguments and results that a used value becomes; empty when the use is no edge of control flow."""
    op, index = use.operation, use.index
    if is_one(op, scf.ForOp):
        i = index - _BOUNDS
        return (op.body.block.args[i + 1], op.results[i]) if i >= 0 else ()
    if is_one(op, scf.WhileOp):
        return (op.before_region.block.args[index],)
    parent = op.parent_op()
    if is_one(op, scf.ConditionOp):
        assert isinstance(parent, scf.WhileOp)
        return (parent.after_region.block.args[index - 1], parent.results[index - 1]) if index else ()
    if is_one(op, scf.YieldOp):
        if is_one(parent, scf.ForOp):
            return parent.body.block.args[index + 1], parent.results[index]
        if is_one(parent, scf.WhileOp):
            return (parent.before_region.block.args[index],)
        return (parent.results[index],) if parent is not None else ()
    if is_one(op, YieldOp) and parent is not None:
        return (parent.results[index],)
    return ()


def final_uses(value: SSAValue) -> Iterator[Use]:
    """The uses of a value that are no edges of control flow, followed through the edges."""
    pending, seen = [value], {value}
    while pending:
        for use in pending.pop().uses:
            targets = arrives_at(use)
            if not targets:
                yield use
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
