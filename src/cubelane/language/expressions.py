"""Expressions of a kernel: from Python trees to SSA values (spec/front.md 1.7)."""

import ast
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from cubelane.ir.narrowing import is_tuple, is_value
from cubelane.ir.types import TileType
from cubelane.language import evaluate
from cubelane.language.annotations import dtype_of
from cubelane.language.arguments import Arguments
from cubelane.language.body import Body, Definition
from cubelane.language.calls import Calls, is_number, is_shaped
from cubelane.language.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from cubelane.language.evaluate import Module, NotConstant, Runtime, TypedConstant, compute
from cubelane.language.operators import BINARY, FUNCTIONS
from cubelane.language.registry import likeness, spaces_of
from cubelane.language.subscripts import Subscripts
from cubelane.language.templates import Template
from cubelane.language.values import Literal, Missing, Popped, Several, described
from cubelane.language.vocabulary import Symbol

SHAPED_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Mod: "rem",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
    ast.MatMult: "matmul",
}
SHAPED_COMPARISONS: dict[type[ast.cmpop], int] = {ast.Eq: 0, ast.NotEq: 1, ast.Lt: 2, ast.LtE: 3, ast.Gt: 4, ast.GtE: 5}
SHAPED_SIGNS: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "not_"}
SHAPED_FUNCTIONS = {"abs": "abs", "min": "minimum", "max": "maximum"}
"""Python operators and functions that work on tiles and tensors."""


def _unchained(node: ast.Compare) -> str:
    """A chained comparison as comparisons of two."""
    operands = [node.left, *node.comparators]
    pairs = zip(operands, node.ops, operands[1:], strict=False)
    return " and ".join(ast.unparse(ast.Compare(a, [op], [b])) for a, op, b in pairs)


class Expressions:
    """Reads expressions of one body. `inline` expands a call of an inline function."""

    def __init__(self, body: Body, inline: Callable[[Definition, Any], Any]):
        self.body = body
        self.calls = Calls(body, self.value, self._operator)
        self.subscripts = Subscripts(body, self.calls, self.value)
        self.inline = inline
        self._readers: dict[type[ast.AST], Callable[[Any], Any]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.BinOp: self._binop,
            ast.Compare: self._compare,
            ast.BoolOp: self._boolop,
            ast.UnaryOp: self._unaryop,
            ast.IfExp: self._choice,
            ast.Call: self._call,
            ast.Tuple: self._several,
            ast.List: self._several,
            ast.Subscript: self._subscript,
        }

    def value(self, node: ast.AST) -> Any:
        """What an expression stands for."""
        reader = self._readers.get(type(node))
        if reader is None:
            raise UnsupportedFeatureError(
                f"Unsupported expression type: {type(node).__name__}", self.body.emitter.place(node)
            )
        return reader(node)

    def ssa(self, node: ast.AST) -> SSAValue:
        """An expression as one SSA value."""
        value = self.value(node)
        if isinstance(value, Symbol):
            return self.body.symbol(value, node)
        return self.body.emitter.value(value, node)

    def index(self, node: ast.AST) -> SSAValue:
        """An expression as an index."""
        return self.calls.binder.index(self.value(node), node)

    def truth(self, node: ast.AST) -> SSAValue:
        """A condition."""
        value = self.value(node)
        if not is_number(value) or isinstance(value, Symbol):
            raise self._type_error(node, f"a condition is a truth value, not {described(value)}")
        return self.body.arithmetic.truth(value, node)

    def _type_error(self, node: ast.AST, message: str) -> ParserError:
        return ParserTypeError(message, self.body.emitter.place(node))

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if isinstance(value, bool | int | float):
            if isinstance(value, int) and value.bit_length() > evaluate.MAX_BITS:
                raise self._type_error(node, "this number is too large")
            return Literal(value)
        if value is None or isinstance(value, str):
            return value
        raise UnsupportedFeatureError(f"Unsupported constant: {type(value).__name__}", self.body.emitter.place(node))

    def _name(self, node: ast.Name) -> Any:
        body, name = self.body, node.id
        if name in body.names:
            value = body.names.get(name)
            if isinstance(value, Missing):
                raise UndefinedVariableError(
                    f"`{name}` {value.reason}",
                    body.emitter.place(node),
                    f"it is bound at {value.location}",
                    instead=value.instead,
                )
            return value
        if name in body.environment:
            outside = body.environment[name]
            if isinstance(outside, Runtime):
                raise UndefinedVariableError(
                    f"`{name}` is defined outside the kernel, but is no constant that can be read from the text",
                    body.emitter.place(node),
                    instead=f"pass `{name}` as a parameter of the kernel",
                )
            return self._from_outside(outside)
        near = [known for known in (*body.names.bound, *body.environment) if likeness(name, known) > 0.6]
        hint = f"did you mean `{near[0]}`?" if near else None
        raise UndefinedVariableError(f"`{name}` is not defined", body.emitter.place(node), instead=hint)

    def _from_outside(self, value: Any) -> Any:
        if isinstance(value, bool | int | float):
            return Literal(value)
        if isinstance(value, TypedConstant):
            return Literal(value.value, dtype_of(value.dtype))
        if is_tuple(value):
            return Several(tuple(self._from_outside(item) for item in value))
        return value

    def _attribute(self, node: ast.Attribute) -> Any:
        try:
            return self._from_outside(self.body.evaluator.value(node))
        except NotConstant:
            pass
        place = self.body.emitter.place(node)
        path = self.language_path(node)
        if path:
            raise UndefinedVariableError(f"pl.{'.'.join(path)} is no constant of the language", place)
        raise UnsupportedFeatureError("Unsupported attribute access", place)

    def language_path(self, node: ast.AST) -> tuple[str, ...]:
        """`("tile", "load")` for `pl.tile.load`; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id not in self.body.names:
            base = self.body.environment.get(node.id)
            if isinstance(base, Module):
                return (*base.path, *reversed(parts)) if base.path != ("language",) else tuple(reversed(parts))
        return ()

    def _binop(self, node: ast.BinOp) -> Any:
        operands = [self.value(node.left), self.value(node.right)]
        operation = evaluate.BINARY.get(type(node.op))
        if operation is not None and all(isinstance(v, Literal) and v.dtype is None for v in operands):
            try:
                return Literal(compute(operation, *(v.value for v in operands)))
            except NotConstant:
                by_zero = isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod) and operands[1].value == 0
                why = ": it divides by zero" if by_zero else ""
                raise ParserSyntaxError(
                    f"this constant cannot be computed{why}", self.body.emitter.place(node)
                ) from None
        return self._operator(type(node.op), operands, node)

    def _operator(self, operation: type[ast.operator], operands: list[Any], node: ast.AST) -> Any:
        """A binary operator on values of any kind."""
        values = [self.body.symbol(v, node) if isinstance(v, Symbol) else v for v in operands]
        if any(is_shaped(v) for v in values):
            return self._shaped_operator(operation, values, node)
        lhs, rhs = (self.body.arithmetic.operand(v, node) for v in values)
        if operation is ast.Pow:
            return self.body.arithmetic.power(lhs, rhs, node)
        operator = BINARY.get(operation)
        if operator is None:
            raise UnsupportedFeatureError(
                f"Unsupported binary operator: {operation.__name__}", self.body.emitter.place(node)
            )
        return self.body.arithmetic.binary(operator, lhs, rhs, node)

    def _shaped_operator(self, operation: type[ast.operator], values: list[Any], node: ast.AST) -> Any:
        if operation is ast.Pow:
            return self._shaped_power(values, node)
        word = SHAPED_OPERATORS.get(operation)
        if word is None or not spaces_of(word):
            raise UnsupportedFeatureError(
                f"the operator {operation.__name__} does not work on tiles and tensors", self.body.emitter.place(node)
            )
        if operation is ast.Sub and isinstance(values[0], Literal) and is_shaped(values[1]):
            negative = self.calls.named("neg", [values[1]], node)
            return self.calls.named("add", [negative, values[0]], node)
        lhs, rhs = values
        keywords = self.calls.scratch(word, lhs, node) if is_value(lhs) and is_shaped(rhs) else {}
        return self.calls.named(word, values, node, **keywords)

    def _shaped_power(self, values: list[Any], node: ast.AST) -> Any:
        base, exponent = values
        known = exponent.value if isinstance(exponent, Literal) else None
        if known == 0.5:
            return self.calls.named("sqrt", [base], node)
        if not isinstance(known, int) or not 1 <= known <= 16 or not is_shaped(base):
            raise UnsupportedFeatureError(
                "`**` takes a constant whole exponent from 1 to 16, or 0.5", self.body.emitter.place(node)
            )
        result = base
        for _ in range(known - 1):
            result = self.calls.named("mul", [result, base], node)
        return result

    def _compare(self, node: ast.Compare) -> Any:
        place = self.body.emitter.place(node)
        if len(node.ops) != 1:
            raise ParserSyntaxError("chained comparisons are not supported", place, instead=_unchained(node))
        operands = [self.value(node.left), self.value(node.comparators[0])]
        known = evaluate.COMPARE.get(type(node.ops[0]))
        if known is not None and all(isinstance(v, Literal) and v.dtype is None for v in operands):
            return Literal(known(operands[0].value, operands[1].value))
        if any(is_shaped(v) for v in operands):
            kind = SHAPED_COMPARISONS.get(type(node.ops[0]))
            if kind is None or not isinstance(getattr(operands[0], "type", None), TileType):
                raise self._type_error(node, f"{described(operands[0])} cannot be compared here")
            return self.calls.named("cmp", operands, node, cmp_type=Literal(kind))
        values = [self.body.symbol(v, node) if isinstance(v, Symbol) else v for v in operands]
        lhs, rhs = (self.body.arithmetic.operand(v, node) for v in values)
        return self.body.arithmetic.compare(node.ops[0], lhs, rhs, node)

    def _boolop(self, node: ast.BoolOp) -> Any:
        kind = arith.AndIOp if isinstance(node.op, ast.And) else arith.OrIOp
        operands = [self.body.arithmetic.operand(self.value(v), v) for v in node.values]
        return self.body.arithmetic.both(kind, operands, node)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(operand, Symbol):
            operand = self.body.symbol(operand, node)
        if isinstance(node.op, ast.USub | ast.UAdd) and isinstance(operand, Literal):
            sign = -1 if isinstance(node.op, ast.USub) else 1
            return Literal(sign * operand.value, operand.dtype)
        if is_shaped(operand):
            word = SHAPED_SIGNS.get(type(node.op))
            if word is None:
                raise self._type_error(node, f"this operator does not work on {described(operand)}")
            return self.calls.named(word, [operand], node)
        value = self.body.arithmetic.operand(operand, node)
        match node.op:
            case ast.USub():
                return self.body.arithmetic.minus(value, node)
            case ast.Not():
                return self.body.arithmetic.negated(value, node)
            case ast.Invert():
                return self.body.arithmetic.inverted(value, node)
            case _:
                return value

    def _choice(self, node: ast.IfExp) -> Any:
        parts = [self.value(part) for part in (node.test, node.body, node.orelse)]
        condition, then, other = (self.body.arithmetic.operand(v, node) for v in parts)
        return self.body.arithmetic.choose(condition, then, other, node)

    def _several(self, node: ast.Tuple | ast.List) -> Several:
        return Several(tuple(self.value(item) for item in node.elts))

    def _subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        if isinstance(base, Popped):
            base = self.body.emitter.value(base, node)
        if isinstance(base, Several):
            item = self.value(node.slice)
            position = self.calls.binder.integer(item, node.slice)
            if not 0 <= position < len(base.items):
                raise ParserSyntaxError(
                    f"a tuple of {len(base.items)} has no item {position}", self.body.emitter.place(node)
                )
            return base.items[position]
        if not is_shaped(base):
            raise self._type_error(node, f"{described(base)} cannot be indexed")
        return self.subscripts.read(base, node)

    def _call(self, node: ast.Call) -> Any:
        path = self.language_path(node.func)
        if path:
            return self._language_call(path, node)
        try:
            return self._from_outside(self.body.evaluator.value(node))
        except NotConstant:
            pass
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
            return self._method(function.attr, node)
        if isinstance(function, ast.Name):
            return self._by_name(function.id, node)
        foreign = self.body.evaluator.foreign(function)
        if foreign is not None:
            word = foreign.rpartition(".")[2]
            raise UnsupportedFeatureError(
                f"`{foreign}` is imported and not part of the language",
                self.body.emitter.place(node),
                instead=f"pl.{word}" if spaces_of(word) else None,
            )
        raise InvalidOperationError(
            "only operations of the language and functions of the program can be called",
            self.body.emitter.place(node),
        )

    def _language_call(self, path: tuple[str, ...], node: ast.Call) -> Any:
        word = path[-1]
        if path == ("const",):
            try:
                return self._from_outside(self.body.evaluator.value(node))
            except NotConstant:
                raise InvalidOperationError(
                    "pl.const takes a number and an element type",
                    self.body.emitter.place(node),
                    instead="pl.const(1, pl.INT32)",
                ) from None
        if word in ("get_byte", "get_bit"):
            try:
                return self._from_outside(self.body.evaluator.value(node))
            except NotConstant:
                pass
        return self.calls.of_language(path, node)

    def _method(self, name: str, node: ast.Call) -> Any:
        signature = self.body.functions.method(name)
        if signature is None:
            raise UndefinedVariableError(f"the program has no function `{name}`", self.body.emitter.place(node))
        return self.calls.function(signature, self.calls.arguments(node, name))

    def _by_name(self, name: str, node: ast.Call) -> Any:
        known = self.body.names.get(name) or self.body.environment.get(name)
        if isinstance(known, Definition):
            given = self.calls.arguments(node, name)
            if known.inline:
                return self.inline(known, given)
            if isinstance(known, Template):
                return self._template(known, given)
            return self.calls.function(self.body.functions.outside(known, node), given)
        if name in ("abs", "min", "max") and known is None:
            given = self.calls.arguments(node, name)
            if given.keywords:
                raise self._type_error(node, f"`{name}` takes no keywords")
            if (len(given.positional) != 1) if name == "abs" else len(given.positional) < 2:
                raise self._type_error(node, f"`{name}` does not take {len(given.positional)} operands")
            if any(is_shaped(v) for v in given.positional):
                return self.calls.named(SHAPED_FUNCTIONS[name], given.positional, node)
            return self._folded(name, given.positional, node)
        raise InvalidOperationError(
            f"`{name}` cannot be called in a kernel",
            self.body.emitter.place(node),
            instead="make it a @pl.function, or @pl.inline it",
        )

    def _template(self, template: Template, given: Arguments) -> Any:
        """A call of a `@pl.jit` function: its types are those of the arguments."""
        node = given.call
        positional = [self.body.symbol(v, node) if isinstance(v, Symbol) else v for v in given.positional]
        keywords = {k: self.body.symbol(v, node) if isinstance(v, Symbol) else v for k, v in given.keywords.items()}
        typed = Arguments(node, positional, keywords, given.word)
        signature, runtime = self.body.functions.template(template, typed, self.body.emitter.place(node))
        return self.calls.function(signature, Arguments(node, runtime, {}, given.word))

    def _folded(self, name: str, values: list[Any], node: ast.AST) -> Any:
        """`abs`, `min`, `max` of scalars; of literals at once."""
        if values and all(isinstance(v, Literal) and v.dtype is None for v in values):
            numbers = [v.value for v in values]
            return Literal(abs(numbers[0]) if name == "abs" else min(numbers) if name == "min" else max(numbers))
        operands = [self.body.arithmetic.operand(v, node) for v in values]
        if name == "abs":
            return self.body.arithmetic.absolute(operands[0], node)
        result = operands[0]
        for operand in operands[1:]:
            result = self.body.arithmetic.binary(FUNCTIONS[name], result, operand, node)
        return result
