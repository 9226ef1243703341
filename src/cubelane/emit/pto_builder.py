"""Puts PTO ops into a function: constants once at the top, index arithmetic that folds what is known (front.md 5.2)."""

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from cubelane.ir.pto.assembly import INS, KEYS
from cubelane.ir.pto.clauses import OPERAND, clause_property
from cubelane.ir.pto.table import pto_class

Index = int | SSAValue
"""An index that is known, or computed when the program runs."""

INDEX = IndexType()

Clause = tuple[str, Sequence[SSAValue | int]]
"""A named part of an op: its name, its operands and numbers."""


class Builder:
    """Appends ops to the current block of one function; constants and views gather at its top."""

    def __init__(self, body: Block):
        self.block = body
        self.location: LocationAttr | None = None
        self._head: list[Operation] = []
        self._views: list[Operation] = []
        self._constants: dict[tuple[Attribute, Any], SSAValue] = {}
        self._in_views = False

    def add(self, op: Operation, name: str | None = None) -> Operation:
        """Puts an op at the end of the current block, at the current place in the user's text."""
        self._placed(op, name)
        if self._in_views:
            self._views.append(op)
        else:
            self.block.add_op(op)
        return op

    def _placed(self, op: Operation, name: str | None) -> None:
        if self.location is not None:
            op.location = self.location
        for result in op.results:
            if name is not None:
                result.name_hint = name

    def finish(self, body: Block) -> None:
        """Puts constants, then views, at the top of the function."""
        first = body.first_op
        for op in (*self._head, *self._views):
            if first is None:
                body.add_op(op)
            else:
                body.insert_op_before(op, first)

    def at_top(self, on: bool) -> None:
        """Whether ops go to the top of the function, behind the constants, instead of the current block."""
        self._in_views = on

    # --- constants and arithmetic ----------------------------------------------------------------------------

    def constant(self, value: int | float, type_: Attribute = INDEX) -> SSAValue:
        """A constant, made once a value and type."""
        bits = math.copysign(1.0, value) if isinstance(value, float) else 0
        key = (type_, (value, bits))
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = self._new_constant(value, type_)
        return known

    def _new_constant(self, value: int | float, type_: Attribute) -> SSAValue:
        if isinstance(type_, AnyFloat):
            return self._head_op(arith.ConstantOp(FloatAttr(value, type_)), "cst")
        number = int(value)
        name = f"c{'n' if number < 0 else ''}{abs(number)}"
        if isinstance(type_, IndexType):
            return self._head_op(arith.ConstantOp(IntegerAttr(number, type_)), f"{name}_index")
        assert isinstance(type_, IntegerType)
        width: int = type_.bitwidth
        plain = self._head_op(arith.ConstantOp(IntegerAttr(number, IntegerType(width))), f"{name}_i{width}")
        unsigned = IntegerType(width, Signedness.UNSIGNED)
        if type_ != unsigned:
            return plain
        return self._head_op(UnrealizedConversionCastOp.get([plain], [unsigned]), f"{name}_ui{width}")

    def _head_op(self, op: Operation, name: str) -> SSAValue:
        op.results[0].name_hint = name
        self._head.append(op)
        return op.results[0]

    def value(self, index: Index) -> SSAValue:
        """An index as an operand."""
        return self.constant(index) if isinstance(index, int) else index

    def _binary(self, kind: type[Any], a: Index, b: Index) -> SSAValue:
        return self.add(kind(self.value(a), self.value(b))).results[0]

    def plus(self, a: Index, b: Index) -> Index:
        """a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self._binary(arith.AddiOp, a, b)

    def minus(self, a: Index, b: Index) -> Index:
        """a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._binary(arith.SubiOp, a, b)

    def times(self, a: Index, b: Index) -> Index:
        """a * b."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 1 or b == 1:
            return b if a == 1 else a
        return 0 if 0 in (a, b) else self._binary(arith.MuliOp, a, b)

    def over(self, a: Index, b: int) -> Index:
        """a // b for numbers that are not negative."""
        if isinstance(a, int):
            return a // b
        return a if b == 1 else self._binary(arith.DivSIOp, a, b)

    def least(self, a: Index, b: Index) -> Index:
        """The smaller one."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return a if a is b else self._binary(arith.MinSIOp, a, b)

    def most(self, a: Index, b: Index) -> Index:
        """The larger one."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        return a if a is b else self._binary(arith.MaxSIOp, a, b)

    # --- ops of the table ------------------------------------------------------------------------------------

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        results: Sequence[Attribute] = (),
        *,
        clauses: Sequence[Clause] = (),
        attributes: dict[str, Attribute] | None = None,
        properties: dict[str, Attribute] | None = None,
        hint: str | None = None,
    ) -> list[SSAValue]:
        """An op in its plain form; `clauses` follow its operands."""
        entries: list[list[str]] = []
        values = list(operands)
        for word, arguments in clauses:
            entries.append([word, *(str(a) if isinstance(a, int) else OPERAND for a in arguments)])
            values += [a for a in arguments if isinstance(a, SSAValue)]
        op = pto_class(name.removeprefix("pto.")).create(
            operands=values,
            result_types=list(results),
            properties={**(properties or {}), **clause_property(entries)},
            attributes=attributes or {},
        )
        return list(self.add(op, hint).results)

    def tile_op(
        self,
        name: str,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue] = (),
        results: Sequence[Attribute] = (),
        attributes: dict[str, Attribute] | None = None,
        hint: str | None = None,
    ) -> list[SSAValue]:
        """An op written `ins(...) outs(...)`."""
        properties: dict[str, Attribute] = {INS: StringAttr(str(len(ins)))}
        return self.emit(name, [*ins, *outs], results, attributes=attributes, properties=properties, hint=hint)

    def call(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        results: Sequence[Attribute] = (),
        *,
        keyed: Sequence[tuple[str, SSAValue]] = (),
        attributes: dict[str, Attribute] | None = None,
        hint: str | None = None,
    ) -> list[SSAValue]:
        """An op written like a call, with named operands behind its attributes."""
        properties: dict[str, Attribute] = {KEYS: StringAttr(" ".join(key for key, _ in keyed))} if keyed else {}
        values = [*operands, *(value for _, value in keyed)]
        return self.emit(name, values, results, attributes=attributes, properties=properties, hint=hint)
