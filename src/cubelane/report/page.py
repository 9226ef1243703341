"""The explorer: one HTML file that shows what became of a kernel (docs/report.md)."""

import json
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compiled import CompiledKernel, Stage, Verdict
from cubelane.check.kernel_file import Judge
from cubelane.check.summary import summarize
from cubelane.check.timing import timed
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import program_name
from cubelane.report.columns import columns_of
from cubelane.report.lanes import lane_windows
from cubelane.report.tracks import memory_data, timeline_data
from cubelane.report.verdicts import refused_row, verdict_rows
from cubelane.report.what_if import what_if
from cubelane.targets import TARGETS

SCRIPTS = ("base.js", "ir.js", "why.js", "charts.js", "timeline.js", "what_if.js", "start.js")


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
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page_data(subject: Subject) -> dict[str, Any]:
    """Everything the page shows, as plain data."""
    table = columns_of(subject.source, subject.stages)
    data: dict[str, Any] = {
        "kernel": program_name(subject.source),
        "file": Path(subject.path).name,
        "target": subject.target,
        "chip": TARGETS[subject.target].chip,
        "source": _source_text(subject.path),
        "columns": table.columns,
        "lines": table.lines,
        "facts": table.facts,
        "kinds": table.kinds,
        "links": table.links,
        "verdicts": [],
        "summary": None,
        "lanes": [],
        "timeline": None,
        "memory": [],
        "whatIf": [],
    }
    if subject.compiled is not None:
        data["verdicts"] = verdict_rows(subject.compiled, subject.verdict, subject.judge, subject.seed)
        _add_run(data, subject, subject.compiled)
    elif subject.refusal is not None:
        data["verdicts"] = [refused_row(subject.refusal)]
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
        data["whatIf"] = what_if(compiled, run, subject.judge, subject.seed)


def _source_text(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
