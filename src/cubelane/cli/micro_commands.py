"""`compile`, `check` and `emit` on PTODSL files and PTO texts: the same table, the same exit codes."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from cubelane.check.kernel_file import split_name
from cubelane.check.micro import MicroProgram, MicroVerdict, judge_micro, read_micro
from cubelane.check.summary import HEADER
from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import CommandLineError, report
from cubelane.cli.options import show_text
from cubelane.report.console import show_table
from cubelane.report.terminal import render_json
from cubelane.report.timing import show_timing, timing_json


def _read(given: argparse.Namespace) -> MicroProgram:
    path, wanted = split_name(given.file)
    golden = getattr(given, "golden", None)
    program = read_micro(path, wanted, Path(golden) if golden else None)
    judge = program.judge
    rtol, atol = getattr(given, "rtol", None), getattr(given, "atol", None)
    judge = judge._replace(rtol=judge.rtol if rtol is None else rtol, atol=judge.atol if atol is None else atol)
    return replace(program, judge=judge)


def compile_file(given: argparse.Namespace) -> int:
    """`cubelane compile`."""
    program = _read(given)
    verdict = judge_micro(program)
    if given.folder:
        _write(Path(given.folder), program, verdict)
    timeline = None if verdict.findings else verdict.run.timeline
    if given.trace and timeline is not None:
        write_text(Path(given.trace), json.dumps(timeline.chrome_trace(), indent=None, separators=(",", ":")) + "\n")
    timed = None if given.no_timing or timeline is None or not timeline.events else timeline
    if given.format == "json":
        print(json.dumps(_facts(verdict) | ({} if timed is None else {"timing": timing_json(timed)}), indent=1))
    else:
        show_table(HEADER, [verdict.row()])
        _tell(verdict)
        if timed is not None:
            show_timing(timed, waiting="waiting for a flag")
    return 0 if verdict.equal else 1


def check_file(given: argparse.Namespace) -> int:
    """`cubelane check`: races, flags, signals, deadlocks, undefined data, bounds, results."""
    verdict = judge_micro(_read(given))
    if given.format == "json":
        print(json.dumps(_facts(verdict), indent=1))
        return 0 if verdict.equal else 1
    rows = [("execution", "ok" if not verdict.findings else verdict.findings[0].code)]
    rows += [(f"equal to the {name}", "ok" if c.equal else str(c)) for name, c in verdict.comparisons.items()]
    show_table(("check", "verdict"), rows)
    for finding in verdict.findings:
        report(finding)
    return 0 if verdict.equal else 1


def emit_file(given: argparse.Namespace) -> int:
    """`cubelane emit --as vpto | pto | mlir`."""
    program = _read(given)
    if given.form not in ("vpto", "pto", "mlir"):
        raise CommandLineError(f"--as {given.form} is for kernels of the pl language; use --as vpto or --as pto")
    show_text((program.vpto() if given.form == "vpto" else program.text).removesuffix("\n"), given)
    return 0


def _facts(verdict: MicroVerdict) -> dict[str, Any]:
    names = ("kernel", "target", "mode", "cores", "crossings", "ring_bytes", "max_error", "verdict")
    facts: dict[str, Any] = dict(zip(names, verdict.row(), strict=True))
    facts |= {"crossings": verdict.signals, "ring_bytes": 0, "max_error": verdict.max_error}
    facts["queues"] = verdict.run.ran
    facts["findings"] = json.loads(render_json(verdict.findings))
    facts["differences"] = {name: str(c) for name, c in verdict.comparisons.items() if not c.equal}
    return facts


def _tell(verdict: MicroVerdict) -> None:
    for finding in verdict.findings:
        report(finding)
    for name, comparison in verdict.comparisons.items():
        if not comparison.equal:
            print(f"differs from the {name}: {comparison}")


def _write(folder: Path, program: MicroProgram, verdict: MicroVerdict) -> None:
    write_text(folder / "source.pto", program.text)
    write_text(folder / "final.vpto", program.vpto())
    write_text(folder / "summary.json", json.dumps(_facts(verdict), indent=1) + "\n")
