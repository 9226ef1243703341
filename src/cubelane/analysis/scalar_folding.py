"""What `arith` ops give for known numbers, at the width of their type: the one table of it below the executors.

Whole numbers are two's complement and wrap round; an index is 64 bits wide and is not folded past that. Signless bits
count as unsigned for the ops that say so. A truth value is 0 or -1, all ones being `true`.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float16Type, Float32Type, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.ir.narrowing import is_integer, is_one
from cubelane.ir.types import is_float

Number = int | float
_INDEX_BITS = 64


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


SIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.DivSIOp: _truncated,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.RemSIOp: lambda a, b: a - b * _truncated(a, b),
}
"""Ops on whole numbers that read their operands with a sign, or whose bits do not depend on it."""

UNSIGNED: dict[type[Operation], Callable[[int, int], int]] = {
    arith.MinUIOp: min,
    arith.MaxUIOp: max,
    arith.DivUIOp: lambda a, b: a // b,
    arith.CeilDivUIOp: lambda a, b: -(-a // b),
    arith.RemUIOp: lambda a, b: a % b,
}
"""Ops on whole numbers that read their operands without a sign."""

SHIFTS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.ShLIOp: lambda a, b: a << b,
    arith.ShRSIOp: lambda a, b: a >> b,
    arith.ShRUIOp: lambda a, b: a >> b,
}
"""Ops whose second operand counts bits."""

DIVISIONS = (
    arith.FloorDivSIOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)
"""Ops that have no answer when their second operand is zero."""

_ORDER: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)
COMPARE: tuple[Callable[[int, int], bool], ...] = (lambda a, b: a == b, lambda a, b: a != b, *_ORDER, *_ORDER)
"""Comparisons of whole numbers by the number of their predicate, first with a sign and then without."""
FIRST_UNSIGNED = 6

REAL: dict[type[Operation], Callable[[float, float], float]] = {
    arith.AddfOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b,
}
"""Ops on floats whose 64-bit result, rounded once more, is the exact one rounded once (16 and 32 bits)."""

_PACKED: dict[type, str] = {Float32Type: "<f", Float16Type: "<e"}


def width(type_: Attribute) -> int:
    """How many bits a whole number of a type has."""
    return type_.width.data if is_integer(type_) else _INDEX_BITS


def unsigned(number: int, type_: Attribute) -> int:
    """The bits of a number, read without a sign."""
    return number & ((1 << width(type_)) - 1)


def wrapped(number: int, type_: Attribute) -> int | None:
    """A number as its type holds it; None for an index that would not fit."""
    half = 1 << (width(type_) - 1)
    if is_integer(type_):
        return (number + half) % (2 * half) - half
    return number if -half <= number < half else None


def rounded(number: float, type_: Attribute) -> float | None:
    """A float as its type holds it; None where the type is another or the number is none."""
    code = _PACKED.get(type(type_))
    if code is None or number != number:
        return None
    try:
        return struct.unpack(code, struct.pack(code, number))[0]
    except OverflowError:
        return None


def number_of(value: SSAValue) -> Number | None:
    """The number a value is known to hold."""
    owner = value.owner
    if not is_one(owner, arith.ConstantOp):
        return None
    constant = owner.value
    if isinstance(constant, IntegerAttr):
        known: int = constant.value.data
        return -(known & 1) if width(value.type) == 1 else known
    return constant.value.data if isinstance(constant, FloatAttr) else None


def constant(number: Number, type_: Any) -> arith.ConstantOp:
    """A constant op of a type."""
    if is_float(type_):
        return arith.ConstantOp(FloatAttr(float(number), type_))
    whole = int(number)
    return arith.ConstantOp(IntegerAttr(whole & 1 if width(type_) == 1 else whole, type_))


def folded(op: Operation, numbers: Sequence[Number]) -> Number | None:
    """What an op gives for known operands; None where that is not known or is an error when it runs."""
    kind, type_ = type(op), op.results[0].type
    if kind in REAL:
        return rounded(REAL[kind](numbers[0], numbers[1]), type_)
    if any(isinstance(n, float) for n in numbers):
        return None
    whole = [int(n) for n in numbers]
    if is_one(op, arith.CmpiOp):
        return _compared(op, whole)
    if kind in _CASTS:
        return wrapped(_CASTS[kind](whole[0], op.operands[0].type), type_)
    return None if len(whole) != 2 else _binary(op, kind, whole[0], whole[1], type_)


def _binary(op: Operation, kind: type[Operation], a: int, b: int, type_: Attribute) -> int | None:
    if kind in DIVISIONS and b == 0:
        return None
    if kind in SIGNED:
        return wrapped(SIGNED[kind](a, b), type_)
    if kind in UNSIGNED:
        return wrapped(UNSIGNED[kind](unsigned(a, type_), unsigned(b, type_)), type_)
    if kind in SHIFTS and 0 <= b < width(type_):
        return wrapped(SHIFTS[kind](unsigned(a, type_) if kind is arith.ShRUIOp else a, b), type_)
    return None


def _compared(op: arith.CmpiOp, numbers: Sequence[int]) -> int:
    predicate, type_ = op.predicate.value.data, op.operands[0].type
    if predicate >= FIRST_UNSIGNED:
        numbers = [unsigned(n, type_) for n in numbers]
    return -int(COMPARE[predicate](numbers[0], numbers[1]))


_CASTS: dict[type[Operation], Callable[[int, Attribute], int]] = {
    arith.IndexCastOp: lambda a, _: a,
    arith.ExtSIOp: lambda a, _: a,
    arith.ExtUIOp: unsigned,
    arith.TruncIOp: lambda a, _: a,
}
"""Casts between whole numbers: what becomes of the number before it is held by the new type."""
