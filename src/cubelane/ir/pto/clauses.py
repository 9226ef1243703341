"""Clauses as they are stored on an op: lists of words, `%` standing for an operand (spec/pto.md 4.9)."""

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

CLAUSES = "clauses"
OPERAND = "%"


def clause_entries(op: Operation) -> list[list[str]]:
    """The clauses of an op: the name, then its arguments (`%`, `word`, `key=%`, `key=word`)."""
    stored = cast("ArrayAttr[ArrayAttr[StringAttr]] | None", op.properties.get(CLAUSES))
    return [] if stored is None else [[word.data for word in entry] for entry in stored]


def clause_property(entries: list[list[str]]) -> dict[str, Attribute]:
    """The property that stores clauses; empty when there are none."""
    if not entries:
        return {}
    return {CLAUSES: ArrayAttr([ArrayAttr([StringAttr(word) for word in entry]) for entry in entries])}


def operands_in(entry: list[str]) -> int:
    """How many operands a clause holds."""
    return sum(word.endswith(OPERAND) for word in entry)


def clause_operand_count(op: Operation) -> int:
    """How many operands of an op belong to its clauses."""
    return sum(operands_in(entry) for entry in clause_entries(op))
