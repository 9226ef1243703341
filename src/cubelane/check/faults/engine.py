"""The engine of seeded faults: rules as data, applied to one op of a copy of the program at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from cubelane.ir.diagnostic import Location

Edit = Callable[[Operation], None]
"""Changes the op it is given, in place; it may hold numbers, never ops or values of the program it was made for."""

Ways = Callable[[Operation], Iterable[Edit]]
"""All edits a rule knows for an op; none where it does not apply."""


@dataclass(frozen=True)
class Rule:
    """One way to go wrong: its kind (`offset`, `code`, `channel`, ...), its name, the edits for an op."""

    kind: str
    name: str
    ways: Ways


@dataclass(frozen=True)
class SeededFault:
    """A program with one fault: its kind, the function and place it is in, the broken program."""

    kind: str
    function: str
    location: Location
    module: ModuleOp
    op: str = ""

    def __str__(self) -> str:
        return f"{self.kind} in {self.function} ({self.op} at {self.location})"


def apply_rules(
    module: ModuleOp, rules: Sequence[Rule], copy: Callable[[ModuleOp], ModuleOp] = ModuleOp.clone
) -> Iterator[SeededFault]:
    """Every single fault of the rules, each in a copy of the program. The program itself is left alone."""
    for number, op in enumerate(module.walk()):
        for rule in rules:
            for edit in rule.ways(op):
                broken = copy(module)
                victim = next(o for n, o in enumerate(broken.walk()) if n == number)
                function, location = function_name(victim), Location.of(victim)
                edit(victim)
                yield SeededFault(rule.name, function, location, broken, op.name)


def once(applies: Callable[[Operation], bool], edit: Edit) -> Ways:
    """The ways of a rule that has one edit for every op it applies to."""
    return lambda op: (edit,) if applies(op) else ()


def function_name(op: Operation) -> str:
    """The function an op stands in."""
    current: Operation | None = op
    while current is not None and current.name != "func.func":
        current = current.parent_op()
    return "" if current is None else str(current.properties["sym_name"]).strip('"')


def drop(op: Operation) -> None:
    """Takes an op out; nobody may use its results."""
    op.detach()
    op.erase()
