"""Scalars of one function, simplified in program order: each op sees what its operands have become."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.analysis.scalar_folding import Number, constant, folded, number_of
from cubelane.analysis.scalar_ranges import Ranges
from cubelane.ir.narrowing import is_one
from cubelane.passes.tile.placement import insert
from cubelane.passes.tile.simplify.extents import Extents
from cubelane.passes.tile.simplify.rules import rules_of
from cubelane.passes.tile.simplify.terms import Filled, Hole, Rule

_ROUNDS = 16
"""How often one expression is rewritten; every rule leads to fewer ops or nearer to the order of its operands."""

SCALAR_OPS = frozenset(
    (UnrealizedConversionCastOp, *(k for k in vars(arith).values() if isinstance(k, type) and issubclass(k, Operation)))
)
"""The ops of register values."""


class Scalars:
    """Rewrites scalar ops and removes those that nobody uses."""

    def __init__(self) -> None:
        self.ranges = Ranges()
        self.extents = Extents()

    def simplify(self, op: Operation) -> None:
        """Simplifies one scalar op: its uses take what it comes to."""
        for _ in range(_ROUNDS):
            if self._unused(op):
                self.remove(op)
                return
            value = None if is_one(op, arith.ConstantOp) else self._result(op)
            if value is None:
                return
            old = op.results[0]
            if value.name_hint is None:
                value.name_hint = old.name_hint
            self.extents.replace(old, value)
            self.remove(op)
            if not isinstance(value.owner, Operation) or type(value.owner) not in SCALAR_OPS:
                return
            op = value.owner

    def remove(self, op: Operation) -> None:
        """Removes an op whose results nobody uses, and what only it used."""
        todo = [op]
        while todo:
            dead = todo.pop()
            if dead.parent is None or type(dead) not in SCALAR_OPS or not self._unused(dead):
                continue
            makers = [v.owner for v in dead.operands if isinstance(v.owner, Operation)]
            dead.parent.erase_op(dead)
            todo += makers

    @staticmethod
    def _unused(op: Operation) -> bool:
        return all(result.first_use is None for result in op.results)

    def _result(self, op: Operation) -> SSAValue | None:
        """What an op comes to, None if nothing simpler is known."""
        if len(op.results) != 1:
            return None
        numbers = [number_of(v) for v in op.operands]
        if None not in numbers:
            number = folded(op, [n for n in numbers if n is not None])
            if number is not None:
                return self._constant(op, number)
            if len(numbers) > 1:
                return None
        return self._proven(op) or self._ruled(op)

    @staticmethod
    def _constant(op: Operation, number: Number) -> SSAValue:
        return insert(constant(number, op.results[0].type), op).results[0]

    def _proven(self, op: Operation) -> SSAValue | None:
        """What follows from the ranges of the operands."""
        if is_one(op, arith.CmpiOp):
            answer = self.ranges.decides(op)
            return None if answer is None else self._constant(op, -int(answer))
        if is_one(op, (arith.MinSIOp, arith.MaxSIOp)):
            a, b = self.ranges.of(op.lhs), self.ranges.of(op.rhs)
            first = a.high <= b.low if is_one(op, arith.MinSIOp) else a.low >= b.high
            second = b.high <= a.low if is_one(op, arith.MinSIOp) else b.low >= a.high
            return op.lhs if first else op.rhs if second else None
        if is_one(op, arith.FloorDivSIOp):
            number = self.ranges.of(op.result).number
            return None if number is None else self._constant(op, number)
        return None

    @staticmethod
    def _ruled(op: Operation) -> SSAValue | None:
        """The result of the first rule that applies."""
        type_: Attribute = op.results[0].type
        for rule in rules_of(op):
            filled: Filled = {}
            if rule.pattern.match_operands(op, filled) and _applies(rule, filled, type_):
                return rule.result.build(op, type_, filled)
        return None


def _applies(rule: Rule, filled: Filled, type_: Attribute) -> bool:
    """Whether a rule whose pattern fits holds of the numbers and of the type."""
    if rule.exact and not isinstance(type_, IndexType):
        return False
    if isinstance(rule.result, Hole) and filled[rule.result.name].type != type_:
        return False
    return rule.given is None or rule.given({name: int(number_of(v) or 0) for name, v in filled.items()})
