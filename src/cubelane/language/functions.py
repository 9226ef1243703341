"""Functions of a program: decorators, parameters, attributes, bodies (spec/front.md 1.3)."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import BoolAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from cubelane.ir import kernel
from cubelane.ir.kernel import Direction, FunctionKind, KindAttr
from cubelane.ir.names import value_name
from cubelane.ir.types import TensorType, TileType
from cubelane.language import annotations, vocabulary
from cubelane.language.annotations import Stated
from cubelane.language.attributes import dictionary, function_attributes
from cubelane.language.body import Body, Definition, Functions, Signature
from cubelane.language.calls import fits
from cubelane.language.comments import Comments
from cubelane.language.errors import ParserError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from cubelane.language.evaluate import Evaluator, NotConstant
from cubelane.language.flow import called_word
from cubelane.language.jumps import without_jumps
from cubelane.language.printing.types import type_text
from cubelane.language.statements import Statements

IMPLIED: dict[FunctionKind, tuple[str, str]] = {
    FunctionKind.ORCHESTRATION: ("CHIP", "Orchestrator"),
    FunctionKind.INCORE: ("CHIP_DIE", "SubWorker"),
    FunctionKind.AIC: ("AIC", "SubWorker"),
    FunctionKind.AIV: ("AIV", "SubWorker"),
    FunctionKind.GROUP: ("CORE_GROUP", "SubWorker"),
}
"""Level and role that a kind of function has."""

DECORATOR_KEYWORDS = ("type", "level", "role", "attrs", "auto_scope", "external_source", "strict_ssa")


@dataclass
class Parameters:
    """The parameters of a function: names, types, directions."""

    names: list[str] = field(default_factory=list[str])
    types: list[Attribute] = field(default_factory=list[Attribute])
    directions: list[Direction] = field(default_factory=list[Direction])


@dataclass
class Header:
    """Everything of a function but its body."""

    definition: Definition
    kind: FunctionKind
    parameters: Parameters
    outputs: tuple[Attribute, ...] | None
    attributes: dict[str, Attribute]
    strict_ssa: bool
    statements: list[ast.stmt]

    @property
    def signature(self) -> Signature | None:
        """What callers need; None while the results are not known."""
        if self.outputs is None:
            return None
        p = self.parameters
        return Signature(self.definition.name, tuple(p.names), tuple(p.types), self.outputs)


class HeaderReader:
    """Reads the header of one function."""

    def __init__(self, definition: Definition, strict_ssa: bool = False):
        self.definition = definition
        self.evaluator = Evaluator(definition.environment)
        self.strict_ssa = strict_ssa

    def _syntax(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserSyntaxError(message, self.definition.source.place(node), instead=instead)

    def header(self) -> Header:
        """The header."""
        node = self.definition.node
        keywords = self._decorator_keywords(node)
        kind = self._kind(keywords)
        entries = self._entries(keywords)
        statements = self._func_attr(list(node.body), entries)
        attributes: dict[str, Attribute] = {}
        if kind is not FunctionKind.OPAQUE or "type" in keywords:
            attributes[kernel.KIND] = KindAttr(kind)
        attributes.update(function_attributes(entries, self.definition.source.place(node)))
        attributes.update(self._level_and_role(kind, keywords))
        for name in ("auto_scope", "external_source"):
            value = self._constant(keywords.get(name))
            if isinstance(value, bool):
                attributes[f"kernel.{name}"] = BoolAttr.from_bool(value)
            elif isinstance(value, str):
                attributes[f"kernel.{name}"] = StringAttr(value)
        strict = self.strict_ssa or self._constant(keywords.get("strict_ssa")) is True
        parameters = self._parameters(node.args)
        return Header(self.definition, kind, parameters, self._outputs(node), attributes, strict, statements)

    def _constant(self, node: ast.AST | None) -> Any:
        if node is None:
            return None
        try:
            return self.evaluator.value(node)
        except NotConstant:
            return None

    def _decorator_keywords(self, node: ast.FunctionDef) -> dict[str, ast.expr]:
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                for item in decorator.keywords:
                    if item.arg not in DECORATOR_KEYWORDS:
                        raise self._syntax(decorator, f"pl.function has no keyword `{item.arg}`")
                return {str(item.arg): item.value for item in decorator.keywords}
        return {}

    def _kind(self, keywords: dict[str, ast.expr]) -> FunctionKind:
        if "type" not in keywords:
            return FunctionKind.OPAQUE
        kind = self._constant(keywords["type"])
        if not isinstance(kind, vocabulary.FunctionType):
            raise self._syntax(keywords["type"], "type is a pl.FunctionType", instead="pl.FunctionType.InCore")
        if kind.value not in FunctionKind.__members__.values():
            raise UnsupportedFeatureError(
                f"a function of type {kind.name} is not supported", self.definition.source.place(keywords["type"])
            )
        return FunctionKind(kind.value)

    def _level_and_role(self, kind: FunctionKind, keywords: dict[str, ast.expr]) -> dict[str, Attribute]:
        attributes: dict[str, Attribute] = {}
        implied = dict(zip(("level", "role"), IMPLIED.get(kind, ()), strict=False))
        for name, words in (("level", vocabulary.Level), ("role", vocabulary.Role)):
            if name not in keywords:
                continue
            value = self._constant(keywords[name])
            if not isinstance(value, words):
                raise self._syntax(keywords[name], f"{name} is a pl.{words.__name__}")
            if name in implied and implied[name] != value.name:
                raise self._syntax(
                    keywords[name],
                    f"Failed to parse function '{self.definition.name}': type {kind.dsl} implies "
                    f"{name}={implied[name]}, not {value.name}",
                    instead=f"leave out {name}=",
                )
            if name not in implied:
                attributes[f"kernel.{name}"] = StringAttr(value.name)
        return attributes

    def _entries(self, keywords: dict[str, ast.expr]) -> dict[str, Any]:
        if "attrs" not in keywords:
            return {}
        return dictionary(self.evaluator, keywords["attrs"], self.definition.source.place(keywords["attrs"]))

    def _func_attr(self, statements: list[ast.stmt], entries: dict[str, Any]) -> list[ast.stmt]:
        """Takes the leading `pl.func_attr({...})` statements away, and their entries in."""
        position = 0
        documentation: list[ast.stmt] = []
        for node in statements:
            value = node.value if isinstance(node, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                documentation.append(node)
                position += 1
                continue
            if not isinstance(value, ast.Call) or called_word(value) != "func_attr":
                break
            place = self.definition.source.place(value)
            if len(value.args) != 1 or value.keywords:
                raise self._syntax(value, "pl.func_attr takes one dict literal")
            for key, entry in dictionary(self.evaluator, value.args[0], place).items():
                if key in entries:
                    raise self._syntax(value, f'the key "{key}" is declared twice')
                entries[key] = entry
            position += 1
        return [*documentation, *statements[position:]]

    def _parameters(self, arguments: ast.arguments) -> Parameters:
        parameters = Parameters()
        given = [*arguments.posonlyargs, *arguments.args]
        if given and given[0].arg == "self" and given[0].annotation is None:
            given = given[1:]
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
            extra = [*arguments.defaults, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            raise UnsupportedFeatureError(
                "parameters are plain: no defaults, no *, no keyword-only ones",
                self.definition.source.place(next(e for e in extra if e is not None)),
                instead="@pl.jit, which takes them, or a constant outside of the kernel",
            )
        for argument in given:
            if argument.arg in parameters.names:
                raise self._syntax(argument, f"two parameters are called `{argument.arg}`")
            direction, said = self._parameter(argument)
            assert said.type is not None
            parameters.names.append(argument.arg)
            parameters.types.append(said.type)
            parameters.directions.append(direction)
        return parameters

    def _parameter(self, argument: ast.arg) -> tuple[Direction, Stated]:
        place = self.definition.source.place(argument)
        if not argument.arg.isascii():
            raise ParserTypeError(
                f"parameter '{argument.arg}' names an array in every text of the program, so its name has ASCII"
                " letters, digits and underscores only",
                place,
                instead=value_name(argument.arg),
            )
        if argument.annotation is None:
            raise ParserTypeError(
                f"parameter `{argument.arg}` is missing type annotation",
                place,
                instead=f"{argument.arg}: pl.Tensor[[rows, columns], pl.FP32]",
            )
        direction, form = annotations.direction_of(self.annotation(argument.annotation))
        said = self._stated(form, argument.annotation)
        if said.type is None:
            raise ParserTypeError(f"parameter `{argument.arg}` needs a type", place)
        if direction is Direction.INOUT and not isinstance(said.type, TensorType | TileType):
            raise ParserTypeError(
                f"the scalar parameter `{argument.arg}` cannot be InOut", place, instead=type_text(said.type)
            )
        return direction, said

    def annotation(self, node: ast.expr) -> Any:
        """An annotation, evaluated; one in quotes is read as text."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                raise self._syntax(node, "this annotation is no Python") from None
            node = ast.copy_location(inner, node)
        place, foreign = self.definition.source.place(node), self.evaluator.foreign(node)
        if foreign is not None:
            raise UnsupportedFeatureError(f"`{foreign}` is imported and not part of the language", place)
        try:
            return self.evaluator.value(node)
        except NotConstant:
            raise ParserTypeError("this annotation is no type of the language", place) from None

    def _stated(self, form: object, node: ast.AST) -> Stated:
        try:
            return annotations.stated(form)
        except ParserError as problem:
            raise type(problem)(problem.message, self.definition.source.place(node), instead=problem.instead) from None

    def _outputs(self, node: ast.FunctionDef) -> tuple[Attribute, ...] | None:
        """The declared results; None where they follow from the return statement."""
        if node.returns is None:
            return None
        if isinstance(node.returns, ast.Constant) and node.returns.value is None:
            return ()
        said = self._stated(self.annotation(node.returns), node.returns)
        types = [part.type for part in said.parts] if said.parts is not None else [said.type]
        known = [t for t in types if t is not None]
        return tuple(known) if len(known) == len(types) else None


def read_function(header: Header, functions: Functions) -> FuncOp:
    """The function with its body."""
    definition = header.definition
    block = Block(arg_types=header.parameters.types)
    node = without_jumps(definition, header.statements)
    body = Body(
        Definition(node, definition.source, definition.environment),
        block,
        functions,
        strict_ssa=header.strict_ssa,
        in_core=header.kind.in_core,
    )
    for name, argument in zip(header.parameters.names, block.args, strict=True):
        argument.name_hint = name
        body.names.bind(name, argument)
        body.names.places[name] = definition.source.place(definition.node)
    directions = zip(header.parameters.names, header.parameters.directions, strict=True)
    body.outputs = frozenset(name for name, direction in directions if direction is not Direction.IN)
    body.comments = Comments(definition.source, definition.node)
    statements = Statements(body)
    returned = statements.function(node.body)
    body.comments.finish()
    outputs = _checked(header, returned, body)
    end = body.emitter.emit(ReturnOp(*(returned or [])), _returned_at(header))
    kernel.add_comments(end, statements.pending)
    op = FuncOp(definition.name, (header.parameters.types, outputs), Region(block))
    op.attributes.update(header.attributes)
    op.location = definition.source.attribute(definition.node)
    if any(d is not Direction.IN for d in header.parameters.directions):
        op.arg_attrs = kernel.argument_attributes(header.parameters.directions)
    return op


def _returned_at(header: Header) -> ast.AST:
    """The last return statement of a function; the function itself where it has none."""
    return next((s for s in reversed(header.statements) if isinstance(s, ast.Return)), header.definition.node)


def _checked(header: Header, returned: Sequence[SSAValue] | None, body: Body) -> list[Attribute]:
    """The result types; what is declared must be what is returned."""
    actual = [value.type for value in returned or ()]
    declared = header.outputs
    if declared is None:
        return actual
    node = _returned_at(header)
    place = body.emitter.place(node)
    if len(declared) != len(actual):
        raise ParserTypeError(
            f"`{header.definition.name}` declares {len(declared)} results and returns {len(actual)}", place
        )
    for want, got in zip(declared, actual, strict=True):
        if not fits(got, want):
            raise ParserTypeError(
                f"`{header.definition.name}` declares the result {type_text(want)} and returns {type_text(got)}",
                place,
                instead=f"-> {type_text(got)}",
            )
    return actual
