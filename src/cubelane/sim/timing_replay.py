"""Puts a trace on a time axis: every core's ops on their pipes, over rings of a given depth (docs/timing.md).

An op starts when its core has issued it, its pipe has ended what came before, its operands are there, the buffer it
writes has been read out, and, for a push or pop, the ring has room or a tile. Pipes work in order, side by side.
Every start names what it waited for last, which gives the critical path.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.buffers import bytes_of
from cubelane.ir.kernel import STAGE, int_attribute
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp
from cubelane.ir.traits import InPlace
from cubelane.ir.types import TileType
from cubelane.sim.ring import TO_CUBE, TO_LANES
from cubelane.sim.timeline import Happening, RingUse, Timeline
from cubelane.sim.timing_cost import Extents, Pricing, is_free_of_charge
from cubelane.sim.timing_flow import Makers, ValueFlow
from cubelane.sim.timing_trace import OP, AgentTrace, Launch
from cubelane.targets import Target
from cubelane.targets.rates import Pipe, Rates

RingKey = tuple[str, int]


@dataclass
class _Ring:
    """When each slot was filled and given back: one list of event numbers per producer and consumer."""

    depth: int
    pushed: dict[int, list[int]]
    popped: dict[int, list[int]]
    freed: dict[int, list[int]]


@dataclass
class _Start:
    """The earliest start found so far and what asks for it."""

    time: int
    cause: int = -1
    reason: str = "issue"

    def after(self, time: int, cause: int, reason: str) -> None:
        """Not before `time`."""
        if time > self.time:
            self.time, self.cause, self.reason = time, cause, reason


@dataclass
class _Core:
    """The state of one agent during the replay."""

    trace: AgentTrace
    number: int
    issued: int
    flow: ValueFlow = field(default_factory=ValueFlow)
    pipe_end: dict[Pipe, tuple[int, int]] = field(default_factory=dict[Pipe, tuple[int, int]])
    instances: dict[Operation, list[int]] = field(default_factory=dict[Operation, list[int]])
    issue_cause: int = -1


class Stalled(Exception):
    """The replay cannot go on: with these ring depths the cores wait for each other for ever."""


class Replay:
    """One replay of all launches."""

    def __init__(self, target: Target, rates: Rates, depth: int | None = None):
        self.target, self.rates, self.depth = target, rates, depth
        self.pricing = Pricing(rates)
        self.events: list[Happening] = []
        self.extents: list[Extents] = []
        self.last_read: list[int] = []
        self.last_reader: list[int] = []
        self.root: list[int] = []
        self.rings: dict[RingKey, _Ring] = {}
        self.uses: list[RingUse] = []

    def run(self, launches: list[Launch]) -> Timeline:
        """The timeline of the launches one after the other. Raises `Stalled`."""
        agents: dict[str, None] = {}
        start = 0
        for number, launch in enumerate(launches):
            agents.update(dict.fromkeys(a.name for a in launch.agents))
            self._launch(launch, number, start)
            start = max((e.end for e in self.events), default=start)
        for event, read in zip(self.events, self.last_read, strict=True):
            event.dead = max(read, event.end)
        return Timeline(list(agents), self.events, self.uses, self.rates.clock_ghz)

    def _launch(self, launch: Launch, number: int, start: int) -> None:
        lanes = [a.lane for a in launch.agents if a.lane is not None]
        cube = [0]
        for key, depth in launch.rings.items():
            producers, consumers = (cube, lanes) if key[0] == TO_LANES else (lanes, cube)
            self.rings[key] = _Ring(
                self.depth or depth,
                {p: [] for p in producers},
                {c: [] for c in consumers},
                {c: [] for c in consumers},
            )
        cores = [_Core(trace, i, start) for i, trace in enumerate(launch.agents)]
        running = {core.number: self._core(core) for core in cores}
        while running:
            before = len(self.events)
            ended = [n for n, program in running.items() if next(program, None) is None]
            for n in ended:
                del running[n]
            if running and not ended and len(self.events) == before:
                raise Stalled
        for key, ring in self.rings.items():
            self._ring_uses(key, ring, number)
        self.rings = {}

    def _core(self, core: _Core) -> Iterator[bool]:
        """Replays one agent; yields where it needs a time that another agent has not reached."""
        for step in core.trace.steps:
            if step.kind != OP:
                core.flow.control(step)
                continue
            op = step.op
            if is_free_of_charge(op):
                self._view(core, op)
                continue
            while not self._possible(core, op):
                yield True
            self._execute(core, op, step.valid)

    def _view(self, core: _Core, op: Operation) -> None:
        """An op that costs nothing hands on what its operands are."""
        makers: Makers = ()
        for operand in op.operands:
            if isinstance(operand.type, TileType):
                makers = core.flow.of(operand)
                break
        for result in op.results:
            core.flow.made[result] = makers

    # --- rings -----------------------------------------------------------------------------------------------

    def _ring_of(self, op: PushOp | PopOp | FreeOp) -> tuple[RingKey, _Ring]:
        key = (TO_LANES if op.TO_LANES else TO_CUBE, int(python_value(op.properties.get("id")) or 0))
        return key, self.rings[key]

    def _possible(self, core: _Core, op: Operation) -> bool:
        """Whether all times are known that a push or pop depends on."""
        me = core.trace.lane or 0
        if isinstance(op, PushOp):
            ring = self._ring_of(op)[1]
            return len(ring.pushed[me]) - min(map(len, ring.freed.values()), default=0) < ring.depth
        if isinstance(op, PopOp):
            ring = self._ring_of(op)[1]
            return min(map(len, ring.pushed.values()), default=0) > len(ring.popped[me])
        return True

    def _await_ring(self, core: _Core, op: Operation, start: _Start) -> int | None:
        """Adds what the ring asks for; the slot."""
        me = core.trace.lane or 0
        if isinstance(op, PushOp):
            ring = self._ring_of(op)[1]
            number = len(ring.pushed[me])
            if number >= ring.depth:
                for frees in ring.freed.values():
                    event = frees[number - ring.depth]
                    start.after(self.events[event].end + self.rates.handshake, event, "ring")
            return number % ring.depth
        if isinstance(op, PopOp):
            ring = self._ring_of(op)[1]
            number = len(ring.popped[me])
            for pushes in ring.pushed.values():
                event = pushes[number]
                start.after(self.events[event].end + self.rates.handshake, event, "ring")
            return number % ring.depth
        return None

    def _note_ring(self, core: _Core, op: Operation, number: int) -> None:
        me = core.trace.lane or 0
        if isinstance(op, PushOp | PopOp | FreeOp):
            ring = self._ring_of(op)[1]
            lists = ring.pushed if isinstance(op, PushOp) else ring.popped if isinstance(op, PopOp) else ring.freed
            lists[me].append(number)

    def _ring_uses(self, key: RingKey, ring: _Ring, launch: int) -> None:
        name = key[0] + (f" (pipe {key[1]})" if key[1] else "")
        count = max((len(p) for p in ring.pushed.values()), default=0)
        for number in range(count):
            filled = [self.events[p[number]] for p in ring.pushed.values() if number < len(p)]
            freed = [self.events[f[number]].end for f in ring.freed.values() if number < len(f)]
            begin, full = min(e.start for e in filled), max(e.end for e in filled)
            self.uses.append(
                RingUse(name, ring.depth, number % ring.depth, number, begin, full, max(freed, default=full), launch)
            )

    # --- one op ----------------------------------------------------------------------------------------------

    def _execute(self, core: _Core, op: Operation, valid: Extents) -> None:
        known: dict[SSAValue, Extents] = {}
        sources: list[int] = []
        for operand in op.operands:
            makers = core.flow.of(operand)
            sources += makers
            if len(makers) == 1:
                known[operand] = self.extents[makers[0]]
        for result in op.results:
            known[result] = valid
        price = self.pricing.of(op, known)
        start = _Start(core.issued, core.issue_cause)
        for source in sources:
            start.after(self.events[source].end, source, "operand")
        self._await_buffer(core, op, sources, start)
        end, last = core.pipe_end.get(price.pipe, (0, -1))
        if not isinstance(op, FreeOp):
            start.after(end, last, "pipe")
        ready = start.time
        slot = self._await_ring(core, op, start)
        number = len(self.events)
        event = Happening(number, core.trace.name, price.pipe, op, start.time, start.time + price.cycles, start.cause)
        event.reason, event.waited, event.size, event.path, event.slot = (
            start.reason, start.time - ready, price.size, price.path, slot,
        )  # fmt: skip
        self._record(core, event, sources, valid)
        self._note_ring(core, op, number)

    def _await_buffer(self, core: _Core, op: Operation, sources: list[int], start: _Start) -> None:
        """The buffer of the result must have been read out; a freed slot must have been read."""
        if isinstance(op, FreeOp):
            for source in sources:
                start.after(self.last_read[source], self.last_reader[source], "operand")
            return
        past = core.instances.get(op, [])
        copies = _copies(op)
        if len(past) >= copies and not isinstance(op, PopOp):
            old = past[-copies]
            start.after(self.last_read[old], self.last_reader[old], "buffer")
        if (place := op.get_trait(InPlace)) is not None:
            for maker in core.flow.of(getattr(op, place.operand)):
                start.after(self.last_read[maker], self.last_reader[maker], "buffer")

    def _record(self, core: _Core, event: Happening, sources: list[int], valid: Extents) -> None:
        op, number = event.op, event.number
        in_place = op.get_trait(InPlace)
        homes = core.flow.of(getattr(op, in_place.operand)) if in_place is not None else ()
        self.events.append(event)
        self.extents.append(valid)
        self.last_read.append(event.end)
        self.last_reader.append(number)
        self.root.append(self.root[homes[0]] if homes else number)
        for source in (*sources, *(self.root[s] for s in sources)):
            if event.end > self.last_read[source]:
                self.last_read[source], self.last_reader[source] = event.end, number
        for result in op.results:
            core.flow.made[result] = (number,)
            if isinstance(result.type, TileType) and not homes and not isinstance(op, PopOp):
                event.space, event.held = result.type.memory, bytes_of(result.type, self.target)
        core.instances.setdefault(op, []).append(number)
        if not isinstance(op, FreeOp):
            core.pipe_end[event.pipe] = (event.end, number)
        core.issued += self.rates.issue
        if event.pipe is Pipe.SCALAR and event.end > core.issued:
            core.issued, core.issue_cause = event.end, number


def _copies(op: Operation) -> int:
    """How many buffers a result has: as many as the pipelined loop around it has stages."""
    loop = op.parent_op()
    while loop is not None and not isinstance(loop, scf.ForOp | scf.WhileOp):
        loop = loop.parent_op()
    return max(1, int_attribute(loop, STAGE) or 1) if loop is not None else 1
