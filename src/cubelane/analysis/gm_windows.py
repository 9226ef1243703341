"""Which part of a tensor an op touches, and whether two parts can meet (spec/passes.md 5.7).

Offsets are read as sums of products with constants; what is none of these is a symbol of its own. Two windows of one
run of the program differ by a number when their symbols cancel; else the ranges of loop counters decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import constant_of
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.types import DYNAMIC, TileType


@dataclass(frozen=True)
class Linear:
    """`constant + sum(factor * symbol)`."""

    constant: int = 0
    terms: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def plus(self, other: "Linear", factor: int = 1) -> "Linear":
        """The sum of this and `factor` times another form."""
        terms = dict(self.terms)
        for symbol, count in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + factor * count
        return Linear(self.constant + factor * other.constant, {s: c for s, c in terms.items() if c})


def linear(value: SSAValue, depth: int = 32) -> Linear:
    """The linear form of an index."""
    known = constant_of(value)
    if known is not None:
        return Linear(known)
    op = value.owner
    if depth and is_one(op, (arith.AddiOp, arith.SubiOp)):
        factor = 1 if is_one(op, arith.AddiOp) else -1
        return linear(op.lhs, depth - 1).plus(linear(op.rhs, depth - 1), factor)
    if depth and is_one(op, arith.MuliOp):
        for number, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (factor := constant_of(number)) is not None:
                return Linear().plus(linear(other, depth - 1), factor)
    if depth and is_one(op, (arith.IndexCastOp, arith.ExtSIOp)):
        return linear(op.operands[0], depth - 1)
    return Linear(0, {value: 1})


class Window(NamedTuple):
    """Offset and extent per axis; None is an extent that nobody knows."""

    offsets: tuple[Linear, ...]
    extents: tuple[int | None, ...]

    @staticmethod
    def of(op: Operation) -> "Window | None":
        """The window that a load, store, read or write of a tensor touches; None where it cannot be read off."""
        offsets = list(getattr(op, "offsets", None) or getattr(op, "position", None) or ())
        if not offsets:
            return None
        tile = getattr(op, "tile", None)
        moved = tile.type if is_value(tile) else op.results[0].type
        box: list[int | None] = []
        if isinstance(moved, TileType):
            box = [b if v == DYNAMIC else v for b, v in zip(moved.shape, moved.valid, strict=True)]
        box = [1] * (len(offsets) - len(box)) + box
        if len(box) != len(offsets) or getattr(op, "shapes", ()):
            return None
        return Window(tuple(linear(o) for o in offsets), tuple(box))


def counters_range(symbol: SSAValue) -> tuple[int, int] | None:
    """Smallest and largest value of a loop counter with constant bounds, or of the lane index."""
    if is_one(symbol.owner, SubblockIdxOp):
        return 0, 1
    loop = symbol.owner.parent_op() if isinstance(symbol.owner, Block) else None
    if not is_one(loop, ForOp) or symbol is not loop.body.block.args[0]:
        return None
    lower, upper, step = (constant_of(v) for v in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or step is None or step <= 0 or upper <= lower:
        return None
    return lower, lower + (upper - 1 - lower) // step * step


def value_range(form: Linear) -> tuple[int, int] | None:
    """Bounds of a linear form, None where a symbol has none."""
    low = high = form.constant
    for symbol, factor in form.terms.items():
        bounds = counters_range(symbol)
        if bounds is None:
            return None
        ends = (factor * bounds[0], factor * bounds[1])
        low, high = low + min(ends), high + max(ends)
    return low, high


def _apart(low: int, high: int, first: int, second: int) -> bool:
    """Whether [0, first) and [d, d + second) never meet for any d in [low, high]."""
    return low >= first or high + second <= 0


def may_meet(one: Window | None, two: Window | None, around: Operation | None = None) -> bool:
    """Whether two windows can have an element in common.

    Without `around` both are of one run (the same values of all common symbols); with it, they belong to different
    trips of that loop.
    """
    if one is None or two is None or len(one.offsets) != len(two.offsets):
        return True
    return all(
        first is None or second is None or not _axis_apart(a, b, first, second, around)
        for a, b, first, second in zip(one.offsets, two.offsets, one.extents, two.extents, strict=True)
    )


def _axis_apart(a: Linear, b: Linear, first: int, second: int, around: Operation | None) -> bool:
    if around is not None:
        return _trips_apart(a, b, first, second, around) or _ranges_apart(a, b, first, second)
    difference = b.plus(a, -1)
    bounds = value_range(difference)
    if bounds is not None and _apart(*bounds, first, second):
        return True
    return _ranges_apart(a, b, first, second)


def _ranges_apart(a: Linear, b: Linear, first: int, second: int) -> bool:
    mine, other = value_range(a), value_range(b)
    if mine is None or other is None:
        return False
    return other[0] >= mine[1] + first or mine[0] >= other[1] + second


def _trips_apart(a: Linear, b: Linear, first: int, second: int, around: Operation) -> bool:
    """Different trips of a loop: its counter differs by a multiple of the step."""
    if not is_one(around, ForOp):
        return False
    counter, step = around.body.block.args[0], constant_of(around.step)
    factor = a.terms.get(counter, 0)
    if step is None or not factor or factor != b.terms.get(counter, 0):
        return False
    rest = b.plus(a, -1)
    if any(_inside(symbol, around) for symbol in {*a.terms, *b.terms} - {counter}) or rest.terms:
        return False
    period = abs(factor * step)
    offset = rest.constant % period
    if rest.constant == 0:
        # the same window moves by a whole period from trip to trip
        return period >= first and period >= second
    return offset >= first and period - offset >= second


def _inside(symbol: SSAValue, loop: Operation) -> bool:
    """Whether a symbol is made anew in each trip."""
    owner = symbol.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None:
        if op is loop:
            return True
        op = op.parent_op()
    return False
