"""One launch of a core group: its agents run in turn, deterministically, until all have ended or none can go on."""

import gc
import random
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from cubelane.emit.numpy_program import EmittedFunction, Line
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import FunctionKind
from cubelane.sim.clock import AT_RINGS, Entry, History
from cubelane.sim.core import Core
from cubelane.sim.memory import Memory, Race
from cubelane.sim.pair import PairOfLanes
from cubelane.sim.primitives import Array, Fault, Poison, scalar_fault
from cubelane.sim.program import Runnable
from cubelane.sim.result import Event
from cubelane.sim.ring import Outlet, Ring


@dataclass(frozen=True)
class Schedule:
    """In which order agents run. Without a seed: in turn, each until it must wait. With one: at random, and an agent
    may be stopped at every ring operation."""

    seed: int | None = None


@dataclass(frozen=True)
class Member:
    """One function of the group with its arguments; a vector function runs on `lanes` lanes.

    `writes` are the positions of the arguments that it may write. `paired`: one program runs both lanes side by side.
    """

    runnable: Runnable
    arguments: Sequence[Any]
    lanes: int
    writes: frozenset[int]
    paired: bool = False

    @property
    def program(self) -> EmittedFunction:
        """Its text, and where that comes from."""
        return self.runnable.emitted


@dataclass(frozen=True)
class Suspect:
    """A store of NaN that may come from undefined cells: which cells of which tensor, and where in the program."""

    tensor: Array
    index: tuple[slice, ...]
    cells: Array
    line: Line
    agent: str


class Agent:
    """A member on one core, running or ended."""

    def __init__(self, group: "Group", member: Member, number: int, lane: int | None):
        self.name = "AIC" if lane is None else f"AIV{lane}"
        self.member, self.lane = member, lane
        self.pair = PairOfLanes(group, number) if member.paired else None
        self.core = Core(group, number, self.name, lane) if self.pair is None else self.pair.both
        words = self.core.words() if self.pair is None else self.pair.words()
        self.function = member.runnable.bind(words)
        self.code = self.function.__code__
        self.run: Generator[None, None, Any] | None = None
        self.ended, self.result = False, None
        self.places: list[int] = []

    def with_second_lane(self) -> "tuple[Agent, Agent]":
        """An agent that runs both lanes, and one that only stands for the other lane in the log."""
        assert self.pair is not None
        other = copy(self)
        other.core, other.name, other.lane, other.ended = self.pair.each[1], "AIV1", 1, True
        return self, other

    def step(self) -> None:
        """Runs until the agent waits or ends; an error becomes a Diagnostic at the line that made it."""
        self.core.waiting = None
        try:
            if self.run is not None:
                next(self.run)
                return
            begun = self.function(*self.member.arguments)
            if self.member.program.blocks:
                self.run = begun
                next(begun)
            else:
                self.result, self.ended = begun, True
        except StopIteration as stop:
            self.result, self.ended = stop.value, True
        except Diagnostic:
            raise
        except Exception as problem:
            raise self._located(problem) from problem

    def _located(self, problem: Exception) -> Diagnostic:
        trace, number = problem.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code is self.code:
                number = trace.tb_lineno
            trace = trace.tb_next
        line = self.member.program.line(number)
        what = f"{self.name}: {line.op}" + (f" ({line.variable})" if line.variable else "")
        if isinstance(problem, Fault):
            return Diagnostic(f"{what}: {problem}", line.location, problem.notes, code=problem.code)
        if (why := scalar_fault(problem)) is not None:
            return Diagnostic(f"{self.name}: {why}", line.location, code="scalar")
        note = f"{self.member.program.name}, line {number} of the emitted program"
        return Diagnostic(f"{what}: {type(problem).__name__}: {problem}", line.location, (note,), code="execution")

    def line(self, place: int) -> Line:
        """The origin of a place in the code of this agent's program (an offset: cheaper to note than a line)."""
        if not self.places:
            for start, end, line in self.code.co_lines():
                self.places += [line or 0] * ((end - start) // 2)
        number = place // 2
        return self.member.program.line(self.places[number] if number < len(self.places) else 0)


class Group:
    """The agents of one launch, their rings, and what went wrong."""

    def __init__(self, members: Sequence[Member], memory: Memory, poison: Poison, schedule: Schedule):
        self.memory, self.poison, self.schedule = memory, poison, schedule
        if members:
            memory.begin_launch([(m.arguments, m.writes) for m in members])
        self.rings: dict[tuple[str, int], Ring] = {}
        self.findings: list[Diagnostic] = []
        self.notes: list[Diagnostic] = []
        self.suspects: list[Suspect] = []
        self.stores: list[tuple[Array, tuple[slice, ...], int, int]] = []
        """The trace of stores: tensor, window, agent, place."""
        self.log: list[Entry] = []
        self.preempts = schedule.seed is not None
        vector = [m for m in members if m.program.kind is not FunctionKind.AIC]
        self.lanes = max((m.lanes for m in vector), default=1)
        self.pairs: set[int] = set()
        """The numbers of agents that run both lanes; the next number stands for the second lane."""
        self.agents: list[Agent] = []
        for member in members:
            lanes: Sequence[int | None] = (
                [None] if member.program.kind is FunctionKind.AIC else list(range(member.lanes))
            )
            if member.paired:
                self.pairs.add(len(self.agents))
                self.agents += Agent(self, member, len(self.agents), 0).with_second_lane()
                continue
            for lane in lanes:
                self.agents.append(Agent(self, member, len(self.agents), lane))

    # --- what the cores report -------------------------------------------------------------------------------

    def line(self, core: Core, place: int) -> Line:
        """The origin of a place in the program of a core; none for what the host does."""
        return self.agents[core.agent].line(place) if self.agents else Line()

    def stored(self, core: Core, tensor: Array, index: tuple[slice, ...], place: int) -> None:
        """Adds to the trace of stores."""
        self.stores.append((tensor, index, core.agent, place))

    def open_ring(self, direction: str, pipe: int, slot_num: int, slot_size: int) -> Ring:
        """Opens a ring, or checks that the other core opens it alike."""
        ring = self.rings.get((direction, pipe))
        if ring is None:
            ring = self.rings[direction, pipe] = Ring(
                direction, pipe, slot_num, slot_size, self.lanes, bool(self.pairs)
            )
        elif (ring.slot_num, ring.slot_size) != (slot_num, slot_size):
            raise Fault(
                f"opens {ring.name} with {slot_num} slots of {slot_size} bytes, the other core with "
                f"{ring.slot_num} of {ring.slot_size}",
                code="protocol",
            )
        return ring

    def undefined_read(self, core: Core, place: int) -> None:
        """A read of global memory that nobody wrote."""
        line = self.line(core, place)
        message = f"{core.name}: {line.op}{_of(line)} reads elements that nobody wrote"
        self._once(Diagnostic(message, line.location, code="poison"))

    def undefined_store(self, core: Core, tensor: Array, index: tuple[slice, ...], cells: Array, place: int) -> None:
        """A store of NaN; whether the cells are undefined shows in a second run."""
        self.suspects.append(Suspect(tensor, index, cells, self.line(core, place), core.name))

    def _once(self, finding: Diagnostic) -> None:
        if all(
            (f.code, f.location, f.message) != (finding.code, finding.location, finding.message) for f in self.findings
        ):
            self.findings.append(finding)

    # --- running ---------------------------------------------------------------------------------------------

    def run(self) -> list[Any]:
        """Runs all agents; what each member returned (lane 0's result for a vector member)."""
        with np.errstate(all="ignore"), _no_collection():
            try:
                self._schedule()
            except Diagnostic as problem:
                self.findings.insert(0, problem)
        if not self.findings:
            self._leftovers()
        self._races()
        results: dict[str, Any] = {}
        for agent in self.agents:
            if agent.lane in (None, 0):
                results[agent.member.program.name] = agent.result
        return list(results.values())

    def _schedule(self) -> None:
        if self.preempts:
            self._at_random(random.Random(self.schedule.seed))
            return
        active = [a for a in self.agents if not a.ended]
        while active:
            moved = ended = False
            for agent in active:
                waiting = agent.core.waiting
                if waiting is None or waiting.ready():
                    agent.step()
                    moved, ended = True, ended or agent.ended
            if not moved:
                self.findings.append(self._deadlock(active))
                return
            if ended:
                active = [a for a in active if not a.ended]

    def _at_random(self, order: random.Random) -> None:
        while active := [a for a in self.agents if not a.ended]:
            ready = [a for a in active if a.core.waiting is None or a.core.waiting.ready()]
            if not ready:
                self.findings.append(self._deadlock(active))
                return
            order.choice(ready).step()

    def _deadlock(self, blocked: Sequence[Agent]) -> Diagnostic:
        notes: list[str] = []
        for agent in blocked:
            end = agent.core.waiting
            assert end is not None
            line, ring = agent.line(agent.core.waits_at), end.ring
            if isinstance(end, Outlet):
                for_what = f"a free slot of {ring.name}: all {ring.slot_num} are taken, {self._blame(ring, False)}"
            else:
                for_what = f"tile {end.popped} of {ring.name}, {self._blame(ring, True)}"
            notes.append(f"{agent.name} at {line.location} ({line.op}{_of(line)}) waits for {for_what}")
        ended = [a.name for a in self.agents if a.ended]
        if ended:
            notes.append(f"{' and '.join(ended)} ended before")
        names = ", ".join(a.name for a in blocked)
        return Diagnostic(
            f"deadlock: {names} wait and nobody can go on" if len(blocked) > 1 else f"deadlock: {names} waits forever",
            blocked[0].line(blocked[0].core.waits_at).location,
            notes,
            code="deadlock",
        )

    def _blame(self, ring: Ring, for_tile: bool) -> str:
        """Who would have to act, and how far they are."""
        counts = [o.pushed for o in ring.outlets] if for_tile else [i.freed for i in ring.inlets]
        verb = "pushed" if for_tile else "freed"
        actors = ["AIC"] if ring.to_lanes == for_tile else [f"AIV{lane}" for lane in range(len(counts))]
        return ", ".join(f"{who} {verb} {count}" for who, count in zip(actors, counts, strict=True))

    def _leftovers(self) -> None:
        for ring in self.rings.values():
            for text in ring.leftovers():
                place = self._last_use(ring)
                self.findings.append(Diagnostic(f"{ring.name} is out of balance: {text}", place, code="leftover"))

    def _last_use(self, ring: Ring) -> Location:
        for agent, kind, detail, _, place in reversed(self.log):
            if detail == ring.name and kind != "wait":
                return self.agents[agent].line(place).location
        return Location()

    def _races(self) -> None:
        for race in self.memory.races(self._history):
            finding = self._race(race)
            (self.notes if race.harmless else self.findings).append(finding)
        self.memory.log.clear()

    def _history(self) -> History:
        return History(self.log, {r.name: r.slot_num for r in self.rings.values()}, len(self.agents), self.pairs)

    def _race(self, race: Race) -> Diagnostic:
        a, b = race.first, race.second
        words: list[str] = []
        for access in (a, b):
            line = self.agents[access.agent].line(access.place)
            verb = "writes" if access.writes else "reads"
            words.append(f"{self.agents[access.agent].name} {verb} at {line.location} ({line.op}{_of(line)})")
        return Diagnostic(
            f"race: {words[0]} and {words[1]} touch the same elements in no order",
            self.agents[b.agent].line(b.place).location,
            (f"both write the same values to {list(a.view.shape)} elements",) if race.harmless else (),
            code="race",
        )

    def events(self, first: int) -> list[Event]:
        """The protocol log, numbered from `first`."""
        result: list[Event] = []
        for number, kind, detail, slot, place in self.log:
            count = 2 if number in self.pairs and kind in AT_RINGS else 1
            for agent in self.agents[number : number + count]:
                step = first + len(result)
                result.append(Event(step, agent.name, kind, detail, slot, agent.line(place).location))
        return result


@contextmanager
def _no_collection() -> Generator[None]:
    """No garbage collection: a run only ever adds to its logs, and the collector would walk the whole IR for it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _of(line: Line) -> str:
    return f" of {line.variable}" if line.variable else ""
