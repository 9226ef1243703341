"""The timeline and the memory curves as compact data for the page."""

from collections.abc import Iterable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.analysis.memory_budget import usages
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.sim.timeline import Happening, Timeline
from cubelane.targets import Target
from cubelane.targets.rates import Pipe

REASONS = ("", "issue", "pipe", "operand", "buffer", "ring")


def timeline_data(timeline: Timeline) -> dict[str, Any]:
    """Rows, events and ring slots. An event is [row, start, cycles, waited, label, reason, cause, bytes, slot]."""
    rows = [
        (agent, pipe)
        for agent in timeline.agents
        for pipe in Pipe
        if any(e.agent == agent and e.pipe is pipe and e.end > e.start for e in timeline.events)
    ]
    labels: dict[tuple[str, str, int, str], int] = {}
    numbers = {row: i for i, row in enumerate(rows)}
    events = [_event(e, numbers, labels) for e in timeline.events]
    critical = [e.number for e in timeline.critical_path()]
    rings = list(dict.fromkeys((use.ring, use.depth) for use in timeline.rings))
    names = [name for name, _ in rings]
    return {
        "cycles": timeline.cycles,
        "microseconds": round(timeline.microseconds, 2),
        "clock": timeline.clock_ghz,
        "overlap": round(timeline.overlap(), 4),
        "rows": [{"agent": a, "pipe": p.value, "computes": p.computes} for a, p in rows],
        "labels": [list(label) for label in labels],
        "events": events,
        "reasons": list(REASONS),
        "critical": critical,
        "rings": [{"name": name, "depth": depth} for name, depth in rings],
        "uses": [[names.index(u.ring), u.slot, u.number, u.start, u.full, u.end] for u in timeline.rings],
        "times": [t.__dict__ for t in timeline.times()],
        "bytes": timeline.bytes_by_path(),
        "path": _by_reason(timeline),
    }


def _event(event: Happening, rows: dict[tuple[str, Pipe], int], labels: dict[tuple[str, str, int, str], int]) -> Any:
    label = labels.setdefault((event.name, event.variable, event.location.line, event.path), len(labels))
    row = rows.get((event.agent, event.pipe), -1)
    reason = REASONS.index(event.reason) if event.reason in REASONS else 0
    slot = -1 if event.slot is None else event.slot
    cycles = event.end - event.start
    return [row, event.start, cycles, event.waited, label, reason, event.cause, event.size, slot]


def _by_reason(timeline: Timeline) -> list[list[Any]]:
    """Where the time of the critical path goes: cycles by op and core, the most first."""
    spent: dict[tuple[str, str, int], int] = {}
    previous = 0
    for event in timeline.critical_path():
        key = (event.agent, event.name, event.location.line)
        spent[key] = spent.get(key, 0) + event.end - previous
        previous = event.end
    ranked = sorted(spent.items(), key=lambda item: (-item[1], item[0]))
    return [[*key, cycles] for key, cycles in ranked]


def memory_data(timeline: Timeline, module: ModuleOp, target: Target) -> list[dict[str, Any]]:
    """For every core and space: bytes of live tiles over time, rings, capacity, and what the budget allots."""
    curves = _curves(timeline.events)
    result: list[dict[str, Any]] = []
    for function in functions_of(module):
        kind = kind_of(function)
        if kind not in (FunctionKind.AIC, FunctionKind.AIV):
            continue
        agents = [a for a in timeline.agents if a.startswith(kind.dsl)]
        for usage in usages(function, target):
            for agent in agents:
                steps = curves.get((agent, usage.space.dsl), [[0, 0]])
                largest = usage.largest
                result.append(
                    {
                        "agent": agent,
                        "space": usage.space.dsl,
                        "capacity": usage.capacity,
                        "rings": usage.ring,
                        "peak": usage.used,
                        "fits": usage.fits,
                        "largest": (largest.value.name_hint or "") if largest is not None else "",
                        "steps": steps,
                    }
                )
    return sorted(result, key=lambda row: (row["agent"], row["space"]))


def _curves(events: Iterable[Happening]) -> dict[tuple[str, str], list[list[int]]]:
    changes: dict[tuple[str, str], dict[int, int]] = {}
    for event in events:
        if event.space is None or not event.held:
            continue
        row = changes.setdefault((event.agent, event.space.dsl), {})
        row[event.start] = row.get(event.start, 0) + event.held
        row[event.dead] = row.get(event.dead, 0) - event.held
    curves: dict[tuple[str, str], list[list[int]]] = {}
    for key, row in changes.items():
        now, steps = 0, [[0, 0]]
        for time in sorted(row):
            if row[time]:
                now += row[time]
                steps.append([time, now])
        curves[key] = steps
    return curves
