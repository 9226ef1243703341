"""Statements of a kernel body: assignments, calls, and what is left to control flow (spec/front.md 1.5)."""

import ast
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.ir.kernel import add_comments
from cubelane.ir.narrowing import is_one, is_result, is_value
from cubelane.ir.retyping import retyped
from cubelane.ir.surface import Bound
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import DYNAMIC, TensorType, TileType
from cubelane.language import annotations
from cubelane.language.annotations import Stated
from cubelane.language.arguments import Arguments
from cubelane.language.body import Body, Definition
from cubelane.language.calls import is_shaped
from cubelane.language.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    SSAViolationError,
    UnsupportedFeatureError,
)
from cubelane.language.evaluate import NotConstant
from cubelane.language.expressions import Expressions
from cubelane.language.flow import COMPOUND, called_word
from cubelane.language.jumps import without_jumps
from cubelane.language.printing.scalars import is_scalar_op
from cubelane.language.printing.types import type_text
from cubelane.language.structure import Structure, Yielded
from cubelane.language.values import Literal, Nothing, Popped, Several, described, is_operand, is_scalar, named
from cubelane.language.vocabulary import MemRef, Symbol

MAX_INLINE = 32
STATIC = ("static_print", "static_assert")


class Statements:
    """Reads the statements of one function."""

    def __init__(self, body: Body):
        self.body = body
        self.expressions = Expressions(body, self._inline)
        self.structure = Structure(body, self.expressions, self.block)
        self.pending: list[str] = []
        self._readers: dict[type[ast.stmt], Callable[[Any], None]] = {
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.Expr: self._expression,
            ast.If: self.structure.branch,
            ast.For: self.structure.loop,
            ast.While: self.structure.while_loop,
            ast.With: self.structure.scope,
            ast.Pass: lambda node: None,
        }

    def block(self, statements: Sequence[ast.stmt]) -> Yielded | None:
        """A nested list of statements; a `pl.yield_` may end it."""
        for position, node in enumerate(statements):
            targets = yield_targets(node)
            if targets is not None:
                if position + 1 < len(statements):
                    raise self._syntax(node, "pl.yield_ is the last statement of a loop or of an arm")
                return self._yield(node, targets)
            if isinstance(node, ast.Return):
                raise UnsupportedFeatureError(
                    "a return inside a loop, an if or a scope is not supported",
                    self.body.emitter.place(node),
                    instead="assign the value to a name, and return it at the end of the function",
                )
            self.statement(node)
        return None

    def function(self, statements: Sequence[ast.stmt]) -> list[SSAValue] | None:
        """The statements of a function; the returned values, None without a return."""
        for position, node in enumerate(statements):
            if isinstance(node, ast.Return):
                if position + 1 < len(statements):
                    raise self._syntax(statements[position + 1], "nothing can follow a return")
                self.pending = self._comments(node)
                if node.value is None:
                    return []
                value = self.expressions.value(node.value)
                items = value.items if isinstance(value, Several) else (value,)
                return [self._returnable(item, node.value) for item in items]
            if yield_targets(node) is not None:
                raise self._syntax(node, "pl.yield_ belongs into a loop or an if")
            self.statement(node)
        return None

    def _returnable(self, value: Any, node: ast.AST) -> SSAValue:
        return self.body.emitter.value(value, node)

    def statement(self, node: ast.stmt) -> None:
        """One statement, with the comments before it."""
        comments = self._comments(node)
        last = self.body.emitter.block.last_op
        self._read(node)
        if comments:
            self.pending = [*self._attached(comments, last, node), *self.pending]

    def _comments(self, node: ast.stmt) -> list[str]:
        """The comments before a statement, and those that found no op before."""
        if self.body.comments is None or self.body.inlined:
            return []
        found = [*self.pending, *self.body.comments.before(node)]
        self.pending = []
        return found

    def _attached(self, comments: list[str], last: Operation | None, node: ast.stmt) -> list[str]:
        """Puts comments on the op that stands for a statement; gives them back where it made none."""
        made = self.body.emitter.block.last_op
        if isinstance(node, COMPOUND):
            first = made
        else:
            first = self.body.emitter.block.first_op if last is None else last.next_op
            while first is not None and first is not made and is_scalar_op(first):
                first = first.next_op
        if first is None or is_one(first, ConstantOp):
            return comments
        add_comments(first, comments)
        return []

    def _read(self, node: ast.stmt) -> None:
        reader = self._readers.get(type(node))
        if isinstance(node, ast.Break | ast.Continue):
            raise self._syntax(node, f"`{type(node).__name__.lower()}` outside loop")
        if reader is None:
            raise UnsupportedFeatureError(
                f"Unsupported statement type: {type(node).__name__}",
                self.body.emitter.place(node),
                instead=_other_statement(node),
            )
        reader(node)

    def _syntax(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        return ParserSyntaxError(message, self.body.emitter.place(node), instead=instead)

    def _yield(self, node: ast.stmt, targets: Sequence[str | None]) -> Yielded:
        comments = self._comments(node)
        value = getattr(node, "value", None)
        assert isinstance(value, ast.Call)
        if self.expressions.language_path(value.func) != ("yield_",):
            raise InvalidOperationError(
                f"`{ast.unparse(value.func)}` cannot be called in a kernel", self.body.emitter.place(value)
            )
        if None in targets:
            raise self._syntax(node, "the targets of pl.yield_ are names")
        if value.keywords:
            raise self._syntax(value, "pl.yield_ takes no keywords")
        values = [self.expressions.value(a) for a in value.args]
        if targets and len(targets) != len(values):
            raise self._syntax(node, f"{len(values)} values are yielded to {len(targets)} names")
        said = self._stated(node.annotation) if isinstance(node, ast.AnnAssign) else Stated()
        wanted = [said.type if len(values) == 1 else None] * len(values)
        ssa = [self.body.emitter.value(v, value, w) for v, w in zip(values, wanted, strict=True)]
        names = tuple(name for name in targets if name is not None)
        return Yielded(names, tuple(ssa), node, tuple(comments))

    # assignments

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise UnsupportedFeatureError(
                "several targets in one assignment are not supported", self.body.emitter.place(node)
            )
        target = node.targets[0]
        match target:
            case ast.Name():
                value = self.expressions.value(node.value)
                self.bind(target.id, self._assignable(value, node.value), node)
            case ast.Tuple() | ast.List():
                self._unpack(target, self.expressions.value(node.value), node)
            case ast.Subscript():
                self._store(target, node.value)
            case _:
                raise self._syntax(target, "only a name, a tuple of names or a subscript can be assigned to")

    def _assignable(self, value: Any, node: ast.AST) -> Any:
        if isinstance(value, Nothing):
            raise ParserTypeError("this call gives no value", self.body.emitter.place(node))
        if isinstance(value, Popped):
            return self.body.emitter.value(value, node)
        return self.body.symbol(value, node) if isinstance(value, Symbol) else value

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, node: ast.Assign) -> None:
        names = [item.id for item in target.elts if isinstance(item, ast.Name)]
        if len(names) != len(target.elts):
            raise self._syntax(target, "the targets of a tuple assignment are names")
        if not isinstance(value, Several):
            raise ParserTypeError(f"{described(value)} cannot be unpacked", self.body.emitter.place(node.value))
        if len(value.items) != len(names):
            raise self._syntax(node, f"{len(value.items)} values for {len(names)} names")
        for name, item in zip(names, value.items, strict=True):
            self.bind(name, self._assignable(item, node.value), node)

    def _store(self, target: ast.Subscript, value: ast.expr) -> None:
        place = self.body.emitter.place(target)
        if self.body.strict_ssa:
            raise UnsupportedFeatureError("a subscript store is not possible under strict_ssa", place)
        if not isinstance(target.value, ast.Name):
            raise ParserSyntaxError("the target of a subscript store is a named variable", place)
        base = self.expressions.value(target.value)
        if not is_shaped(base):
            raise ParserTypeError(f"{described(base)} cannot be written to", place)
        source = self.expressions.value(value)
        if isinstance(source, Popped | Nothing):
            source = self.body.emitter.value(source, value)
        self.bind(target.value.id, self.expressions.subscripts.write(base, source, target), target)

    def _stated(self, node: ast.expr) -> Stated:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Stated()
        try:
            evaluated = self.body.evaluator.value(node)
        except NotConstant:
            raise ParserTypeError("this annotation is no type of the language", self.body.emitter.place(node)) from None
        try:
            return annotations.stated(evaluated)
        except ParserError as problem:
            raise type(problem)(problem.message, self.body.emitter.place(node), instead=problem.instead) from None

    def _annotated(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self._syntax(node.target, "the target of an annotated assignment is a name")
        if node.value is None:
            raise self._syntax(node, "an annotation without a value declares nothing")
        said = self._stated(node.annotation)
        name = node.target.id
        if isinstance(node.value, ast.Call) and self.expressions.language_path(node.value.func) == ("tile", "alloc"):
            self.body.names.bind(name, MemRef(name))  # of a printed program; where a tile lies follows from the passes
            return
        value = self.expressions.value(node.value)
        if isinstance(value, Popped):
            value = self._pop(value, said, node)
        elif isinstance(value, Several) and said.parts is not None:
            if len(said.parts) != len(value.items):
                raise ParserTypeError(
                    f"{len(value.items)} values for {len(said.parts)} types", self.body.emitter.place(node)
                )
            items = zip(value.items, said.parts, strict=True)
            value = Several(tuple(self._typed(item, part, name, node) for item, part in items))
        else:
            value = self._typed(self._assignable(value, node.value), said, name, node)
        self.bind(name, value, node)

    def _typed(self, value: Any, said: Stated, name: str, node: ast.AnnAssign) -> Any:
        """The value with the type the annotation gives it."""
        place = self.body.emitter.place(node.annotation)
        if said.type is None:
            return value
        assert node.value is not None
        if isinstance(value, Literal):
            if not is_scalar(said.type):
                raise ParserTypeError(
                    f"`{name}` is annotated as {type_text(said.type)}, its value is {described(value)}", place
                )
            return Literal(value.value, said.type) if value.dtype in (None, said.type) else value
        if not is_value(value):
            raise ParserTypeError(
                f"`{name}` is annotated as {type_text(said.type)}, its value is {described(value)}", place
            )
        try:
            wanted = annotations.settle(value.type, said, name)
        except ParserError as problem:
            raise ParserTypeError(problem.message, place, code="annotation-mismatch") from None
        return self._retyped(value, wanted, node.value)

    def _retyped(self, value: SSAValue, wanted: Attribute | None, node: ast.expr) -> SSAValue:
        """A fresh result gets the stated type; a value that has a name already keeps its own."""
        if wanted is None or wanted == value.type or isinstance(node, ast.Name) or not is_result(value):
            return value
        if isinstance(wanted, TileType) and isinstance(value.type, TileType) and narrowed(value.type, wanted):
            extents = [Literal(v) for v in wanted.valid]
            made = self.expressions.calls.named("set_validshape", [value, *extents], node)
            assert is_result(made)
            value = made
        return retyped(value, wanted)

    def _pop(self, popped: Popped, said: Stated, node: ast.AnnAssign) -> Any:
        """A call whose type is stated: run-time extents of the annotation become its operands."""
        place = self.body.emitter.place(node.annotation)
        if not isinstance(said.type, TileType):
            raise ParserTypeError("a popped value is annotated with pl.Tile[...]", place)
        missing = [a for a, v in enumerate(said.type.valid) if v == DYNAMIC and a not in said.runtime]
        if missing:
            raise ParserTypeError("a run-time extent of a popped tile needs an expression, not None", place)
        extents = [self.expressions.index(self._with_place(n, node)) for _, n in sorted(said.runtime.items())]
        bound = Bound({**popped.arguments, "valid": extents})
        given = Arguments(popped.node, [], {}, popped.op_class.SPELLING)
        return self.expressions.calls.build(popped.op_class, bound, given, said.type)

    @staticmethod
    def _with_place(node: ast.AST, near: ast.AST) -> ast.AST:
        return node if hasattr(node, "lineno") else ast.copy_location(node, near)

    def bind(self, name: str, value: Any, node: ast.AST) -> None:
        """Binds a name; a second type for it is refused."""
        names, place = self.body.names, self.body.emitter.place(node)
        if name in names:
            old = names.get(name)
            if self.body.strict_ssa:
                first = names.places.get(name)
                notes = [f"it is bound first at {first}"] if first is not None else []
                raise SSAViolationError(
                    f"`{name}` is assigned twice under strict_ssa", place, *notes, instead=f"{name}_2 = ..."
                )
            if is_operand(old) and is_operand(value) and not alike(old, value):
                raise ParserTypeError(
                    f"Cannot reassign '{name}' with a different type: it was {described(old)}, "
                    f"this is {described(value)}",
                    place,
                    instead=f"{name}_2 = ...",
                )
        if name in self.body.outputs and is_value(value) and makes_new_tensor(value):
            warnings.warn(
                f"{place}: `{name}` is a new tensor from here on, the parameter is not written; "
                f"`{name}[:] = ...` writes it",
                OutParamWriteDropped,
                stacklevel=2,
            )
        named(value, name)
        names.bind(name, value)
        names.places[name] = place

    # expressions as statements

    def _expression(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            self.pending += inspect.cleandoc(value.value).splitlines()
            return
        if not isinstance(value, ast.Call):
            raise self._syntax(node, "this expression has no effect")
        word = called_word(value)
        if word in STATIC:
            return self._static(str(word), value)
        if word == "func_attr":
            raise self._syntax(node, "pl.func_attr comes first in the body of a function")
        result = self.expressions.value(value)
        if isinstance(result, Popped):
            self.body.emitter.value(result, value)
        return None

    def _static(self, word: str, node: ast.Call) -> None:
        place = self.body.emitter.place(node)
        if word == "static_print":
            shown = " ".join(self._shown(a) for a in node.args)
            print(f"static_print [{place.file}:{place.line}]: {shown}")
            return
        try:
            holds = bool(self.body.evaluator.value(node.args[0]))
        except (NotConstant, IndexError):
            raise InvalidOperationError("pl.static_assert needs a constant condition", place) from None
        if not holds:
            message = self._shown(node.args[1]) if len(node.args) > 1 else ast.unparse(node.args[0])
            raise ParserError(f"static_assert: {message}", place, code="static-assert")

    def _shown(self, node: ast.AST) -> str:
        try:
            return str(self.body.evaluator.value(node))
        except NotConstant:
            value = self.expressions.value(node)
            return type_text(value.type) if is_value(value) else described(value)

    def _inline(self, definition: Definition, given: Arguments) -> Any:
        """A call of an inline function: its statements, read here with its own names."""
        parameters = [a.arg for a in definition.node.args.args]
        values = dict(zip(parameters, given.positional, strict=False)) | given.keywords
        place = self.body.emitter.place(given.call)
        if (
            len(parameters) != len(set(parameters))
            or set(values) != set(parameters)
            or len(given.positional) > len(parameters)
        ):
            raise InvalidOperationError(f"`{definition.name}` takes the arguments {', '.join(parameters)}", place)
        if self.body.inlined >= MAX_INLINE:
            raise UnsupportedFeatureError(f"`{definition.name}` calls itself without end", place)
        body = self.body
        outer, environment, liveness = body.names, body.environment, body.liveness
        body.names, body.environment = type(outer)(), definition.environment
        node = without_jumps(definition, definition.node.body)
        body.liveness = type(liveness)(node.body)
        body.inlined += 1
        try:
            for name, value in values.items():
                body.names.bind(name, value)
            with body.emitter.reading(definition.source):
                return self._inlined(node.body)
        finally:
            body.inlined -= 1
            body.names, body.environment, body.liveness = outer, environment, liveness

    def _inlined(self, body: Sequence[ast.stmt]) -> Any:
        *statements, last = body
        for node in statements:
            if isinstance(node, ast.Return):
                raise self._syntax(node, "nothing can follow a return")
            self.statement(node)
        if isinstance(last, ast.Return):
            return Nothing() if last.value is None else self.expressions.value(last.value)
        self.statement(last)
        return Nothing()


def _other_statement(node: ast.stmt) -> str | None:
    """What to write instead of a statement that kernels do not have."""
    if isinstance(node, ast.AugAssign):
        operation = ast.BinOp(node.target, node.op, node.value)
        return f"{ast.unparse(node.target)} = {ast.unparse(operation)}"
    if isinstance(node, ast.Assert):
        return f"pl.static_assert({ast.unparse(node.test)})"
    others: dict[type[ast.stmt], str] = {
        ast.FunctionDef: "a function with @pl.inline outside of the kernel",
        ast.Import: "the import outside of the kernel",
        ast.ImportFrom: "the import outside of the kernel",
        ast.Try: "the statements without `try`",
        ast.Match: "if ... else ...",
    }
    return others.get(type(node))


class OutParamWriteDropped(UserWarning):
    """An assignment to the name of an Out parameter that writes nothing."""


NEW = (Split.ELEMENTWISE, Split.REDUCES, Split.CUBE, Split.GENERATES, Split.TRANSPOSES, Split.CONCATENATES)


def makes_new_tensor(value: SSAValue) -> bool:
    """Whether a value is a tensor of its own, and no memory that was there before."""
    splits = value.owner.get_trait(Splits) if isinstance(value.owner, Operation) else None
    return isinstance(value.type, TensorType) and splits is not None and splits.behaviour in NEW


def yield_targets(node: ast.stmt) -> list[str | None] | None:
    """The names that a `pl.yield_` statement gives its values to (None for a target that is no name).

    None as a whole for any other statement.
    """
    if called_word(getattr(node, "value", None)) != "yield_":
        return None
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case ast.Assign(targets=[ast.Tuple(elts=items) | ast.List(elts=items)]):
            return [item.id if isinstance(item, ast.Name) else None for item in items]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Expr():
            return []
        case _:
            return None


def narrowed(inferred: TileType, wanted: TileType) -> bool:
    """Whether an annotation states constant valid extents that the value does not have."""
    if len(wanted.shape) != 2 or wanted.shape != inferred.shape or DYNAMIC in wanted.valid:
        return False
    return any(i not in (w, DYNAMIC) for i, w in zip(inferred.valid, wanted.valid, strict=True))


def alike(old: SSAValue | Literal, new: SSAValue | Literal) -> bool:
    """Whether a name may go from one value to the other: the same kind, shape and element type."""
    a, b = old.type, new.type
    if isinstance(a, TileType | TensorType) and type(a) is type(b):
        assert isinstance(b, TileType | TensorType)
        return a.shape == b.shape and a.dtype == b.dtype
    return a == b


__all__ = ["Statements", "yield_targets"]
