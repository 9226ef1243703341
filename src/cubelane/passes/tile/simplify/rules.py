"""The rules of Simplify, as data (spec/front.md 3.3). Constants are known before a rule is tried.

The last operand of what commutes is the constant one. `a % b` is written `a - a // b * b`, which the rules on quotients
take apart where the divisor goes into a factor. A division by zero stays: it is an error at its place.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Operation

from cubelane.passes.tile.simplify.terms import Apply, Hole, Known, Rule, Term, applied

Numbers = dict[str, int]
"""The numbers in the constant holes of a pattern."""

x, y = Hole("x"), Hole("y")
a, b = Hole("a", constant=True), Hole("b", constant=True)
narrow = Hole("x", type_=IntegerType)
TRUE, FALSE = Known(-1), Known(0)

smaller, larger = applied(arith.MinSIOp), applied(arith.MaxSIOp)
below, above = applied(arith.MinUIOp), applied(arith.MaxUIOp)
shifted, halved, unsigned_halved = applied(arith.ShLIOp), applied(arith.ShRSIOp), applied(arith.ShRUIOp)
quotient, unsigned_rest = applied(arith.DivUIOp), applied(arith.RemUIOp)
chosen = applied(arith.SelectOp)
as_index, sign_extended, cut = applied(arith.IndexCastOp), applied(arith.ExtSIOp), applied(arith.TruncIOp)
unsigned_extended, seen_as = applied(arith.ExtUIOp), applied(UnrealizedConversionCastOp)
times, over, less, negated = applied(arith.MulfOp), applied(arith.DivfOp), applied(arith.SubfOp), applied(arith.NegfOp)

COMMUTE = (
    *(arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp),
)


def _rule(pattern: Term, result: Term) -> Rule:
    return Rule(cast(Apply, pattern), result)


def _exact(pattern: Term, result: Term, given: Callable[[Numbers], bool]) -> Rule:
    return Rule(cast(Apply, pattern), result, given, exact=True)


def _goes_into_factor(numbers: Numbers) -> bool:
    return numbers["b"] > 0 and numbers["a"] % numbers["b"] == 0


def _holds_factor(numbers: Numbers) -> bool:
    return _both_positive(numbers) and numbers["b"] % numbers["a"] == 0


def _both_positive(numbers: Numbers) -> bool:
    return numbers["a"] > 0 and numbers["b"] > 0


def _small_negative(numbers: Numbers) -> bool:
    """Whether it is a number that the narrowest type can negate."""
    return -127 <= numbers["a"] < 0


IDENTITIES: tuple[Rule, ...] = (
    *(_rule(term, x) for term in (x + 0, x - 0, x * 1, x // 1, x | 0, x ^ 0, x & -1)),
    *(_rule(term, x) for term in (shifted(x, 0), halved(x, 0), unsigned_halved(x, 0), quotient(x, 1))),
    *(_rule(term, x) for term in (x & x, x | x, smaller(x, x), larger(x, x), below(x, x), above(x, x))),
    *(_rule(term, Known(0)) for term in (x * 0, x & 0, x - x, x ^ x, unsigned_rest(x, 1))),
    _rule(x | -1, Known(-1)),
    _rule((x + y) - y, x),
    _rule((x + y) - x, y),
    _rule((x - y) + y, x),
)
CHOICES: tuple[Rule, ...] = (
    _rule(chosen(TRUE, x, y), x),
    _rule(chosen(FALSE, x, y), y),
    _rule(chosen(Hole("c"), x, x), x),
)
CASTS: tuple[Rule, ...] = (
    _rule(as_index(as_index(narrow)), x),
    *(_rule(cut(wider(x)), x) for wider in (sign_extended, unsigned_extended)),
    _rule(seen_as(seen_as(x)), x),
)
"""Casts there and back; a rule whose result has another type than its pattern does not apply."""

CONSTANTS: tuple[Rule, ...] = (
    *(_rule(Apply(kind, (a, x)), Apply(kind, (x, a))) for kind in COMMUTE),
    Rule(cast(Apply, x + a), x - (0 - a), _small_negative),
    Rule(cast(Apply, x - a), x + (0 - a), _small_negative),
    _rule((x + a) + b, x + (a + b)),
    _rule((x + a) - b, x + (a - b)),
    _rule((x - a) + b, x + (b - a)),
    _rule((x - a) - b, x - (a + b)),
    *(_rule(Apply(k, (Apply(k, (x, a)), b)), Apply(k, (x, Apply(k, (a, b))))) for k in COMMUTE[1:]),
)
"""Constants meet; a distance is written without a sign of its own."""

QUOTIENTS: tuple[Rule, ...] = (
    _exact((x * a) // b, x * (a // b), _goes_into_factor),
    _exact((x * a) // b, x // (b // a), _holds_factor),
    _exact((x * a + y) // b, x * (a // b) + y // b, _goes_into_factor),
    _exact((x // a) // b, x // (a * b), _both_positive),
)

REALS: tuple[Rule, ...] = (
    _rule(times(x, Known(1.0)), x),
    _rule(times(Known(1.0), x), x),
    _rule(over(x, Known(1.0)), x),
    _rule(negated(negated(x)), x),
)
"""What holds for every float, the sign of zero and what is no number included."""

BY_KIND: dict[object, list[Rule]] = defaultdict(list)
"""The rules by the op at the root of their pattern."""
for _each in (*IDENTITIES, *CHOICES, *CASTS, *CONSTANTS, *QUOTIENTS, *REALS):
    BY_KIND[_each.pattern.kind].append(_each)


def rules_of(op: Operation) -> list[Rule]:
    """The rules whose pattern has an op like this at its root."""
    return BY_KIND.get(type(op), [])
