"""Diagnostics and tables as plain text, the same in a pipe, a log and a file (design chapter 6).

A refusal shows its place, the source line with a caret under the expression, why, and what to write instead.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from cubelane.ir.diagnostic import Diagnostic, Location

_NAME = re.compile(r"[\w.]+")
_NUMBER = re.compile(r"[-\d.,e+]*%?")
_OPENING, _CLOSING = "([{", ")]}"


def source_line(location: Location) -> str | None:
    """The text of the line, None when the file cannot be read (text given to `pl.parse`, a deleted file)."""
    if not location.line:
        return None
    try:
        lines = Path(location.file).read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return None
    return lines[location.line - 1] if location.line <= len(lines) else None


def expression_width(text: str, column: int) -> int:
    """How many characters of `text` the expression at `column` (1-based) covers: a name and its call brackets."""
    start = column - 1
    match = _NAME.match(text, start)
    end = match.end() if match else start + 1
    while end < len(text) and text[end] in _OPENING:
        depth = 0
        for position in range(end, len(text)):
            depth += (text[position] in _OPENING) - (text[position] in _CLOSING)
            if depth == 0:
                end = position + 1
                break
        else:
            return len(text.rstrip()) - start
    return max(1, min(end, len(text)) - start)


def parts_of(problem: Diagnostic) -> list[tuple[str, str]]:
    """The lines of a diagnostic, each with what it is: head, source, caret, note or instead."""
    location = problem.location
    parts = [("head", f"{location}: error: {problem.message}")]
    text = source_line(location)
    if text is not None:
        number = f"{location.line:5d}"
        caret = " " * (location.column - 1) + "^" * expression_width(text, location.column)
        parts += [("source", f"{number} | {text.rstrip()}"), ("caret", f"{' ' * len(number)} | {caret}")]
    parts += [("note", f"   {note}") for note in problem.notes]
    if problem.instead:
        parts.append(("instead", f"   instead: {problem.instead}"))
    return parts


def render(problem: Diagnostic) -> str:
    """The diagnostic as plain text: head line, source with caret, notes, advice."""
    return "\n".join(text for _, text in parts_of(problem))


def render_json(problems: Iterable[Diagnostic]) -> str:
    """The diagnostics as a JSON list."""
    return json.dumps([problem.as_json() for problem in problems], indent=1)


def numeric_columns(columns: int, rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold nothing but numbers."""
    return [bool(rows) and all(_NUMBER.fullmatch(str(row[i])) for row in rows) for i in range(columns)]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table: columns as wide as their widest cell, numbers to the right."""
    body = [list(row) for row in rows]
    widths = [max(len(str(r[i])) for r in [header, *body]) for i in range(len(header))]
    right = numeric_columns(len(header), body)

    def line(row: Sequence[str]) -> str:
        cells = (str(c).rjust(w) if r else str(c).ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *(line(r) for r in body)])
