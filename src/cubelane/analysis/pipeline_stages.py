"""Which pipelined loops of a cube and its lanes can overlap their trips, and what of a trip may lag behind.

A core that pushes a tile and then pops the answer waits for the other core in every trip. What it does up to that pop
is stage 0 of its loop, what follows stage 1 (and so on). In a *skewed* loop stage `s` works on the trip `s` rounds
ago, so the core starts on trip i + 1 while the other core still answers trip i (spec/front.md 3.1, pass 27).

Nothing here trusts the split into stages: a value must be made before it is used, memory must be touched in the order
it was, the tiles of each ring must be popped in the order they are pushed, and the skewed loops must end for every
trip count at the depth of their rings. Otherwise the loops are left alone, with the reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from cubelane.analysis.channel_protocol import Agent, CoreGroup, Ring, core_groups, ring_of
from cubelane.analysis.scalar_terms import Scalars
from cubelane.analysis.tensor_handles import TensorHandles, written_slot
from cubelane.ir.diagnostic import Location
from cubelane.ir.kernel import LOOP, SKEWED, STAGE, LoopAttr, LoopFlavour, int_attribute
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp
from cubelane.ir.traits import InPlace
from cubelane.ir.types import TensorType, TileType

Channel = PushOp | PopOp | FreeOp


@dataclass(frozen=True)
class Declined(Exception):
    """Loops that are left as they are: where, and why in the user's words."""

    place: Location
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: note: the trips of this pipelined loop do not overlap across the cores: {self.reason}"


class StagedLoop(NamedTuple):
    """One core's loop: the stage of each op of its body, and of what each carry takes along.

    Ops of `repeated` are scalar arithmetic over the counter; every stage computes them for itself.
    """

    loop: ForOp
    stage: Mapping[Operation, int]
    carried: Sequence[int]
    repeated: frozenset[Operation]

    @property
    def lag(self) -> int:
        """How many trips the last stage is behind the first."""
        return max(self.stage.values(), default=0)


class Skew(NamedTuple):
    """The loops of the cube and of the lanes that are one source loop; its trip count where it is constant."""

    loops: tuple[StagedLoop, StagedLoop]
    trips: int | None


def skews(group: CoreGroup) -> Iterator[Skew | Declined]:
    """For every innermost pipelined loop over the channel: how to skew it, or why not.

    Loops without anything to overlap (no core pops after it pushed) are passed over.
    """
    if len(group.agents) < 2:
        return
    cube, lane = group.agents[:2]
    mine, others = _pipelined(cube), _pipelined(lane)
    if len(mine) != len(others):
        return
    for loops in zip(mine, others, strict=True):
        try:
            skew = _skew(group, (cube, lane), loops)
        except Declined as declined:
            yield declined
        else:
            if any(staged.lag for staged in skew.loops):
                yield skew


def left_alone(module: ModuleOp) -> list[Declined]:
    """The pipelined loops of a compiled program whose trips do not overlap across the cores, and why."""
    kept: list[Declined] = []
    for group in core_groups(module):
        for outcome in skews(group):
            if isinstance(outcome, Skew):
                place = Location.of(outcome.loops[0].loop)
                outcome = Declined(place, "the tiles of two trips at once do not fit into the memory of a core")
            kept.append(outcome)
    return kept


def _pipelined(agent: Agent) -> list[ForOp]:
    """The loops marked as pipelined, and not yet skewed, that push or pop in their own body."""
    found: list[ForOp] = []
    for op in agent.function.walk():
        if is_one(op, ForOp) and (mark := op.attributes.get(LOOP)) is not None:
            waiting = isinstance(mark, LoopAttr) and mark.data is LoopFlavour.PIPELINE and SKEWED not in op.attributes
            if waiting and any(isinstance(inner, Channel) for inner in op.body.block.ops):
                found.append(op)
    return found


def _skew(group: CoreGroup, agents: tuple[Agent, Agent], loops: tuple[ForOp, ForOp]) -> Skew:
    """The first way that holds, with the most stages first. Raises the reason of the first way that does not."""
    trips = _trips(agents, loops)
    limit = min((int_attribute(loop, STAGE) or 1) - 1 for loop in loops)
    # the rounds before and after a loop of unknown length stand under one condition
    limit = min(limit, 1 if trips is None else trips - 1)
    ways = [(cube, lanes) for cube in range(limit, -1, -1) for lanes in range(limit, -1, -1) if cube or lanes]
    first: Declined | None = None
    for way in sorted(ways, key=sum, reverse=True):
        try:
            skew = Skew((_Stager(loops[0], way[0]).run(), _Stager(loops[1], way[1]).run()), trips)
            if not any(staged.lag for staged in skew.loops):
                continue
            _check_memory(agents, skew)
            _check_order(skew)
            _check_ends(skew, group.depths)
        except Declined as declined:
            first = first or declined
        else:
            return skew
    if first is not None:
        raise first
    return Skew((_Stager(loops[0], 0).run(), _Stager(loops[1], 0).run()), trips)


def _trips(agents: tuple[Agent, Agent], loops: tuple[ForOp, ForOp]) -> int | None:
    """The trip count if it is constant. Declines loops whose bounds are not the same on both cores."""
    bounds = [
        tuple(Scalars(agent.name, agent.lane).of(value) for value in (loop.lb, loop.ub, loop.step))
        for agent, loop in zip(agents, loops, strict=True)
    ]
    place = Location.of(loops[0])
    if bounds[0] != bounds[1]:
        raise Declined(place, "its trip count is computed by each core for itself")
    lower, upper, step = bounds[0]
    if not isinstance(step, int) or step < 1:
        raise Declined(place, "its step is known at run time only")
    if isinstance(lower, int) and isinstance(upper, int):
        return max(0, -(-(upper - lower) // step))
    return None


class _Stager:
    """Finds the stages of one loop. Raises `Declined`."""

    def __init__(self, loop: ForOp, limit: int):
        self.loop, self.limit = loop, limit
        self.body = loop.body.block
        self.ops = [op for op in self.body.ops if op is not self.body.last_op]
        self.at = {op: i for i, op in enumerate(self.ops)}
        self.repeated: set[Operation] = set()
        self.stage: dict[Operation, int] = {}
        last = self.body.last_op
        assert last is not None
        self.yielded = list(last.operands)
        self.carried = [0] * len(self.yielded)

    def run(self) -> StagedLoop:
        """The stages: by position first, then later where a value they need is made later."""
        self._find_repeated()
        self._by_position()
        if max(self.stage.values(), default=0):
            self._lag_behind()
            self._join_late_users()
            self._check_slots()
        return StagedLoop(self.loop, self.stage, self.carried, frozenset(self.repeated))

    def _find_repeated(self) -> None:
        counter = self.body.args[0]
        for op in self.ops:
            scalar = not any(isinstance(value.type, TileType | TensorType) for value in (*op.results, *op.operands))
            if op.regions or not scalar or get_effects(op) != set():
                continue
            if all(v is counter or self._outside(v) or v.owner in self.repeated for v in op.operands):
                self.repeated.add(op)

    def _outside(self, value: SSAValue) -> bool:
        block: Block | None = value.owner if isinstance(value.owner, Block) else value.owner.parent
        while block is not None:
            if block is self.body:
                return False
            block = block.parent_block()
        return True

    def _by_position(self) -> None:
        stage, pushed = 0, False
        for op in self.ops:
            if op in self.repeated:
                continue
            if op.regions and any(isinstance(inner, Channel) for inner in op.walk()):
                raise Declined(Location.of(op), "tiles cross between the cores inside a branch or loop of its body")
            if is_one(op, PopOp) and pushed and stage < self.limit:
                stage, pushed = stage + 1, False
            elif is_one(op, PushOp):
                pushed = True
            self.stage[op] = stage

    def _needs(self, op: Operation) -> int:
        """The stage in which the last operand of an op is there."""
        need = 0
        for value in read_by(op):
            need = max(need, self._made(value))
        return need

    def _made(self, value: SSAValue) -> int:
        """The stage in which a value is made; 0 for what the loop finds ready."""
        if is_one(value, BlockArgument):
            return self.carried[value.index - 1] if value.owner is self.body and value.index else 0
        return self.stage.get(value.owner, 0) if isinstance(value.owner, Operation) else 0

    def _lag_behind(self) -> None:
        """Moves ops to later stages until nothing is read before it is made."""
        changed = True
        while changed:
            changed = False
            for i, value in enumerate(self.yielded):
                if (made := self._made(value)) > self.carried[i]:
                    self.carried[i], changed = made, True
            for op in self.stage:
                need = self._needs(op)
                if need > self.stage[op]:
                    self._check_may_lag(op)
                    self.stage[op], changed = need, True

    def _check_may_lag(self, op: Operation) -> None:
        if not _only_reads(op):
            name = next((v.name_hint for v in op.operands if v.name_hint), op.name)
            raise Declined(
                Location.of(op), f"the next trip needs `{name}`, which is only there after the answer of the other core"
            )

    def _join_late_users(self) -> None:
        """Loads and fresh tiles that only a later stage uses are made there, so that they need not be carried."""
        users: dict[Operation, list[int]] = {}
        for op in reversed(self.ops):
            stages = users.get(op, [])
            made_here = any(isinstance(v.type, TileType) and not self._outside(v) for v in read_by(op))
            if op in self.stage and stages and not made_here and _only_reads(op) and not self._is_yielded(op):
                self.stage[op] = max(self.stage[op], min(stages))
            if op in self.stage:
                for value in read_by(op):
                    if isinstance(value.owner, Operation):
                        users.setdefault(value.owner, []).append(self.stage[op])

    def _is_yielded(self, op: Operation) -> bool:
        return any(result in self.yielded for result in op.results)

    def _check_slots(self) -> None:
        """A popped tile is its slot: all its readers, through views too, stand in the stage of the pop and its free."""
        for pop in self.ops:
            if not is_one(pop, PopOp):
                continue
            todo: list[SSAValue] = list(pop.results)
            while todo:
                for use in todo.pop().uses:
                    reader = self._of_body(use.operation)
                    if reader is None or self.stage.get(reader) != self.stage[pop]:
                        what = f"`{pop.results[0].name_hint or 'the popped tile'}`"
                        raise Declined(Location.of(pop), f"{what} would have to stay in its slot for another trip")
                    place = use.operation.get_trait(InPlace)
                    if place is not None and getattr(use.operation, place.operand) is use.operation.operands[use.index]:
                        todo += use.operation.results

    def _of_body(self, op: Operation) -> Operation | None:
        current: Operation | None = op
        while current is not None and current.parent is not self.body:
            current = current.parent_op()
        return current


def read_by(op: Operation) -> Iterator[SSAValue]:
    """The values an op reads, those read inside it included."""
    for inner in op.walk():
        yield from inner.operands


def _only_reads(op: Operation) -> bool:
    """Whether an op changes nothing, so that its place among others does not matter."""
    effects = get_effects(op)
    return effects is not None and all(effect.kind is MemoryEffectKind.READ for effect in effects)


# --- memory ----------------------------------------------------------------------------------------------------------


class _Access(NamedTuple):
    """What an op of a loop does to a tensor of the kernel: the position of the parameter, None where unknown."""

    parameter: int | None
    writes: bool
    core: int
    stage: int
    op: Operation


def _check_memory(agents: tuple[Agent, Agent], skew: Skew) -> None:
    """Declines loops that read what they write, unless one core does both in one stage."""
    accesses = [
        access
        for core, (agent, staged) in enumerate(zip(agents, skew.loops, strict=True))
        for access in _accesses(agent, staged, core)
    ]
    for write in (a for a in accesses if a.writes):
        for other in accesses:
            same_tensor = None in (write.parameter, other.parameter) or write.parameter == other.parameter
            if same_tensor and (write.core, write.stage) != (other.core, other.stage):
                verb = "written" if other.writes else "read"
                raise Declined(
                    Location.of(write.op),
                    f"a tensor it stores to is {verb} at {Location.of(other.op)} in another stage",
                )


def _accesses(agent: Agent, staged: StagedLoop, core: int) -> Iterator[_Access]:
    block = agent.function.body.block
    handles = TensorHandles(block)
    for outer, stage in staged.stage.items():
        for op in outer.walk():
            if isinstance(op, Channel):
                continue
            effects = get_effects(op)
            slot = written_slot(op)
            writes = effects is None or any(effect.kind is not MemoryEffectKind.READ for effect in effects)
            if writes and slot is None and not op.regions:
                raise Declined(Location.of(op), f"`{op.name}` must keep its place among the trips")
            for index, operand in enumerate(op.operands):
                if isinstance(operand.type, TensorType) and effects != set() and not op.regions:
                    root = handles[operand]
                    parameter = root.index if is_one(root, BlockArgument) else None
                    yield _Access(parameter, index == slot, core, stage, op)


# --- rings -----------------------------------------------------------------------------------------------------------


def _channel_ops(staged: StagedLoop) -> list[tuple[int, Channel]]:
    """The channel ops of one round with their stages, in the order of a round: stage by stage."""
    ops = [(stage, op) for op, stage in staged.stage.items() if isinstance(op, Channel)]
    return sorted(ops, key=lambda pair: pair[0])


def _check_order(skew: Skew) -> None:
    """Tiles are popped in the order of the pushes if, per ring, all pops lag behind their pushes alike."""
    pushes, pops = dict[Ring, list[int]](), dict[Ring, list[int]]()
    for staged in skew.loops:
        # the order of the source, in which the pushes and pops of a trip belong together
        for op, stage in staged.stage.items():
            if is_one(op, (PushOp, PopOp)):
                (pushes if is_one(op, PushOp) else pops).setdefault(ring_of(op), []).append(stage)
    place = Location.of(skew.loops[0].loop)
    for ring in {*pushes, *pops}:
        sent, taken = pushes.get(ring, []), pops.get(ring, [])
        if len(sent) != len(taken):
            raise Declined(place, f"{ring} does not empty in every trip")
        if len({a - b for a, b in zip(sent, taken, strict=True)}) > 1:
            raise Declined(place, f"the tiles of {ring} would arrive in another order than they are taken")


def _check_ends(skew: Skew, depths: Mapping[Ring, int]) -> None:
    """Runs both cores' pushes, pops and frees: rings between two agents end or hang whatever the interleaving."""
    enough = sum(depths.values()) + max(staged.lag for staged in skew.loops) + 2
    counts = range(1, enough + 1) if skew.trips is None else [min(skew.trips, enough)]
    for trips in counts:
        if not _ends([list(_rounds(staged, trips)) for staged in skew.loops], depths):
            raise Declined(
                Location.of(skew.loops[0].loop), "its rings are too shallow: both cores would wait for a free slot"
            )


def _rounds(staged: StagedLoop, trips: int) -> Iterator[Channel]:
    ops = _channel_ops(staged)
    for time in range(trips + staged.lag):
        yield from (op for stage, op in ops if 0 <= time - stage < trips)


def _ends(programs: Sequence[Sequence[Channel]], depths: Mapping[Ring, int]) -> bool:
    position, free, full = [0, 0], dict(depths), dict.fromkeys(depths, 0)
    moved = True
    while moved:
        moved = False
        for core, program in enumerate(programs):
            while position[core] < len(program) and _step(program[position[core]], free, full):
                position[core] += 1
                moved = True
    return all(at == len(program) for at, program in zip(position, programs, strict=True))


def _step(op: Channel, free: dict[Ring, int], full: dict[Ring, int]) -> bool:
    """Does one step if it is possible now."""
    ring = ring_of(op)
    if is_one(op, FreeOp):
        free[ring] += 1
        return True
    stock, other = (free, full) if is_one(op, PushOp) else (full, free)
    if not stock[ring]:
        return False
    stock[ring] -= 1
    if other is full:
        full[ring] += 1
    return True
