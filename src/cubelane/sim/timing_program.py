"""A trace with everything in it that does not depend on time: prices, operands, buffers, ring slots.

Resolving is done once; the replay (`timing_replay`) then puts the same tasks on a time axis for any ring depth.
Tasks of one core are numbered in the order they are issued, and name each other by these numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.tile_buffers import bytes_of
from cubelane.ir.kernel import STAGE, int_attribute
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp
from cubelane.ir.traits import InPlace
from cubelane.ir.types import MemorySpace, TileType
from cubelane.sim.ring import TO_CUBE, TO_LANES
from cubelane.sim.timing_cost import Extents, Price, Pricing, is_free_of_charge
from cubelane.sim.timing_flow import Makers, ValueFlow
from cubelane.sim.timing_trace import OP, AgentTrace, Launch, Step
from cubelane.targets import Target
from cubelane.targets.rates import Rates

RingKey = tuple[str, int]
"""Direction and number of a ring."""


class Act(Enum):
    """What a task does to a ring."""

    NONE = "none"
    PUSH = "push"
    POP = "pop"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Task:
    """One execution of one op.

    It starts when `sources` have ended and all readers of `waits` are through; `root` is the task that made the buffer
    it writes. `held` bytes of `space` are taken by its result.
    """

    op: Operation
    price: Price
    sources: Makers
    waits: Makers
    root: int
    act: Act
    ring: RingKey
    space: MemorySpace | None
    held: int


@dataclass(frozen=True)
class AgentTasks:
    """The tasks of one core in the order they are issued."""

    name: str
    lane: int | None
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class LaunchTasks:
    """One launch of the core group: its cores, and how deep each ring was compiled."""

    agents: tuple[AgentTasks, ...]
    rings: dict[RingKey, int]


def resolve(launches: Sequence[Launch], target: Target, rates: Rates) -> list[LaunchTasks]:
    """The tasks of all launches."""
    pricing = Pricing(rates)
    return [
        LaunchTasks(tuple(_Resolver(agent, target, pricing).run() for agent in launch.agents), dict(launch.rings))
        for launch in launches
    ]


@dataclass
class _Resolver:
    """Follows the values of one core through its trace."""

    trace: AgentTrace
    target: Target
    pricing: Pricing
    flow: ValueFlow = field(default_factory=ValueFlow)
    tasks: list[Task] = field(default_factory=list[Task])
    extents: list[Extents] = field(default_factory=list[Extents])
    instances: dict[Operation, list[int]] = field(default_factory=dict[Operation, list[int]])

    def run(self) -> AgentTasks:
        """The tasks of the core."""
        for step in self.trace.steps:
            if step.kind != OP:
                self.flow.control(step)
            elif is_free_of_charge(step.op):
                self._view(step.op)
            else:
                self._task(step)
        return AgentTasks(self.trace.name, self.trace.lane, tuple(self.tasks))

    def _view(self, op: Operation) -> None:
        """An op that costs nothing hands on what its operands are."""
        tile = next((o for o in op.operands if isinstance(o.type, TileType)), None)
        makers = () if tile is None else self.flow.of(tile)
        for result in op.results:
            self.flow.made[result] = makers

    def _task(self, step: Step) -> None:
        op, number = step.op, len(self.tasks)
        known: dict[SSAValue, Extents] = {}
        sources: list[int] = []
        for operand in op.operands:
            makers = self.flow.of(operand)
            sources += makers
            if len(makers) == 1:
                known[operand] = self.extents[makers[0]]
        known.update(dict.fromkeys(op.results, step.valid))
        in_place = op.get_trait(InPlace)
        homes = self.flow.of(getattr(op, in_place.operand)) if in_place is not None else ()
        waits = tuple(sources) if isinstance(op, FreeOp) else (*self._old(op), *homes)
        root = self.tasks[homes[0]].root if homes else number
        space, held = self._buffer(op) if not homes else (None, 0)
        price = self.pricing.of(op, known)
        self.tasks.append(Task(op, price, tuple(sources), waits, root, act_of(op), ring_of(op), space, held))
        self.extents.append(step.valid)
        self.instances.setdefault(op, []).append(number)
        for result in op.results:
            self.flow.made[result] = (number,)

    def _old(self, op: Operation) -> Makers:
        """The execution whose buffer this one writes again, if there is one."""
        past, copies = self.instances.get(op, []), _copies(op)
        return (past[-copies],) if len(past) >= copies and not isinstance(op, PopOp) else ()

    def _buffer(self, op: Operation) -> tuple[MemorySpace | None, int]:
        """Where the result lies and how many bytes it takes; a popped tile lies in its slot."""
        for result in op.results:
            if isinstance(result.type, TileType) and not isinstance(op, PopOp):
                return result.type.memory, bytes_of(result.type, self.target)
        return None, 0


def act_of(op: Operation) -> Act:
    """What an op does to a ring."""
    if isinstance(op, PushOp):
        return Act.PUSH
    if isinstance(op, PopOp):
        return Act.POP
    return Act.FREE if isinstance(op, FreeOp) else Act.NONE


def ring_of(op: Operation) -> RingKey:
    """The ring of a push, pop or free."""
    if not isinstance(op, PushOp | PopOp | FreeOp):
        return "", 0
    return (TO_LANES if op.TO_LANES else TO_CUBE, int(python_value(op.properties.get("id")) or 0))


def _copies(op: Operation) -> int:
    """How many buffers a result has: as many as the pipelined loop around it has stages."""
    loop = op.parent_op()
    while loop is not None and not isinstance(loop, scf.ForOp | scf.WhileOp | FuncOp):
        loop = loop.parent_op()
    return max(1, int_attribute(loop, STAGE) or 1) if isinstance(loop, scf.ForOp | scf.WhileOp) else 1
