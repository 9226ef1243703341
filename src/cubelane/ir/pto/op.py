"""The class behind every entry of the table: operands by name, verification from the declaration."""

import re
from typing import ClassVar, Self

from xdsl.ir import Operation, SSAValue
from xdsl.ir.core import OpTraits
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.pto.assembly import READERS, WRITERS
from cubelane.ir.pto.clauses import clause_entries, clause_operand_count, operands_in
from cubelane.ir.pto.decl import Clause, Effect, OpDecl, Slot
from cubelane.ir.pto.kinds import KINDS
from cubelane.ir.pto.slots import arity_problem, fill

_WORD = re.compile(r"%|-?[0-9]+|[A-Za-z_][A-Za-z0-9_$.]*")
_NUMBER = re.compile(r"-?[0-9]+")
_EFFECTS: dict[Effect, OpTrait] = {
    Effect.NONE: Pure(),
    Effect.READ: MemoryReadEffect(),
    Effect.WRITE: MemoryWriteEffect(),
}


class PtoOp(Operation):
    """An op declared by an entry of the table."""

    decl: ClassVar[OpDecl]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parts = READERS[cls.decl.form](parser, cls.decl)
        return cls.create(
            operands=parts.operands,
            result_types=parts.result_types,
            properties=parts.properties,
            attributes=parts.attributes,
        )

    def print(self, printer: Printer) -> None:
        WRITERS[self.decl.form](self, printer, self.decl)

    def verify_(self) -> None:
        problem = problem_of(self)
        if problem is not None:
            raise VerifyException(problem)

    def operand(self, name: str) -> SSAValue | None:
        """The operand of that name in the signature; None when an optional one is absent."""
        return next((value for slot, value in self.placed_operands() if slot.name == name), None)

    def placed_operands(self) -> list[tuple[Slot, SSAValue]]:
        """The positional operands, each with its slot of the signature."""
        count = len(self.operands) - clause_operand_count(self)
        return list(zip(fill(self.decl.operands, count), self.operands, strict=False))

    def clause_args(self, name: str) -> list[list[str]]:
        """The arguments of every clause of that name, as written; `%` stands for an operand."""
        return [entry[1:] for entry in clause_entries(self) if entry[0] == name]

    def clause_operands(self, name: str) -> list[list[SSAValue]]:
        """The operands of every clause of that name."""
        position = len(self.operands) - clause_operand_count(self)
        found: list[list[SSAValue]] = []
        for entry in clause_entries(self):
            count = operands_in(entry)
            if entry[0] == name:
                found.append(list(self.operands[position : position + count]))
            position += count
        return found


def op_class(decl: OpDecl) -> type[PtoOp]:
    """The op class of an entry."""
    traits: tuple[OpTrait, ...] = (decl.affinity, _EFFECTS[decl.effect])
    if "terminator" in decl.tags:
        traits += (IsTerminator(),)
    name = "".join(part.capitalize() for part in decl.name.replace(".", "_").split("_")) + "Op"
    return type(name, (PtoOp,), {"name": decl.full_name, "decl": decl, "traits": OpTraits(lambda: traits)})


def declaration(op: Operation) -> OpDecl | None:
    """The entry of an op of the table; None for ops of other dialects."""
    return op.decl if isinstance(op, PtoOp) else None


def problem_of(op: PtoOp) -> str | None:
    """What is wrong with an op by its declaration; None when nothing is."""
    decl = op.decl
    entries = clause_entries(op)
    positional = len(op.operands) - sum(operands_in(entry) for entry in entries)
    problem = arity_problem("operands", decl.operands, positional)
    problem = problem or arity_problem("results", decl.results, len(op.results))
    if problem is not None:
        return problem
    for slot, value in zip(fill(decl.operands, positional), op.operands, strict=False):
        text, test = KINDS[slot.kind]
        if not test(value.type):
            return f"operand '{slot.name}' must be {text}, got {value.type}"
    for slot, result in zip(fill(decl.results, len(op.results)), op.results, strict=False):
        text, test = KINDS[slot.kind]
        if not test(result.type):
            return f"result '{slot.name}' must be {text}, got {result.type}"
    problem = _clause_problem(decl, entries)
    if problem is not None:
        return problem
    return next((found for rule in decl.rules if (found := rule(op)) is not None), None)


def _clause_problem(decl: OpDecl, entries: list[list[str]]) -> str | None:
    seen: set[str] = set()
    for entry in entries:
        clause = decl.clause(entry[0])
        if clause is None:
            return f"has no clause '{entry[0]}'"
        if entry[0] in seen and not clause.repeats:
            return f"clause '{entry[0]}' is given twice"
        seen.add(entry[0])
        problem = _entry_problem(clause, entry)
        if problem is not None:
            return problem
    missing = next((clause.name for clause in decl.clauses if clause.required and clause.name not in seen), None)
    return None if missing is None else f"needs its clause '{missing}(...)'"


def _entry_problem(clause: Clause, entry: list[str]) -> str | None:
    count = operands_in(entry)
    odd = next((part for word in entry[1:] for part in word.split("=") if not _WORD.fullmatch(part)), None)
    if odd is not None:
        return f"clause '{clause.name}' takes words and numbers, got {odd!r}"
    words = [word for word in entry[1:] if not word.endswith("%") and "=" not in word and not _NUMBER.fullmatch(word)]
    unknown = next((word for word in words if word not in clause.words), None)
    if unknown is not None:
        known = ", ".join(clause.words) or "no words"
        return f"clause '{clause.name}' does not know '{unknown}'; it takes {known}"
    chosen = any(not word.endswith("%") for word in entry[1:])
    if not chosen and not clause.least <= count <= clause.most:
        return f"clause '{clause.name}' takes {clause.least} to {clause.most} operands, got {count}"
    return None
