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
    """For every core and space: bytes of live tiles over time, rings, capacity, and what the program allots.

    Several programs of one core run one after the other: the largest rings and the largest allotment count.
    """
    held = _held(timeline.events)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for function in functions_of(module):
        kind = kind_of(function)
        if kind not in (FunctionKind.AIC, FunctionKind.AIV):
            continue
        for usage in usages(function, target):
            for agent in (a for a in timeline.agents if a.startswith(kind.dsl)):
                key = (agent, usage.space.dsl)
                row = rows.setdefault(key, {"agent": agent, "space": usage.space.dsl, "rings": 0, "allotted": 0})
                row["capacity"] = usage.capacity
                row["rings"] = max(row["rings"], usage.ring)
                row["allotted"] = max(row["allotted"], usage.used)
    for key, row in rows.items():
        events = held.get(key, [])
        row["steps"] = _steps(events)
        row["fullest"], row["alive"] = _fullest(row["steps"], events)
    return [rows[key] for key in sorted(rows)]


def _held(events: Iterable[Happening]) -> dict[tuple[str, str], list[Happening]]:
    """The events that take memory, by core and space."""
    held: dict[tuple[str, str], list[Happening]] = {}
    for event in events:
        if event.space is not None and event.held:
            held.setdefault((event.agent, event.space.dsl), []).append(event)
    return held


def _steps(events: Iterable[Happening]) -> list[list[int]]:
    """Bytes held from a time on, at every time they change."""
    changes: dict[int, int] = {}
    for event in events:
        changes[event.start] = changes.get(event.start, 0) + event.held
        changes[event.dead] = changes.get(event.dead, 0) - event.held
    now, steps = 0, [[0, 0]]
    for time in sorted(changes):
        if changes[time]:
            now += changes[time]
            steps.append([time, now])
    return steps


def _fullest(steps: list[list[int]], events: Iterable[Happening]) -> tuple[int, list[list[Any]]]:
    """When most bytes are held, and by which tiles, the largest first."""
    time = max(steps, key=lambda step: step[1])[0]
    alive = [[e.variable, e.held, e.location.line] for e in events if e.start <= time < e.dead]
    return time, sorted(alive, key=lambda tile: -tile[1])
