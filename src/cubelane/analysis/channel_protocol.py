"""What each agent of a core group does to the rings: push, pop and free, with the control flow around them.

An *agent* is one running program: the cube, and each lane. Communication never decides control flow (only tiles
travel), so for fixed trip counts and conditions an agent is a plain sequence of actions. `traces` gives these
sequences, `shape_of` the program with its loops and branches kept symbolic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.scalar_terms import Scalar, Scalars, Term, control_slice
from cubelane.ir.diagnostic import Location
from cubelane.ir.kernel import DUAL_DISPATCH, FunctionKind, flag, functions_of, kind_of, split_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import FreeOp, InitializePipeOp, PopOp, PushOp, transport_code
from cubelane.ir.types import SplitMode
from cubelane.ir.walk import ops_in, ops_of

PUSH, POP, FREE = "push", "pop", "free"
IMPLICIT_SLOTS = {1: 8, 2: 8, 3: 4}


class Ring(NamedTuple):
    """One direction of one pipe."""

    to_lanes: bool
    pipe: int

    def __str__(self) -> str:
        way = "cube to lanes" if self.to_lanes else "lanes to cube"
        return f"the ring {way}" + (f" (pipe {self.pipe})" if self.pipe else "")


@dataclass(frozen=True, eq=False)
class Action:
    """One step of an agent on a ring. `number` counts the pushes, or the pops, of this agent on the ring.

    A free carries the number of the pop whose tile it gives back, -1 where its tile was not popped.
    """

    kind: str
    ring: Ring
    number: int
    code: int
    op: Operation

    @property
    def place(self) -> Location:
        """Where it stands in the user's text."""
        return Location.of(self.op)


class Agent(NamedTuple):
    """One running program."""

    name: str
    function: FuncOp
    lane: int | None

    @property
    def cube(self) -> bool:
        """Whether this is the cube."""
        return self.lane is None


class CoreGroup(NamedTuple):
    """The programs that run together, and the depth of each ring."""

    name: str
    agents: tuple[Agent, ...]
    depths: dict[Ring, int]

    @property
    def lanes(self) -> int:
        """How many lanes run."""
        return len(self.agents) - 1


def core_groups(module: ModuleOp) -> list[CoreGroup]:
    """All pairs of a cube and a vector program of a module."""
    functions = {f.sym_name.data: f for f in functions_of(module)}
    pairs: dict[tuple[str, str], str] = {}
    for name, function in functions.items():
        if kind_of(function) is FunctionKind.GROUP:
            callees = [c.callee.string_value() for c in ops_in(function) if is_one(c, CallOp)]
            cube = next((c for c in callees if _is(functions, c, FunctionKind.AIC)), None)
            lanes = next((c for c in callees if _is(functions, c, FunctionKind.AIV)), None)
            if cube and lanes:
                pairs.setdefault((cube, lanes), name)
    paired = {name for pair in pairs for name in pair}
    for name in functions:
        twin = f"{name[:-4]}_aiv"
        if name.endswith("_aic") and name not in paired and _is(functions, twin, FunctionKind.AIV):
            pairs[name, twin] = name[:-4]
    return [_group(stem, functions[cube], functions[lanes]) for (cube, lanes), stem in pairs.items()]


def _is(functions: dict[str, FuncOp], name: str, kind: FunctionKind) -> bool:
    return name in functions and kind_of(functions[name]) is kind


def _group(name: str, cube: FuncOp, lanes: FuncOp) -> CoreGroup:
    both = flag(lanes, DUAL_DISPATCH) or split_of(lanes) is not SplitMode.NONE
    agents = [Agent("AIC", cube, None), *(Agent(f"AIV{i}", lanes, i) for i in range(2 if both else 1))]
    depths: dict[Ring, int] = {}
    for op in (op for function in (cube, lanes) for op in ops_in(function)):
        if is_one(op, InitializePipeOp):
            mask, pipe = python_value(op.dir_mask), python_value(op.properties.get("id")) or 0
            slots = python_value(op.properties.get("slot_num")) or IMPLICIT_SLOTS.get(mask, 4)
            for bit, to_lanes in ((1, True), (2, False)):
                if mask & bit:
                    depths[Ring(to_lanes, pipe)] = slots
    return CoreGroup(name, tuple(agents), depths)


def ring_of(op: PushOp | PopOp | FreeOp) -> Ring:
    """The ring an op works on; a free without an id follows its pop."""
    pipe = python_value(op.properties.get("id"))
    if pipe is None and is_one(op, FreeOp) and is_one(op.tile.owner, PopOp):
        pipe = python_value(op.tile.owner.properties.get("id"))
    return Ring(op.TO_LANES, pipe or 0)


class Fork(Exception):
    """A condition or trip count that is known at run time only; `choices` are the values to try."""

    def __init__(self, term: Term, choices: tuple[int, ...]):
        super().__init__(str(term))
        self.term, self.choices = term, choices


class TooLong(Exception):
    """A program with more actions than the limit."""


@dataclass
class Limits:
    """What a trace may be. `trips` are the numbers tried for a run-time trip count, `trip` replaces constant ones."""

    actions: int = 20000
    trips: tuple[int, ...] = (0, 1, 2, 3)
    trip: int | None = None


class Tracer:
    """Runs one agent's control flow under assumptions about what is known at run time only."""

    def __init__(self, agent: Agent, assumed: dict[Term, int], limits: Limits):
        self.agent, self.assumed, self.limits = agent, assumed, limits
        self.scalars = Scalars(agent.name, agent.lane)
        self.wanted = control_slice(agent.function.body)
        self.actions: list[Action] = []
        self.counts: dict[tuple[str, Ring], int] = {}
        self.popped: dict[SSAValue, int] = {}
        self._steps: dict[Block, list[Operation]] = {}
        self._matters: dict[Operation, bool] = {}

    def run(self) -> list[Action]:
        """All actions in order. Raises Fork at the first unassumed choice."""
        self._block(self.agent.function.body.block)
        return self.actions

    def decide(self, value: Scalar, choices: tuple[int, ...]) -> int:
        """A number for a scalar: itself, or what was assumed."""
        if isinstance(value, int):
            return value
        if value not in self.assumed:
            raise Fork(value, choices)
        return self.assumed[value]

    def matters(self, op: Operation) -> bool:
        """Whether something inside touches a ring, or its results decide control flow."""
        if op not in self._matters:
            touches = bool(ops_of(op, (PushOp, PopOp, FreeOp)))
            self._matters[op] = touches or any(r in self.wanted for r in op.results)
        return self._matters[op]

    def _block(self, block: Block) -> None:
        for op in self._steps_of(block):
            match op:
                case PushOp() | PopOp() | FreeOp():
                    self._act(op)
                case ForOp():
                    self._for(op)
                case WhileOp():
                    self._while(op)
                case IfOp():
                    self._if(op)
                case _:
                    self._forget(op)

    def _steps_of(self, block: Block) -> list[Operation]:
        """The ops of a block that act, hold actions, or compute what control flow depends on."""
        steps = self._steps.get(block)
        if steps is None:
            steps = [
                op
                for op in block.ops
                if is_one(op, (PushOp, PopOp, FreeOp))
                or (self.matters(op) if op.regions else any(r in self.wanted for r in op.results))
            ]
            self._steps[block] = steps
        return steps

    def _forget(self, op: Operation) -> None:
        """A value of an earlier trip is stale."""
        for result in op.results:
            self.scalars.known.pop(result, None)

    def _act(self, op: PushOp | PopOp | FreeOp) -> None:
        ring = ring_of(op)
        kind = PUSH if is_one(op, PushOp) else POP if is_one(op, PopOp) else FREE
        if is_one(op, FreeOp):
            number = self.popped.pop(op.tile, -1)
        else:
            number = self.counts.get((kind, ring), 0)
            self.counts[kind, ring] = number + 1
        if is_one(op, PopOp):
            self.popped[op.results[0]] = number
        self.actions.append(Action(kind, ring, number, transport_code(op), op))
        if len(self.actions) > self.limits.actions:
            raise TooLong

    def _set(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        """A parallel copy of the scalars that matter."""
        values = [self.scalars.of(s) if t in self.wanted else None for t, s in zip(targets, sources, strict=True)]
        for target, value in zip(targets, values, strict=True):
            if value is not None:
                self.scalars.known[target] = value

    def _for(self, op: ForOp) -> None:
        body = op.body.block
        lower, upper, step = (self.scalars.of(v) for v in (op.lb, op.ub, op.step))
        trips = self._trips(lower, upper, step)
        arguments, last = list(body.args[1:]), body.last_op
        assert last is not None
        self._set(arguments, list(op.iter_args))
        for trip in range(trips):
            self.scalars.known[body.args[0]] = _stepped(lower, step, trip)
            self._block(body)
            self._set(arguments, list(last.operands))
        self._set(list(op.results), arguments)

    def _trips(self, lower: Scalar, upper: Scalar, step: Scalar) -> int:
        if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
            known = max(0, -(-(upper - lower) // step))
            return known if self.limits.trip is None else self.limits.trip
        own = any(isinstance(s, Term) and s.own for s in (lower, upper, step))
        return self.decide(Term(("trips", lower, upper, step), own), self.limits.trips)

    def _while(self, op: WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        condition, last = before.last_op, after.last_op
        assert is_one(condition, ConditionOp) and last is not None
        self._set(list(before.args), list(op.arguments))
        rounds = 0
        while True:
            self._block(before)
            go_on = self.scalars.of(condition.condition)
            if isinstance(go_on, Term):
                key = Term(("round", rounds, go_on), go_on.own)
                go_on = self.decide(key, (0, 1)) if rounds < max(self.limits.trips) else 0
            self._set([*after.args], list(condition.args))
            if not go_on:
                break
            self._block(after)
            self._set(list(before.args), list(last.operands))
            rounds += 1
        self._set(list(op.results), list(condition.args))

    def _if(self, op: IfOp) -> None:
        taken = op.true_region if self.decide(self.scalars.of(op.cond), (1, 0)) else op.false_region
        if taken.blocks:
            self._block(taken.block)
            last = taken.block.last_op
            if last is not None and op.results:
                self._set(list(op.results), list(last.operands))


def _stepped(lower: Scalar, step: Scalar, trip: int) -> Scalar:
    if isinstance(lower, int) and isinstance(step, int):
        return lower + step * trip
    return Term(("trip", lower, step, trip))


class Scenario(NamedTuple):
    """One way control flow can go, and the actions of every agent then."""

    assumed: dict[Term, int]
    actions: tuple[list[Action], ...]

    def __str__(self) -> str:
        return ", ".join(f"{term} = {value}" for term, value in self.assumed.items()) or "the only path"


def scenarios(group: CoreGroup, limits: Limits, at_most: int = 512) -> Iterator[Scenario]:
    """All paths, until `at_most` have been seen; raises TooLong for programs that do too much."""
    pending: list[dict[Term, int]] = [{}]
    seen = 0
    while pending and seen < at_most:
        assumed = pending.pop()
        try:
            actions = tuple(Tracer(agent, assumed, limits).run() for agent in group.agents)
        except Fork as fork:
            pending += [{**assumed, fork.term: choice} for choice in reversed(fork.choices)]
            continue
        seen += 1
        yield Scenario(assumed, actions)


class Repeat(NamedTuple):
    """A loop of a program's shape; `key` says how often it runs."""

    key: Scalar | Term
    body: "Shape"
    op: Operation


class Choice(NamedTuple):
    """A branch of a program's shape."""

    key: Scalar | Term
    arms: "tuple[Shape, Shape]"
    op: Operation


Shape = list["Action | Repeat | Choice"]


@dataclass
class Shaper:
    """Builds the shape of one agent's program; loops and branches stay symbolic."""

    agent: Agent
    depth: int = 0
    popped: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def __post_init__(self) -> None:
        self.scalars = Scalars(self.agent.name, self.agent.lane)
        self.touches: dict[Operation, bool] = {}

    def run(self) -> Shape:
        """The shape of the whole program."""
        return self._block(self.agent.function.body.block)

    def _touches(self, op: Operation) -> bool:
        if op not in self.touches:
            self.touches[op] = bool(ops_of(op, (PushOp, PopOp, FreeOp)))
        return self.touches[op]

    def _block(self, block: Block) -> Shape:
        shape: Shape = []
        counts: dict[Ring, int] = {}
        for op in block.ops:
            match op:
                case PushOp() | PopOp() | FreeOp():
                    shape.append(self._action(op, counts))
                case ForOp() if self._touches(op):
                    shape.append(self._for(op))
                case WhileOp() if self._touches(op):
                    shape.append(self._while(op))
                case IfOp() if self._touches(op):
                    shape += self._if(op)
                case _:
                    pass
        return shape

    def _action(self, op: PushOp | PopOp | FreeOp, counts: dict[Ring, int]) -> Action:
        ring, number = ring_of(op), 0
        if is_one(op, PopOp):
            number = counts.get(ring, 0)
            counts[ring] = number + 1
            self.popped[op.results[0]] = number
        elif is_one(op, FreeOp):
            number = self.popped.pop(op.tile, -1)
        kind = PUSH if is_one(op, PushOp) else POP if is_one(op, PopOp) else FREE
        return Action(kind, ring, number, transport_code(op), op)

    def _for(self, op: ForOp) -> Repeat:
        key = Term(("trips", *(self.scalars.of(v) for v in (op.lb, op.ub, op.step))))
        self._enter(list(op.body.block.args), list(op.iter_args), shift=1)
        shape = self._block(op.body.block)
        self.depth -= 1
        return Repeat(key, shape, op)

    def _enter(self, arguments: list[SSAValue], seeds: list[SSAValue], shift: int) -> None:
        self.depth += 1
        for index, argument in enumerate(arguments):
            seed = seeds[index - shift] if index >= shift else None
            known = self.scalars.of(seed) if seed is not None and not hasattr(seed.type, "valid") else None
            self.scalars.known[argument] = Term(("carry", self.depth, known, argument.name_hint))

    def _while(self, op: WhileOp) -> Repeat:
        self._enter(list(op.before_region.block.args), list(op.arguments), shift=0)
        condition = op.before_region.block.last_op
        assert isinstance(condition, ConditionOp)
        key = self.scalars.of(condition.condition)
        for argument, passed in zip(op.after_region.block.args, condition.args, strict=True):
            if passed in self.scalars.known:
                self.scalars.known[argument] = self.scalars.known[passed]
        shape = self._block(op.before_region.block) + self._block(op.after_region.block)
        self.depth -= 1
        return Repeat(key, shape, op)

    def _if(self, op: IfOp) -> Shape:
        key = self.scalars.of(op.cond)
        arms = [self._block(region.block) if region.blocks else [] for region in op.regions]
        if isinstance(key, int):
            return arms[0] if key else arms[1]
        return [Choice(key, (arms[0], arms[1]), op)]


def shape_of(agent: Agent) -> Shape:
    """The program of an agent with its loops and branches kept symbolic."""
    return Shaper(agent).run()
