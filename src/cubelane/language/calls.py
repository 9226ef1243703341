"""Calls inside a kernel: operators of the language, scalar functions, other functions of the program."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.calls import KernelCallOp, fits
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import REQUIRED, Bound, SurfaceOp
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import MemorySpace, TensorType, TileType
from cubelane.language.annotations import dtype_of
from cubelane.language.arguments import Arguments, Binder
from cubelane.language.attributes import call_attributes
from cubelane.language.body import Body, Signature
from cubelane.language.errors import InvalidOperationError, ParserError, ParserTypeError, UnsupportedFeatureError
from cubelane.language.operators import FUNCTIONS
from cubelane.language.printing.types import type_text
from cubelane.language.registry import ALIASES, OpClass, find, refusal, scalar_form, similar, spaces_of
from cubelane.language.values import Literal, Nothing, Popped, Several, described, is_scalar
from cubelane.language.vocabulary import Symbol

Operate = Callable[[type[ast.operator], list[Any], ast.AST], Any]
MISUSES = (KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError, ArithmeticError)
"""What a type rule may raise on arguments that it was not written for."""


def is_shaped(value: object) -> bool:
    """Whether a value is a tile or a tensor."""
    return is_value(value) and is_one(value.type, (TileType, TensorType))


def is_number(value: object) -> bool:
    """Whether a value is a scalar: a literal, a register value or a run-time extent."""
    if isinstance(value, Literal | Symbol):
        return True
    return is_value(value) and is_scalar(value.type)


class Calls:
    """Reads calls; `evaluate` reads an argument, `operate` applies a binary operator of Python."""

    def __init__(self, body: Body, evaluate: Callable[[ast.AST], Any], operate: Operate):
        self.body = body
        self.evaluate = evaluate
        self.operate = operate
        self.binder = Binder(body.emitter, body.arithmetic, body.symbol)

    def refuse(self, node: ast.AST, message: str, instead: str | None = None) -> ParserError:
        """An InvalidOperationError at a node."""
        return InvalidOperationError(message, self.body.emitter.place(node), instead=instead)

    def arguments(self, node: ast.Call, word: str) -> Arguments:
        """The arguments of a call, evaluated from left to right."""
        for item in node.args:
            if isinstance(item, ast.Starred):
                raise self.refuse(item, "`*` in a call is not supported")
        if any(k.arg is None for k in node.keywords):
            raise self.refuse(node, "`**` in a call is not supported")
        positional = [self.evaluate(a) for a in node.args]
        return Arguments(node, positional, {str(k.arg): self.evaluate(k.value) for k in node.keywords}, word)

    def of_language(self, path: tuple[str, ...], node: ast.Call) -> Any:
        """A call `pl.<path>(...)`."""
        word = ".".join(path)
        self._check_supported(path, node)
        attributes = [k for k in node.keywords if k.arg == "attrs"]
        if attributes:
            node = ast.copy_location(
                ast.Call(node.func, node.args, [k for k in node.keywords if k.arg != "attrs"]), node
            )
        given = self.arguments(node, word)
        if len(path) == 1:
            result = self.unified(path[0], given)
        elif len(path) == 2 and path[0] in ("tile", "tensor", "system"):
            op = find(path[0], path[1])
            if op is None:
                known = similar(path[1], (path[0],))
                raise self.refuse(
                    node,
                    f"Unknown pl.{path[0]} operation: {path[1]}",
                    instead=f"pl.{path[0]}.{known}" if known else None,
                )
            result = self.operation(op, given)
        else:
            raise self.refuse(node, f"Unknown operation 'pl.{word}'")
        for keyword in attributes:
            self._attach(result, keyword.value)
        return result

    def _check_supported(self, path: tuple[str, ...], node: ast.Call) -> None:
        """Refuses an operation of the reference that is known and not supported."""
        known = find(path[0], path[1]) if len(path) == 2 else spaces_of(path[0])
        refused = None if known else refusal(path)
        if refused is not None:
            message, way = refused
            raise UnsupportedFeatureError(message, self.body.emitter.place(node), instead=way)

    def _attach(self, result: Any, node: ast.AST) -> None:
        last = self.body.emitter.block.last_op
        if last is not None and (isinstance(result, Nothing) or (is_value(result) and result.owner is last)):
            last.attributes.update(call_attributes(self.body.evaluator, node, self.body.emitter.place(node)))

    def unified(self, word: str, given: Arguments) -> Any:
        """A call `pl.word(...)`: the first operand decides which namespace is meant (front.md 2.1)."""
        first = given.positional[0] if given.positional else next(iter(given.keywords.values()), None)
        second = given.positional[1] if len(given.positional) > 1 else None
        if is_number(first) and not is_shaped(second):
            result = self.scalar_function(word, given)
            if result is not None:
                return result
        if word in ALIASES:
            op = find(*ALIASES[word])
            assert op is not None
            return self.operation(op, given)
        spaces = spaces_of(word)
        if not spaces:
            known = similar(word)
            raise self.refuse(given.call, f"Unknown operation 'pl.{word}'", instead=f"pl.{known}" if known else None)
        shaped = next((v for v in (first, second) if is_shaped(v)), None)
        wanted = "tile" if shaped is not None and is_one(shaped.type, TileType) else "tensor"
        op = find(wanted if wanted in spaces else spaces[0], word)
        assert op is not None
        return self.operation(op, given)

    def scalar_function(self, word: str, given: Arguments) -> Any:
        """`pl.min`, `pl.add`, `pl.cast` ... of register values; None if `word` is no scalar function."""
        node, arithmetic = given.call, self.body.arithmetic
        values = [self.body.symbol(v, node) if isinstance(v, Symbol) else v for v in given.positional]
        if word in ("min", "max", "minimum", "maximum") and len(values) == 2:
            operands = [arithmetic.operand(v, node) for v in values]
            return arithmetic.binary(FUNCTIONS[word[:3]], operands[0], operands[1], node)
        if word in _OPERATORS and len(values) == 2 and not given.keywords:
            return self.operate(_OPERATORS[word], values, node)
        if word == "cast":
            targets = [*given.positional[1:2], *(given.keywords.get(k) for k in ("dtype", "target_type"))]
            target = next((t for t in targets if t is not None), None)
            try:
                dtype = dtype_of(target)
            except ParserError as problem:
                raise type(problem)(problem.message, self.body.emitter.place(node)) from None
            return arithmetic.cast(arithmetic.operand(values[0], node), dtype, node)
        if word in ("abs", "neg") and len(values) == 1:
            operand = arithmetic.operand(values[0], node)
            return arithmetic.absolute(operand, node) if word == "abs" else arithmetic.minus(operand, node)
        return None

    def named(self, word: str, values: list[Any], node: ast.AST, **keywords: Any) -> Any:
        """An operator of the language applied to values that are evaluated already."""
        return self.unified(word, Arguments(_call_of(word, node), values, keywords, word))

    def operation(self, op: OpClass, given: Arguments) -> Any:
        """The op of a call; its result, or `Nothing`."""
        first, second = (*given.positional, None, None)[:2]
        if is_number(first) and is_shaped(second) and scalar_form(op) is not None:
            return self._scalar_first(op, given)
        if is_number(second):
            op = scalar_form(op) or op
        self._region_mode(op, given)
        stated = self._stated_type(given) if op.STATED else None
        values = self.binder.bind(op, given)
        if op.STATED and stated is None:
            return Popped(op, values, given.call)
        if stated is not None:
            return self.build(op, Bound({**values, "valid": []}), given, stated)
        return self.build(op, Bound(values), given)

    def _stated_type(self, given: Arguments) -> TileType | None:
        """The type that `shape=` and `dtype=` of a pop state, instead of an annotation."""
        if not {"shape", "dtype"} <= given.keywords.keys():
            return None
        shape, dtype = (given.keywords.pop(name) for name in ("shape", "dtype"))
        items = shape.items if isinstance(shape, Several) else ()
        box = tuple(self.binder.integer(item, given.node("shape")) for item in items)
        try:
            return TileType.make(box, dtype_of(dtype))
        except ParserError as problem:
            raise type(problem)(problem.message, self.body.emitter.place(given.node("dtype"))) from None

    def scratch(self, word: str, tile: SSAValue, node: ast.AST) -> dict[str, Any]:
        """The scratch tiles that an operator of Python does not name: like the tile, by parameter name."""
        op = find("tile", word)
        splits = op.get_trait(Splits) if op is not None else None
        if op is None or splits is None or not isinstance(tile.type, TileType):
            return {}
        shape = Several(tuple(Literal(d) for d in tile.type.shape))
        missing = [p.name for p in op.PARAMETERS if p.name in splits.scratch and p.default is REQUIRED]
        create = find("tile", "create")
        assert create is not None
        made: dict[str, Any] = {}
        for name in missing:
            values = {"shape": tile.type.shape, "dtype": tile.type.dtype, "target_memory": MemorySpace.VEC}
            made[name] = self.build(create, Bound(values), Arguments(_call_of("create", node), [shape], {}, "create"))
        return made

    def build(self, op: OpClass, bound: Bound, given: Arguments, result_type: Attribute | None = None) -> Any:
        """Makes the op, or says why its arguments do not fit."""
        place = self.body.emitter.place(given.call)
        try:
            made = op.from_call(bound, result_type)
            self.body.emitter.emit(made, given.call)
            verify_once(made)
        except ParserError:
            raise
        except Diagnostic as problem:
            raise InvalidOperationError(
                f"pl.{given.word}: {problem.message}",
                place,
                *problem.notes,
                instead=problem.instead,
                code=problem.code,
            ) from None
        except (*MISUSES, VerifyException):
            shown = ", ".join(described(v) for v in given.positional)
            raise self.refuse(given.call, f"pl.{given.word}: the arguments do not fit ({shown})") from None
        if not made.results:
            return Nothing()
        return made.results[0] if len(made.results) == 1 else Several(tuple(made.results))

    def _scalar_first(self, op: OpClass, given: Arguments) -> Any:
        """`1.0 - tile`: a scalar as first operand."""
        scalar, shaped, word, node = given.positional[0], given.positional[1], op.SPELLING.rstrip("_"), given.call
        if word in ("add", "mul", "maximum", "minimum", "and", "or"):
            return self.named(word, [shaped, scalar], node)
        if word == "sub":
            return self.named("add", [self.named("neg", [shaped], node), scalar], node)
        if word == "div":
            return self.named("mul", [self.named("recip", [shaped], node), scalar], node)
        raise self.refuse(node, f"pl.{word} needs a tile or tensor as its first operand, not {described(scalar)}")

    def _region_mode(self, op: OpClass, given: Arguments) -> None:
        """A boundary op inside a region takes the mode of the region (front.md 1.6)."""
        splits = op.get_trait(Splits)
        if splits is None or splits.behaviour is not Split.BOUNDARY:
            return
        if "mode" in given.keywords:
            raise self.refuse(given.call, f"pl.{given.word} takes no mode; it is that of the region")
        if self.body.region is None:
            if given.positional and isinstance(getattr(given.positional[0], "type", None), TensorType):
                raise self.refuse(
                    given.call,
                    f"pl.{given.word} of a tensor belongs into a pl.split_aiv region",
                    instead="for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):",
                )
            return
        if "split" in given.keywords:
            raise self.refuse(
                given.call, f"pl.{given.word} inside a region takes the mode of the region", instead="leave out split="
            )
        if len(given.positional) != 1:
            raise self.refuse(given.call, f"pl.{given.word} takes exactly one operand")
        given.keywords["split"] = Literal(self.body.region.value)

    def function(self, signature: Signature, given: Arguments) -> Any:
        """A call of another function of the program."""
        node, emitter = given.call, self.body.emitter
        values = list(given.positional)
        for name in signature.parameters[len(values) :]:
            if name in given.keywords:
                values.append(given.keywords[name])
        if len(values) != len(signature.inputs) or len(given.keywords) > len(signature.inputs):
            raise self.refuse(
                node, f"`{signature.name}` takes {len(signature.inputs)} arguments, {len(values)} are given"
            )
        operands: list[SSAValue] = []
        for position, (value, wanted) in enumerate(zip(values, signature.inputs, strict=True)):
            at = given.node(position) if position < len(given.positional) else node
            adopted = wanted if is_scalar(wanted) else None
            operand = self.body.symbol(value, at) if isinstance(value, Symbol) else emitter.value(value, at, adopted)
            if not fits(operand.type, wanted):
                raise ParserTypeError(
                    f"parameter `{signature.parameters[position]}` of `{signature.name}` is {type_text(wanted)}, "
                    f"this is {described(value)}",
                    emitter.place(at),
                )
            operands.append(operand)
        op = emitter.emit(KernelCallOp(signature.name, operands, results_here(signature, operands)), node)
        if not op.results:
            return Nothing()
        return op.results[0] if len(op.results) == 1 else Several(tuple(op.results))


def _call_of(word: str, node: ast.AST) -> ast.Call:
    """A call that stands for an operator of Python."""
    return ast.copy_location(ast.Call(ast.Name(word, ast.Load()), [], []), node)


_VERIFIED: set[tuple[object, ...]] = set()


def verify_once(op: SurfaceOp) -> None:
    """Verifies an op, unless one of the same class on the same types was found good before."""
    key = (type(op), tuple(o.type for o in op.operands), tuple(r.type for r in op.results), *op.properties)
    if op.STATED or key not in _VERIFIED:
        op.verify(verify_nested_ops=False)
        if len(_VERIFIED) < 10_000:
            _VERIFIED.add(key)


def results_here(signature: Signature, operands: Sequence[SSAValue]) -> list[Attribute]:
    """The types of what a call gives: a run-time extent of the callee is that of the argument it comes with."""
    extents: dict[int | str, int | str] = {}
    for operand, wanted in zip(operands, signature.inputs, strict=True):
        if isinstance(operand.type, TensorType) and isinstance(wanted, TensorType):
            pairs = zip(wanted.shape, operand.type.shape, strict=True)
            extents.update((theirs, ours) for theirs, ours in pairs if isinstance(theirs, str))
    return [
        TensorType.make([extents.get(d, d) for d in t.shape], t.dtype, t.data.layout, t.data.valid)
        if isinstance(t, TensorType) and extents
        else t
        for t in signature.outputs
    ]


_OPERATORS: dict[str, type[ast.operator]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "floordiv": ast.FloorDiv,
    "mod": ast.Mod,
}

__all__ = ["Calls", "fits", "is_number", "is_shaped"]
