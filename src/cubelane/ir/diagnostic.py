"""What a user is told: a located message, why, and what to write instead (design chapter 6)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Operation


class Location(NamedTuple):
    """A place in the user's text: file name, line (1-based), column (1-based); line 0 is unknown."""

    file: str = "<unknown>"
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def as_attribute(self) -> FileLineColLoc:
        """The same place as an xDSL location, to put on an op."""
        return FileLineColLoc(StringAttr(self.file), IntAttr(self.line), IntAttr(self.column))

    @staticmethod
    def of(op: Operation) -> "Location":
        """The place an op came from; the nearest enclosing op that has one answers for ops without."""
        current: Operation | None = op
        while current is not None:
            loc = current.location
            if isinstance(loc, FileLineColLoc):
                return Location(loc.filename.data, loc.line.data, loc.column.data)
            current = current.parent_op()
        return Location()


@dataclass
class Diagnostic(Exception):
    """A refusal of the user's program. Raised by every room; rendered only by `report`.

    `message` says what is wrong in the user's words, `notes` why (one sentence each), `instead` a rewrite
    that compiles. `code` is a stable short name such as `reduce-on-split-axis`.
    """

    message: str
    location: Location = field(default_factory=Location)
    notes: Sequence[str] = ()
    instead: str | None = None
    code: str = "error"

    def __hash__(self) -> int:
        return hash((self.message, self.location, self.code))

    def __str__(self) -> str:
        lines = [f"{self.location}: error: {self.message}"]
        lines += [f"   {note}" for note in self.notes]
        if self.instead:
            lines.append(f"   instead: {self.instead}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The same facts for tools (`--format json`)."""
        return {
            "severity": "error",
            "code": self.code,
            "message": self.message,
            "location": self.location._asdict(),
            "notes": list(self.notes),
            "instead": self.instead,
        }


def refuse(op: Operation, message: str, *notes: str, instead: str | None = None, code: str = "error") -> Diagnostic:
    """A diagnostic at the place of `op`, ready to be raised."""
    return Diagnostic(message, Location.of(op), notes, instead, code)
