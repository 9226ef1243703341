"""Structured scopes: tileop helpers, physical sections, vector scopes (spec/pto.md 2.6)."""

import hashlib
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NoReturn

from xdsl.dialects.builtin import FunctionType, StringAttr, UnitAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from cubelane.ir.names import value_name
from cubelane.ir.pto.attrs import TILEOP_HELPER
from cubelane.ir.pto.regions import CubeSectionOp, StrictVecScopeOp, VecScopeOp, VectorSectionOp
from cubelane.ptodsl.errors import user_location, wrong_place, wrong_type, wrong_value
from cubelane.ptodsl.rewrite import rewritten
from cubelane.ptodsl.spec import KINDS
from cubelane.ptodsl.tiles import Tile
from cubelane.ptodsl.tracer import Tracer, tracing
from cubelane.ptodsl.types import ScalarType, TileType, from_ir
from cubelane.ptodsl.values import as_scalar, wrap

LOGICAL_NAME = "pto.ptodsl.logical_name"


@contextmanager
def vecscope() -> Generator[None, None, None]:
    """`with pto.vecscope():` registers live inside; none of them may leave."""
    tracer = tracing("pto.vecscope")
    if tracer.inside("vecscope"):
        raise wrong_place("a vector scope inside a vector scope is not allowed", instead="close the outer one first")
    op = VecScopeOp.create(regions=[Region(Block())])
    tracer.insert(op)
    with tracer.scope(op.body, "vecscope"):
        yield


@contextmanager
def section(kind: object) -> Generator[None, None, None]:
    """`with pto.section("cube" | "vector"):` the ops inside run on that kind of core only."""
    tracer = _section_allowed(kind)
    assert isinstance(kind, str)
    op = (CubeSectionOp if kind == "cube" else VectorSectionOp).create(regions=[Region(Block())])
    tracer.insert(op)
    tracer.sections.add(kind)
    try:
        with tracer.scope(op.body, f"section.{kind}"):
            yield
    except BaseException:
        op.detach()
        op.erase(safe_erase=False)
        raise


def _section_allowed(kind: object) -> Tracer:
    if not isinstance(kind, str):
        raise wrong_type(f"pto.section(kind) expects 'cube' or 'vector', got {kind!r}")
    if kind not in KINDS:
        raise wrong_value(f"pto.section(kind) expects 'cube' or 'vector', got {kind!r}")
    tracer = tracing("pto.section")
    if tracer.spec.mode != "explicit":
        raise wrong_place(
            'pto.section() is only available in @pto.jit(mode="explicit")',
            instead='decorate the kernel with @pto.jit(mode="explicit")',
            code="auto-mode",
        )
    if tracer.spec.kernel_kind_explicit and tracer.spec.kernel_kind in KINDS:
        raise wrong_place(
            "pto.section() cannot be combined with explicit @pto.jit(kernel_kind=...)",
            instead="drop kernel_kind= from the decorator",
        )
    if tracer.inside("tileop"):
        raise wrong_place("pto.section() is not allowed inside a cube or simd subkernel body")
    if any(tracer.inside(f"section.{k}") for k in KINDS):
        raise wrong_place("nested pto.section() scopes are not allowed", instead="close the outer section first")
    if kind in tracer.sections:
        raise wrong_place("each physical section kind may appear at most once in a function")
    return tracer


@contextmanager
def _inline_tileop() -> Generator[None, None, None]:
    tracer = tracing("pto.tileop")
    _check_tileop_place(tracer)
    where = user_location().as_attribute()
    body = Block()
    with tracer.scope(body, "tileop"):
        yield
    name = f"inline_tileop_{tracer.tileops}"
    tracer.tileops += 1
    captured = _captures(body)
    for number, value in enumerate(captured, 1):
        if not isinstance(from_ir(value.type), ScalarType | TileType):
            raise wrong_type(
                f"with pto.tileop(): captured boundary value #{number} with unsupported type {value.type}; only "
                "pto.Tile and PTO scalar values may cross, as in the @pto.tileop parameter ABI",
                instead="make the pointer inside the scope: pto.castptr(address, ...)",
                code="tileop-capture",
            )
    arguments = {value: body.insert_arg(value.type, i) for i, value in enumerate(captured)}
    for op in body.walk():
        op.operands = [arguments.get(operand, operand) for operand in op.operands]
    helper = _helper(tracer, name, body)
    helper.location = where
    tracer.insert(CallOp(helper.sym_name.data, captured, []))


def _check_tileop_place(tracer: Tracer) -> None:
    if tracer.inside("tileop"):
        raise wrong_place("pto.tileop() scopes do not nest", instead="close the outer scope first")
    if tracer.inside("vecscope"):
        raise wrong_place("pto.tileop() is not allowed inside a vector scope")


def _captures(body: Block) -> list[SSAValue]:
    """The values from outside, in the order of their first use."""
    inner = {value for op in body.walk() for value in op.results}
    inner |= {
        argument for op in body.walk() for region in op.regions for block in region.blocks for argument in block.args
    }
    return list(dict.fromkeys(v for op in body.walk() for v in op.operands if v not in inner))


def _helper(tracer: Tracer, logical: str, body: Block) -> FuncOp:
    """The private function that a tileop becomes; equal bodies keep their own functions."""
    inputs = [argument.type for argument in body.args]
    body.add_op(ReturnOp())
    digest = hashlib.sha256(f"{logical}({', '.join(map(str, inputs))})".encode()).hexdigest()[:10]
    helper = FuncOp(f"{logical}__ptodsl_{digest}", FunctionType.from_lists(inputs, []), Region(body), "private")
    helper.attributes[LOGICAL_NAME] = StringAttr(logical)
    helper.attributes[TILEOP_HELPER] = UnitAttr()
    tracer.helpers.append(helper)
    return helper


class TileOp:
    """A function decorated with `@pto.tileop`: traced once per kernel, called like an op."""

    def __init__(self, function: Callable[..., Any]):
        self.function = rewritten(function)
        self.name = function.__name__
        self.parameters = list(inspect.signature(function).parameters.values())
        hints = inspect.get_annotations(function, eval_str=True)
        if hints.get("return") is not None:
            raise self._must_return_none()
        for parameter in self.parameters:
            hint = hints.get(parameter.name)
            if hint is not Tile and not isinstance(hint, ScalarType):
                raise wrong_type(
                    f"parameter '{parameter.name}' of @pto.tileop {self.name} must be annotated with pto.Tile or a PTO "
                    "scalar type",
                    instead=f"def {self.name}({parameter.name}: pto.Tile, ...)",
                )
        self.types: list[ScalarType | type[Tile]] = [hints[p.name] for p in self.parameters]
        self.made: dict[tuple[int, tuple[Attribute, ...]], tuple[Tracer, FuncOp]] = {}

    def _must_return_none(self) -> Exception:
        return wrong_type(
            "@pto.tileop helpers must return None; write results through mutable Tile parameters", code="tileop-returns"
        )

    def __call__(self, *arguments: object) -> None:
        tracer = tracing(f"@pto.tileop {self.name}")
        _check_tileop_place(tracer)
        if len(arguments) != len(self.parameters):
            raise wrong_type(f"{self.name} takes {len(self.parameters)} arguments, got {len(arguments)}")
        values = [
            self._argument(value, kind, p.name)
            for value, kind, p in zip(arguments, self.types, self.parameters, strict=True)
        ]
        kinds = tuple(value.type for value in values)
        known = self.made.get((id(tracer), kinds))
        helper = known[1] if known is not None else self._trace(tracer, kinds)
        tracer.insert(CallOp(helper.sym_name.data, values, []))

    def _argument(self, value: object, kind: ScalarType | type[Tile], name: str) -> SSAValue:
        what = f"argument '{name}' of {self.name}"
        if isinstance(kind, ScalarType):
            return as_scalar(value, kind, what)
        if not isinstance(value, Tile):
            raise wrong_type(f"{what} must be a tile, got {value!r}", instead="pto.alloc_tile(...)")
        return value.ssa

    def _trace(self, tracer: Tracer, kinds: tuple[Attribute, ...]) -> FuncOp:
        body = Block(arg_types=kinds)
        for argument, parameter in zip(body.args, self.parameters, strict=True):
            argument.name_hint = value_name(parameter.name)
        where = user_location().as_attribute()
        outer, tracer.scopes = tracer.scopes, []
        try:
            with tracer.scope(body, "tileop"):
                if self.function(*map(wrap, body.args)) is not None:
                    raise self._must_return_none()
        finally:
            tracer.scopes = outer
        helper = _helper(tracer, self.name, body)
        helper.location = where
        self.made[id(tracer), kinds] = (tracer, helper)
        return helper


def tileop(function: Callable[..., Any] | None = None) -> Any:
    """`with pto.tileop():` or `@pto.tileop`: work of one kind of core, outlined into a helper function."""
    return _inline_tileop() if function is None else TileOp(function)


@contextmanager
def strict_vecscope(*values: Any) -> Generator[Any, None, None]:
    """`with pto.strict_vecscope(a, b) as (x, y):` only the block arguments may be used inside."""
    from_outside = [value.ssa for value in values]
    tracer = tracing("pto.strict_vecscope")
    block = Block(arg_types=[value.type for value in from_outside])
    tracer.insert(StrictVecScopeOp.create(operands=from_outside, regions=[Region(block)]))
    arguments: list[BlockArgument] = list(block.args)
    with tracer.scope(block, "vecscope"):
        yield tuple(map(wrap, arguments))


def removed(name: str) -> Callable[..., NoReturn]:
    """A name of earlier versions of the language."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise wrong_type(
            f"pto.{name} was removed: a tileop no longer states its core, it is inferred",
            instead="with pto.tileop(): ...   or   @pto.tileop",
            code="removed-name",
        )

    return refuse
