"""Scalars as numbers where they are known and as comparable terms where they are not.

Two programs made from one body compute their loop bounds and conditions with copies of the same expressions. A term
names such an expression by structure, so that equal conditions on two cores are one condition. Terms are interned:
comparing two costs nothing.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from cubelane.analysis.scalar_folding import COMPARE, DIVISIONS, SIGNED, UNSIGNED
from cubelane.analysis.value_flow import joins_of
from cubelane.ir.diagnostic import Location
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import TensorType, TileType
from cubelane.ir.walk import ops_in


class Term(NamedTuple):
    """An unknown scalar. `own` tells one that only this core can know (a cell of a tile)."""

    key: tuple[Any, ...]
    own: bool = False

    def __str__(self) -> str:
        return str(self.key[-1]) if self.key[0] in ("name", "cell") else str(self.key[0])


Scalar = int | Term


_BINARY = {**SIGNED, **UNSIGNED}
_CASTS = (arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp)


class Scalars:
    """Values of scalars on one core. `lane` is the lane the program runs on, None on the cube."""

    def __init__(self, who: str, lane: int | None):
        self.who, self.lane = who, lane
        self.known: dict[SSAValue, Scalar] = {}

    def of(self, value: SSAValue) -> Scalar:
        """The number or term of a scalar."""
        known = self.known.get(value)
        if known is not None:
            return known
        if is_one(value, BlockArgument):
            return self._argument(value)
        assert isinstance(value, OpResult)
        result = self._computed(value)
        self.known[value] = result
        return result

    def _argument(self, value: BlockArgument) -> Term:
        term = Term(("name", value.index, value.name_hint or f"argument {value.index}"))
        self.known[value] = term
        return term

    def _computed(self, value: OpResult) -> Scalar:
        op = value.op
        if is_one(op, arith.ConstantOp):
            return op.value.value.data if isinstance(op.value, IntegerAttr) else Term(("constant", op.value))
        if is_one(op, SubblockIdxOp) and self.lane is not None:
            return self.lane
        if isinstance(op, _CASTS):
            return self.of(op.operands[0])
        if op.regions:
            return Term(("result", str(Location.of(op)), value.index, value.name_hint))
        trait = trait_of(op, Splits)
        if trait is not None and trait.behaviour is Split.READS_CELL:
            return Term(("cell", self.who, str(Location.of(op)), value.name_hint or "a cell"), own=True)
        return self._folded(op, [self._operand(o) for o in op.operands])

    def _operand(self, value: SSAValue) -> Scalar:
        if isinstance(value.type, TileType | TensorType):
            return Term(("memory", value.name_hint))
        return self.of(value)

    def _folded(self, op: Operation, operands: list[Scalar]) -> Scalar:
        numbers = [o for o in operands if isinstance(o, int)]
        if len(numbers) == len(operands):
            by_zero = type(op) in DIVISIONS and numbers[1] == 0
            if type(op) in _BINARY and not by_zero:
                return _BINARY[type(op)](*numbers)
            if is_one(op, arith.CmpiOp):
                return int(COMPARE[op.predicate.value.data](*numbers))
        if is_one(op, arith.SelectOp) and isinstance(operands[0], int):
            return operands[1] if operands[0] else operands[2]
        own = any(isinstance(o, Term) and o.own for o in operands)
        facts = tuple(sorted((k, str(v)) for k, v in op.properties.items()))
        return Term((op.name, facts, *operands), own)


def control_slice(region: Region) -> set[SSAValue]:
    """The scalars that bounds and conditions of the region depend on, carries included."""
    wanted: set[SSAValue] = set()
    todo: list[SSAValue] = []
    for op in ops_in(region):
        todo += control_operands(op)
    while todo:
        value = todo.pop()
        if value in wanted or isinstance(value.type, TileType | TensorType):
            continue
        wanted.add(value)
        todo += _sources(value)
    return wanted


def control_operands(op: Operation) -> list[SSAValue]:
    """The scalars that decide how often or whether the body of an op runs."""
    match op:
        case ForOp():
            return [op.lb, op.ub, op.step]
        case IfOp():
            return [op.cond]
        case ConditionOp():
            return [op.condition]
        case _:
            return []


def _sources(value: SSAValue) -> Iterable[SSAValue]:
    """What a scalar is made of."""
    owner = value.owner
    if isinstance(owner, Block):
        parent = owner.parent_op()
        return _carried(parent, value) if parent is not None and parent.operands else ()
    if not owner.regions:
        return owner.operands
    return _carried(owner, value)


def _carried(op: Operation, value: SSAValue) -> list[SSAValue]:
    """The operands that arrive at a carry or result."""
    return [source.value for join in joins_of(op) if any(t is value for t in join.targets) for source in join.sources]
