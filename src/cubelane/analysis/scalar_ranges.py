"""Between which numbers a scalar lies, wherever the program stands: intervals over whole numbers.

A loop variable lies between the bounds of its loop, a lane is 0 or 1, an extent is not negative; arithmetic carries
that on. What may wrap round is unknown. `Ranges.difference` knows how far two values are apart that differ by a
constant only, whatever they are.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.scalar_folding import FIRST_UNSIGNED, number_of, width
from cubelane.ir.gm.memory import DimOp
from cubelane.ir.narrowing import is_integer, is_one
from cubelane.ir.tile.channel import BlockIdxOp, BlockNumOp, SubblockIdxOp

_DEPTH = 12
"""How many ops deep two expressions are compared."""


class Range(NamedTuple):
    """All whole numbers from `low` to `high`, both included; infinite where nothing is known."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def number(self) -> int | None:
        """The only number in the range, None where there are several."""
        return int(self.low) if self.low == self.high else None


UNKNOWN = Range()
TRUTH = Range(-1, 0)


def _product(a: float, b: float) -> float:
    return 0 if a == 0 or b == 0 else a * b


def _times(a: Range, b: Range) -> Range:
    corners = [_product(x, y) for x in a for y in b]
    return Range(min(corners), max(corners))


def _floor_divided(a: Range, b: Range) -> Range:
    if not 1 <= b.low < math.inf:
        return UNKNOWN
    corners = [_floored(x, y) for x in a for y in b]
    return Range(min(corners), max(corners))


def _floored(a: float, b: float) -> float:
    if math.isinf(b):
        return -1 if a < 0 else 0
    return a if math.isinf(a) else int(a) // int(b)


_TRANSFER: dict[type[Operation], Callable[[Range, Range], Range]] = {
    arith.AddiOp: lambda a, b: Range(a.low + b.low, a.high + b.high),
    arith.SubiOp: lambda a, b: Range(a.low - b.high, a.high - b.low),
    arith.MuliOp: _times,
    arith.FloorDivSIOp: _floor_divided,
    arith.MinSIOp: lambda a, b: Range(min(a.low, b.low), min(a.high, b.high)),
    arith.MaxSIOp: lambda a, b: Range(max(a.low, b.low), max(a.high, b.high)),
}
_SOURCES: dict[type[Operation], Range] = {
    SubblockIdxOp: Range(0, 1),
    BlockIdxOp: Range(0),
    BlockNumOp: Range(1),
    DimOp: Range(0),
}


def same(a: SSAValue, b: SSAValue, depth: int = _DEPTH) -> bool:
    """Whether two scalars are one expression: one value, or one op on the same operands."""
    if a is b:
        return True
    first, second = a.owner, b.owner
    if not depth or isinstance(first, Block) or isinstance(second, Block) or type(first) is not type(second):
        return False
    if not first.name.startswith("arith.") or a.type != b.type or first.properties != second.properties:
        return False
    return all(same(x, y, depth - 1) for x, y in zip(first.operands, second.operands, strict=True))


class Ranges:
    """The ranges of the scalars of a function."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Range] = {}

    def of(self, value: SSAValue, depth: int = _DEPTH) -> Range:
        """The range of one scalar; nothing is known of what is computed from values more than `depth` ops away."""
        known = self._known.get(value)
        if known is None:
            known = _held(self._computed(value, depth - 1), value) if depth else UNKNOWN
            self._known[value] = known
        return known

    def _computed(self, value: SSAValue, depth: int) -> Range:
        owner = value.owner
        if isinstance(owner, Block):
            return self._loop_variable(owner, value, depth)
        number = number_of(value)
        if isinstance(number, int):
            return Range(number, number)
        kind = type(owner)
        if kind in _SOURCES:
            return _SOURCES[kind]
        if is_one(owner, (arith.IndexCastOp, arith.ExtSIOp)):
            return self.of(owner.operands[0], depth)
        if is_one(owner, arith.SelectOp):
            a, b = self.of(owner.operands[1], depth), self.of(owner.operands[2], depth)
            return Range(min(a.low, b.low), max(a.high, b.high))
        if kind not in _TRANSFER:
            return UNKNOWN
        if is_one(owner, arith.SubiOp) and (rest := self._remainder(owner, depth)):
            return rest
        return _TRANSFER[kind](self.of(owner.operands[0], depth), self.of(owner.operands[1], depth))

    def _remainder(self, op: arith.SubiOp, depth: int) -> Range | None:
        """`a - a // b * b`, which is how `a % b` is written."""
        whole = op.rhs.owner
        quotient = whole.lhs.owner if is_one(whole, arith.MuliOp) else None
        if is_one(whole, arith.MuliOp) and is_one(quotient, arith.FloorDivSIOp):
            divisor = self.of(quotient.rhs, depth)
            if same(quotient.lhs, op.lhs) and same(quotient.rhs, whole.rhs) and divisor.low >= 1:
                return Range(0, divisor.high - 1)
        return None

    def _loop_variable(self, block: Block, value: SSAValue, depth: int) -> Range:
        loop = block.parent_op()
        if not is_one(loop, scf.ForOp) or loop.body.block is not block or block.args[0] is not value:
            return UNKNOWN
        return Range(self.of(loop.lb, depth).low, self.of(loop.ub, depth).high - 1)

    def decides(self, op: arith.CmpiOp) -> bool | None:
        """What a comparison always gives; None where it may be either."""
        predicate = op.predicate.value.data
        a, b = self.of(op.lhs), self.of(op.rhs)
        if predicate >= FIRST_UNSIGNED:
            if a.low < 0 or b.low < 0:
                return None
            predicate -= 4
        away = self.difference(op.lhs, op.rhs)
        apart = Range(away, away) if away is not None else Range(*_apart(a, b))
        return _DECIDES[predicate](apart)

    def difference(self, a: SSAValue, b: SSAValue) -> int | None:
        """`a - b` if it is a constant; only for an index, which does not wrap round."""
        if same(a, b):
            return 0
        if not isinstance(a.type, IndexType):
            return None
        (left, more), (right, less) = _offset(a), _offset(b)
        if left is None or right is None:
            return more - less if left is right else None
        return more - less if same(left, right) else None


def _apart(a: Range, b: Range) -> tuple[float, float]:
    low, high = a.low - b.high, a.high - b.low
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)


def _sign(always: bool, never: bool) -> bool | None:
    return True if always else False if never else None


_DECIDES: Sequence[Callable[[Range], bool | None]] = (
    lambda d: _sign(d.low == d.high == 0, d.low > 0 or d.high < 0),
    lambda d: _sign(d.low > 0 or d.high < 0, d.low == d.high == 0),
    lambda d: _sign(d.high < 0, d.low >= 0),
    lambda d: _sign(d.high <= 0, d.low > 0),
    lambda d: _sign(d.low > 0, d.high <= 0),
    lambda d: _sign(d.low >= 0, d.high < 0),
)
"""By the number of the predicate (eq, ne, lt, le, gt, ge): what the difference of the operands says about it."""


def _offset(value: SSAValue) -> tuple[SSAValue | None, int]:
    """A value as another one and a constant distance from it; no other one for a constant."""
    number = number_of(value)
    if isinstance(number, int):
        return None, number
    owner = value.owner
    if is_one(owner, (arith.AddiOp, arith.SubiOp)):
        distance = number_of(owner.operands[1])
        if isinstance(distance, int):
            return owner.operands[0], distance if is_one(owner, arith.AddiOp) else -distance
    return value, 0


def _held(range_: Range, value: SSAValue) -> Range:
    """A range, or what the type holds where the numbers might wrap round."""
    type_ = value.type
    if is_integer(type_):
        if width(type_) == 1:
            return range_ if -1 <= range_.low <= range_.high <= 0 else TRUTH
        half = 1 << (width(type_) - 1)
        return range_ if -half <= range_.low <= range_.high < half else Range(-half, half - 1)
    return range_ if isinstance(type_, IndexType) and range_.low <= range_.high else UNKNOWN
