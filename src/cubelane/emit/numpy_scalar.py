"""Scalar arithmetic as Python text: what every op of the `arith` dialect computes (for `numpy_program`)."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, Signedness, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from cubelane.emit.numpy_text import constant_text, dtype_text
from cubelane.ir.types import is_float

_INFIX: dict[str, str] = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.floordivsi": "//",
    "arith.divui": "//",
    "arith.remui": "%",
    "arith.andi": "&",
    "arith.ori": "|",
    "arith.xori": "^",
    "arith.shli": "<<",
    "arith.shrsi": ">>",
    "arith.shrui": ">>",
    "arith.addf": "+",
    "arith.subf": "-",
    "arith.mulf": "*",
}
_CALLS: dict[str, str] = {
    "arith.minsi": "min({0}, {1})",
    "arith.maxsi": "max({0}, {1})",
    "arith.minui": "min({0}, {1})",
    "arith.maxui": "max({0}, {1})",
    "arith.minimumf": "min({0}, {1})",
    "arith.maximumf": "max({0}, {1})",
    "arith.minnumf": "min({0}, {1})",
    "arith.maxnumf": "max({0}, {1})",
    "arith.ceildivsi": "(-(-{0} // {1}))",
    "arith.ceildivui": "(-(-{0} // {1}))",
    "arith.divsi": "quotient({0}, {1})",
    "arith.remsi": "remainder({0}, {1})",
    "arith.divf": "divide({0}, {1})",
    "arith.negf": "(-{0})",
    "arith.select": "({1} if {0} else {2})",
    "arith.sitofp": "float({0})",
    "arith.uitofp": "float({0})",
    "arith.fptosi": "int({0})",
    "arith.fptoui": "int({0})",
    "arith.index_cast": "{0}",
    "arith.index_castui": "{0}",
    "arith.extsi": "{0}",
    "arith.extui": "int({0})",
    "arith.trunci": "{0}",
    "arith.extf": "{0}",
    "arith.truncf": "{0}",
}
_INTEGER_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FLOAT_PREDICATES = ("", "==", ">", ">=", "<", "<=", "!=", "", "==", ">", ">=", "<", "<=", "!=")
_PARTIAL = frozenset(
    f"arith.{kind}{sign}" for kind in ("floordiv", "div", "rem", "ceildiv") for sign in ("si", "ui")
) | {
    "arith.shli",
    "arith.shrsi",
    "arith.shrui",
}
_WRAPS = frozenset({"arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.trunci"})


def scalar_text(op: Operation, operands: Sequence[str]) -> str | None:
    """The expression of a scalar op over the texts of its operands; None for an op that is none."""
    if isinstance(op, arith.ConstantOp):
        return constant_text(op.value)
    if isinstance(op, UnrealizedConversionCastOp):
        return _in_bits(operands[0], op.operands[0], op.results[0].type)
    if _reads_unsigned(op):
        operands = [_without_sign(text, o) for text, o in zip(operands, op.operands, strict=True)]
    if isinstance(op, arith.CmpiOp):
        return f"({operands[0]} {_INTEGER_PREDICATES[op.predicate.value.data]} {operands[1]})"
    if isinstance(op, arith.CmpfOp):
        return f"({operands[0]} {_FLOAT_PREDICATES[op.predicate.value.data]} {operands[1]})"
    if op.name in _INFIX:
        text = f"({operands[0]} {_INFIX[op.name]} {operands[1]})"
    elif op.name in _CALLS:
        call = _CALLS[op.name]
        text = call.format(*(map(_bare, operands) if call[:4] in ("min(", "max(") else operands))
    else:
        return None
    return _in_type(text, op.results[0].type, op.name)


def _reads_unsigned(op: Operation) -> bool:
    """Whether an op takes its signless operands for unsigned numbers."""
    if isinstance(op, arith.CmpiOp):
        return op.predicate.value.data >= 6
    return op.name.endswith("ui") or op.name in ("arith.extui", "arith.uitofp")


def _without_sign(text: str, value: SSAValue) -> str:
    """The number that the bits of a signless scalar are without a sign."""
    type_ = value.type
    if not isa(type_, IntegerType) or type_.width.data == 1:
        return text
    return _wrapped(text, value, type_.width.data, signed=False)


def _in_bits(text: str, value: SSAValue, type_: Attribute) -> str:
    """The same bits as a scalar of another signedness."""
    if not isa(type_, IntegerType):
        return text
    return _wrapped(text, value, type_.width.data, signed=type_.signedness.data is not Signedness.UNSIGNED)


def _wrapped(text: str, value: SSAValue, width: int, *, signed: bool) -> str:
    """The text in so many bits; a constant that fits stays a constant."""
    if isinstance(value.owner, arith.ConstantOp) and isa(value.owner.value, IntegerAttr):
        number: int = value.owner.value.value.data
        if 0 <= number < 1 << (width - 1):
            return text
    return f"wrap({_bare(text)}, {width}, {signed})"


def may_fail(op: Operation) -> bool:
    """Whether an op may have no result (a divisor or a shift known at run time only): it gets a line of its own."""
    return op.name in _PARTIAL and not isinstance(op.operands[1].owner, arith.ConstantOp)


def _in_type(text: str, type_: Attribute, op_name: str) -> str:
    """The value as its type holds it: floats rounded, narrow integers wrapped, an index as it is."""
    if isinstance(type_, IndexType):
        return text
    if isa(type_, IntegerType):
        width = type_.width.data
        if width == 1:
            return text if op_name not in ("arith.trunci", "arith.addi") else f"bool({text} & 1)"
        if width >= 64 or op_name not in _WRAPS:
            return text
        return f"wrap({_bare(text)}, {width}, {type_.signedness.data is not Signedness.UNSIGNED})"
    if is_float(type_) and op_name not in ("arith.select", "arith.extf", "arith.negf"):
        return f"rounded({_bare(text)}, {dtype_text(type_)})"
    return text


def _bare(text: str) -> str:
    """Without one pair of parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]


bare = _bare
