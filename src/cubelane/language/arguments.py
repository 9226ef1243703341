"""Binding the arguments of a call to the parameters that the op class declares, each kind in its own way."""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue

from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import REQUIRED, ROUND_MODES, Kind, Parameter, constant_of
from cubelane.ir.types import DYNAMIC, Layout, Pad, TensorLayout, TensorType, TileType, dtype_name, is_float
from cubelane.language import vocabulary
from cubelane.language.annotations import dtype_of, space_of
from cubelane.language.errors import InvalidOperationError, ParserError, ParserTypeError
from cubelane.language.registry import IGNORED_KEYWORDS, KEYWORDS, OpClass
from cubelane.language.scalars import Arithmetic
from cubelane.language.values import INT32, Emitter, Literal, Several, described
from cubelane.language.vocabulary import Symbol


class Arguments:
    """The arguments of one call, evaluated, with the trees they come from."""

    def __init__(self, call: ast.Call, positional: Sequence[Any], keywords: Mapping[str, Any], word: str):
        self.call = call
        self.positional = list(positional)
        self.keywords = dict(keywords)
        self.word = word
        self.nodes: dict[int | str, ast.AST] = dict(enumerate(call.args))
        self.nodes.update({k.arg: k.value for k in call.keywords if k.arg})

    def node(self, key: int | str) -> ast.AST:
        """The tree of an argument."""
        return self.nodes.get(key, self.call)


class Binder:
    """Turns arguments into the values that `from_call` takes."""

    def __init__(self, emitter: Emitter, arithmetic: Arithmetic, symbol: Callable[[Symbol, ast.AST], SSAValue]):
        self.emitter = emitter
        self.arithmetic = arithmetic
        self.symbol = symbol
        self._by_kind: dict[Kind, Callable[[Any, ast.AST], Any]] = {
            Kind.VALUE: self._value,
            Kind.INDEX: self.index,
            Kind.INDICES: self._indices,
            Kind.SHAPE: self._shape,
            Kind.INTS: self._integers,
            Kind.DTYPE: self._plain(dtype_of),
            Kind.SPACE: self._plain(space_of),
            Kind.BLAYOUT: self._plain(_layout),
            Kind.SLAYOUT: self._plain(_layout),
            Kind.LAYOUT: self._plain(_tensor_layout),
            Kind.PAD: self._plain(_pad),
            Kind.PAD_TEXT: self._plain(_pad),
            Kind.INT: self._integer,
            Kind.BOOL: self._truth,
            Kind.NUMBER: self._number,
            Kind.TEXT: self._plain(_text),
            Kind.ROUND: self._plain(_rounding),
        }

    def bind(self, op: OpClass, given: Arguments) -> dict[str, Any]:
        """The values by parameter name."""
        matched = self._match(op, given)
        values: dict[str, Any] = {}
        for parameter in op.PARAMETERS:
            if parameter.name not in matched:
                values[parameter.name] = None if parameter.default is None else parameter.default
                continue
            value, node = matched[parameter.name]
            if parameter.kind not in (Kind.SCALAR, Kind.EXTENTS):
                absent = parameter.default is not REQUIRED and _skipped(value)
                values[parameter.name] = None if absent else self._by_kind[parameter.kind](value, node)
        for parameter in op.PARAMETERS:
            if parameter.name in matched:
                value, node = matched[parameter.name]
                if parameter.kind is Kind.SCALAR:
                    values[parameter.name] = self._scalar(value, node, values)
                elif parameter.kind is Kind.EXTENTS:
                    values[parameter.name] = self._extents(value, node, _box(op, values))
        return values

    def _match(self, op: OpClass, given: Arguments) -> dict[str, tuple[Any, ast.AST]]:
        """Arguments by parameter name, like Python binds them."""
        matched: dict[str, tuple[Any, ast.AST]] = {}
        if len(given.positional) > len(op.PARAMETERS):
            raise self._refused(given, f"takes at most {len(op.PARAMETERS)} arguments, {len(given.positional)} given")
        for position, (parameter, value) in enumerate(zip(op.PARAMETERS, given.positional, strict=False)):
            matched[parameter.name] = (value, given.node(position))
        for name, value in given.keywords.items():
            parameter = _parameter(op, name)
            if parameter is None and name in IGNORED_KEYWORDS and value == Literal(IGNORED_KEYWORDS[name]):
                continue
            if parameter is None:
                legal = ", ".join(p.label for p in op.PARAMETERS) or "none"
                raise self._refused(
                    given, f"has no parameter `{name}`; it knows {legal}", at=name, instead=f"leave out {name}="
                )
            if parameter.name in matched:
                raise self._refused(given, f"got `{name}` twice", at=name)
            matched[parameter.name] = (value, given.node(name))
        for parameter in op.PARAMETERS:
            if parameter.default is REQUIRED and parameter.name not in matched:
                shown = "`tmp` (a scratch tile)" if parameter.name == "tmp" else f"`{parameter.label}`"
                raise self._refused(given, f"needs the argument {shown}", instead=_example(parameter, given))
        return matched

    def _refused(
        self, given: Arguments, text: str, at: int | str | None = None, instead: str | None = None
    ) -> ParserError:
        node = given.call if at is None else given.node(at)
        return InvalidOperationError(f"pl.{given.word} {text}", self.emitter.place(node), instead=instead)

    def _plain(self, convert: Callable[[Any], Any]) -> Callable[[Any, ast.AST], Any]:
        """A conversion that touches no op; its refusal gets the place of the argument."""

        def converted(value: Any, node: ast.AST) -> Any:
            try:
                return convert(value)
            except ParserError as problem:
                raise type(problem)(problem.message, self.emitter.place(node), instead=problem.instead) from None

        return converted

    def _wrong(self, node: ast.AST, needed: str, value: object) -> ParserTypeError:
        return ParserTypeError(f"{needed} is needed here, not {described(value)}", self.emitter.place(node))

    def _value(self, value: Any, node: ast.AST) -> SSAValue:
        ssa = self.emitter.value(value, node)
        if not is_one(ssa.type, (TileType, TensorType)):
            raise self._wrong(node, "a tile or tensor", value)
        return ssa

    def index(self, value: Any, node: ast.AST) -> SSAValue:
        """An index operand."""
        if isinstance(value, Symbol):
            return self.symbol(value, node)
        return self.arithmetic.index(value, node)

    def _listed(self, value: Any, node: ast.AST) -> tuple[Any, ...]:
        if not isinstance(value, Several):
            raise self._wrong(node, "a list", value)
        return value.items

    def _indices(self, value: Any, node: ast.AST) -> list[SSAValue]:
        items = self._listed(value, node)
        return [self.index(item, at) for item, at in zip(items, _element_nodes(node, len(items)), strict=True)]

    def _extents(self, value: Any, node: ast.AST, box: Sequence[int] | None) -> list[SSAValue] | None:
        """Extents; left out where they say no more than the box does."""
        if value is None:
            return None
        items = self._listed(value, node)
        if not items:
            return None
        if box is not None and len(items) > len(box):
            raise ParserTypeError(f"{len(items)} extents for a box {list(box)}", self.emitter.place(node))
        result: list[SSAValue] = []
        for axis, (item, at) in enumerate(zip(items, _element_nodes(node, len(items)), strict=True)):
            if item is None:
                if box is None:
                    raise self._wrong(at, "an extent", item)
                item = Literal(box[axis])
            result.append(self.index(item, at))
        whole = box is not None and [constant_of(v) for v in result] == list(box)
        return None if whole else result

    def integer(self, value: Any, node: ast.AST) -> int:
        """A whole number known while the kernel is read."""
        if isinstance(value, Literal) and isinstance(value.value, int) and not isinstance(value.value, bool):
            return value.value
        if is_value(value):
            known = constant_of(value)
            if known is not None:
                return known
        raise ParserTypeError(
            f"an integer known while the kernel is read is needed here, not {described(value)}",
            self.emitter.place(node),
        )

    def _integer(self, value: Any, node: ast.AST) -> int:
        if isinstance(value, vocabulary.AtomicType | vocabulary.NotifyOp):
            return value.value
        if isinstance(value, Literal) and isinstance(value.value, bool):
            return int(value.value)
        return self.integer(value, node)

    def _shape(self, value: Any, node: ast.AST) -> tuple[int | str, ...]:
        items = self._listed(value, node)
        shape: list[int | str] = []
        for item, at in zip(items, _element_nodes(node, len(items)), strict=True):
            extent = item.name if isinstance(item, Symbol) else self.integer(item, at)
            if isinstance(extent, int) and not 0 < extent < 2**40:
                raise ParserTypeError(f"the extent {extent} is out of range", self.emitter.place(at))
            shape.append(extent)
        if not shape:
            raise self._wrong(node, "a shape with at least one axis", value)
        return tuple(shape)

    def _integers(self, value: Any, node: ast.AST) -> tuple[int, ...]:
        items = self._listed(value, node)
        return tuple(self.integer(item, at) for item, at in zip(items, _element_nodes(node, len(items)), strict=True))

    def _truth(self, value: Any, node: ast.AST) -> bool:
        if isinstance(value, Literal) and value.value in (True, False):
            return bool(value.value)
        raise self._wrong(node, "True or False", value)

    def _number(self, value: Any, node: ast.AST) -> int | float:
        if isinstance(value, Literal):
            return int(value.value) if isinstance(value.value, bool) else value.value
        raise self._wrong(node, "a number known while the kernel is read", value)

    def _scalar(self, value: Any, node: ast.AST, values: Mapping[str, Any]) -> SSAValue | None:
        """A scalar operand; a literal adopts the element type of the first tile (front.md 2.1)."""
        if value is None:
            return None
        if isinstance(value, Symbol):
            return self.symbol(value, node)
        operand = self.arithmetic.operand(value, node)
        if not isinstance(operand, Literal) or operand.dtype is not None:
            ssa = self.emitter.value(operand, node)
            if ssa.type == vocabulary_index() and _adopted(values, operand) is not None and constant_of(ssa) is None:
                raise ParserTypeError(
                    "an index cannot be combined with a tile",
                    self.emitter.place(node),
                    instead="pl.cast(x, ...) to the element type of the tile",
                )
            return ssa
        if isinstance(operand.value, bool):
            return self.emitter.value(operand, node)
        return self.emitter.value(operand, node, _adopted(values, operand) or _free_type(values, operand))


def _example(parameter: Parameter, given: Arguments) -> str | None:
    """An argument that a call lacks."""
    first = given.positional[0] if given.positional else None
    tile = first.type if is_value(first) else None
    if parameter.name == "tmp" and isinstance(tile, TileType):
        return f"pl.create_tile({list(tile.shape)}, dtype=pl.{dtype_name(tile.dtype)})"
    if parameter.kind is Kind.SPACE:
        return f"{parameter.label}=pl.Mem.Vec"
    return None


def vocabulary_index() -> Attribute:
    """The index type."""
    return dtype_of(vocabulary.INDEX)


def _skipped(value: Any) -> bool:
    return value is None or (isinstance(value, Several) and not value.items)


def _parameter(op: OpClass, name: str) -> Parameter | None:
    by_label = {p.label: p for p in op.PARAMETERS}
    by_label.update({p.name: p for p in op.PARAMETERS if p.name not in by_label})
    for candidate in (name, *KEYWORDS.get(name, ())):
        if candidate in by_label and not (name == "axis1" and "axis0" in by_label and candidate == "axis1"):
            return by_label[candidate]
    return None


def _element_nodes(node: ast.AST, count: int) -> list[ast.AST]:
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == count:
        return list(node.elts)
    return [node] * count


def _box(op: OpClass, values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The constant box of a call, as far as the call states one."""
    for parameter in op.PARAMETERS:
        if parameter.kind is Kind.SHAPE or parameter.name == "window":
            box = values.get(parameter.name)
            if box is not None and all(isinstance(d, int) for d in box):
                return tuple(box)
    return None


def _adopted(values: Mapping[str, Any], operand: object) -> Attribute | None:
    """The element type of the first tile or tensor operand; a float literal keeps FP32 on integers."""
    for value in values.values():
        type_ = value.type if is_value(value) else None
        if isinstance(type_, TileType | TensorType):
            real = isinstance(operand, Literal) and isinstance(operand.value, float)
            return None if real and not is_float(type_.dtype) else type_.dtype
    return None


def _free_type(values: Mapping[str, Any], operand: Literal) -> Attribute | None:
    """The type of a literal that no tile decides: that of the result, else INT32 (FP32 for a float)."""
    if isinstance(operand.value, float):
        return None
    dtype = values.get("dtype")
    return dtype if isinstance(dtype, Attribute) and not is_float(dtype) else INT32


def _layout(value: Any) -> Layout:
    if not isinstance(value, vocabulary.TileLayout):
        raise ParserTypeError("a layout such as pl.TileLayout.row_major is needed here")
    return Layout(value.value)


def _tensor_layout(value: Any) -> TensorLayout:
    if not isinstance(value, vocabulary.TensorLayout) or value.name not in TensorLayout.__members__:
        raise ParserTypeError("a layout such as pl.TensorLayout.ND is needed here")
    return TensorLayout[value.name]


def _pad(value: Any) -> Pad:
    if isinstance(value, Literal):
        known = {0: Pad.ZERO, math.inf: Pad.MAX, -math.inf: Pad.MIN}.get(value.value)
        if known is not None:
            return known
    if not isinstance(value, vocabulary.PadValue):
        raise ParserTypeError("a pad value such as pl.PadValue.zero is needed here")
    return Pad(value.value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ParserTypeError("a string is needed here")
    return value


def _rounding(value: Any) -> str:
    if isinstance(value, Literal) and value.value in range(len(ROUND_MODES)):
        return ROUND_MODES[int(value.value)]
    if not isinstance(value, str) or value not in ROUND_MODES:
        raise ParserTypeError(f"a rounding mode is one of {', '.join(ROUND_MODES)}")
    return value


__all__ = ["DYNAMIC", "Arguments", "Binder"]
