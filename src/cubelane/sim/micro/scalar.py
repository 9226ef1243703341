"""The scalar unit's arithmetic: what the ops of `arith` and the pointer ops mean (spec/pto.md 2.5, 11.2)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation

from cubelane.ir.diagnostic import refuse
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import PtrType, element_bits
from cubelane.sim.micro.elements import dtype_of, integer_bits, wrapped
from cubelane.sim.micro.memory import Fault

Binary = Callable[[Any, Any], Any]
Function = Callable[[], Any] | Callable[[Any], Any] | Binary | Callable[[Any, Any, Any], Any]


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise Fault("division by zero", code="division-by-zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor(a: int, b: int) -> int:
    if b == 0:
        raise Fault("division by zero", code="division-by-zero")
    return a // b


_INTEGER: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _quotient,
    "arith.floordivsi": _floor,
    "arith.ceildivsi": lambda a, b: -_floor(-a, b),
    "arith.remsi": lambda a, b: a - b * _quotient(a, b),
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b,
    "arith.shrsi": lambda a, b: a >> b,
    "arith.minsi": min,
    "arith.maxsi": max,
}
_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.divui": _floor,
    "arith.ceildivui": lambda a, b: -_floor(-a, b),
    "arith.remui": lambda a, b: a - b * _floor(a, b),
    "arith.shrui": lambda a, b: a >> b,
    "arith.minui": min,
    "arith.maxui": max,
}
_FLOAT: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.minimumf": lambda a, b: np.minimum(a, b),
    "arith.maximumf": lambda a, b: np.maximum(a, b),
    "arith.minnumf": lambda a, b: np.fmin(a, b),
    "arith.maxnumf": lambda a, b: np.fmax(a, b),
}
_COMPARE: list[Callable[[Any, Any], bool]] = [
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b,
    lambda a, b: a >= b,
]  # fmt: skip
_COMPARE_FLOAT = {1: 0, 2: 4, 3: 5, 4: 2, 5: 3, 6: 1, 8: 0, 9: 4, 10: 5, 11: 2, 12: 3, 13: 1}
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


def bits_of(kind: Attribute) -> int:
    """The width of an integer type; an index has 64 bits."""
    return integer_bits(kind) or 64


def scalar_function(op: Operation) -> Function | None:
    """What a pure scalar op computes from its operands; None for ops that are none."""
    if isinstance(op, arith.ConstantOp):
        return _constant(op)
    if isinstance(op, UnrealizedConversionCastOp):
        return _conversion(op)
    if isinstance(op, PtoOp):
        return _pointer(op)
    if op.name in _FLOAT:
        compute, kind = _FLOAT[op.name], dtype_of(op.results[0].type).type
        return lambda a, b: kind(compute(a, b))
    if op.name in _INTEGER or op.name in _UNSIGNED:
        return _integer(op)
    return _other(op)


def _constant(op: arith.ConstantOp) -> Function:
    stored = op.value
    if isinstance(stored, IntegerAttr):
        number = stored.value.data
        result: Any = bool(number) if bits_of(stored.type) == 1 else number
    elif isinstance(stored, FloatAttr):
        result = dtype_of(op.results[0].type).type(stored.value.data)
    else:
        raise refuse(op, f"the machine does not model constants of type {op.results[0].type}", code="not-modelled")
    return lambda: result


def _integer(op: Operation) -> Function:
    bits = bits_of(op.results[0].type)
    if op.name in _INTEGER:
        compute = _INTEGER[op.name]
        if bits == 1:
            return lambda a, b: bool(compute(int(a), int(b)) & 1)
        limit = 1 << (bits - 1)

        def run(a: int, b: int) -> int:
            result = compute(a, b)
            return result if -limit <= result < limit else wrapped(result, bits)

        return run
    compute, mask = _UNSIGNED[op.name], (1 << bits) - 1
    return lambda a, b: wrapped(compute(a & mask, b & mask), bits)


def _other(op: Operation) -> Function | None:
    if isinstance(op, arith.CmpiOp):
        code = op.predicate.value.data
        if code < 6:
            return _COMPARE[code]
        compare, mask = _COMPARE[code - 4], (1 << bits_of(op.lhs.type)) - 1
        return lambda a, b: compare(a & mask, b & mask)
    if isinstance(op, arith.CmpfOp):
        number = _COMPARE_FLOAT.get(op.predicate.value.data)
        return None if number is None else _float_comparison(_COMPARE[number])
    if isinstance(op, arith.SelectOp):
        return lambda c, a, b: a if c else b
    if op.name in _CASTS:
        return _cast(op)
    if op.name in ("arith.sitofp", "arith.extf", "arith.truncf", "arith.uitofp"):
        target = dtype_of(op.results[0].type).type
        return lambda a: target(a)
    if op.name in ("arith.fptosi", "arith.fptoui"):
        bits = bits_of(op.results[0].type)
        return lambda a: wrapped(int(a), bits)
    if op.name == "arith.negf":
        return lambda a: -a
    return None


def _float_comparison(compare: Callable[[Any, Any], bool]) -> Function:
    return lambda a, b: bool(compare(a, b))


def _cast(op: Operation) -> Function:
    source, target = bits_of(op.operands[0].type), bits_of(op.results[0].type)
    if op.name in ("arith.extui", "arith.index_castui"):
        mask = (1 << source) - 1
        return lambda a: int(a) & mask
    if target == 1:
        return lambda a: bool(a & 1)
    return lambda a: wrapped(int(a), target)


def _conversion(op: Operation) -> Function:
    kind = op.results[0].type
    if isinstance(kind, IntegerType) or isinstance(kind, IndexType):
        bits, signed = bits_of(op.results[0].type), dtype_of(op.results[0].type).kind != "u"
        return lambda a: wrapped(int(a), bits, signed)
    return lambda a: a


def _pointer(op: PtoOp) -> Function | None:
    name = op.decl.name
    if name in ("castptr", "ptrtoint", "inttoptr"):
        return lambda a: int(a)
    if name == "tile_buf_addr":
        return lambda tile: tile.start
    if name == "addptr":
        kind = op.operands[0].type
        if not isinstance(kind, PtrType):
            return None
        bits = element_bits(kind.element) or 8
        return lambda base, offset: base + offset * bits // 8
    if name in ("sbitset0", "sbitset1"):
        return (lambda v, b: v | 1 << b) if name == "sbitset1" else (lambda v, b: v & ~(1 << b))
    return None
