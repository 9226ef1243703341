"""Arithmetic on register values: operators, comparisons and casts as `arith` ops, with the promotions of the language.

Unsigned numbers keep their type (`ui32`); an operator on them works on the signless bits between two
`builtin.unrealized_conversion_cast`s and uses the unsigned form of the op.
"""

import ast
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, Float32Type, IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.narrowing import is_integer, is_value
from cubelane.ir.types import DTYPES, bit_width, dtype_name, is_float, promote
from cubelane.language.errors import ParserTypeError, UnsupportedFeatureError
from cubelane.language.operators import COMPARISONS, Operator
from cubelane.language.values import (
    BOOL,
    INDEX,
    Emitter,
    Literal,
    described,
    is_scalar,
    is_unsigned,
    signless,
)

Operand = SSAValue | Literal
INT64 = DTYPES["INT64"]
MAX_POWER = 64


def shown(node: ast.AST) -> str:
    """An expression as the user might write it."""
    return ast.unparse(node) if isinstance(node, ast.expr) else "x"


def side(node: ast.AST, number: int) -> str:
    """The left (0) or right (1) operand of an expression as the user wrote it."""
    match node:
        case ast.BinOp():
            return shown((node.left, node.right)[number])
        case ast.Compare():
            return shown((node.left, node.comparators[0])[number])
        case ast.IfExp():
            return shown((node.body, node.orelse)[number])
        case _:
            return "x"


class Arithmetic:
    """Emits scalar arithmetic."""

    def __init__(self, emitter: Emitter):
        self.emitter = emitter

    def operand(self, value: object, node: ast.AST) -> Operand:
        """A scalar operand, or a refusal that says what it is instead."""
        if isinstance(value, Literal):
            return value
        if is_value(value) and is_scalar(value.type):
            return value
        raise ParserTypeError(f"a scalar is needed here, not {described(value)}", self.emitter.place(node))

    def binary(self, operator: Operator, lhs: Operand, rhs: Operand, node: ast.AST) -> SSAValue:
        """One binary operator."""
        if operator.symbol in ("//", "%") and isinstance(rhs, Literal) and rhs.value == 0:
            raise ParserTypeError(f"`{operator.symbol}` divides by zero", self.emitter.place(node))
        a, b = self._unified(lhs, rhs, node)
        if operator.symbol == "%" and a.type != BOOL and not is_unsigned(a.type) and not is_float(a.type):
            return self._remainder(a, b, node)
        kind = self._op_class(operator, a.type, node)
        bits = [self.emitter.reinterpret(v, signless(v.type), node) for v in (a, b)]
        return self.emitter.reinterpret(self.emitter.emit(kind(*bits), node).results[0], a.type, node)

    def _remainder(self, a: SSAValue, b: SSAValue, node: ast.AST) -> SSAValue:
        """`a % b` as Python means it, with the sign of b, like the constants that are folded: `a - a // b * b`."""
        whole = self.emitter.emit(arith.MuliOp(self.emitter.emit(arith.FloorDivSIOp(a, b), node).result, b), node)
        return self.emitter.emit(arith.SubiOp(a, whole.result), node).result

    def _op_class(self, operator: Operator, type_: Attribute, node: ast.AST) -> type:
        if type_ == BOOL and operator.symbol not in "&|^":
            raise ParserTypeError(
                f"`{operator.symbol}` works on numbers, not on truth values",
                self.emitter.place(node),
                instead="pl.cast(x, pl.INDEX)",
            )
        kind = operator.real if is_float(type_) else operator.unsigned if is_unsigned(type_) else operator.signed
        if kind is None:
            other = {"/": "//", "//": "/"}.get(operator.symbol)
            way = shown(node).replace(f" {operator.symbol} ", f" {other} ") if other else None
            raise UnsupportedFeatureError(
                f"`{operator.symbol}` does not work on {dtype_name(type_)}", self.emitter.place(node), instead=way
            )
        return kind

    def compare(self, operation: ast.cmpop, lhs: Operand, rhs: Operand, node: ast.AST) -> SSAValue:
        """One comparison."""
        comparison = COMPARISONS.get(type(operation))
        if comparison is None:
            raise UnsupportedFeatureError(
                f"the comparison `{type(operation).__name__}` is not supported", self.emitter.place(node)
            )
        a, b = self._unified(lhs, rhs, node)
        type_ = a.type
        if is_float(type_):
            return self.emitter.emit(arith.CmpfOp(a, b, comparison.real), node).result
        predicate = comparison.unsigned if is_unsigned(type_) or type_ == BOOL else comparison.signed
        bits = [self.emitter.reinterpret(v, signless(v.type), node) for v in (a, b)]
        return self.emitter.emit(arith.CmpiOp(bits[0], bits[1], predicate), node).result

    def both(self, kind: type[arith.AndIOp | arith.OrIOp], operands: Sequence[Operand], node: ast.AST) -> SSAValue:
        """`and` / `or` of truth values, left to right."""
        result = self.truth(operands[0], node)
        for operand in operands[1:]:
            result = self.emitter.emit(kind(result, self.truth(operand, node)), node).result
        return result

    def truth(self, operand: Operand, node: ast.AST) -> SSAValue:
        """A truth value; a number is refused."""
        value = self.emitter.value(operand, node)
        if value.type != BOOL:
            raise ParserTypeError(
                f"a truth value is needed here, not {described(operand)}",
                self.emitter.place(node),
                instead=f"{shown(node)} != 0",
            )
        return value

    def negated(self, operand: Operand, node: ast.AST) -> SSAValue:
        """`not x`."""
        true = self.emitter.constant(True, BOOL, node)
        return self.emitter.emit(arith.XOrIOp(self.truth(operand, node), true), node).result

    def minus(self, operand: Operand, node: ast.AST) -> SSAValue:
        """`-x`."""
        value = self.emitter.value(operand, node)
        if is_float(value.type):
            return self.emitter.emit(arith.NegfOp(value), node).result
        from_zero = Operator("-", 0, arith.SubiOp, arith.SubiOp, None)
        return self.binary(from_zero, Literal(0, value.type), value, node)

    def inverted(self, operand: Operand, node: ast.AST) -> SSAValue:
        """`~x` of an integer."""
        value = self.emitter.value(operand, node)
        if is_float(value.type) or value.type == BOOL:
            raise ParserTypeError("`~` works on integers", self.emitter.place(node), instead="not x")
        ones = (1 << bit_width(value.type)) - 1 if is_unsigned(value.type) else -1
        exclusive = Operator("^", 0, arith.XOrIOp, arith.XOrIOp, None)
        return self.binary(exclusive, value, Literal(ones, value.type), node)

    def absolute(self, operand: Operand, node: ast.AST) -> SSAValue:
        """`abs(x)`, as the larger of x and -x."""
        value = self.emitter.value(operand, node)
        if is_unsigned(value.type):
            return value
        largest = Operator("max", 0, arith.MaxSIOp, None, arith.MaximumfOp)
        return self.binary(largest, value, self.minus(value, node), node)

    def power(self, base: Operand, exponent: object, node: ast.AST) -> SSAValue:
        """`x ** n` for a constant whole n: repeated multiplication."""
        if not isinstance(exponent, Literal) or not isinstance(exponent.value, int) or isinstance(exponent.value, bool):
            raise UnsupportedFeatureError(
                "`**` needs an exponent known while the kernel is read", self.emitter.place(node), instead="x * x"
            )
        if not 1 <= exponent.value <= MAX_POWER:
            raise UnsupportedFeatureError(f"`**` takes an exponent from 1 to {MAX_POWER}", self.emitter.place(node))
        value = result = self.emitter.value(base, node)
        times = Operator("*", 0, arith.MuliOp, arith.MuliOp, arith.MulfOp)
        for _ in range(exponent.value - 1):
            result = self.binary(times, result, value, node)
        return result

    def choose(self, condition: Operand, then: Operand, other: Operand, node: ast.AST) -> SSAValue:
        """`a if c else b` of two scalars."""
        truth = self.truth(condition, node)
        a, b = self._unified(then, other, node)
        return self.emitter.emit(arith.SelectOp(truth, a, b), node).result

    def index(self, value: object, node: ast.AST) -> SSAValue:
        """A value as an index; integers are converted, anything else is refused."""
        operand = self.operand(value, node)
        if isinstance(operand, Literal) and operand.dtype is None and isinstance(operand.value, int):
            return self.emitter.constant(int(operand.value), INDEX, node)
        if is_float(operand.type):
            raise ParserTypeError(
                f"an index is needed here, not {described(value)}",
                self.emitter.place(node),
                instead="pl.cast(x, pl.INDEX)",
            )
        return self.cast(operand, INDEX, node)

    def _unified(self, lhs: Operand, rhs: Operand, node: ast.AST) -> tuple[SSAValue, SSAValue]:
        """Both operands with one type: literals adopt a float, integers are promoted."""
        type_ = self._common(lhs, rhs, node)
        return self._as(lhs, type_, node), self._as(rhs, type_, node)

    def _common(self, lhs: Operand, rhs: Operand, node: ast.AST) -> Attribute:
        a, b = lhs.type, rhs.type
        if a == b:
            return a
        for literal, other in ((lhs, rhs), (rhs, lhs)):
            free = isinstance(literal, Literal) and literal.dtype is None and not isinstance(literal.value, bool)
            if free and is_float(other.type):
                return other.type
        if BOOL in (a, b):
            raise ParserTypeError(
                f"{described(lhs)} does not fit {described(rhs)}", self.emitter.place(node), instead="pl.cast"
            )
        if is_float(a) != is_float(b):
            raise ParserTypeError(
                f"{described(lhs)} does not fit {described(rhs)}: nothing is converted between integers and floats",
                self.emitter.place(node),
                instead=f"pl.cast({side(node, 1 if is_float(a) else 0)}, pl.{dtype_name(a if is_float(a) else b)})",
            )
        return INDEX if INDEX in (a, b) else promote(a, b)

    def _as(self, operand: Operand, type_: Attribute, node: ast.AST) -> SSAValue:
        if isinstance(operand, Literal) and operand.dtype is None:
            return self.emitter.constant(operand.value, type_, node)
        return self.cast(operand, type_, node)

    def cast(self, operand: Operand, target: Attribute, node: ast.AST) -> SSAValue:
        """A scalar as another element type, in as many steps as `arith` needs."""
        value = self.emitter.value(operand, node)
        if value.type == target:
            return value
        if isinstance(value.type, AnyFloat) or isinstance(target, AnyFloat):
            return self._float_cast(value, target, node)
        if is_unsigned(value.type) and (bit_width(value.type) > 1):
            value_u = self.emitter.reinterpret(value, signless(value.type), node)
            return self._integer_cast(value_u, target, node, unsigned=True)
        return self._integer_cast(value, target, node, unsigned=value.type == BOOL)

    def _integer_cast(self, value: SSAValue, target: Attribute, node: ast.AST, unsigned: bool) -> SSAValue:
        plain = signless(target)
        if isinstance(value.type, IndexType) or isinstance(plain, IndexType):
            if is_integer(value.type) and unsigned and bit_width(value.type) < 64:
                value = self.emitter.emit(arith.ExtUIOp(value, IntegerType(64)), node).result
            if value.type != plain:
                value = self.emitter.emit(arith.IndexCastOp(value, plain), node).result
            return self.emitter.reinterpret(value, target, node)
        assert is_integer(plain)
        if bit_width(plain) > bit_width(value.type):
            kind = arith.ExtUIOp if unsigned else arith.ExtSIOp
            value = self.emitter.emit(kind(value, plain), node).result
        elif bit_width(plain) < bit_width(value.type):
            value = self.emitter.emit(arith.TruncIOp(value, plain), node).result
        return self.emitter.reinterpret(value, target, node)

    def _float_cast(self, value: SSAValue, target: Attribute, node: ast.AST) -> SSAValue:
        emit = self.emitter.emit
        if isinstance(value.type, AnyFloat) and isinstance(target, AnyFloat):
            if bit_width(target) > bit_width(value.type):
                return emit(arith.ExtFOp(value, target), node).result
            if bit_width(target) < bit_width(value.type):
                return emit(arith.TruncFOp(value, target), node).result
            return self.cast(emit(arith.ExtFOp(value, Float32Type()), node).result, target, node)
        if isinstance(target, AnyFloat):
            if isinstance(value.type, IndexType):
                value = self.cast(value, INT64, node)
            bits = self.emitter.reinterpret(value, signless(value.type), node)
            unsigned = is_unsigned(value.type) or value.type == BOOL
            return emit((arith.UIToFPOp if unsigned else arith.SIToFPOp)(bits, target), node).result
        if isinstance(target, IndexType):
            return self.cast(self._float_cast(value, INT64, node), target, node)
        plain = signless(target)
        assert is_integer(plain)
        if target == BOOL:
            raise ParserTypeError("a float is no truth value", self.emitter.place(node), instead="x != 0.0")
        kind = arith.FPToUIOp if is_unsigned(target) else arith.FPToSIOp
        return self.emitter.reinterpret(emit(kind(value, plain), node).result, target, node)
