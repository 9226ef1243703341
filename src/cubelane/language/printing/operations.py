"""Calls of ops as text, made from what the op classes declare."""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import SplitRegionOp
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import RESULT_FACTS, Bound, Kind, Parameter, SurfaceOp
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import TensorType, TileType, dtype_name, is_float
from cubelane.language.attributes import CALL_NAMES, PREFIX, as_text
from cubelane.language.printing import literals
from cubelane.language.printing.scalars import ScalarText
from cubelane.language.printing.types import differing, type_text

MISUSES = (Diagnostic, KeyError, TypeError, ValueError, IndexError, AttributeError)


class Call(NamedTuple):
    """The text of a call, and of the type of its result as far as it has one."""

    text: str
    type: str | None


class CallText:
    """Writes calls."""

    def __init__(self, scalars: ScalarText):
        self.scalars = scalars
        self._by_kind: dict[Kind, Callable[[Any], str]] = {
            Kind.VALUE: self.scalars.text,
            Kind.INDEX: self.scalars.text,
            Kind.INDICES: self._values,
            Kind.EXTENTS: self._values,
            Kind.SHAPE: _listed,
            Kind.INTS: _listed,
            Kind.DTYPE: lambda d: f"pl.{dtype_name(d)}",
            Kind.SPACE: lambda s: f"pl.Mem.{s.dsl}",
            Kind.BLAYOUT: lambda v: f"pl.TileLayout.{v.value}",
            Kind.SLAYOUT: lambda v: f"pl.TileLayout.{v.value}",
            Kind.LAYOUT: lambda v: f"pl.TensorLayout.{v.value}",
            Kind.PAD: lambda v: f"pl.PadValue.{_word(v)}",
            Kind.PAD_TEXT: lambda v: f"pl.PadValue.{_word(v)}",
            Kind.INT: str,
            Kind.BOOL: str,
            Kind.NUMBER: lambda v: literals.real(v) if isinstance(v, float) else str(v),
            Kind.TEXT: repr,
            Kind.ROUND: repr,
        }

    def call(self, op: SurfaceOp) -> Call:
        """The call that makes this op, and its type."""
        bound = op.bound()
        result = op.results[0].type if op.results else None
        left_out, forced = self._facts(op, bound, result)
        arguments = self._arguments(op, bound, left_out)
        extra = attributes_text(op)
        text = f"pl.{op.NAMESPACE}.{op.SPELLING}({', '.join([*arguments, *extra])})"
        if result is None:
            return Call(text, None)
        if op.STATED:
            runtime = [self.scalars.text(v) for v in bound.get("valid", ())]
            return Call(text, type_text(result, forced, runtime))
        return Call(text, type_text(result, forced))

    def _facts(self, op: SurfaceOp, bound: Bound, result: Attribute | None) -> tuple[frozenset[str], frozenset[str]]:
        """Facts of the result that the call need not state, and those that only the annotation can state."""
        if result is None:
            return frozenset(), frozenset()
        if op.STATED:
            return frozenset(), frozenset()
        optional = [p for p in op.PARAMETERS if p.kind in RESULT_FACTS and p.default is None]
        plain = self._inferred(op, bound, [p.name for p in optional])
        needed = {
            p.name for p in optional if plain is None or RESULT_FACTS[p.kind](plain) != RESULT_FACTS[p.kind](result)
        }
        left_out = frozenset(p.name for p in optional if p.name not in needed)
        inferred = plain if not needed else self._inferred(op, bound, list(left_out))
        return left_out, differing(result, inferred)

    @staticmethod
    def _inferred(op: SurfaceOp, bound: Bound, without: list[str]) -> Attribute | None:
        values = {**bound.values, **dict.fromkeys(without)}
        try:
            return type(op).result_type(Bound(values))
        except MISUSES:
            return None

    def _arguments(self, op: SurfaceOp, bound: Bound, left_out: frozenset[str]) -> list[str]:
        arguments: list[str] = []
        skipped: list[Parameter] = []
        for parameter in op.PARAMETERS:
            value = bound.get(parameter.name)
            if self._absent(op, parameter, value, left_out):
                skipped.append(parameter)
                continue
            text = self._argument(op, parameter, value)
            if not parameter.keyword and not any(not p.keyword for p in skipped):
                arguments.append(text)
            else:
                arguments.append(f"{parameter.label}={text}")
        return arguments

    @staticmethod
    def _absent(op: SurfaceOp, parameter: Parameter, value: Any, left_out: frozenset[str]) -> bool:
        if parameter.name in left_out or value is None:
            return True
        if op.STATED and parameter.kind is Kind.EXTENTS:
            return True
        if parameter.kind is Kind.EXTENTS and not value:
            return True
        splits = op.get_trait(Splits)
        crosses = splits is not None and splits.behaviour is Split.BOUNDARY
        return crosses and parameter.name == "split" and in_region(op)

    def _argument(self, op: SurfaceOp, parameter: Parameter, value: Any) -> str:
        if parameter.kind is Kind.SCALAR:
            return self._scalar(op, value)
        return self._by_kind[parameter.kind](value)

    def _values(self, values: Any) -> str:
        return f"[{', '.join(self.scalars.text(v) for v in values)}]"

    def _scalar(self, op: SurfaceOp, value: SSAValue) -> str:
        """A scalar operand; a constant is bare only where it gets its type back from the tile."""
        number = literals.value_of(value)
        if number is None or value.type == literals.BOOL:
            return self.scalars.text(value)
        tile = next((o.type for o in op.operands if isinstance(o.type, TileType | TensorType)), None)
        free = tile is None or tile.dtype == literals.FP32 or not is_float(tile.dtype)
        return (
            literals.constant(number, value.type)
            if value.type == literals.FP32 and free
            else literals.typed(number, value.type)
        )


def attributes_text(op: Operation) -> list[str]:
    """`attrs={...}` for the facts that ride on a call."""
    names = {name: dsl for dsl, name in CALL_NAMES.items()}
    entries: list[str] = []
    for name, value in op.attributes.items():
        text = as_text(value)
        if name.startswith(PREFIX) and text is not None:
            plain = name.removeprefix(PREFIX)
            entries.append(f'"{names.get(plain, plain)}": {text}')
    return [f"attrs={{{', '.join(entries)}}}"] if entries else []


def in_region(op: Operation) -> bool:
    """Whether an op stands in a split region."""
    parent = op.parent_op()
    while parent is not None:
        if is_one(parent, SplitRegionOp):
            return True
        parent = parent.parent_op()
    return False


def _listed(values: Any) -> str:
    return f"[{', '.join(str(v) for v in values)}]"


def _word(value: Any) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)


__all__ = ["Call", "CallText", "attributes_text"]
