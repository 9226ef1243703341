"""Puts tasks on a time axis: every core's ops on their pipes, over rings of a given depth (docs/timing.md).

An op starts when its core has issued it, its pipe has ended what came before, its operands are there, the buffer it
writes has been read out, and, for a push or pop, the ring has room or a tile. Pipes work in order, side by side.
Every start names what it waited for last, which gives the critical path.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cubelane.sim.ring import TO_LANES
from cubelane.sim.timeline import Happening, RingUse, Timeline
from cubelane.sim.timing_program import Act, AgentTasks, LaunchTasks, RingKey, Task
from cubelane.targets.rates import Pipe, Rates

NONE = -1
"""No event."""


@dataclass
class _Ring:
    """When each slot was filled and given back: one list of event numbers per producer and consumer."""

    depth: int
    pushed: dict[int, list[int]]
    popped: dict[int, list[int]]
    freed: dict[int, list[int]]

    def possible(self, act: Act, me: int) -> bool:
        """Whether all times are known that a push or pop depends on."""
        if act is Act.PUSH:
            return len(self.pushed[me]) - min(map(len, self.freed.values()), default=0) < self.depth
        if act is Act.POP:
            return min(map(len, self.pushed.values()), default=0) > len(self.popped[me])
        return True

    def causes(self, act: Act, me: int) -> tuple[int | None, list[int]]:
        """The slot of a push or pop, and the events after which it may start."""
        if act is Act.PUSH:
            number = len(self.pushed[me])
            frees = [f[number - self.depth] for f in self.freed.values()] if number >= self.depth else []
            return number % self.depth, frees
        if act is Act.POP:
            number = len(self.popped[me])
            return number % self.depth, [p[number] for p in self.pushed.values()]
        return None, []

    def note(self, act: Act, me: int, event: int) -> None:
        """Keeps an event."""
        lists = self.pushed if act is Act.PUSH else self.popped if act is Act.POP else self.freed
        lists[me].append(event)


@dataclass
class _Start:
    """The earliest start found so far and what asks for it."""

    time: int
    cause: int = NONE
    reason: str = "issue"

    def after(self, time: int, cause: int, reason: str) -> None:
        """Not before `time`."""
        if time > self.time:
            self.time, self.cause, self.reason = time, cause, reason


@dataclass
class _Core:
    """The state of one core during the replay. Lists go by the core's own task numbers, causes by event numbers."""

    agent: AgentTasks
    issued: int
    issue_cause: int = NONE
    events: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    last_read: list[int] = field(default_factory=list[int])
    last_reader: list[int] = field(default_factory=list[int])
    pipe_end: dict[Pipe, tuple[int, int]] = field(default_factory=dict[Pipe, tuple[int, int]])

    @property
    def me(self) -> int:
        """The number of the lane; 0 for the cube."""
        return self.agent.lane or 0


class Stalled(Exception):
    """The replay cannot go on: with these ring depths the cores wait for each other for ever."""


class Replay:
    """One replay of all launches, with rings of `depth` slots (None: as compiled)."""

    def __init__(self, rates: Rates, depth: int | None = None):
        self.rates, self.depth = rates, depth
        self.events: list[Happening] = []
        self.rings: dict[RingKey, _Ring] = {}
        self.uses: list[RingUse] = []

    def run(self, launches: Sequence[LaunchTasks]) -> Timeline:
        """The timeline of the launches one after the other. Raises `Stalled`."""
        agents: dict[str, None] = {}
        start = 0
        for number, launch in enumerate(launches):
            agents.update(dict.fromkeys(a.name for a in launch.agents))
            self._launch(launch, number, start)
            start = max((e.end for e in self.events), default=start)
        return Timeline(list(agents), self.events, self.uses, self.rates.clock_ghz)

    def _launch(self, launch: LaunchTasks, number: int, start: int) -> None:
        self.rings = self._rings(launch)
        cores = [_Core(agent, start) for agent in launch.agents]
        running = [self._core(core) for core in cores]
        while running:
            before = len(self.events)
            left = [program for program in running if next(program, None) is not None]
            if left and len(left) == len(running) and len(self.events) == before:
                raise Stalled
            running = left
        for core in cores:
            for event, read in zip(core.events, core.last_read, strict=True):
                self.events[event].dead = read
        for key, ring in self.rings.items():
            self._ring_uses(key, ring, number)

    def _rings(self, launch: LaunchTasks) -> dict[RingKey, _Ring]:
        lanes = [a.lane for a in launch.agents if a.lane is not None]
        rings: dict[RingKey, _Ring] = {}
        for key, depth in launch.rings.items():
            producers, consumers = ([0], lanes) if key[0] == TO_LANES else (lanes, [0])
            lists = ({n: list[int]() for n in side} for side in (producers, consumers, consumers))
            rings[key] = _Ring(self.depth or depth, *lists)
        return rings

    def _core(self, core: _Core) -> Iterator[bool]:
        """Replays one core; yields where it needs a time that another core has not reached."""
        for task in core.agent.tasks:
            if task.act is not Act.NONE:
                while not self.rings[task.ring].possible(task.act, core.me):
                    yield True
            self._execute(core, task)

    def _execute(self, core: _Core, task: Task) -> None:
        start = _Start(core.issued, core.issue_cause)
        for source in task.sources:
            start.after(core.ends[source], core.events[source], "operand")
        free = task.act is Act.FREE
        for old in task.waits:
            start.after(core.last_read[old], core.last_reader[old], "operand" if free else "buffer")
        if not free:
            start.after(*core.pipe_end.get(task.price.pipe, (0, NONE)), "pipe")
        ready, number, slot = start.time, len(self.events), None
        if task.act is not Act.NONE:
            ring = self.rings[task.ring]
            slot, causes = ring.causes(task.act, core.me)
            for cause in causes:
                start.after(self.events[cause].end + self.rates.handshake, cause, "ring")
            ring.note(task.act, core.me, number)
        price = task.price
        end = start.time + price.cycles
        self.events.append(
            Happening(
                number, core.agent.name, price.pipe, task.op, start.time, end, start.cause, start.reason,
                start.time - ready, price.size, price.path, slot, task.space, task.held, end,
            )
        )  # fmt: skip
        self._record(core, task, number, end)

    def _record(self, core: _Core, task: Task, number: int, end: int) -> None:
        """Keeps what later tasks of the core wait for."""
        core.events.append(number)
        core.ends.append(end)
        core.last_read.append(end)
        core.last_reader.append(number)
        tasks, last_read = core.agent.tasks, core.last_read
        for source in task.sources:
            for read in (source, tasks[source].root):
                if end > last_read[read]:
                    last_read[read], core.last_reader[read] = end, number
        if task.act is not Act.FREE:
            core.pipe_end[task.price.pipe] = (end, number)
        core.issued += self.rates.issue
        if task.price.pipe is Pipe.SCALAR and end > core.issued:
            core.issued, core.issue_cause = end, number

    def _ring_uses(self, key: RingKey, ring: _Ring, launch: int) -> None:
        name = key[0] + (f" (pipe {key[1]})" if key[1] else "")
        for number in range(max((len(p) for p in ring.pushed.values()), default=0)):
            filled = [self.events[p[number]] for p in ring.pushed.values() if number < len(p)]
            freed = [self.events[f[number]].end for f in ring.freed.values() if number < len(f)]
            begin, full = min(e.start for e in filled), max(e.end for e in filled)
            self.uses.append(
                RingUse(name, ring.depth, number % ring.depth, number, begin, full, max(freed, default=full), launch)
            )
