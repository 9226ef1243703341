"""The program after each pass as columns of lines, each line kept once however many passes leave it as it is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compiled import Stage
from cubelane.passes import pipeline
from cubelane.report.ir_lines import IrLine, changed, lines_of
from cubelane.report.why import Facts, Why, kind_behind

Row = tuple[str, int, str, int, int]
"""A line: text, source line, core, whether it is a crossing, the number of its facts (-1: none)."""


@dataclass
class Columns:
    """All columns, and the tables they point into."""

    columns: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lines: list[Row] = field(default_factory=list[Row])
    facts: list[Any] = field(default_factory=list[Any])
    """What is known of a line: the number of its kind, source line, name of the value, last link of its chain."""
    kinds: list[Facts] = field(default_factory=list[Facts])
    """What many lines have in common."""
    links: list[Any] = field(default_factory=list[Any])


def columns_of(source: ModuleOp, stages: Sequence[Stage]) -> Columns:
    """The program as written and after each pass; a pass that changed nothing has no lines of its own."""
    before = next((s.module for s in stages if s.name == pipeline.TILE_STAGE), None)
    why = Why(before)
    result = Columns(links=why.links)
    table = _Table(why, result)
    known = {} if before is None else {id(before): lines_of(before)}
    for lines in known.values():
        table.learn(lines)
    previous, module = lines_of(source), source
    result.columns.append(table.column("as written", previous, [False] * len(previous), 0))
    for stage in stages:
        if module.is_structurally_equivalent(stage.module):
            result.columns.append({"name": stage.name, "changed": 0, "gone": 0, "lines": None, "fresh": []})
        else:
            lines = known.get(id(stage.module)) or lines_of(stage.module)
            result.columns.append(table.column(stage.name, lines, *changed(previous, lines)))
            previous = lines
        module = stage.module
    return result


class _Table:
    """Lines and facts by their content."""

    def __init__(self, why: Why, result: Columns):
        self.why, self.result = why, result
        self._rows: dict[Row, int] = {}
        self._facts: dict[tuple[Any, ...], int] = {}
        self._kinds: dict[str, int] = {}
        self._by_place: dict[tuple[str, int, str], int] = {}

    def learn(self, lines: Sequence[IrLine]) -> None:
        """Takes the facts of the lines of the program whose shares are known exactly."""
        for line in lines:
            self._fact(line)

    def column(self, name: str, lines: Sequence[IrLine], fresh: Sequence[bool], gone: int) -> dict[str, Any]:
        """A column: numbers of lines, and which of them the pass changed."""
        numbers = [self._row(line) for line in lines]
        new = [i for i, is_new in enumerate(fresh) if is_new]
        return {"name": name, "changed": len(new), "gone": gone, "lines": numbers, "fresh": new}

    def _row(self, line: IrLine) -> int:
        row = (line.text, line.line, line.core[0], int(line.boundary), self._fact(line))
        number = self._rows.setdefault(row, len(self.result.lines))
        if number == len(self.result.lines):
            self.result.lines.append(row)
        return number

    def _fact(self, line: IrLine) -> int:
        """The number of a line's facts. Equal lines of two passes have equal facts."""
        if line.op is None:
            return -1
        place = (line.text.strip(), line.line, line.core)
        known = self._by_place.get(place)
        if known is None:
            known = self._by_place[place] = self._kept(self.why.of(line.op, kind_behind(line.op)))
        return known

    def _kept(self, facts: Facts) -> int:
        own = (facts["line"], facts.get("name", ""), facts.get("chain", -1))
        kind = {name: value for name, value in facts.items() if name not in ("line", "name", "chain")}
        key = json.dumps(kind, sort_keys=True)
        number = self._kinds.setdefault(key, len(self.result.kinds))
        if number == len(self.result.kinds):
            self.result.kinds.append(kind)
        row = (number, *own)
        known = self._facts.setdefault(row, len(self.result.facts))
        if known == len(self.result.facts):
            self.result.facts.append(row)
        return known
