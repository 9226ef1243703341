"""Constants: what is known while a kernel is read, evaluated without executing anything.

Understood are literals, arithmetic on them, names bound to such values, and the words of the language
(`pl.FP32`, `pl.Mem.Vec`, `pl.dynamic("M")`, `pl.Tensor[...]`). Everything else is a `Runtime` value.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cubelane.language import vocabulary
from cubelane.language.source import walk
from cubelane.language.vocabulary import DataType, Form, Symbol

MAX_BITS = 4096
"""How large an integer constant may grow."""
MAX_EXTENT = 400
"""How long the text of a run-time extent may grow."""


@dataclass(frozen=True)
class Runtime:
    """A value that is not known while the kernel is read."""

    node: ast.AST


@dataclass(frozen=True)
class Module:
    """A name that stands for the language itself (`pl`) or for a namespace of it (`pl.tile`)."""

    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class TypedConstant:
    """`pl.const(value, dtype)`: a constant of a stated type; it is never folded."""

    value: int | float | bool
    dtype: DataType


class NotConstant(Exception):
    """The expression is not known while the kernel is read."""


_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    kind: getattr(operator, name) for kind, name in _BINARY.items()
}
"""What Python's operators compute."""
POWER, SHIFT = BINARY[ast.Pow], BINARY[ast.LShift]
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
VIEWS: dict[str, Callable[..., Any]] = {
    "TensorView": vocabulary.TensorView,
    "TileView": vocabulary.TileView,
    "MemRef": vocabulary.MemRef,
}
FORMS = ("Tensor", "DistributedTensor", "Tile", "Scalar", "Out", "InOut", "Tuple", "Array")
ENUMS = (
    *("MemorySpace", "Mem", "TileLayout", "TensorLayout", "PadValue", "CompactMode", "SplitMode", "AtomicType"),
    *("NotifyOp", "FunctionType", "Level", "Role", "PipeType"),
)


def word(name: str) -> Any:
    """The object a word of the language stands for, if it is a constant one."""
    if name in vocabulary.DATA_TYPES or name in ENUMS or name in ("Ptr", "UnknownType", "MemRefType"):
        return getattr(vocabulary, name)
    if name in ("tile", "tensor", "system", "array", "prefetch", "optimizations", "adir", "language"):
        return Module((name,))
    raise NotConstant


def number(value: object) -> bool:
    """Whether a value is a plain Python number or truth value."""
    return isinstance(value, int | float)


def compute(operation: Callable[..., Any], *operands: Any) -> Any:
    """A folded number; NotConstant where Python has no answer or the number grows too large."""
    if any(isinstance(o, Symbol) for o in operands):
        return _extent(operation, operands)
    if not all(number(o) for o in operands):
        raise NotConstant
    if operation in (POWER, SHIFT) and abs(operands[1]) > MAX_BITS:
        raise NotConstant
    if operation is POWER and isinstance(operands[0], int) and operands[0].bit_length() * operands[1] > MAX_BITS:
        raise NotConstant
    try:
        result = operation(*operands)
    except (ArithmeticError, ValueError, TypeError):
        raise NotConstant from None
    if (isinstance(result, int) and result.bit_length() > MAX_BITS) or not number(result):
        raise NotConstant
    return result


def _extent(operation: Callable[..., Any], operands: Sequence[Any]) -> Symbol:
    """Arithmetic on a run-time extent, which stays an expression."""
    try:
        result = operation(*operands)
    except (ArithmeticError, ValueError, TypeError):
        raise NotConstant from None
    if not isinstance(result, Symbol) or len(result.name) > MAX_EXTENT:
        raise NotConstant
    return result


class Evaluator:
    """Evaluates trees with the names of an environment."""

    def __init__(self, environment: Mapping[str, Any]):
        self.environment = environment

    def value(self, node: ast.AST) -> Any:
        """The constant a tree stands for; NotConstant if it is none."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotConstant
        return method(node)

    def or_runtime(self, node: ast.AST) -> Any:
        """The constant, or a `Runtime` value that remembers the tree."""
        try:
            return self.value(node)
        except NotConstant:
            return Runtime(node)

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, int) and node.value.bit_length() > MAX_BITS:
            raise NotConstant
        if node.value is Ellipsis or isinstance(node.value, bytes | complex):
            raise NotConstant
        return node.value

    def _name(self, node: ast.Name) -> Any:
        try:
            value = self.environment[node.id]
        except KeyError:
            raise NotConstant from None
        if isinstance(value, Runtime):
            raise NotConstant
        return value

    def _binop(self, node: ast.BinOp) -> Any:
        operation = BINARY.get(type(node.op))
        if operation is None:
            raise NotConstant
        return compute(operation, self._plain(node.left), self._plain(node.right))

    def _plain(self, node: ast.AST) -> Any:
        value = self.value(node)
        return value.value if isinstance(value, TypedConstant) else value

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return compute(UNARY[type(node.op)], self._plain(node.operand))

    def _compare(self, node: ast.Compare) -> Any:
        operation = COMPARE.get(type(node.ops[0]))
        if operation is None or len(node.ops) != 1:
            raise NotConstant
        return compute(operation, self._plain(node.left), self._plain(node.comparators[0]))

    def _boolop(self, node: ast.BoolOp) -> Any:
        values = [self._plain(v) for v in node.values]
        if not all(isinstance(v, bool) for v in values):
            raise NotConstant
        return all(values) if isinstance(node.op, ast.And) else any(values)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.or_runtime(item) for item in node.elts)

    _list = _tuple

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self.value(node.value)
        if isinstance(base, Module):
            return word(node.attr)
        if base is math and node.attr in ("inf", "pi", "e", "tau", "nan"):
            return getattr(math, node.attr)
        if base is DataType and node.attr in vocabulary.DATA_TYPES:
            return vocabulary.DATA_TYPES[node.attr]
        if isinstance(base, type) and issubclass(base, Enum) and node.attr in base.__members__:
            return base.__members__[node.attr]
        raise NotConstant

    def _subscript(self, node: ast.Subscript) -> Any:
        name = self.language_word(node.value)
        if name in FORMS or (isinstance(node.value, ast.Name) and node.value.id == "tuple"):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if isinstance(node.slice, ast.Tuple) and not items:
                return Form("Tuple", ())
            return Form("Tuple" if name is None else name, tuple(self.or_runtime(item) for item in items))
        raise NotConstant

    def foreign(self, node: ast.AST) -> str | None:
        """The first name in a tree that comes from an import of something else, with its attributes."""
        for inner in walk(node):
            root = inner
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name):
                value = self.environment.get(root.id)
                if isinstance(value, Runtime) and isinstance(value.node, ast.Import | ast.ImportFrom):
                    return ast.unparse(inner)
        return None

    def language_word(self, node: ast.AST) -> str | None:
        """The word after `pl.` of an attribute of the language, None for anything else."""
        if isinstance(node, ast.Attribute):
            try:
                base = self.value(node.value)
            except NotConstant:
                return None
            if isinstance(base, Module):
                return node.attr
        return None

    def _call(self, node: ast.Call) -> Any:
        name = self.language_word(node.func)
        if name is None:
            return self._method(node)
        arguments = [self.or_runtime(a) for a in node.args]
        keywords = {k.arg: self.or_runtime(k.value) for k in node.keywords if k.arg}
        try:
            if name in VIEWS:
                return VIEWS[name](*arguments, **keywords)
            if name in FORMS and not keywords:
                return Form(name, tuple(arguments))
            if name == "dynamic" and len(arguments) == 1 and isinstance(arguments[0], str):
                return vocabulary.dynamic(arguments[0])
        except (TypeError, ValueError):
            raise NotConstant from None
        if name == "const" and len(arguments) == 2 and number(arguments[0]) and isinstance(arguments[1], DataType):
            return TypedConstant(arguments[0], arguments[1])
        if name in ("min", "max") and len(arguments) == 2:
            return compute(min if name == "min" else max, *(self._plain(a) for a in node.args))
        raise NotConstant

    def _method(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get_byte", "get_bit") and not node.args:
            base = self.value(node.func.value)
            if isinstance(base, DataType):
                return base.get_byte() if node.func.attr == "get_byte" else base.get_bit()
        if isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1:
            argument = self.value(node.args[0])
            if isinstance(argument, str) and argument.strip().lower().lstrip("+-") in ("inf", "nan", "infinity"):
                return float(argument)
        raise NotConstant
