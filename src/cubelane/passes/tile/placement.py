"""Puts new ops in place: location, name and position of the op they stand for come along."""

from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.narrowing import is_one
from cubelane.ir.retyping import retyped
from cubelane.ir.surface import Bound, SurfaceOp
from cubelane.ir.types import TileType


def at(op: Operation, problem: Diagnostic) -> Diagnostic:
    """A diagnostic that knows its place, for one raised by a type rule."""
    if not problem.location.line:
        problem.location = Location.of(op)
    return problem


def insert(new: Operation, anchor: Operation, name: str | None = None) -> Operation:
    """Puts `new` before `anchor`, at the same location in the user's text."""
    new.location = anchor.location
    block = anchor.parent
    assert block is not None
    block.insert_op_before(new, anchor)
    if name is not None:
        for result in new.results:
            result.name_hint = name
    return new


def build(
    kind: type[SurfaceOp],
    anchor: Operation,
    name: str | None,
    arguments: dict[str, Any],
    result_type: Attribute | None = None,
) -> SSAValue:
    """A new op before `anchor`, made from the arguments of a call; its result."""
    try:
        new = kind.from_call(Bound(arguments), result_type)
    except Diagnostic as problem:
        raise at(anchor, problem) from None
    return insert(new, anchor, name).results[0]


def replace(op: Operation, *values: SSAValue) -> None:
    """Uses `values` instead of the results of an op, and removes the op.

    A tile that its author placed stays where it is.
    """
    for old, new in zip(op.results, values, strict=True):
        if is_one(old.type, TileType) and old.type.address is not None:
            new = _placed_at(new, old.type)
        old.replace_all_uses_with(new)
    block = op.parent
    assert block is not None
    block.erase_op(op)


def retype(value: SSAValue, type_: Attribute) -> SSAValue:
    """The value with another type, in its own place."""
    if is_one(type_, TileType):
        type_ = placed_like(type_, value)
    return value if value.type == type_ else retyped(value, type_)


def placed_like(type_: TileType, value: SSAValue) -> TileType:
    """A type at the address where the author placed a tile, if in its space; nowhere if he placed none."""
    old = value.type
    address = old.address if is_one(old, TileType) and old.memory is type_.memory else None
    return type_ if type_.address == address else type_.replaced(address=address)


def place(value: SSAValue, address: int | None) -> SSAValue:
    """The tile at another address."""
    kind = value.type
    assert isinstance(kind, TileType)
    if kind.address == address:
        return value
    return retyped(value, kind.replaced(address=address))


def _placed_at(value: SSAValue, old: TileType) -> SSAValue:
    """A new tile in the place of the one that it stands for."""
    new = value.type
    if not is_one(new, TileType) or new.memory is not old.memory or new.address is not None:
        return value
    return place(value, old.address)


def base_name(value: SSAValue) -> str:
    """The user's name of a value without what passes added; the spelling of its op where the user gave it none."""
    spelling = getattr(value.owner, "SPELLING", "t")
    return (value.name_hint or spelling).split("__")[0] or "t"


class Constants:
    """Index constants at the top of a function, each made once."""

    def __init__(self, block: Block):
        self._block = block
        self._known: dict[int, SSAValue] = {}

    def __getitem__(self, number: int) -> SSAValue:
        """The index constant."""
        if number not in self._known:
            constant = ConstantOp(IntegerAttr(number, IndexType()))
            first = self._block.first_op
            assert first is not None
            self._known[number] = insert(constant, first).results[0]
        return self._known[number]

    def all(self, numbers: tuple[int, ...] | list[int]) -> list[SSAValue]:
        """One index constant a number."""
        return [self[number] for number in numbers]
