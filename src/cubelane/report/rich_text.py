"""Tables, diagnostics, differences and progress bars drawn on a terminal with `rich`."""

from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cubelane.ir.diagnostic import Diagnostic
from cubelane.report.terminal import numeric_columns, parts_of

STYLES = {
    "source": "",
    "caret": "bold red",
    "note": "dim",
    "instead": "green",
    "added": "green",
    "removed": "red",
    "hunk": "cyan",
    "title": "bold",
    "same": "dim",
}
"""How each kind of line looks; what is not here looks plain."""

WORDS = {"equal": "green", "ok": "green", "differs": "bold red", "refused": "yellow", "deadlock": "bold red"}
"""Words of a table that are told apart."""


def console(stream: TextIO) -> Console:
    """A console that prints text as it is: no markup, no highlighting of its own."""
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def show_table(stream: TextIO, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draws a table, numbers to the right."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, number in zip(header, numeric_columns(len(header), rows), strict=True):
        drawn.add_column(Text(name), justify="right" if number else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(str(cell), style=WORDS.get(str(cell), "")) for cell in row))
    console(stream).print(drawn)


def show_diagnostic(stream: TextIO, problem: Diagnostic) -> None:
    """Draws a diagnostic: the place and the word `error` stand out, the caret too."""
    where = f"{problem.location}: "
    head = Text.assemble((where, "bold"), ("error: ", "bold red"), (problem.message, "bold"))
    lines = [head, *(Text(text, style=STYLES.get(kind, "")) for kind, text in parts_of(problem)[1:])]
    for line in lines:
        console(stream).print(line, soft_wrap=True)


def show_lines(stream: TextIO, lines: Iterable[tuple[str, str]]) -> None:
    """Prints lines in the style of their kind."""
    out = console(stream)
    for kind, text in lines:
        out.print(Text(text, style=STYLES.get(kind, "")), soft_wrap=True)


class Bar:
    """A progress bar of `total` steps that goes away when it ends. It has no thread of its own: workers may fork."""

    def __init__(self, stream: TextIO, total: int):
        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console(stream),
            transient=True,
            auto_refresh=False,
        )
        self._task = self._bar.add_task("", total=total)

    def start(self) -> None:
        """Shows the bar."""
        self._bar.start()
        self._bar.refresh()

    def at(self, done: int, step: str) -> None:
        """`done` steps are behind; `step` is what ended last."""
        self._bar.update(self._task, completed=done, description=step, refresh=True)

    def stop(self) -> None:
        """Takes the bar away."""
        self._bar.stop()
