"""One core group: a cube core and its vector lanes with their memories, queues, flags and signals (spec/pto.md 11)."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cubelane.ir.pto.spaces import Pipe, Space
from cubelane.sim.micro.agents import (
    Agent,
    Blocking,
    Flag,
    Item,
    Message,
    Numbering,
    Queue,
    Release,
    Scalar,
    Semaphore,
    Wait,
)
from cubelane.sim.micro.board import Board
from cubelane.sim.micro.clock import joined
from cubelane.sim.micro.elements import Array
from cubelane.sim.micro.memory import Fault, Fresh, GlobalMemory, Memory, Region
from cubelane.sim.micro.timing import Priced, Stopwatch

KIB = 1024
CUBE_QUEUES = (Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.FIX)
VECTOR_QUEUES = (Pipe.MTE2, Pipe.V, Pipe.MTE3)
AGENTS_PER_GROUP = 1 + len(CUBE_QUEUES) + 2 * (1 + len(VECTOR_QUEUES))
QUEUE_LIMIT = 512
SIGNALS_PER_LANE = 16
KEPT_PREDICATES = 256
NO_SATURATION = 1 << 48
"""The control register at the start: nothing saturates, as for ops that do not say."""


@dataclass(frozen=True)
class Machine:
    """Capacities in bytes (spec/pto.md 11.2) and layouts of an architecture."""

    capacity: dict[Space, int]
    l0a_is_nz: bool
    semaphores: bool


def _machine(ub: int, l0c: int, nz: bool) -> Machine:
    sizes = {Space.UB: ub, Space.L1: 512, Space.L0A: 64, Space.L0B: 64, Space.L0C: l0c, Space.BT: 64, Space.FB: 64}
    return Machine({space: size * KIB for space, size in sizes.items()}, nz, nz)


MACHINES = {"a5": _machine(256, 256, True), "a3": _machine(192, 128, False), "a2": _machine(192, 128, False)}


class Work(Priced, Protocol):
    """What a queue does with memory."""

    def run(self, core: "Core", agent: Agent, place: int) -> None:
        """Does it."""
        ...


_CUBE_MEMORIES = (Space.L1, Space.L0A, Space.L0B, Space.L0C, Space.BT, Space.FB)


@dataclass
class StreamRegister:
    """What the unaligned streams of the vector unit keep in special registers: bytes stored, elements squeezed."""

    stored: int = 0
    squeezed: int | None = None


class Core:
    """The cube core (`lane` None) or a vector lane."""

    def __init__(self, group: "Group", name: str, lane: int | None, first: int):
        self.group, self.name, self.lane = group, name, lane
        self.scalar = Scalar(name, first, group.numbering)
        pipes = CUBE_QUEUES if lane is None else VECTOR_QUEUES
        self.queues = {p: Queue(name, p, first + 1 + i, group.numbering) for i, p in enumerate(pipes)}
        spaces = _CUBE_MEMORIES if lane is None else (Space.UB,)
        self.memories = {s: self._memory(s) for s in spaces}
        self.flags: dict[tuple[Pipe, Pipe, int], Flag] = {}
        self.buffers: dict[int, dict[Pipe, Release]] = {}
        self.buffer_users: dict[int, dict[Pipe, None]] = {}
        self.control = NO_SATURATION
        self.registers: dict[str, tuple[Any, ...]] = {}
        self.issued = 0
        self.stream = StreamRegister()
        size = self.group.machine.capacity[Space.UB] if lane is not None else 0
        self.fresh = (Fresh(size), Fresh(size))
        self._runs: dict[int, tuple[Array, list[tuple[int, int]]]] = {}

    def runs_of(self, mask: Array) -> list[tuple[int, int]]:
        """The stretches of active lanes of a predicate; kept, for most predicates are used very often."""
        found = self._runs.get(id(mask))
        if found is not None and found[0] is mask:
            return found[1]
        if len(self._runs) >= KEPT_PREDICATES:
            self._runs.clear()
        edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.view(np.int8), [0]])))
        runs = [(int(low), int(high)) for low, high in edges.reshape(-1, 2)]
        self._runs[id(mask)] = (mask, runs)
        return runs

    def _memory(self, space: Space) -> Memory:
        size = self.group.machine.capacity[space]
        data = np.full(size, 0xA5, np.uint8)
        return Memory(f"{space.value.upper()} of {self.name}", data, False, self.group.board.clash)

    @property
    def agents(self) -> list[Agent]:
        """The scalar unit and the queues."""
        return [self.scalar, *self.queues.values()]

    def at(self, space: Space, region: Region) -> tuple[Memory, Region]:
        """The memory a region of a space lies in, as this core sees it."""
        if space is Space.GM:
            return self.group.gm.at(region)
        memory = self.memories.get(space)
        if memory is None:
            raise Fault(f"{self.name} has no {space.value}", code="wrong-core")
        return memory, region

    def queue(self, pipe: Pipe) -> Queue:
        """The queue of this core."""
        found = self.queues.get(pipe)
        if found is None:
            raise Fault(f"{self.name} has no queue {pipe.name}", code="wrong-core")
        return found

    def issue(
        self,
        pipe: Pipe,
        place: int,
        run: Callable[[Agent], None],
        wait: Wait | None = None,
        gives: tuple[object, ...] = (),
    ) -> None:
        """Puts an op into a queue."""
        self.issued += 1
        unit = self.scalar
        unit.time += self.group.watch.rates.issue
        self.queue(pipe).items.append(Item(place, unit.issue_stamp(), run, wait, gives, unit.time, unit.cause))

    def send(self, pipe: Pipe, place: int, work: Work) -> None:
        """Puts a transfer or product into a queue."""
        watch = self.group.watch

        def run(agent: Agent) -> None:
            watch.work(agent, place, work.price(watch.rates))
            work.run(self, agent, place)

        self.issue(pipe, place, run)

    # --- flags -----------------------------------------------------------------------------------------------

    def flag(self, source: Pipe, target: Pipe, event: int) -> Flag:
        """The flag between two queues."""
        if not 0 <= event <= 7:
            raise Fault(f"event id {event} is out of range; legal ids are 0 to 7", code="event-id")
        key = (source, target, event)
        if key not in self.flags:
            self.flags[key] = Flag(f"{self.name} flag {source.name} -> {target.name} id {event}")
        return self.flags[key]

    def set_flag(self, source: Pipe, target: Pipe, event: int, place: int) -> None:
        """Issues a set; it fires when the earlier work of its queue is done."""
        flag, board = self.flag(source, target, event), self.group.board

        def fire(agent: Agent) -> None:
            last = flag.last_wait
            unordered = last is not None and not _before(last, agent)
            if flag.pending or unordered:
                board.reused(flag, agent, place)
            flag.pending.append(Message.by(agent, place))
            flag.sets, flag.last_set = flag.sets + 1, place

        if source is Pipe.S:
            fire(self.scalar)
            self.scalar.touched()
        else:
            self.issue(source, place, fire, gives=(flag,))

    def wait_flag(self, source: Pipe, target: Pipe, event: int, place: int) -> Blocking | None:
        """Issues a wait; it blocks its queue only. A wait of the scalar unit blocks the program."""
        flag = self.flag(source, target, event)
        wait = Wait(lambda: bool(flag.pending), lambda: _never(flag, self.group.board), (flag,))

        def pass_(agent: Agent) -> None:
            agent.hear(flag.pending.popleft())
            local = agent.number - agent.group.offset
            flag.last_wait = (local, agent.clock.now[local], place)
            agent.clock.release()
            flag.waits += 1

        if target is not Pipe.S:
            self.issue(target, place, pass_, wait)
            return None
        return self._blocked(wait, pass_)

    def _blocked(self, wait: Wait, then: Callable[[Agent], None]) -> Blocking:
        while not wait.ready():
            yield wait
        then(self.scalar)
        self.scalar.touched()

    # --- signals ---------------------------------------------------------------------------------------------

    def signal(self, pipe: Pipe, number: int, place: int) -> None:
        """Issues `sync.set`. Without a semaphore for each lane the cube core reaches both lanes by one set."""
        semaphores, board = self.group.semaphores_of(self, number, True), self.group.board

        def fire(agent: Agent) -> None:
            message = Message.by(agent, place)
            for semaphore in semaphores:
                semaphore.pending.append(message)
                semaphore.sets, semaphore.last_set = semaphore.sets + 1, place
                if len(semaphore.pending) > 15:
                    board.overflow(semaphore, agent, place)

        self.issue(pipe, place, fire, gives=semaphores)

    def await_signal(self, pipe: Pipe, number: int, place: int) -> Blocking | None:
        """Issues `sync.wait`. Without a semaphore for each lane it stalls the core until both lanes have set."""
        semaphores, handshake = self.group.semaphores_of(self, number, False), self.group.watch.rates.handshake
        empty = [semaphores[0]]

        def ready() -> bool:
            empty[0] = next((s for s in semaphores if not s.pending), semaphores[0])
            return all(s.pending for s in semaphores)

        wait = Wait(ready, lambda: _never(empty[0], self.group.board), semaphores)

        def pass_(agent: Agent) -> None:
            for semaphore in semaphores:
                agent.hear(semaphore.pending.popleft(), handshake)
                semaphore.waits += 1

        if self.group.machine.semaphores:
            self.issue(pipe, place, pass_, wait)
            return None
        return self._blocked(wait, pass_)

    # --- barriers and buffers --------------------------------------------------------------------------------

    def barrier(self, pipe: Pipe, place: int) -> Blocking | None:
        """A queue runs in order anyway; ALL lets the program wait until every queue of the core is empty."""
        if pipe is not Pipe.ALL:
            if pipe is not Pipe.S:
                self.issue(pipe, place, lambda agent: None)
            return None
        wait = Wait(
            lambda: not any(q.items for q in self.queues.values()),
            lambda: "the queues of the core to run empty",
            tuple(self.queues.values()),
        )

        def learn(agent: Agent) -> None:
            agent.acquire(joined([q.clock.release() for q in self.queues.values()]))
            for queue in self.queues.values():
                agent.hold(queue.time, queue.cause, "barrier")

        return self._blocked(wait, learn)

    def get_buffer(self, pipe: Pipe, number: int, mode: int, place: int) -> None:
        """Issues `get_buf`. In mode 0 it waits for every release of the buffer that the program wrote before it."""
        self.buffer_users.setdefault(number, {})[pipe] = None
        releases = [r for p, r in self.buffers.get(number, {}).items() if p is not pipe] if mode == 0 else []
        self.issue(pipe, place, _hear(releases), _all_done(releases, f"buffer {number} to be released"))

    def release_buffer(self, pipe: Pipe, number: int, mode: int, place: int) -> None:
        """Issues `rls_buf`. In mode 1 it waits for the work of every queue that got the buffer before it."""
        others = [p for p in self.buffer_users.get(number, {}) if p is not pipe] if mode == 1 else []
        ends = [self._end_of_work(other, place) for other in others]
        release = self.buffers.setdefault(number, {})[pipe] = Release()
        learn = _hear(ends)

        def fire(agent: Agent) -> None:
            learn(agent)
            release.message = Message.by(agent, place)

        names = " and ".join(other.name for other in others)
        self.issue(pipe, place, fire, _all_done(ends, f"the work of {names} on buffer {number}"), (release,))

    def _end_of_work(self, pipe: Pipe, place: int) -> Release:
        """Done when a queue has come to the end of what was issued to it so far."""
        end = Release()

        def fire(agent: Agent) -> None:
            end.message = Message.by(agent, place)

        self.issue(pipe, place, fire, gives=(end,))
        return end


def _hear(releases: Sequence[Release]) -> Callable[[Agent], None]:
    def learn(agent: Agent) -> None:
        for release in releases:
            assert release.message is not None
            agent.hear(release.message)

    return learn


def _all_done(releases: Sequence[Release], what: str) -> Wait:
    return Wait(lambda: all(r.message is not None for r in releases), lambda: what, tuple(releases))


def _before(last: tuple[int, int, int], agent: Agent) -> bool:
    """Whether the agent knows that a wait has happened."""
    return last[1] <= agent.clock.now[last[0]]


def _never(message: Flag | Semaphore, board: Board) -> str:
    sets = (
        "which is never set"
        if not message.sets
        else (
            f"which is set {message.sets} times (last at {board.text(message.last_set)}) and waited for "
            f"{message.waits + 1} times"
        )
    )
    return f"{message.name}, {sets}"


class Group:
    """The cores of one core group and the order in which they run."""

    def __init__(self, number: int, groups: int, lanes: int, cube: bool, machine: Machine, gm: GlobalMemory,
                 board: Board, watch: Stopwatch):  # fmt: skip
        self.number, self.groups, self.lanes = number, groups, lanes
        self.machine, self.gm, self.board, self.watch = machine, gm, board, watch
        offset = number * AGENTS_PER_GROUP
        self.numbering = Numbering(offset, AGENTS_PER_GROUP + 1, groups * AGENTS_PER_GROUP + 1)
        prefix = f"group {number} " if groups > 1 else ""
        self.cube = Core(self, f"{prefix}AIC", None, offset + 1) if cube else None
        first = offset + 2 + len(CUBE_QUEUES)
        step = 1 + len(VECTOR_QUEUES)
        self.vector = [Core(self, f"{prefix}AIV{i}", i, first + i * step) for i in range(lanes)]
        self.semaphores: dict[tuple[int, bool, int], Semaphore] = {}
        for agent in self.agents:
            board.agents[agent.number] = agent

    @property
    def cores(self) -> list[Core]:
        """The cube core first."""
        return [*([self.cube] if self.cube else []), *self.vector]

    @property
    def agents(self) -> list[Agent]:
        """All agents of all cores."""
        return [agent for core in self.cores for agent in core.agents]

    def semaphores_of(self, core: Core, number: int, sets: bool) -> tuple[Semaphore, ...]:
        """The counters a core means by an id (spec/pto.md 11.4).

        With a semaphore for each lane the cube core reaches lane 1 by id + 16; otherwise it means both lanes at once.
        """
        per_lane = self.machine.semaphores
        if core.lane is not None or not per_lane:
            event, lanes = number, range(self.lanes) if core.lane is None else (core.lane,)
        else:
            lane, event = divmod(number, SIGNALS_PER_LANE)
            lanes = (lane,) if 0 <= lane <= 1 else ()
        if not lanes or not 0 <= event < SIGNALS_PER_LANE:
            limit = 31 if core.lane is None and per_lane else 15
            raise Fault(
                f"signal id {number} is out of range on {core.name}; legal ids are 0 to {limit}", code="signal-id"
            )
        if not per_lane and "set_ffts" not in core.registers:
            raise Fault(f"{core.name} uses a signal before set_ffts names their base address", code="no-ffts")
        return tuple(self._semaphore(lane, event, sets == (core.lane is None)) for lane in lanes)

    def _semaphore(self, lane: int, event: int, to_lane: bool) -> Semaphore:
        key = (lane, to_lane, event)
        if key not in self.semaphores:
            ends = ("AIC", f"AIV{lane}") if to_lane else (f"AIV{lane}", "AIC")
            self.semaphores[key] = Semaphore(f"signal {ends[0]} -> {ends[1]} id {event}")
        return self.semaphores[key]

    def run(self, seed: int | None = None) -> None:
        """Runs until all is done or nobody can go on."""
        order = None if seed is None else random.Random(seed)
        ended = self._in_turn() if order is None else self._at_random(order)
        blocked = [a for a in self.agents if _is_stuck(a)]
        if blocked:
            self.board.deadlock(blocked)
        elif ended:
            flags: Sequence[Flag | Semaphore] = [
                *(f for core in self.cores for f in core.flags.values()),
                *self.semaphores.values(),
            ]
            self.board.leftovers(flags)

    def _in_turn(self) -> bool:
        agents = self.agents
        moved = True
        while moved:
            moved = False
            for agent in agents:
                while agent.ready():
                    moved = True
                    self._step(agent)
                    if isinstance(agent, Scalar):
                        break
        return True

    def _at_random(self, order: random.Random) -> bool:
        while ready := [a for a in self.agents if a.ready()]:
            self._step(order.choice(ready))
        return True

    def _step(self, agent: Agent) -> None:
        assert isinstance(agent, Queue | Scalar)
        try:
            agent.step()
        except Fault as problem:
            place = agent.items[0].place if isinstance(agent, Queue) else agent.place
            raise self.board.fault(agent, place, problem) from problem


def _is_stuck(agent: Agent) -> bool:
    return bool(agent.items) if isinstance(agent, Queue) else isinstance(agent, Scalar) and not agent.ended
