"""Scalar expressions as text, with as few parentheses as they need."""

import ast
from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.builtin import UnrealizedConversionCastOp as Reinterpret
from xdsl.ir import Operation, SSAValue

from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.narrowing import is_integer, is_one
from cubelane.ir.types import DTYPES, dtype_name
from cubelane.language.operators import (
    AND,
    ATOM,
    BINARY,
    CASTS,
    CHOICE,
    COMPARISON,
    COMPARISONS,
    INTEGER_PREDICATES,
    NOT,
    OR,
    REAL_PREDICATES,
    SPELLED,
    UNARY,
    UNSIGNED,
)
from cubelane.language.printing import literals
from cubelane.language.values import is_unsigned

BOOL = DTYPES["BOOL"]
INTEGER_SYMBOLS = {p: c.symbol for c in COMPARISONS.values() for p in (c.signed, c.unsigned)}
REAL_SYMBOLS = {c.real: c.symbol for c in COMPARISONS.values()}
Lookup = Callable[[SSAValue], str | None]


def is_scalar_op(op: Operation) -> bool:
    """Whether an op is scalar arithmetic, which may be written inside another expression."""
    return op.name.startswith("arith.") or isinstance(op, Reinterpret)


def remainder_division(op: arith.SubiOp) -> arith.FloorDivSIOp | None:
    """The division of `a - a // b * b`, which is how `a % b` is computed; None for any other subtraction."""
    product = op.rhs.owner
    division = product.lhs.owner if is_one(product, arith.MuliOp) else None
    if not is_one(product, arith.MuliOp) or not is_one(division, arith.FloorDivSIOp):
        return None
    inner = (product.result, division.result)
    if any(value.name_hint is not None or value.has_more_than_one_use() for value in inner):
        return None
    return division if division.lhs is op.lhs and division.rhs is product.rhs else None


def is_in_remainder(op: Operation) -> bool:
    """Whether an op is the product or the division of a remainder, which is written as one operator."""
    while is_one(op, (arith.FloorDivSIOp, arith.MuliOp)) and op.result.has_one_use():
        use = op.result.get_user_of_unique_use()
        if is_one(use, arith.SubiOp):
            return use.rhs is op.result and remainder_division(use) is not None
        assert use is not None
        op = use
    return False


def is_written_twice(value: SSAValue) -> bool:
    """Whether a value stands in more than one place of the text; a remainder names both its operands once."""
    return sum(not (is_one(u.operation, arith.FloorDivSIOp) and is_in_remainder(u.operation)) for u in value.uses) > 1


class ScalarText:
    """Writes scalar expressions; `named` gives the name of a value that has one."""

    def __init__(self, named: Lookup):
        self.named = named

    def text(self, value: SSAValue, strength: int = 0) -> str:
        """An expression, in parentheses if it binds less than `strength`."""
        name = self.named(value)
        if name is not None:
            return name
        text, own = self._expression(value)
        return f"({text})" if own < strength else text

    def _expression(self, value: SSAValue) -> tuple[str, int]:
        op = value.owner
        if not isinstance(op, Operation):
            raise AssertionError("a block argument has a name")
        number = literals.value_of(value)
        if number is not None:
            text = literals.constant(number, value.type)
            return text, UNARY if text.startswith("-") else ATOM
        if isinstance(op, Reinterpret):
            return self._reinterpreted(op)
        if is_one(op, (arith.CmpiOp, arith.CmpfOp)):
            return self._comparison(op)
        if is_one(op, arith.NegfOp):
            return f"-{self.text(op.operand, UNARY)}", UNARY
        if is_one(op, arith.SelectOp):
            then, other = self.text(op.lhs, OR), self.text(op.rhs, CHOICE)
            return f"{then} if {self.text(op.cond, OR)} else {other}", CHOICE
        if isinstance(op, CASTS):
            inner = f"pl.cast({self._cast_operand(op)}, pl.{dtype_name(value.type)})"
            if is_one(op, arith.FPToUIOp) and is_integer(value.type):
                unsigned = f"pl.cast({self._cast_operand(op)}, pl.UINT{value.type.width.data})"
                inner = f"pl.cast({unsigned}, pl.{dtype_name(value.type)})"
            return inner, ATOM
        if is_one(op, arith.SubiOp) and (division := remainder_division(op)) is not None:
            own, operand = BINARY[ast.Mod].strength, self._unfolded(division, self.text)
            return f"{operand(division.lhs, own)} % {operand(division.rhs, own + 1)}", own
        if type(op) in SPELLED:
            if type(op) in UNSIGNED:
                return f"pl.cast({self._infix(op, self.unsigned)[0]}, pl.{dtype_name(value.type)})", ATOM
            return self._logical(op) if value.type == BOOL else self._infix(op, self.text)
        raise refuse(op, f"`{op.name}` cannot be written in the language", code="cannot-print")

    def _cast_operand(self, op: Operation) -> str:
        source = op.operands[0]
        if is_one(op, (arith.ExtUIOp, arith.UIToFPOp)) and source.type != BOOL:
            return self.unsigned(source)
        text = self.text(source)
        return f"pl.const({text}, pl.INDEX)" if isinstance(source.type, IndexType) and text.isdecimal() else text

    def _infix(self, op: Operation, operand: Callable[[SSAValue, int], str]) -> tuple[str, int]:
        spelled = SPELLED[type(op)]
        lhs, rhs = op.operands[:2]
        operand = self._unfolded(op, operand)
        if spelled.strength == ATOM:
            return f"{spelled.symbol}({operand(lhs, 0)}, {operand(rhs, 0)})", ATOM
        left, right = operand(lhs, spelled.strength), operand(rhs, spelled.strength + 1)
        return f"{left} {spelled.symbol} {right}", spelled.strength

    def _unfolded(self, op: Operation, operand: Callable[[SSAValue, int], str]) -> Callable[[SSAValue, int], str]:
        """The writer of the operands; constants get their types where bare ones would be folded."""
        numbers = {o: literals.value_of(o) for o in op.operands[:2]}
        if operand != self.text or any(n is None for n in numbers.values()):
            return operand
        return lambda value, strength: literals.typed(numbers[value] or 0, value.type)

    def _logical(self, op: Operation) -> tuple[str, int]:
        lhs, rhs = op.operands[:2]
        if is_one(op, arith.XOrIOp) and literals.value_of(rhs) == 1:
            return f"not {self.text(lhs, NOT)}", NOT
        if is_one(op, (arith.AndIOp, arith.OrIOp)):
            word, own = ("and", AND) if is_one(op, arith.AndIOp) else ("or", OR)
            return f"{self.text(lhs, own)} {word} {self.text(rhs, own + 1)}", own
        return self._infix(op, self.text)

    def _comparison(self, op: arith.CmpiOp | arith.CmpfOp) -> tuple[str, int]:
        number = op.predicate.value.data
        own = COMPARISON + 1
        if is_one(op, arith.CmpfOp):
            symbol = REAL_SYMBOLS.get(REAL_PREDICATES[number])
            if symbol is None:
                raise refuse(op, "this comparison cannot be written in the language", code="cannot-print")
            operand = self._unfolded(op, self.text)
            return f"{operand(op.lhs, own)} {symbol} {operand(op.rhs, own)}", COMPARISON
        predicate = INTEGER_PREDICATES[number]
        unsigned = predicate.startswith("u") or any(_from_unsigned(v) for v in (op.lhs, op.rhs))
        operand = self.unsigned if unsigned and op.lhs.type != BOOL else self._unfolded(op, self.text)
        return f"{operand(op.lhs, own)} {INTEGER_SYMBOLS[predicate]} {operand(op.rhs, own)}", COMPARISON

    def _reinterpreted(self, op: Reinterpret) -> tuple[str, int]:
        source, type_ = op.inputs[0], op.outputs[0].type
        number = literals.value_of(source)
        if number is not None and is_unsigned(type_):
            return literals.typed(literals.wrapped(int(number), type_), type_), ATOM
        inner = source.owner
        if is_unsigned(type_) and isinstance(inner, Operation) and not self.named(source):
            spelled = SPELLED.get(type(inner))
            if spelled is not None and spelled.unsigned is type(inner):
                return self._infix(inner, self.unsigned)
            if isinstance(inner, CASTS):
                return f"pl.cast({self._cast_operand(inner)}, pl.{dtype_name(type_)})", ATOM
        return f"pl.cast({self.text(source)}, pl.{dtype_name(type_)})", ATOM

    def unsigned(self, value: SSAValue, strength: int = 0) -> str:
        """Signless bits written as the unsigned number they stand for."""
        if _from_unsigned(value):
            assert isinstance(value.owner, Reinterpret)
            return self.text(value.owner.inputs[0], strength)
        if not is_integer(value.type):
            raise Diagnostic("an index read as an unsigned number cannot be written", code="cannot-print")
        word = f"pl.UINT{value.type.width.data}"
        number = literals.value_of(value)
        if number is not None:
            return f"pl.const({literals.wrapped(int(number), value.type)}, {word})"
        return f"pl.cast({self.text(value)}, {word})"


def _from_unsigned(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, Reinterpret) and is_unsigned(owner.inputs[0].type)
