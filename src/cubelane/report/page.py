"""The explorer: one HTML file that shows what became of a kernel (docs/report.md)."""

import json
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.budget import findings as budget_findings
from cubelane.check.compiled import CompiledKernel, Stage, Verdict, compile_program
from cubelane.check.kernel_file import Judge
from cubelane.check.protocol import check_protocol
from cubelane.check.summary import summarize
from cubelane.check.timing import Timed, timed
from cubelane.check.tune import Variant, with_variant
from cubelane.ir.context import shared_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import program_name
from cubelane.passes.tile.choose_split_mode import MODES, ChooseSplitMode
from cubelane.report.ir_lines import IrLine, changed, lines_of
from cubelane.report.lanes import lane_windows
from cubelane.report.tracks import memory_data, timeline_data
from cubelane.report.why import Why, kind_behind
from cubelane.targets import TARGETS

DEPTHS = (1, 2, 4, 8)
SCRIPTS = ("base.js", "ir.js", "charts.js", "timeline.js")
BEFORE_SPLIT = "resolve-backend-op-layouts"


@dataclass
class Subject:
    """What a page is about. A refused kernel has no `compiled`, only the stages it reached and the refusal."""

    source: ModuleOp
    target: str
    stages: list[Stage]
    path: str
    compiled: CompiledKernel | None = None
    verdict: Verdict | None = None
    judge: Judge = field(default_factory=Judge)
    refusal: Diagnostic | None = None
    seed: int = 0


def render(subject: Subject) -> str:
    """The page as HTML."""
    data = page_data(subject)
    folder = files("cubelane.report") / "assets"
    environment = Environment(autoescape=True, keep_trailing_newline=True)
    template = environment.from_string((folder / "page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        title=data["kernel"],
        data=_for_script(data),
        css=(folder / "page.css").read_text(encoding="utf-8"),
        scripts=[(folder / name).read_text(encoding="utf-8") for name in SCRIPTS],
    )


def render_compiled(compiled: CompiledKernel, verdict: Verdict, judge: Judge, path: str, seed: int = 0) -> str:
    """The page of a compiled kernel whose stages were kept."""
    return render(Subject(compiled.source, compiled.target, compiled.stages, path, compiled, verdict, judge, seed=seed))


def _for_script(data: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever names and strings it holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def page_data(subject: Subject) -> dict[str, Any]:
    """Everything the page shows, as plain data."""
    facts: list[Any] = []
    data: dict[str, Any] = {
        "kernel": program_name(subject.source),
        "file": Path(subject.path).name,
        "target": subject.target,
        "chip": TARGETS[subject.target].chip,
        "source": _source_text(subject.path),
        "columns": _columns(subject, facts),
        "facts": facts,
        "verdicts": _verdicts(subject),
        "summary": None,
        "lanes": [],
        "timeline": None,
        "memory": [],
        "whatIf": [],
    }
    if subject.compiled is not None:
        _add_run(data, subject, subject.compiled)
    return data


def _add_run(data: dict[str, Any], subject: Subject, compiled: CompiledKernel) -> None:
    if subject.verdict is not None:
        data["summary"] = summarize(compiled, subject.verdict).as_json()
    run = timed(compiled, subject.judge, seed=subject.seed)
    data["lanes"] = lane_windows(run, compiled.module)
    timeline = run.timeline() if run.complete else None
    if timeline is not None and timeline.events:
        data["timeline"] = timeline_data(timeline)
        data["memory"] = memory_data(timeline, compiled.module, TARGETS[compiled.target])
        data["whatIf"] = what_if(compiled, run, subject)


def what_if(compiled: CompiledKernel, run: Timed, subject: Subject) -> list[dict[str, Any]]:
    """Cycles for every split mode and ring depth; a refused mode says why."""
    chosen = chosen_mode(subject, compiled)
    rows: list[dict[str, Any]] = []
    for mode in MODES:
        try:
            other = run if _same_as(compiled.source, mode) else _timed_as(compiled.source, mode, subject)
        except Diagnostic as problem:
            rows.append({"mode": mode, "refused": problem.message, "line": problem.location.line})
            continue
        rings = any(launch.rings for launch in other.launches)
        cycles = [_cycles(compiled, other, mode, depth, subject) for depth in (DEPTHS if rings else DEPTHS[:1])]
        cycles += cycles[-1:] * (len(DEPTHS) - len(cycles))
        rows.append({"mode": mode, "chosen": mode == chosen, "depths": list(DEPTHS), "cycles": cycles})
    return rows


def _same_as(source: ModuleOp, mode: str) -> bool:
    """Whether a split mode changes nothing of a program."""
    other = source.clone()
    ChooseSplitMode(mode).apply(shared_context(), other)
    return other.is_structurally_equivalent(source)


def _cycles(compiled: CompiledKernel, run: Timed, mode: str, depth: int, subject: Subject) -> int | None:
    """Cycles with rings of another depth; None if the cores then wait for ever or the kernel is refused.

    The program stays the same where it can run; where it cannot, it is compiled again for that depth.
    """
    timeline = run.timeline(depth) if run.complete else None
    if timeline is None and run.complete:
        try:
            again = _timed_as(with_variant(compiled.source, Variant(mode, depth)), mode, subject)
        except Diagnostic:
            return None
        timeline = again.timeline() if again.complete else None
    return timeline.cycles if timeline is not None else None


def chosen_mode(subject: Subject, compiled: CompiledKernel) -> str:
    """The split mode the kernel was compiled in."""
    assert subject.verdict is not None
    return summarize(compiled, subject.verdict).mode


def _timed_as(source: ModuleOp, mode: str, subject: Subject) -> Timed:
    return timed(compile_program(source, subject.target, mode), subject.judge, seed=subject.seed)


def _source_text(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _columns(subject: Subject, facts: list[Any]) -> list[dict[str, Any]]:
    """The program after each pass; a pass that changed nothing has no lines of its own."""
    before = next((s.module for s in subject.stages if s.name == BEFORE_SPLIT), None)
    table = _Facts(Why(before), facts)
    first = lines_of(subject.source)
    columns = [_column("as written", first, [False] * len(first), 0, table)]
    previous, module = first, subject.source
    for stage in subject.stages:
        if module.is_structurally_equivalent(stage.module):
            columns.append({"name": stage.name, "changed": 0, "gone": 0, "lines": None})
        else:
            lines = lines_of(stage.module)
            columns.append(_column(stage.name, lines, *changed(previous, lines), table))
            previous = lines
        module = stage.module
    return columns


def _column(name: str, lines: list[IrLine], fresh: list[bool], gone: int, table: "_Facts") -> dict[str, Any]:
    """Lines as [text, source line, core, boundary, changed, fact]."""
    rows = [
        [x.text, x.line, x.core[0], int(x.boundary), int(new), table.of(x)] for x, new in zip(lines, fresh, strict=True)
    ]
    return {"name": name, "changed": sum(fresh), "gone": gone, "lines": rows}


class _Facts:
    """The facts of lines, each kept once."""

    def __init__(self, why: Why, facts: list[Any]):
        self.why, self.facts = why, facts
        self.numbers: dict[str, int] = {}
        self.by_line: dict[tuple[str, int, str], int] = {}

    def of(self, line: IrLine) -> int:
        """The number of a line's facts; -1 for none. Equal lines of two passes have equal facts."""
        if line.op is None:
            return -1
        place = (line.text.strip(), line.line, line.core)
        fact = self.why.of(line.op, kind_behind(line.op))
        if "chain" not in fact and place in self.by_line:
            return self.by_line[place]
        key = json.dumps(fact, sort_keys=True)
        if key not in self.numbers:
            self.numbers[key] = len(self.facts)
            self.facts.append(fact)
        self.by_line[place] = self.numbers[key]
        return self.numbers[key]


# --- verdicts ----------------------------------------------------------------------------------------------------


def _verdicts(subject: Subject) -> list[dict[str, Any]]:
    """All checks with their evidence: name, ok, what was seen, findings."""
    if subject.compiled is None:
        assert subject.refusal is not None
        return [_verdict("compiles", False, "refused", [subject.refusal])]
    rows = [_verdict("compiles", True, "all passes ran", [])]
    verdict = subject.verdict
    if verdict is not None and verdict.run is not None:
        rows.append(
            _verdict("runs", not verdict.findings, f"{len(verdict.run.events)} protocol steps", verdict.findings)
        )
        rows += [
            _verdict(f"equal to the {name}", c.equal, f"largest error {c.max_error:.3g}", [], "" if c.equal else str(c))
            for name, c in verdict.comparisons.items()
        ]
        if verdict.run.notes:
            rows.append(_verdict("odd but harmless", True, f"{len(verdict.run.notes)} notes", verdict.run.notes))
    for protocol in check_protocol(subject.compiled.module):
        rows.append(_verdict("channel protocol", protocol.holds, str(protocol), protocol.findings))
    overflows = budget_findings(subject.compiled.module)
    rows.append(_verdict("memory budget", not overflows, "tiles and rings against capacity", overflows))
    return rows


def _verdict(name: str, ok: bool, seen: str, findings: Any, more: str = "") -> dict[str, Any]:
    found = [{**f.as_json(), "location": {"line": f.location.line, "column": f.location.column}} for f in findings]
    return {"name": name, "ok": ok, "seen": seen, "more": more, "findings": found}
