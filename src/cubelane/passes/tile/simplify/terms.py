"""The little language of the rules of Simplify: patterns of scalar expressions, and what to put in their place.

`x + 0` builds a term. A term is matched against an SSA value, which fills its holes, or it is built before an op from
what filled them; constants are computed while building. A hole that stands twice must be filled by one expression
twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.analysis.scalar_folding import Number, constant, folded, number_of
from cubelane.analysis.scalar_ranges import same
from cubelane.passes.tile.placement import insert

Filled = dict[str, SSAValue]
"""The values in the holes of a pattern, by name."""


class Term:
    """Part of a pattern or of what replaces it; Python's operators put terms together."""

    def match(self, value: SSAValue, filled: Filled) -> bool:
        """Whether a value has this form; fills holes."""
        raise NotImplementedError

    def build(self, anchor: Operation, type_: Attribute, filled: Filled) -> SSAValue:
        """The value of this form, made before `anchor`."""
        raise NotImplementedError

    def __add__(self, other: "Term | int") -> "Term":
        return Apply(arith.AddiOp, (self, term(other)))

    def __sub__(self, other: "Term | int") -> "Term":
        return Apply(arith.SubiOp, (self, term(other)))

    def __rsub__(self, other: int) -> "Term":
        return Apply(arith.SubiOp, (term(other), self))

    def __mul__(self, other: "Term | int") -> "Term":
        return Apply(arith.MuliOp, (self, term(other)))

    def __floordiv__(self, other: "Term | int") -> "Term":
        return Apply(arith.FloorDivSIOp, (self, term(other)))

    def __and__(self, other: "Term | int") -> "Term":
        return Apply(arith.AndIOp, (self, term(other)))

    def __or__(self, other: "Term | int") -> "Term":
        return Apply(arith.OrIOp, (self, term(other)))

    def __xor__(self, other: "Term | int") -> "Term":
        return Apply(arith.XOrIOp, (self, term(other)))


@dataclass(frozen=True, eq=False)
class Hole(Term):
    """Any scalar, or with `constant` a known whole number, or with `type_` one of a class of types."""

    name: str
    constant: bool = False
    type_: type[Attribute] | None = None

    def match(self, value: SSAValue, filled: Filled) -> bool:
        """Fills the hole, or compares the value with what fills it."""
        known = filled.get(self.name)
        if known is not None:
            return same(known, value)
        if self.constant and not isinstance(number_of(value), int):
            return False
        if self.type_ is not None and not isinstance(value.type, self.type_):
            return False
        filled[self.name] = value
        return True

    def build(self, anchor: Operation, type_: Attribute, filled: Filled) -> SSAValue:
        """What fills the hole."""
        return filled[self.name]


@dataclass(frozen=True, eq=False)
class Known(Term):
    """A number; -1 is also the truth value `true`, all ones."""

    number: Number

    def match(self, value: SSAValue, filled: Filled) -> bool:
        """Whether the value is this number."""
        return number_of(value) == self.number

    def build(self, anchor: Operation, type_: Attribute, filled: Filled) -> SSAValue:
        """A constant of the type that is wanted."""
        return insert(constant(self.number, type_), anchor).results[0]


@dataclass(frozen=True, eq=False)
class Apply(Term):
    """An op on terms."""

    kind: Callable[..., Operation]
    operands: tuple[Term, ...]

    def match(self, value: SSAValue, filled: Filled) -> bool:
        """Whether the value is made by this op from operands of these forms."""
        op = value.owner
        return isinstance(op, Operation) and type(op) is self.kind and self.match_operands(op, filled)

    def match_operands(self, op: Operation, filled: Filled) -> bool:
        """Whether the operands of an op of this kind have these forms."""
        return all(t.match(v, filled) for t, v in zip(self.operands, op.operands, strict=True))

    def build(self, anchor: Operation, type_: Attribute, filled: Filled) -> SSAValue:
        """The op, or the constant it gives."""
        operands = [t.build(anchor, type_, filled) for t in self.operands]
        made = self.kind(*operands)
        numbers = [number_of(v) for v in operands]
        known = folded(made, [n for n in numbers if n is not None]) if None not in numbers else None
        if known is not None:
            made.erase()
            made = constant(known, type_)
        return insert(made, anchor).results[0]


class Rule(NamedTuple):
    """`pattern` becomes `result`, if `given` holds of the numbers in the constant holes.

    A rule that is `exact` is right only where numbers do not wrap round: on an index.
    """

    pattern: Apply
    result: Term
    given: Callable[[dict[str, int]], bool] | None = None
    exact: bool = False


def term(value: "Term | int") -> Term:
    """A term as it is, a number as a term."""
    return value if isinstance(value, Term) else Known(value)


def applied(kind: Callable[..., Operation]) -> "Callable[..., Apply]":
    """A function that makes terms of an op that Python has no operator for."""
    return lambda *operands: Apply(kind, tuple(term(o) for o in operands))
