"""Writes raw instructions in front of a semantic op: constants, packed words, ops of the table."""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.rules import constant_of
from cubelane.ir.pto.table import pto_class

WORD = 1 << 64


class RawBuilder:
    """Inserts ops before `anchor`, with its location; equal constants are made once."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor
        self._constants: dict[int, SSAValue] = {}

    def insert(self, op: Operation) -> Operation:
        """Puts an op in front of the anchor."""
        block = self.anchor.parent
        assert block is not None
        op.location = self.anchor.location
        block.insert_op_before(op, self.anchor)
        return op

    def emit(
        self,
        name: str,
        *operands: SSAValue,
        results: Sequence[Attribute] = (),
        attributes: dict[str, Attribute] | None = None,
    ) -> list[SSAValue]:
        """An op of the table."""
        made = pto_class(name).create(operands=operands, result_types=results, attributes=attributes or {})
        return list(self.insert(made).results)

    def constant(self, number: int) -> SSAValue:
        """An i64 constant; words with the top bit set print as negative numbers."""
        number = number % WORD
        if number not in self._constants:
            signed = number - WORD if number >= WORD // 2 else number
            self._constants[number] = self.insert(arith.ConstantOp(IntegerAttr(signed, i64))).results[0]
        return self._constants[number]

    def flag(self, value: bool) -> SSAValue:
        """An i1 constant."""
        return self.insert(arith.ConstantOp(IntegerAttr(int(value), i1))).results[0]

    def pack(self, fields: Sequence[tuple[SSAValue | int, int]]) -> SSAValue:
        """The word that has every field at its bit; constant fields are folded."""
        known, parts = 0, list[SSAValue]()
        for value, shift in fields:
            number = value if isinstance(value, int) else constant_of(value)
            if number is not None:
                known |= number << shift
            elif isinstance(value, SSAValue):
                parts.append(self._shifted(value, shift))
        word = self.constant(known) if known or not parts else None
        for part in parts:
            word = part if word is None else self.insert(arith.OrIOp(word, part)).results[0]
        assert word is not None
        return word

    def _shifted(self, value: SSAValue, shift: int) -> SSAValue:
        value = self._wide(value)
        return self.insert(arith.ShLIOp(value, self.constant(shift))).results[0] if shift else value

    def _wide(self, value: SSAValue) -> SSAValue:
        return self.insert(arith.ExtUIOp(value, i64)).results[0] if value.type == i1 else value

    def ceil_div(self, value: SSAValue, divisor: int) -> SSAValue:
        """value / divisor, rounded up."""
        number = constant_of(value)
        if number is not None:
            return self.constant(-(-number // divisor))
        if divisor == 1:
            return value
        return self.insert(arith.CeilDivSIOp(value, self.constant(divisor))).results[0]

    def scaled(self, value: SSAValue, factor: int) -> SSAValue:
        """value * factor."""
        number = constant_of(value)
        if number is not None:
            return self.constant(number * factor)
        return value if factor == 1 else self.insert(arith.MuliOp(value, self.constant(factor))).results[0]


def operands_of(op: PtoOp, *names: str) -> list[SSAValue]:
    """The named operands of an op, all of which must be there."""
    found = [op.operand(name) for name in names]
    return [value for value in found if value is not None]


def drop(op: Operation) -> None:
    """Erases the semantic op once its raw form stands before it."""
    op.detach()
    op.erase()
