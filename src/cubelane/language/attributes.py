"""Facts that ride on functions, loops and calls: between DSL values and attributes (spec/front.md 1.3)."""

import ast
from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, StringAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute

from cubelane.ir import kernel
from cubelane.ir.diagnostic import Location
from cubelane.ir.narrowing import is_integer_attribute
from cubelane.ir.types import SplitMode
from cubelane.language import vocabulary
from cubelane.language.errors import ParserSyntaxError, UndefinedVariableError
from cubelane.language.evaluate import Evaluator, NotConstant

PREFIX = "kernel."
FLAGS = frozenset(
    name.removeprefix(PREFIX) for name in (kernel.SPLIT_AIV, kernel.REGION_VALIDATED, kernel.DUAL_DISPATCH)
)
"""Function facts that are set or absent."""

CALL_NAMES = {"core_placement": kernel.PLACEMENT.removeprefix(PREFIX)}
"""Facts of calls that the language names differently from the IR."""


def as_attribute(value: object) -> Attribute | None:
    """A literal as an attribute; None if it is none."""
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, 64)
    if isinstance(value, str):
        return StringAttr(value)
    return None


def as_text(value: Attribute) -> str | None:
    """An attribute as a literal of the language; None if it has no such form."""
    if isinstance(value, UnitAttr):
        return "True"
    if isinstance(value, kernel.SplitAttr):
        return f"pl.SplitMode.{value.mode.name}"
    if is_integer_attribute(value):
        number = value.value.data
        return str(bool(number)) if value.type == i1 else str(number)
    if isinstance(value, FloatAttr):
        return repr(value.value.data)  # pyright: ignore[reportUnknownMemberType]
    if isinstance(value, StringAttr):
        return repr(value.data)
    return None


def dictionary(evaluator: Evaluator, node: ast.AST, place: Location) -> dict[str, Any]:
    """The entries of a dict literal with string keys and constant values."""
    if not isinstance(node, ast.Dict):
        raise ParserSyntaxError("a dict literal is needed here", place, instead='{"key": value}')
    entries: dict[str, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise ParserSyntaxError("the keys of this dict are string literals", place)
        if key.value in entries:
            raise ParserSyntaxError(f'the key "{key.value}" is declared twice', place)
        try:
            entries[key.value] = evaluator.value(item)
        except NotConstant:
            if isinstance(item, ast.Name):
                raise UndefinedVariableError(f"`{item.id}` is no constant", place) from None
            raise ParserSyntaxError(f'the value of "{key.value}" is no constant', place) from None
    return entries


def function_attributes(entries: Mapping[str, Any], place: Location) -> dict[str, Attribute]:
    """Function facts as attributes; a mode NONE and a flag that is off are left out."""
    attributes: dict[str, Attribute] = {}
    for key, value in entries.items():
        if key == "split":
            if not isinstance(value, vocabulary.SplitMode):
                raise ParserSyntaxError("split takes a pl.SplitMode", place, instead='{"split": pl.SplitMode.UP_DOWN}')
            if value is not vocabulary.SplitMode.NONE:
                attributes[kernel.SPLIT] = kernel.SplitAttr.of(SplitMode[value.name])
        elif key in ("auto_scope", "external_source"):
            raise ParserSyntaxError(f"{key} may only be a keyword of the decorator", place)
        elif key in FLAGS:
            if not isinstance(value, bool):
                raise ParserSyntaxError(f"{key} is True or False", place)
            if value:
                attributes[PREFIX + key] = UnitAttr()
        else:
            attribute = as_attribute(value)
            if attribute is None or not key.isidentifier():
                raise ParserSyntaxError(f'the value of "{key}" is no number, string or truth value', place)
            attributes[PREFIX + key] = attribute
    return attributes


def call_attributes(evaluator: Evaluator, node: ast.AST, place: Location) -> dict[str, Attribute]:
    """Facts of a call or a loop (`attrs={...}`) as attributes."""
    attributes: dict[str, Attribute] = {}
    for key, value in dictionary(evaluator, node, place).items():
        attribute = as_attribute(value)
        if attribute is None or not key.isidentifier():
            raise ParserSyntaxError(f'the value of "{key}" is no number, string or truth value', place)
        attributes[PREFIX + CALL_NAMES.get(key, key)] = attribute
    return attributes
