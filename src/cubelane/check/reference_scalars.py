"""What scalar ops compute, for the oracle."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from cubelane.check.arrays import array_dtype
from cubelane.check.reference_words import divide
from cubelane.ir.types import is_float


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _truncated(a, b)


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _divided(a: float, b: float) -> float:
    return float(divide(float(a), float(b)))


def _chosen(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


def _same(a: Any) -> Any:
    return a


_PYTHON = {
    **dict.fromkeys(("addi", "addf"), "add"),
    **dict.fromkeys(("subi", "subf"), "sub"),
    **dict.fromkeys(("muli", "mulf"), "mul"),
    **dict.fromkeys(("divui", "floordivsi"), "floordiv"),
    "remui": "mod",
    "andi": "and_",
    "ori": "or_",
    "xori": "xor",
    "shli": "lshift",
    **dict.fromkeys(("shrsi", "shrui"), "rshift"),
    "negf": "neg",
}
"""Ops that are an operator of Python."""

_TABLE: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, word) for name, word in _PYTHON.items()},
    "divsi": _truncated,
    "remsi": _remainder,
    **dict.fromkeys(("ceildivsi", "ceildivui"), _ceil_div),
    "divf": _divided,
    **dict.fromkeys(("minsi", "minui", "minimumf", "minnumf"), min),
    **dict.fromkeys(("maxsi", "maxui", "maximumf", "maxnumf"), max),
    "select": _chosen,
    **dict.fromkeys(("sitofp", "uitofp"), float),
    **dict.fromkeys(("fptosi", "fptoui", "extui"), int),
    **dict.fromkeys(("index_cast", "extsi", "trunci", "extf", "truncf"), _same),
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
    """Whether the op belongs to `arith`, or sees the bits of an unsigned scalar as those of a signless one."""
    return op.name.startswith("arith.") or isinstance(op, UnrealizedConversionCastOp)


def scalar(op: Operation, operands: list[Any]) -> Any:
    """The value of a scalar op."""
    if isinstance(op, arith.ConstantOp):
        value = op.value
        if isinstance(value, FloatAttr):
            return float(value.value.data)
        assert isa(value, IntegerAttr)
        number: int = value.value.data
        return bool(number) if array_dtype(op.result.type) == np.bool_ else number
    if isinstance(op, UnrealizedConversionCastOp):
        return _held(operands[0], op)
    if _reads_unsigned(op):
        operands = [_unsigned(x, o.type) for x, o in zip(operands, op.operands, strict=True)]
    if isinstance(op, arith.CmpiOp):
        kind = op.predicate.value.data
        return (_UNSIGNED_ORDER.get(kind) or _ORDER[kind])(*operands)
    if isinstance(op, arith.CmpfOp):
        return _FLOAT_ORDER[op.predicate.value.data](*operands)
    return _held(_TABLE[op.name.removeprefix("arith.")](*operands), op)


def _reads_unsigned(op: Operation) -> bool:
    """Whether an op takes its signless operands for unsigned numbers."""
    if isinstance(op, arith.CmpiOp):
        return op.predicate.value.data in _UNSIGNED_ORDER
    return op.name.endswith("ui") or op.name in ("arith.extui", "arith.uitofp")


def _unsigned(value: Any, type_: Attribute) -> Any:
    """The number that the bits of a signless scalar are without a sign."""
    return value % (1 << type_.width.data) if isa(type_, IntegerType) else value


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
