"""The figures of the timing model as a terminal shows them; they say that they are a model."""

from typing import Any

from cubelane.report.console import show_table
from cubelane.sim.timeline import Timeline


def show_timing(timeline: Timeline, unsplit: int | None = None, waiting: str = "waiting for a ring") -> None:
    """Prints busy, waiting and idle per core, overlap, speed-up, bytes over each path.

    `waiting` names what the cores wait for.
    """
    total = timeline.cycles
    print(
        f"timing model (an estimate, not a measurement): {total:,} cycles, {timeline.microseconds:.1f} us at "
        f"{timeline.clock_ghz} GHz"
    )
    show_table(
        ("core", "busy", "computing", waiting, "idle"),
        [(t.agent, *(_percent(c, total) for c in (t.busy, t.computing, t.waiting, t.idle))) for t in timeline.times()],
    )
    print(f"cube and lanes overlap {100 * timeline.overlap():.0f} % of the time{_speedup(total, unsplit)}")
    paths = ", ".join(f"{path} {size:,}" for path, size in timeline.bytes_by_path().items())
    if paths:
        print(f"bytes: {paths}")


def _speedup(total: int, unsplit: int | None) -> str:
    """How much faster the split is, in the model."""
    if not unsplit or not total:
        return ""
    return f"; {unsplit / total:.2f} times as fast as without split ({unsplit:,} cycles)"


def timing_json(timeline: Timeline, unsplit: int | None = None) -> dict[str, Any]:
    """The same for tools."""
    speedup = round(unsplit / timeline.cycles, 4) if unsplit and timeline.cycles else None
    return {**timeline.as_json(), "unsplit_cycles": unsplit, "speedup": speedup}


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.0f}%" if total else "0%"
