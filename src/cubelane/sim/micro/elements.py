"""Element types as NumPy has them (spec/pto.md 4.1)."""

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto import types as ir

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]

_FLOATS: dict[Attribute, Any] = {
    builtin.f64: np.float64,
    builtin.f32: np.float32,
    builtin.f16: np.float16,
    builtin.bf16: ml_dtypes.bfloat16,
    builtin.Float8E4M3FNType(): ml_dtypes.float8_e4m3fn,
    builtin.Float8E5M2Type(): ml_dtypes.float8_e5m2,
    ir.F8E8M0Type(): ml_dtypes.float8_e8m0fnu,
}


def integer_bits(kind: Attribute) -> int | None:
    """The width of an integer type; None for other types."""
    return ir.element_bits(kind) if is_integer(kind) else None


def is_integer(kind: Attribute) -> bool:
    """Whether a type is an integer type with a width."""
    return isinstance(kind, IntegerType)


def dtype_of(element: Attribute) -> DType:
    """The NumPy type of an element; a Diagnostic for types that the machine cannot compute with."""
    width = integer_bits(element)
    if width is not None:
        kind = str(element)
        if width == 1:
            return np.dtype(np.bool_)
        return np.dtype(f"{'u' if kind.startswith('u') else 'i'}{width // 8}")
    if isinstance(element, IndexType):
        return np.dtype(np.int64)
    found = _FLOATS.get(element)
    if found is None:
        raise Diagnostic(f"the machine does not model elements of type {element}", code="not-modelled")
    return np.dtype(found)


def element_of(kind: Attribute) -> Attribute:
    """The element type behind a pointer or register type, or the type itself."""
    return kind.element if isinstance(kind, ir.PtrType | ir.VregType) else kind


def is_float(dtype: DType) -> bool:
    """Whether NumPy's or ml_dtypes' type is a float."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def wrapped(number: int, bits: int, signed: bool = True) -> int:
    """An integer as `bits` bits hold it."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number
