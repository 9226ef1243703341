"""The figures of the timing model as a terminal shows them; they say that they are a model."""

from typing import Any

from cubelane.report.terminal import table
from cubelane.sim.timeline import Timeline

HEADER = ("core", "busy", "computing", "waiting for a ring", "idle")


def timing_text(timeline: Timeline, unsplit: int | None = None) -> str:
    """Busy, waiting and idle per core, overlap, speed-up, bytes over each path."""
    total = timeline.cycles
    rows = [
        (t.agent, *(f"{_percent(c, total)}" for c in (t.busy, t.computing, t.waiting, t.idle)))
        for t in timeline.times()
    ]
    lines = [
        f"timing model (an estimate, not a measurement): {total:,} cycles, {timeline.microseconds:.1f} us at "
        f"{timeline.clock_ghz} GHz",
        table(HEADER, rows),
        f"cube and lanes overlap {100 * timeline.overlap():.0f} % of the time"
        + (f"; {unsplit / total:.2f} times as fast as without split ({unsplit:,} cycles)" if unsplit and total else ""),
    ]
    paths = ", ".join(f"{path} {size:,}" for path, size in timeline.bytes_by_path().items())
    return "\n".join([*lines, *([f"bytes: {paths}"] if paths else [])])


def timing_json(timeline: Timeline, unsplit: int | None = None) -> dict[str, Any]:
    """The same for tools."""
    speedup = round(unsplit / timeline.cycles, 4) if unsplit and timeline.cycles else None
    return {**timeline.as_json(), "unsplit_cycles": unsplit, "speedup": speedup}


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.0f}%" if total else "0%"
