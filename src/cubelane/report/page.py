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
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import program_name
from cubelane.passes.choose_split_mode import MODES
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
            other = run if mode == chosen else _timed_as(compiled, mode, subject)
        except Diagnostic as problem:
            rows.append({"mode": mode, "refused": problem.message, "line": problem.location.line})
            continue
        cycles: list[int | None] = []
        for depth in DEPTHS:
            timeline = other.timeline(depth) if other.complete else None
            cycles.append(timeline.cycles if timeline is not None else None)
        rows.append({"mode": mode, "chosen": mode == chosen, "depths": list(DEPTHS), "cycles": cycles})
    return rows


def chosen_mode(subject: Subject, compiled: CompiledKernel) -> str:
    """The split mode the kernel was compiled in."""
    assert subject.verdict is not None
    return summarize(compiled, subject.verdict).mode


def _timed_as(compiled: CompiledKernel, mode: str, subject: Subject) -> Timed:
    return timed(compile_program(compiled.source, compiled.target, mode), subject.judge, seed=subject.seed)


def _source_text(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _columns(subject: Subject, facts: list[Any]) -> list[dict[str, Any]]:
    """The program after each pass: lines as [text, source line, core, boundary, changed, fact]."""
    before = next((s.module for s in subject.stages if s.name == BEFORE_SPLIT), None)
    why, known = Why(before), dict[str, int]()
    columns: list[dict[str, Any]] = []
    previous: list[IrLine] = []
    for name, module in [("as written", subject.source), *((s.name, s.module) for s in subject.stages)]:
        lines = lines_of(module)
        fresh, gone = changed(previous, lines) if columns else ([False] * len(lines), 0)
        columns.append(
            {
                "name": name,
                "changed": sum(fresh),
                "gone": gone,
                "lines": [
                    [x.text, x.line, x.core[0], int(x.boundary), int(new), _fact(x, why, facts, known)]
                    for x, new in zip(lines, fresh, strict=True)
                ],
            }
        )
        previous = lines
    return columns


def _fact(line: IrLine, why: Why, facts: list[Any], known: dict[str, int]) -> int:
    if line.op is None:
        return -1
    fact = why.of(line.op, kind_behind(line.op))
    key = json.dumps(fact, sort_keys=True)
    if key not in known:
        known[key] = len(facts)
        facts.append(fact)
    return known[key]


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
