"""Pieces of Python text: element types, literals, names (for `numpy_program`)."""

import keyword
import math
import re
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from cubelane.ir.types import DTYPES, DYNAMIC, TileType, dtype_name

_DTYPE_TEXT = {
    "BOOL": "np.bool_",
    "INDEX": "np.int64",
    "INT4": "int4",
    "UINT4": "uint4",
    **{f"INT{n}": f"np.int{n}" for n in (8, 16, 32, 64)},
    **{f"UINT{n}": f"np.uint{n}" for n in (8, 16, 32, 64)},
    "FP16": "np.float16",
    "BF16": "bfloat16",
    "FP32": "np.float32",
    "FP4": "float4_e2m1fn",
    "FP8E4M3FN": "float8_e4m3fn",
    "FP8E5M2": "float8_e5m2",
    "FP8E8M0": "float8_e8m0fnu",
}
"""DSL name of an element type to its Python text; the names without `np.` are those of ml_dtypes."""

RESERVED = frozenset(
    """np range min max float int bool core inf nan trim box rounded wrap clamped together call window put cut paste
    poison cast matmul accumulate divide compare pack_bits unpack_bits sequence random triangle reinterpret fill_pad
    with_cell gather_rows read write push pop free open_pipe lane block blocks shard gather tensor_matmul cut_valid
    reshaped_valid swapped_valid reinterpreted_valid quotient remainder rising
    notify wait_for defer_wait""".split()
)
"""Names that no variable of an emitted program may take."""

WORD = re.compile(r"\{(\w+)\}")


def dtype_text(dtype: Attribute) -> str:
    """The NumPy (or ml_dtypes) name of an element type."""
    return _DTYPE_TEXT[dtype_name(dtype)]


def is_native(dtype: Attribute) -> bool:
    """Whether NumPy itself computes in this element type, so that arithmetic keeps it."""
    return dtype_text(dtype).startswith("np.")


def tuple_text(items: Sequence[Any]) -> str:
    """A tuple display; items are already text or plain numbers."""
    words = [str(item) for item in items]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def literal(value: Any) -> str:
    """A Python value as an expression of the emitted program."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, tuple):
        return tuple_text([literal(item) for item in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return repr(value)


def constant_text(value: Attribute) -> str:
    """The literal of a constant's attribute."""
    if isinstance(value, FloatAttr):
        return literal(float(value.value.data))
    assert isa(value, IntegerAttr)
    number: int = value.value.data
    return str(bool(number)) if value.type == DTYPES["BOOL"] else str(number)


def is_partial(type_: Attribute) -> bool:
    """Whether a value has cells outside its valid extent, as far as its type tells."""
    return isinstance(type_, TileType) and not type_.fully_valid


def needs_companion(type_: Attribute) -> bool:
    """Whether a tile's valid extent is known at run time only and needs a variable of its own."""
    return isinstance(type_, TileType) and DYNAMIC in type_.valid


class Names:
    """A Python name for every SSA value of one function: the user's name where it is free."""

    def __init__(self) -> None:
        self.taken: set[str] = set(RESERVED)
        self._numbers: dict[str, int] = {}
        """The number tried last for every hint: lower ones are taken."""

    def fresh(self, hint: str | None) -> str:
        """A name nobody has yet, near `hint`."""
        base = re.sub(r"\W", "_", hint or "t").strip("_") or "t"
        if base[0].isdigit():
            base = "t" + base
        number = self._numbers.get(base, 0)
        name = f"{base}_{number}" if number else base
        while name in self.taken or f"{name}_valid" in self.taken or keyword.iskeyword(name):
            number += 1
            name = f"{base}_{number}"
        self._numbers[base] = number
        self.taken |= {name, f"{name}_valid"}
        return name

    def of(self, value: SSAValue) -> str:
        """A fresh name for a value."""
        return self.fresh(value.name_hint)
