"""Constants and names as text."""

import keyword
import math
import re

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, i1
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.narrowing import is_integer, is_integer_attribute, is_one
from cubelane.ir.types import DTYPES, dtype_name

FP32, BOOL = DTYPES["FP32"], DTYPES["BOOL"]
RESERVED = frozenset({"pl", "self", "True", "False", "None", "abs", "min", "max", *keyword.kwlist})


def real(value: float, type_: Attribute | None = None) -> str:
    """The shortest decimal that is this number in its type."""
    if math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    if math.isnan(value):
        return 'float("nan")'
    text = repr(value)
    if isinstance(type_, AnyFloat):
        for digits in range(1, 17):
            short = f"{value:.{digits}g}"
            if type_.round(float(short)) == value:
                text = short
                break
    return text if any(c in text for c in ".en") else f"{text}.0"


def constant(value: int | float, type_: Attribute) -> str:
    """A constant: bare for an index, an FP32 and a truth value, `pl.const` for any other type."""
    if type_ == BOOL:
        return str(bool(value))
    if isinstance(type_, IndexType):
        return str(int(value))
    text = real(float(value), type_) if isinstance(type_, AnyFloat) else str(int(value))
    return text if type_ == FP32 else typed(value, type_)


def typed(value: int | float, type_: Attribute) -> str:
    """A constant with its type written out."""
    text = real(float(value), type_) if isinstance(type_, AnyFloat) else str(int(value))
    return f"pl.const({text}, pl.{dtype_name(type_)})"


def value_of(value: SSAValue) -> int | float | None:
    """The number a constant holds; None for anything else."""
    owner = value.owner
    if not is_one(owner, ConstantOp):
        return None
    attribute = owner.value
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if is_integer_attribute(attribute):
        number = attribute.value.data
        return number & 1 if attribute.type == i1 else number
    return None


def wrapped(value: int, type_: Attribute) -> int:
    """Signless bits as an unsigned number of this type."""
    return value % (1 << type_.width.data) if is_integer(type_) else value


def identifier(hint: str | None, default: str) -> str:
    """A Python name for a name hint."""
    name = re.sub(r"\W", "_", hint or default, flags=re.ASCII)
    if not name or name[0].isdigit():
        name = f"v_{name}"
    return f"{name}_" if name in RESERVED else name


class Namer:
    """Gives every value of a function a name of its own, in the order of definition."""

    def __init__(self, taken: frozenset[str] = frozenset()):
        self.names: dict[SSAValue, str] = {}
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def name(self, value: SSAValue, default: str = "t") -> str:
        """The name of a value, made on first sight."""
        known = self.names.get(value)
        if known is None:
            known = self.names[value] = self.fresh(identifier(value.name_hint, default))
        return known

    def fresh(self, base: str) -> str:
        """A name nobody has: `x`, `x_1`, `x_2`, ..."""
        name = base
        while name in self._taken:
            self._next[base] = self._next.get(base, 0) + 1
            name = f"{base}_{self._next[base]}"
        self._taken.add(name)
        return name

    def alias(self, value: SSAValue, of: str) -> None:
        """Lets a value share a name: it is the same thing seen from outside a scope."""
        self.names[value] = of
