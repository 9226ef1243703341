"""When each op ran in the timing model, and what follows from it: busy, waiting, overlap, critical path, bytes.

Times are cycles of the core clock. This is a model of the machine, not a measurement.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation

from cubelane.ir.diagnostic import Location
from cubelane.ir.types import MemorySpace
from cubelane.targets.rates import Pipe

Span = tuple[int, int]


@dataclass
class Happening:
    """One execution of one op on one pipe of one core.

    `cause` is the event whose end let it start (-1: none), `reason` how: operand, pipe, buffer, ring or issue;
    `waited` the cycles it stood ready but for the ring. `held` bytes of `space` are taken until `dead`.
    """

    number: int
    agent: str
    pipe: Pipe
    op: Operation
    start: int
    end: int
    cause: int = -1
    reason: str = ""
    waited: int = 0
    size: int = 0
    path: str = ""
    slot: int | None = None
    space: MemorySpace | None = None
    held: int = 0
    dead: int = 0

    @property
    def location(self) -> Location:
        """The line of the user's Python."""
        return Location.of(self.op)

    @property
    def name(self) -> str:
        """The op without its dialect."""
        return self.op.name.split(".", 1)[-1]

    @property
    def variable(self) -> str:
        """The user's name of what it makes."""
        values = self.op.results or self.op.operands[:1]
        return (values[0].name_hint or "") if values else ""


@dataclass(frozen=True)
class RingUse:
    """One tile in one slot: being written from `start`, full from `full`, given back at `end`."""

    ring: str
    depth: int
    slot: int
    number: int
    start: int
    full: int
    end: int
    launch: int = 0


@dataclass(frozen=True)
class AgentTimes:
    """One core: cycles in which some pipe of it worked, computed, waited for a ring, did nothing."""

    agent: str
    busy: int
    computing: int
    waiting: int
    idle: int


@dataclass
class Timeline:
    """All events of a replay."""

    agents: list[str]
    events: list[Happening]
    rings: list[RingUse]
    clock_ghz: float
    _critical: list[Happening] = field(default_factory=list[Happening])

    @property
    def cycles(self) -> int:
        """When the last op ends."""
        return max((e.end for e in self.events), default=0)

    @property
    def microseconds(self) -> float:
        """The same as time at the clock of the machine."""
        return self.cycles / self.clock_ghz / 1000

    def of(self, agent: str) -> list[Happening]:
        """The events of one core."""
        return [e for e in self.events if e.agent == agent]

    def times(self) -> list[AgentTimes]:
        """Busy, computing, waiting and idle cycles of every core; busy + waiting + idle is the whole time."""
        result: list[AgentTimes] = []
        total = self.cycles
        for agent in self.agents:
            mine = self.of(agent)
            busy = union((e.start, e.end) for e in mine)
            stalls = union((e.start - e.waited, e.start) for e in mine if e.waited)
            computing = length(union((e.start, e.end) for e in mine if e.pipe in (Pipe.CUBE, Pipe.VECTOR)))
            waiting = length(stalls) - length(common(stalls, busy))
            result.append(AgentTimes(agent, length(busy), computing, waiting, total - length(busy) - waiting))
        return result

    def overlap(self) -> float:
        """The share of the time in which the cube core and a lane both work."""
        cube = union((e.start, e.end) for e in self.events if e.agent == "AIC")
        lanes = union((e.start, e.end) for e in self.events if e.agent.startswith("AIV"))
        return length(common(cube, lanes)) / self.cycles if self.cycles else 0.0

    def bytes_by_path(self) -> dict[str, int]:
        """Bytes over every path, all cores together; what a ring carries is counted where it is pushed."""
        totals: dict[str, int] = {}
        for event in self.events:
            if event.path and not (event.path.startswith("ring") and event.op.results):
                totals[event.path] = totals.get(event.path, 0) + event.size
        return totals

    def critical_path(self) -> list[Happening]:
        """The chain of events that ends last, each waiting for the one before."""
        if not self._critical and self.events:
            current: Happening | None = max(self.events, key=lambda e: (e.end, -e.number))
            while current is not None:
                self._critical.append(current)
                current = self.events[current.cause] if current.cause >= 0 else None
            self._critical.reverse()
        return self._critical

    def chrome_trace(self) -> dict[str, Any]:
        """The timeline for Perfetto or chrome://tracing; one microsecond there is one cycle."""
        rows: list[dict[str, Any]] = []
        critical = {e.number for e in self.critical_path()}
        for process, agent in enumerate(self.agents):
            rows.append(_named("process_name", process, 0, agent))
            for pipe in Pipe:
                if any(e.agent == agent and e.pipe is pipe for e in self.events):
                    rows.append(_named("thread_name", process, list(Pipe).index(pipe), pipe.value))
        for event in self.events:
            rows += self._trace_rows(event, event.number in critical)
        base = len(self.agents)
        for number, ring in enumerate(dict.fromkeys(use.ring for use in self.rings)):
            rows.append(_named("process_name", base + number, 0, f"ring {ring}"))
            for use in (u for u in self.rings if u.ring == ring):
                rows.append(_slice(f"tile {use.number}", "ring", base + number, use.slot, use.start, use.end, {}))
        return {
            "traceEvents": rows,
            "displayTimeUnit": "ns",
            "otherData": {"unit": "1 us here is 1 cycle", "model": "estimate, not a measurement"},
        }

    def _trace_rows(self, event: Happening, critical: bool) -> list[dict[str, Any]]:
        process, thread = self.agents.index(event.agent), list(Pipe).index(event.pipe)
        facts: dict[str, Any] = {"source": str(event.location), "critical": critical, "after": event.reason}
        if event.path:
            facts |= {"bytes": event.size, "path": event.path}
        if event.slot is not None:
            facts["slot"] = event.slot
        name = f"{event.name} {event.variable}".strip()
        kind = "compute" if event.pipe.computes else "transfer"
        rows = [_slice(name, kind, process, thread, event.start, event.end, facts)]
        if event.waited:
            rows.insert(
                0, _slice(f"wait: {name}", "wait", process, thread, event.start - event.waited, event.start, {})
            )
        return rows

    def as_json(self) -> dict[str, Any]:
        """The figures of the table, for tools."""
        return {
            "model": True,
            "cycles": self.cycles,
            "microseconds": round(self.microseconds, 3),
            "overlap": round(self.overlap(), 4),
            "agents": [t.__dict__ for t in self.times()],
            "bytes": self.bytes_by_path(),
            "critical_path": len(self.critical_path()),
        }


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _slice(
    name: str, kind: str, process: int, thread: int, start: int, end: int, facts: dict[str, Any]
) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": kind, "pid": process, "tid": thread, "ts": start, "dur": end - start,
            "args": facts}  # fmt: skip


# --- sets of cycles ----------------------------------------------------------------------------------------------


def union(spans: Iterable[Span]) -> list[Span]:
    """The spans joined where they touch, in order."""
    result: list[Span] = []
    for start, end in sorted(s for s in spans if s[1] > s[0]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def common(one: Sequence[Span], two: Sequence[Span]) -> list[Span]:
    """What two lists of disjoint spans have in common."""
    result: list[Span] = []
    i = j = 0
    while i < len(one) and j < len(two):
        start, end = max(one[i][0], two[j][0]), min(one[i][1], two[j][1])
        if start < end:
            result.append((start, end))
        if one[i][1] < two[j][1]:
            i += 1
        else:
            j += 1
    return result


def length(spans: Iterable[Span]) -> int:
    """How many cycles the spans cover."""
    return sum(end - start for start, end in spans)
