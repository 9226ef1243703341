"""What a name or an expression of a kernel can stand for while it is read."""

import ast
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from typing_extensions import TypeIs
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, Signedness
from xdsl.dialects.builtin import UnrealizedConversionCastOp as Reinterpret
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from cubelane.ir.diagnostic import Location
from cubelane.ir.names import value_name
from cubelane.ir.narrowing import is_integer, is_one, is_value
from cubelane.ir.types import DTYPES, TensorType, TileType, dtype_name, is_float
from cubelane.language.errors import ParserTypeError
from cubelane.language.source import Source

OperationT = TypeVar("OperationT", bound=Operation)
INDEX, FP32, BOOL, INT32 = DTYPES["INDEX"], DTYPES["FP32"], DTYPES["BOOL"], DTYPES["INT32"]


@dataclass(frozen=True)
class Literal:
    """A number that has not become an op yet; `dtype` is what `pl.const` stated."""

    value: int | float | bool
    dtype: Attribute | None = None

    @property
    def type(self) -> Attribute:
        """The element type it gets when nothing else decides."""
        if self.dtype is not None:
            return self.dtype
        if isinstance(self.value, bool):
            return BOOL
        return INDEX if isinstance(self.value, int) else FP32


@dataclass(frozen=True)
class Several:
    """A tuple or list of values."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Missing:
    """A name that is not bound on every way here; using it is refused with this reason."""

    reason: str
    location: Location
    instead: str


@dataclass(frozen=True)
class Nothing:
    """What a call without result stands for."""


@dataclass(frozen=True)
class Popped:
    """A call whose type is stated by the annotation of the variable it is assigned to."""

    op_class: Any
    arguments: dict[str, Any]
    node: ast.Call


def is_operand(value: object) -> TypeIs[SSAValue | Literal]:
    """Whether a value is one that a block can yield: a literal counts, it becomes a constant."""
    return is_one(value, (SSAValue, Literal))


def is_unsigned(type_: Attribute) -> bool:
    """Whether a type is an unsigned integer."""
    return is_integer(type_) and type_.signedness.data is Signedness.UNSIGNED


SCALARS = (IndexType, IntegerType, *get_args(AnyFloat))
"""The classes of the types of register values."""


def is_scalar(type_: Attribute) -> bool:
    """Whether a type is that of a register value."""
    return is_one(type_, SCALARS)


def signless(type_: Attribute) -> Attribute:
    """The signless type of the same width."""
    return IntegerType(type_.width.data) if is_integer(type_) else type_


def described(value: object) -> str:
    """A value in the user's words."""
    type_ = value.type if is_value(value) or isinstance(value, Literal) else None
    if isinstance(type_, TileType):
        return f"a tile {list(type_.shape)} of {dtype_name(type_.dtype)}"
    if isinstance(type_, TensorType):
        return f"a tensor {list(type_.shape)} of {dtype_name(type_.dtype)}"
    if isinstance(value, Literal):
        return f"the constant {value.value}"
    if type_ is not None and is_scalar(type_):
        return f"a scalar of {dtype_name(type_)}"
    if isinstance(value, Several):
        return "a tuple"
    if isinstance(value, Nothing):
        return "a call without result"
    return f"`{value}`" if isinstance(value, str) else "a value that is no tile, tensor or scalar"


class Emitter:
    """Appends ops to the block that is being filled, each with its place."""

    def __init__(self, source: Source, block: Block):
        self.source = source
        self.block = block
        self._constants: dict[tuple[str, str, Attribute], SSAValue] = {}

    @contextmanager
    def into(self, block: Block) -> Generator[Block]:
        """Fills another block for a while."""
        saved = self.block, self._constants
        self.block, self._constants = block, {}
        try:
            yield block
        finally:
            self.block, self._constants = saved

    @contextmanager
    def reading(self, source: Source) -> Generator[None]:
        """Takes places from another text for a while."""
        saved, self.source = self.source, source
        try:
            yield
        finally:
            self.source = saved

    def emit(self, op: OperationT, node: ast.AST) -> OperationT:
        """Appends an op that stands for `node`."""
        op.location = self.source.attribute(node)
        self.block.add_op(op)
        return op

    def place(self, node: ast.AST) -> Location:
        """Where a node is."""
        return self.source.place(node)

    def constant(self, value: int | float | bool, type_: Attribute, node: ast.AST) -> SSAValue:
        """A constant of a type; one op for equal constants of a block."""
        key = (type(value).__name__, repr(value), type_)
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._new_constant(value, type_, node)
        return known

    def _new_constant(self, value: int | float | bool, type_: Attribute, node: ast.AST) -> SSAValue:
        if is_float(type_):
            assert isinstance(type_, AnyFloat)
            try:
                return self._made(FloatAttr(float(value), type_), type_, node)
            except (OverflowError, ValueError):
                raise self._misfit(value, type_, node) from None
        if isinstance(value, float) and not value.is_integer():
            raise self._misfit(value, type_, node)
        whole, plain = int(value), signless(type_)
        assert is_integer(plain) or isinstance(plain, IndexType)
        self._check_range(whole, type_, node)
        if is_unsigned(type_) and is_integer(plain) and whole >= 1 << (plain.width.data - 1):
            whole -= 1 << plain.width.data
        result = self._made(IntegerAttr(whole, plain), plain, node)
        return self.reinterpret(result, type_, node) if is_unsigned(type_) else result

    def _made(self, value: Attribute, type_: Attribute, node: ast.AST) -> SSAValue:
        return self.emit(ConstantOp.create(result_types=[type_], properties={"value": value}), node).results[0]

    def _check_range(self, value: int, type_: Attribute, node: ast.AST) -> None:
        width = 64 if isinstance(type_, IndexType) else getattr(type_, "bitwidth", 64)
        low, high = (0, 1 << width) if is_unsigned(type_) or width == 1 else (-(1 << width - 1), 1 << width - 1)
        if not low <= value < high:
            raise self._misfit(value, type_, node)

    def _misfit(self, value: object, type_: Attribute, node: ast.AST) -> ParserTypeError:
        return ParserTypeError(f"{value} is no value of pl.{dtype_name(type_)}", self.place(node))

    def reinterpret(self, value: SSAValue, type_: Attribute, node: ast.AST) -> SSAValue:
        """The same bits as a number with or without sign."""
        if value.type == type_:
            return value
        owner = value.owner
        if isinstance(owner, Reinterpret) and owner.inputs[0].type == type_:
            return owner.inputs[0]
        op = Reinterpret(operands=[[value]], result_types=[[type_]])
        return self.emit(op, node).results[0]

    def value(self, value: object, node: ast.AST, type_: Attribute | None = None) -> SSAValue:
        """A value as SSA; literals become constants of `type_` (or of their own)."""
        if is_value(value):
            return value
        if isinstance(value, Literal) and (type_ is None or is_scalar(type_)):
            return self.constant(value.value, value.dtype or type_ or value.type, node)
        if isinstance(value, Popped):
            raise ParserTypeError(
                f"the type of what `{value.op_class.SPELLING}` gives must be written out",
                self.place(node),
                instead="assign it to a variable annotated with pl.Tile[...]",
            )
        raise ParserTypeError(f"a tile, tensor or scalar is needed here, not {described(value)}", self.place(node))


def named(value: object, name: str) -> None:
    """Gives a result the user's name, unless it has one."""
    if is_one(value, OpResult) and value.name_hint is None and not is_one(value.op, ConstantOp):
        value.name_hint = value_name(name)
