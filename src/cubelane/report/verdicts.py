"""All checks with their evidence, as data for the page."""

from collections.abc import Sequence
from typing import Any

from cubelane.analysis import memory_budget
from cubelane.check.compiled import CompiledKernel, Verdict
from cubelane.check.kernel_file import Judge
from cubelane.check.lanes import check_lanes
from cubelane.check.protocol import check_protocol
from cubelane.check.pto_text import judge_text
from cubelane.ir.diagnostic import Diagnostic

Row = dict[str, Any]


def refused_row(problem: Diagnostic) -> Row:
    """The one row of a kernel that was refused."""
    return _row("compiles", False, "refused", [problem])


def verdict_rows(compiled: CompiledKernel, verdict: Verdict | None, judge: Judge, seed: int = 0) -> list[Row]:
    """Name, whether it holds, what was seen, findings."""
    rows = [_row("compiles", True, f"all {len(compiled.stages)} passes ran", [])]
    if verdict is not None and verdict.run is not None:
        rows += _run_rows(verdict)
    for protocol in check_protocol(compiled.module):
        rows.append(_row("channel protocol", protocol.holds, str(protocol), protocol.findings))
    for lanes in check_lanes(compiled):
        name = f"lanes of {lanes.kernel} on '{lanes.tensor}'"
        rows.append(_row(name, not lanes.findings, str(lanes), lanes.findings))
    text = judge_text(compiled, judge, seed=seed)
    rows.append(_row("PTO text, read back and run", text.good and not text.findings, str(text), text.findings))
    used = memory_budget.budget(compiled.module)
    overflows = [overflow for usage in used if (overflow := usage.finding()) is not None]
    tightest = max((u.used / u.capacity for u in used if u.capacity), default=0.0)
    seen = f"{len(used)} spaces, the fullest at {100 * tightest:.0f} % of its capacity"
    rows.append(_row("memory budget", not overflows, seen, overflows))
    return rows


def _run_rows(verdict: Verdict) -> list[Row]:
    assert verdict.run is not None
    codes = {finding.code for finding in verdict.findings}
    steps = f"{len(verdict.run.events)} protocol steps" + (f"; {', '.join(sorted(codes))}" if codes else "")
    rows = [_row("runs without deadlock, race or undefined cell", not verdict.findings, steps, verdict.findings)]
    rows += [
        _row(f"equal to the {name}", c.equal, f"largest error {c.max_error:.3g}", [], "" if c.equal else str(c))
        for name, c in verdict.comparisons.items()
    ]
    if verdict.run.notes:
        rows.append(_row("odd but harmless", True, f"{len(verdict.run.notes)} notes", verdict.run.notes))
    return rows


def _row(name: str, ok: bool, seen: str, findings: Sequence[Diagnostic], more: str = "") -> Row:
    found = [{**f.as_json(), "location": {"line": f.location.line, "column": f.location.column}} for f in findings]
    return {"name": name, "ok": ok, "seen": seen, "more": more, "findings": found}
