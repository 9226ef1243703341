"""Where text goes: plain into a pipe or a file, with colour and drawn tables to a terminal.

Only a terminal needs `rich`, and only when there is something to show on it: `report.rich_text` is loaded then.
NO_COLOR (or `--no-color`, which sets it) takes the colours away, not the tables.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, TextIO

from cubelane.ir.diagnostic import Diagnostic
from cubelane.report.terminal import render, table


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody looks at the stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def drawing() -> Any:
    """What draws on terminals."""
    return import_module("cubelane.report.rich_text")


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table on standard output."""
    body = [list(row) for row in rows]
    if is_terminal(sys.stdout):
        drawing().show_table(sys.stdout, header, body)
    else:
        print(table(header, body))


def show_diagnostic(problem: Diagnostic) -> None:
    """Prints a diagnostic on standard error."""
    if is_terminal(sys.stderr):
        drawing().show_diagnostic(sys.stderr, problem)
    else:
        print(render(problem), file=sys.stderr)


def show_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Prints lines on standard output; the first word of each pair says what the line is."""
    if is_terminal(sys.stdout):
        drawing().show_lines(sys.stdout, lines)
    else:
        for _, text in lines:
            print(text)
