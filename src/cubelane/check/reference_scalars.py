"""What scalar ops compute, for the oracle."""
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, Signedness
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from cubelane.check.arrays import array_dtype
from cubelane.check.reference_words import divide
from cubelane.ir.types import is_float


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_TABLE: dict[str, Callable[..., Any]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "divsi": _truncated,
    "divui": operator.floordiv,
    "floordivsi": operator.floordiv,
    "ceildivsi": lambda a, b: -(-a // b),
    "ceildivui": lambda a, b: -(-a // b),
    "remsi": lambda a, b: a - b * _truncated(a, b),
    "remui": operator.mod,
    "minsi": min,
    "maxsi": max,
    "minui": min,
    "maxui": max,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "shli": operator.lshift,
    "shrsi": operator.rshift,
    "shrui": operator.rshift,
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "divf": lambda a, b: float(divide(float(a), float(b))),
    "negf": operator.neg,
    "minimumf": min,
    "maximumf": max,
    "minnumf": min,
    "maxnumf": max,
    "select": lambda c, a, b: a if c else b,
    "sitofp": float,
    "uitofp": float,
    "fptosi": int,
    "fptoui": int,
    "extui": int,
    **dict.fromkeys(("index_cast", "extsi", "trunci", "extf", "truncf"), lambda a: a),
}
_ORDER = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_UNSIGNED_ORDER = {6: operator.lt, 7: operator.le, 8: operator.gt, 9: operator.ge}
_FLOAT_ORDER = {
    **dict.fromkeys((1, 8), operator.eq),
    **dict.fromkeys((2, 9), operator.gt),
    **dict.fromkeys((3, 10), operator.ge),
    **dict.fromkeys((4, 11), operator.lt),
    **dict.fromkeys((5, 12), operator.le),
    **dict.fromkeys((6, 13), operator.ne),
}


def is_scalar_op(op: Operation) -> bool:
    """Whether the op belongs to `arith`."""
    return op.name.startswith("arith.")


def scalar(op: Operation, operands: list[Any]) -> Any:
    """The value of a scalar op."""
    if isinstance(op, arith.ConstantOp):
        value = op.value
        if isinstance(value, FloatAttr):
            return float(value.value.data)
        assert isa(value, IntegerAttr)
        number: int = value.value.data
        return bool(number) if array_dtype(op.result.type) == np.bool_ else number
    if isinstance(op, arith.CmpiOp):
        kind = op.predicate.value.data
        return (_UNSIGNED_ORDER.get(kind) or _ORDER[kind])(*operands)
    if isinstance(op, arith.CmpfOp):
        return _FLOAT_ORDER[op.predicate.value.data](*operands)
    return _held(_TABLE[op.name.removeprefix("arith.")](*operands), op)


def _held(value: Any, op: Operation) -> Any:
    """The value as its type can hold it."""
    type_ = op.results[0].type
    if isinstance(type_, IndexType):
        return value
    if isa(type_, IntegerType):
        width, signed = type_.width.data, type_.signedness.data is not Signedness.UNSIGNED
        if width == 1:
            return bool(value & 1)
        half = 1 << (width - 1)
        return (value + half) % (2 * half) - half if signed else value % (2 * half)
    return float(np.asarray(value, np.float64).astype(array_dtype(type_))) if is_float(type_) else value
