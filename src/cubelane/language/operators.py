"""The operators of scalar expressions: how each is spelled and which `arith` ops it is, one table for both ways."""

import ast
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.ir import Operation

OpClass = type[Operation]


class Operator(NamedTuple):
    """A binary operator: Python symbol and binding strength, and the op for signed, unsigned and float operands."""

    symbol: str
    strength: int
    signed: OpClass | None
    unsigned: OpClass | None
    real: OpClass | None


BINARY: dict[type[ast.operator], Operator] = {
    ast.Add: Operator("+", 12, arith.AddiOp, arith.AddiOp, arith.AddfOp),
    ast.Sub: Operator("-", 12, arith.SubiOp, arith.SubiOp, arith.SubfOp),
    ast.Mult: Operator("*", 13, arith.MuliOp, arith.MuliOp, arith.MulfOp),
    ast.Div: Operator("/", 13, None, None, arith.DivfOp),
    ast.FloorDiv: Operator("//", 13, arith.FloorDivSIOp, arith.DivUIOp, None),
    ast.Mod: Operator("%", 13, None, arith.RemUIOp, None),
    ast.LShift: Operator("<<", 11, arith.ShLIOp, arith.ShLIOp, None),
    ast.RShift: Operator(">>", 11, arith.ShRSIOp, arith.ShRUIOp, None),
    ast.BitAnd: Operator("&", 10, arith.AndIOp, arith.AndIOp, None),
    ast.BitXor: Operator("^", 9, arith.XOrIOp, arith.XOrIOp, None),
    ast.BitOr: Operator("|", 8, arith.OrIOp, arith.OrIOp, None),
}
"""`%` of signed numbers has no op of its own: it is `a - a // b * b`, the remainder of Python (`arith` truncates)."""

FUNCTIONS: dict[str, Operator] = {
    "min": Operator("pl.min", 20, arith.MinSIOp, arith.MinUIOp, arith.MinimumfOp),
    "max": Operator("pl.max", 20, arith.MaxSIOp, arith.MaxUIOp, arith.MaximumfOp),
}
"""Operators that are written as calls."""

ATOM, UNARY, COMPARISON, NOT, AND, OR, CHOICE = 20, 14, 7, 6, 5, 4, 3
"""Binding strengths of what is not a binary operator."""


class Comparison(NamedTuple):
    """A comparison: Python symbol, predicate for signed, unsigned and float operands."""

    symbol: str
    signed: str
    unsigned: str
    real: str


COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Eq: Comparison("==", "eq", "eq", "oeq"),
    ast.NotEq: Comparison("!=", "ne", "ne", "une"),
    ast.Lt: Comparison("<", "slt", "ult", "olt"),
    ast.LtE: Comparison("<=", "sle", "ule", "ole"),
    ast.Gt: Comparison(">", "sgt", "ugt", "ogt"),
    ast.GtE: Comparison(">=", "sge", "uge", "oge"),
}

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
REAL_PREDICATES = (
    "false",
    "oeq",
    "ogt",
    "oge",
    "olt",
    "ole",
    "one",
    "ord",
    "ueq",
    "ugt",
    "uge",
    "ult",
    "ule",
    "une",
    "uno",
    "true",
)
"""Predicate names by number, as `arith` numbers them."""

SPELLED: dict[OpClass, Operator] = {
    op: operator
    for operator in (*BINARY.values(), *FUNCTIONS.values())
    for op in (operator.signed, operator.unsigned, operator.real)
    if op is not None
}
"""How a binary `arith` op is written."""

UNSIGNED: frozenset[OpClass] = frozenset(
    o.unsigned for o in (*BINARY.values(), *FUNCTIONS.values()) if o.unsigned is not None and o.unsigned is not o.signed
)
"""Ops that read their signless operands as unsigned numbers."""

CASTS: tuple[OpClass, ...] = (
    arith.IndexCastOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.FPToUIOp,
    arith.ExtFOp,
    arith.TruncFOp,
)
"""Ops that are written `pl.cast(x, dtype)`."""
