"""What passes changed, as unified differences of the program text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

CONTEXT = 2
"""Unchanged lines around a change."""


@dataclass(frozen=True)
class Difference:
    """What one pass did to the text: the lines of the difference; none where it changed nothing."""

    before: str
    after: str
    lines: tuple[str, ...]

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return sum(line.startswith("-") for line in self.lines)

    def as_json(self) -> dict[str, Any]:
        """The same for tools."""
        return {"pass": self.after, "added": self.added, "removed": self.removed, "diff": list(self.lines)}


def difference(before: str, after: str, old: str, new: str) -> Difference:
    """The difference of two texts; `before` and `after` name them."""
    if old == new:
        return Difference(before, after, ())
    difflib = import_module("difflib")  # loaded for a difference only: `lower` must start quickly
    lines: list[str] = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=CONTEXT))
    return Difference(before, after, tuple(lines[2:]))


def lines_of(found: Sequence[Difference]) -> Iterator[tuple[str, str]]:
    """All differences as lines, each with its kind; passes in a row that changed nothing are one line."""
    idle: list[str] = []
    for one in found:
        if not one.lines:
            idle.append(one.after)
            continue
        yield from _idle(idle)
        idle = []
        yield "title", f"--- {one.before}"
        yield "title", f"+++ {one.after}  (+{one.added} -{one.removed})"
        for line in one.lines:
            yield {"+": "added", "-": "removed", "@": "hunk"}.get(line[:1], "source"), line
    yield from _idle(idle)


def _idle(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    if names:
        yield "same", f"=== unchanged by {', '.join(names)}"
