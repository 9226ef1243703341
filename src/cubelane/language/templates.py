"""Kernels without types: `@pl.jit` functions, and the typed functions that the arguments of a call make of them.

A parameter annotated in full keeps its annotation, and the argument must fit it. A parameter without annotation, or
with a bare `pl.Tensor`, `pl.Scalar`, `pl.Out`, `pl.InOut`, takes its type from the argument; without annotation a
number, a string or a word of the language becomes a constant of the kernel (spec/front.md 1.1).
"""

import ast
import inspect
from collections import ChainMap
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from cubelane.ir.diagnostic import Location
from cubelane.ir.extents import extent_symbols
from cubelane.ir.narrowing import is_tuple, is_value
from cubelane.ir.types import TensorType
from cubelane.language import annotations
from cubelane.language.body import Definition
from cubelane.language.errors import ParserError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from cubelane.language.evaluate import Evaluator, Module, NotConstant, number
from cubelane.language.printing.types import type_text
from cubelane.language.values import Literal, Several, described
from cubelane.language.vocabulary import DATA_TYPES, DataType, Symbol, dynamic

TYPES = {"opaque": "Opaque", "incore": "InCore"}
"""Variant of `pl.jit` to type of the function."""

OPTIONS = ("target", "mode")
"""Keywords of `pl.jit` that say how to compile; the others are those of `pl.function`."""

NAMES = {
    "float32": "FP32",
    "float16": "FP16",
    "bfloat16": "BF16",
    "bool": "BOOL",
    **{f"int{n}": f"INT{n}" for n in (4, 8, 16, 32, 64)},
    **{f"uint{n}": f"UINT{n}" for n in (4, 8, 16, 32, 64)},
    "float8_e4m3fn": "FP8E4M3FN",
    "float8_e5m2": "FP8E5M2",
    "float8_e8m0fnu": "FP8E8M0",
    "float4_e2m1fn": "FP4",
}
"""Element type of an array to that of the language."""

_LANGUAGE = "__pl__"
"""The language in the annotations made here: a name that no user binds."""


@dataclass(frozen=True)
class Template(Definition):
    """A `@pl.jit` function as written. `variant` is opaque or incore."""

    variant: str = "opaque"


@dataclass(frozen=True)
class Specialized:
    """A function with types, and which arguments it takes at run time (by parameter name)."""

    definition: Definition
    arguments: dict[str, Any] = field(repr=False)
    key: Hashable


@dataclass(frozen=True)
class _Written:
    """A parameter as written: its direction, and the tree of its type (None where the argument decides)."""

    direction: str | None
    type: ast.expr | None


def template_of(node: ast.FunctionDef, decorator: ast.expr, definition: Definition) -> Definition:
    """The template, or inline function, that a `@pl.jit` decorator makes."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    word = function.attr if isinstance(function, ast.Attribute) else ""
    if word == "inline":
        return Definition(node, definition.source, definition.environment, inline=True)
    if word == "host":
        raise UnsupportedFeatureError(
            "pl.jit.host is a function of the host, which is not compiled here",
            definition.source.place(decorator),
            instead="@pl.jit",
        )
    variant = word if word in TYPES else "opaque"
    return Template(node, definition.source, definition.environment, variant=variant)


class Specializer:
    """Makes typed functions of one template."""

    def __init__(self, template: Template):
        self.template = template
        self.evaluator = Evaluator(template.environment)

    def place(self, node: ast.AST | None = None) -> Location:
        """Where a part of the template is."""
        return self.template.source.place(node or self.template.node)

    def specialized(
        self, positional: tuple[Any, ...], keywords: Mapping[str, Any], place: Location | None = None
    ) -> Specialized:
        """The function for these arguments; a ParserError that names the parameter where one does not fit."""
        given = self.bound(positional, keywords, place)
        parameters: list[ast.arg] = []
        constants: dict[str, Any] = {}
        symbols: dict[str, Any] = {}
        extents: dict[str, int] = {}
        for argument in self._arguments():
            value = given[argument.arg]
            written = self._written(argument)
            if argument.annotation is None and is_constant(value):
                constants[argument.arg] = _plain(value)
                continue
            if written.type is None:
                symbols |= _symbols_of(value)
                parameters.append(self._typed(argument, written, self._text(value, argument)))
            else:
                self._check(argument, written.type, value, extents)
                parameters.append(argument)
        environment = ChainMap({_LANGUAGE: Module(()), **symbols, **constants}, _mutable(self.template.environment))
        definition = Definition(self._function(parameters), self.template.source, environment)
        texts = tuple(ast.unparse(p) for p in parameters)
        shown = tuple((name, type(value).__name__, repr(value)) for name, value in sorted(constants.items()))
        return Specialized(definition, {p.arg: given[p.arg] for p in parameters}, (texts, shown))

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [a.arg for a in self._arguments()]

    def options(self) -> dict[str, Any]:
        """The keywords of the decorator that say how to compile."""
        found: dict[str, Any] = {}
        for decorator in self.template.node.decorator_list:
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if keyword.arg in OPTIONS:
                    value = self.evaluator.or_runtime(keyword.value)
                    if not isinstance(value, str):
                        raise ParserSyntaxError(f"`{keyword.arg}` of pl.jit is a string", self.place(keyword.value))
                    found[keyword.arg] = value
        return found

    # binding

    def _arguments(self) -> list[ast.arg]:
        arguments = self.template.node.args
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                raise UnsupportedFeatureError(
                    f"the parameter `*{extra.arg}` cannot be given a type",
                    self.place(extra),
                    instead="one parameter for every argument",
                )
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    def bound(
        self, positional: tuple[Any, ...], keywords: Mapping[str, Any], place: Location | None = None
    ) -> dict[str, Any]:
        """The arguments by parameter name, as Python binds them."""
        node = self.template.node.args
        plain = [*node.posonlyargs, *node.args]
        defaults = dict(zip([a.arg for a in plain][len(plain) - len(node.defaults) :], node.defaults, strict=True))
        defaults |= {a.arg: d for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d is not None}
        keyword_only = {a.arg for a in node.kwonlyargs}
        signature = inspect.Signature(
            [
                inspect.Parameter(
                    a.arg,
                    inspect.Parameter.KEYWORD_ONLY
                    if a.arg in keyword_only
                    else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=defaults.get(a.arg, inspect.Parameter.empty),
                )
                for a in self._arguments()
            ]
        )
        try:
            bound = signature.bind(*positional, **keywords)
        except TypeError as problem:
            raise ParserTypeError(f"`{self.template.name}`: {problem}", place or self.place()) from None
        given = dict(bound.arguments)
        for name, default in defaults.items():
            if name not in given:
                given[name] = self._default(name, default)
        return given

    def _default(self, name: str, node: ast.expr) -> Any:
        try:
            return self.evaluator.value(node)
        except NotConstant:
            raise ParserTypeError(
                f"the default of `{name}` is not known while the kernel is read", self.place(node), instead=f"{name}=1"
            ) from None

    # types

    def _written(self, argument: ast.arg) -> _Written:
        """What an annotation states; a bare word states a kind only."""
        node, direction = argument.annotation, None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = _parsed(node.value, node)
        if isinstance(node, ast.Subscript) and self.evaluator.language_word(node.value) in ("Out", "InOut"):
            direction, node = self.evaluator.language_word(node.value), node.slice
        word = self.evaluator.language_word(node) if node is not None else None
        if word in ("Out", "InOut"):
            return _Written(word, None)
        return _Written(direction, None if word in ("Tensor", "Tile", "Scalar") else node)

    def _text(self, value: Any, argument: ast.arg) -> str:
        """The type of an argument in the language."""
        if isinstance(value, Literal):
            return type_text(value.type)
        if is_value(value):
            return type_text(value.type)
        if number(value):
            return f"pl.Scalar[pl.{dtype_of(value).name}]"  # pyright: ignore[reportOptionalMemberAccess]
        dtype, shape = dtype_of(value), shape_of(value)
        if dtype is None or shape is None:
            raise self._unfit(value, argument)
        return f"pl.Tensor[[{', '.join(map(str, shape))}], pl.{dtype.name}]"

    def _unfit(self, value: Any, argument: ast.arg) -> ParserError:
        name = str(getattr(value, "dtype", "")).rpartition(".")[2]
        what = f"an array of {name}" if name else "None" if value is None else f"a {type(value).__name__}"
        if is_value(value) or isinstance(value, Several):
            what = described(value)
        return ParserTypeError(
            f"`{argument.arg}` of `{self.template.name}` is {what}: a kernel takes arrays and numbers",
            self.place(argument),
            code="wrong-argument",
        )

    def _typed(self, argument: ast.arg, written: _Written, text: str) -> ast.arg:
        """The parameter with the type of its argument."""
        text = f"pl.{written.direction}[{text}]" if written.direction else text
        return ast.copy_location(
            ast.arg(argument.arg, _parsed(text.replace("pl.", f"{_LANGUAGE}."), argument)), argument
        )

    def _check(self, argument: ast.arg, node: ast.expr, value: Any, extents: dict[str, int]) -> None:
        """An argument must fit what its parameter is annotated with; the same run-time extent is the same number."""
        try:
            said = annotations.stated(self.evaluator.value(node)).type
        except (NotConstant, ParserError):
            return  # whoever reads the function says what is wrong with the annotation
        shape, dtype = shape_of(value), dtype_of(value)
        if not isinstance(said, TensorType) or is_value(value):
            return
        wanted = type_text(said)
        if shape is None or dtype is None or isinstance(value, Literal):
            raise self._unfit(value, argument)
        fits = len(shape) == len(said.shape) and annotations.dtype_of(dtype) == said.dtype
        for want, got in zip(said.shape, shape, strict=False):
            fits = fits and (extents.setdefault(want, got) == got if isinstance(want, str) else want == got)
        if not fits:
            raise ParserTypeError(
                f"`{argument.arg}` of `{self.template.name}` is {wanted}, the argument is "
                f"an array {list(shape)} of {dtype.name}",
                self.place(argument),
                code="wrong-argument",
            )

    def _function(self, parameters: list[ast.arg]) -> ast.FunctionDef:
        node = self.template.node
        keywords: list[ast.keyword] = []
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                keywords += [k for k in decorator.keywords if k.arg not in OPTIONS]
        function = _parsed(f"{_LANGUAGE}.function(type={_LANGUAGE}.FunctionType.{TYPES[self.template.variant]})", node)
        assert isinstance(function, ast.Call)
        if any(k.arg == "type" for k in keywords):
            raise ParserSyntaxError(
                "pl.jit takes no type", self.place(node.decorator_list[0]), instead="@pl.jit.incore or @pl.jit.opaque"
            )
        function.keywords += keywords
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        made = ast.FunctionDef(node.name, arguments, node.body, [function], node.returns, None)
        return ast.copy_location(made, node)


def is_constant(value: object) -> bool:
    """Whether an argument without annotation becomes a constant of the kernel."""
    if is_tuple(value) or isinstance(value, Several):
        return all(is_constant(item) for item in (value.items if isinstance(value, Several) else value))
    if isinstance(value, Literal):
        return value.dtype is None
    return number(value) or value is None or isinstance(value, str | DataType | Enum)


def _plain(value: Any) -> Any:
    """A constant as the environment of a kernel holds it."""
    if isinstance(value, Several):
        return tuple(_plain(item) for item in value.items)
    return value.value if isinstance(value, Literal) else value


def shape_of(value: object) -> tuple[int, ...] | None:
    """The extents of an array; None for what has none."""
    shape = getattr(value, "shape", None)
    return None if shape is None or callable(shape) else tuple(int(d) for d in shape)


def dtype_of(value: object) -> DataType | None:
    """The element type of an array or number; None for anything else."""
    if isinstance(value, bool):
        return DATA_TYPES["BOOL"]
    if isinstance(value, int | float):
        return DATA_TYPES["INDEX" if isinstance(value, int) else "FP32"]
    name = str(getattr(value, "dtype", "")).rpartition(".")[2]
    return DATA_TYPES.get(NAMES.get(name, ""))


def _symbols_of(value: object) -> dict[str, Symbol]:
    """The run-time extents in the type of a tensor of another function."""
    type_ = value.type if is_value(value) else None
    shape = type_.shape if isinstance(type_, TensorType) else ()
    return {name: dynamic(name) for d in shape if isinstance(d, str) for name in extent_symbols(d)}


def _mutable(environment: Mapping[str, Any]) -> Any:
    """What ChainMap reads from; it writes to its first map only."""
    return environment


def _parsed(text: str, near: ast.AST) -> ast.expr:
    """An expression as a tree, every part at the place of `near`."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return ast.copy_location(ast.Constant(text), near)
    for inner in ast.walk(tree):
        if isinstance(inner, ast.expr | ast.keyword):
            ast.copy_location(inner, near)
    return tree
