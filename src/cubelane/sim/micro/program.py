"""A function of a child module as steps over an environment (a list of values).

Steps of the scalar unit compute scalars, run control flow and issue ops into queues. A vector scope becomes one item of
queue V with steps of its own; the values it captures are taken when it is issued. Units that give an op its meaning
register in `UNITS`; an op without a meaning is refused by name when it is compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.pto.evidence import ByTiles
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import ScopeOp, StrictVecScopeOp
from cubelane.ir.pto.spaces import Pipe, Space
from cubelane.sim.micro.agents import Agent, Blocking
from cubelane.sim.micro.board import Places
from cubelane.sim.micro.cluster import QUEUE_LIMIT, Core, Work
from cubelane.sim.micro.memory import Fault, Touch
from cubelane.sim.micro.scalar import scalar_function
from cubelane.sim.micro.timing import Price
from cubelane.targets.rates import RATES, Rates

Env = list[Any]
Step = Callable[["Core", Env], Blocking | None]
ScopeStep = Callable[["Lane", Env], None]
Decode = Callable[[Core, Sequence[Any]], Work]
"""What a queue does with an op, from the values of its operands when it is issued."""
Control = Callable[[Core, int, Sequence[Any]], Any]
"""What the scalar unit does with an op: core, place, values. Gives results, or a wait."""
Vector = Callable[["Lane", int, Sequence[Any]], Any]
"""What the vector unit does with an op: lane, place, values; gives the result or a tuple."""


class Lane:
    """The vector unit of a core inside one scope, and what the scope touches."""

    __slots__ = ("agent", "core", "fresh_for_loads", "fresh_for_stores", "memory", "passes", "reads", "writes")

    def __init__(self, core: Core, agent: Agent):
        self.core, self.agent, self.memory = core, agent, core.memories[Space.UB]
        self.fresh_for_loads, self.fresh_for_stores = core.fresh
        self.reads, self.writes = list[Touch](), list[Touch]()
        self.passes = 0
        """How often the scope went over a register."""

    def close(self, place: int) -> None:
        """The end of the scope: its accesses take their place in the order of all accesses."""
        watch = self.core.group.watch
        watch.work(self.agent, place, Price(watch.rates.vector_startup + self.passes))
        self.memory.touch(self.reads, self.writes, self.agent.who(0))
        self.fresh_for_loads.clear()
        self.fresh_for_stores.clear()


@dataclass
class Units:
    """Meanings by op name: makers that look at an op once and give what to do each time."""

    queues: dict[str, Callable[[PtoOp, str], Decode]] = field(default_factory=dict[str, Callable[[PtoOp, str], Decode]])
    controls: dict[str, Callable[[PtoOp, str], Control]] = field(
        default_factory=dict[str, Callable[[PtoOp, str], Control]]
    )
    vectors: dict[str, Callable[[PtoOp], Vector]] = field(default_factory=dict[str, Callable[[PtoOp], Vector]])


class Slots:
    """Where values live in an environment."""

    def __init__(self) -> None:
        self.numbers: dict[SSAValue, int] = {}

    def __getitem__(self, value: SSAValue) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


class Program:
    """The compiled functions of one child module."""

    def __init__(self, functions: Mapping[str, FuncOp], units: Units, places: Places, arch: str):
        self.functions, self.units, self.places, self.arch = functions, units, places, arch
        self.rates = rates_of(arch)
        self._compiled: dict[str, tuple[Slots, list[Step], FuncOp]] = {}

    def run(self, name: str, core: Core, arguments: Sequence[Any]) -> Blocking:
        """The program of one core, from the call on."""
        slots, steps, function = self.function(name)
        env: Env = [None] * len(slots.numbers)
        for argument, value in zip(function.body.block.args, arguments, strict=True):
            env[slots[argument]] = value
        yield from _run(steps, core, env)

    def function(self, name: str) -> tuple[Slots, list[Step], FuncOp]:
        """A compiled function."""
        if name not in self._compiled:
            function = self.functions[name]
            if len(function.body.blocks) != 1:
                raise refuse(function, "the machine does not model branches between blocks", code="not-modelled")
            slots = Slots()
            for argument in function.body.block.args:
                slots[argument]
            steps: list[Step] = []
            self._compiled[name] = (slots, steps, function)
            steps += _ScalarCompiler(self, slots).block(function.body.block)
        return self._compiled[name]


def _run(steps: Sequence[Step], core: Core, env: Env) -> Blocking:
    for step in steps:
        blocking = step(core, env)
        if blocking is not None:
            yield from blocking
        if core.issued > QUEUE_LIMIT:
            core.issued = 0
            yield None


class _ScalarCompiler:
    """Compiles what the scalar unit runs."""

    def __init__(self, program: Program, slots: Slots):
        self.program, self.slots = program, slots
        self.units, self.places = program.units, program.places

    def block(self, block: Block) -> list[Step]:
        """The steps of a block without its terminator."""
        steps: list[Step] = []
        for op in block.ops:
            if not isinstance(op, scf.YieldOp | scf.ConditionOp | ReturnOp):
                steps.append(self.op(op))
        return steps

    def op(self, op: Operation) -> Step:
        """The step of one op."""
        if isinstance(op, scf.ForOp):
            return self._for(op)
        if isinstance(op, scf.IfOp):
            return self._if(op)
        if isinstance(op, scf.WhileOp):
            return self._while(op)
        if isinstance(op, ScopeOp):
            return self._scope(op)
        if isinstance(op, CallOp):
            return self._call(op)
        if isinstance(op, PtoOp):
            found = self._micro(op)
            if found is not None:
                return found
        compute = scalar_function(op)
        if compute is None:
            raise refuse(op, f"the machine does not model '{op.name}'", code="not-modelled")
        return self._pure(op, compute)

    def _inputs(self, op: Operation) -> list[int]:
        return [self.slots[operand] for operand in op.operands]

    def _pure(self, op: Operation, compute: Callable[..., Any]) -> Step:
        place, result = self.places.place(op), self.slots[op.results[0]]
        inputs = self._inputs(op)
        if not inputs:
            value = compute()

            def constant(core: Core, env: Env) -> None:
                env[result] = value

            return constant

        def step(core: Core, env: Env) -> None:
            core.scalar.place = place
            env[result] = compute(*[env[i] for i in inputs])

        return step

    def _micro(self, op: PtoOp) -> Step | None:
        name = op.decl.name
        place, inputs = self.places.place(op), self._inputs(op)
        if name in self.units.queues:
            decode, pipe = self.units.queues[name](op, self.program.arch), queue_of(op)

            def issue(core: Core, env: Env) -> None:
                core.scalar.place = place
                core.send(pipe, place, decode(core, [env[i] for i in inputs]))

            return issue
        if name not in self.units.controls:
            return None
        control = self.units.controls[name](op, self.program.arch)
        results = [self.slots[result] for result in op.results]

        def step(core: Core, env: Env) -> Blocking | None:
            core.scalar.place = place
            found = control(core, place, [env[i] for i in inputs])
            if not results:
                return found
            env[results[0]] = found
            return None

        return step

    def _for(self, op: scf.ForOp) -> Step:
        low, high, step_ = (self.slots[v] for v in (op.lb, op.ub, op.step))
        initial = [self.slots[v] for v in op.iter_args]
        head = [self.slots[v] for v in op.body.block.args]
        body = self.block(op.body.block)
        last = op.body.block.last_op
        ends = [] if last is None else [self.slots[v] for v in last.operands]
        results = [self.slots[v] for v in op.results]
        place = self.places.place(op)

        def step(core: Core, env: Env) -> Blocking:
            core.scalar.place = place
            _check_step(env[step_])
            carried = [env[i] for i in initial]
            for number in range(env[low], env[high], env[step_]):
                env[head[0]] = number
                for slot, value in zip(head[1:], carried, strict=True):
                    env[slot] = value
                yield from _run(body, core, env)
                carried = [env[i] for i in ends]
            for slot, value in zip(results, carried, strict=True):
                env[slot] = value

        return step

    def _if(self, op: scf.IfOp) -> Step:
        condition = self.slots[op.cond]
        branches = [self._branch(region.blocks.first) for region in op.regions]
        results = [self.slots[v] for v in op.results]

        def step(core: Core, env: Env) -> Blocking:
            body, ends = branches[0 if env[condition] else 1]
            yield from _run(body, core, env)
            values = [env[i] for i in ends]
            for slot, value in zip(results, values, strict=False):
                env[slot] = value

        return step

    def _branch(self, block: Block | None) -> tuple[list[Step], list[int]]:
        if block is None:
            return [], []
        last = block.last_op
        return self.block(block), [] if last is None else [self.slots[v] for v in last.operands]

    def _while(self, op: scf.WhileOp) -> Step:
        before, after = op.before_region.block, op.after_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp)
        initial = [self.slots[v] for v in op.arguments]
        heads = [[self.slots[v] for v in block.args] for block in (before, after)]
        bodies = [self.block(before), self.block(after)]
        test, passed = self.slots[condition.operands[0]], [self.slots[v] for v in condition.operands[1:]]
        last = after.last_op
        ends = [] if last is None else [self.slots[v] for v in last.operands]
        results = [self.slots[v] for v in op.results]

        def step(core: Core, env: Env) -> Blocking:
            values = [env[i] for i in initial]
            while True:
                _put(env, heads[0], values)
                yield from _run(bodies[0], core, env)
                values = [env[i] for i in passed]
                if not env[test]:
                    break
                _put(env, heads[1], values)
                yield from _run(bodies[1], core, env)
                values = [env[i] for i in ends]
            _put(env, results, values)

        return step

    def _call(self, op: CallOp) -> Step:
        name, inputs = op.callee.string_value(), self._inputs(op)
        if name not in self.program.functions:
            raise refuse(op, f"the machine knows no body of '{name}'", code="not-modelled")
        if op.results:
            raise refuse(op, "the machine does not model calls that give results", code="not-modelled")
        program = self.program
        program.function(name)

        def step(core: Core, env: Env) -> Blocking:
            yield from program.run(name, core, [env[i] for i in inputs])

        return step

    def _scope(self, op: ScopeOp) -> Step:
        inner = _ScopeCompiler(self.program, Slots())
        outer: list[int] = []
        if isinstance(op, StrictVecScopeOp):
            for argument, operand in zip(op.body.args, op.operands, strict=True):
                inner.slots[argument]
                outer.append(self.slots[operand])
        for value in captured(op):
            inner.slots[value]
            outer.append(self.slots[value])
        steps = inner.block(op.body)
        size, place = len(inner.slots.numbers), self.places.place(op)

        def step(core: Core, env: Env) -> None:
            values = [env[i] for i in outer]
            core.scalar.place = place

            def run(agent: Agent) -> None:
                scope = [*values, *[None] * (size - len(values))]
                lane = Lane(core, agent)
                try:
                    for one in steps:
                        one(lane, scope)
                finally:
                    lane.close(place)

            core.issue(Pipe.V, place, run)

        return step


def _put(env: Env, slots: Sequence[int], values: Sequence[Any]) -> None:
    for slot, value in zip(slots, values, strict=True):
        env[slot] = value


def _check_step(step: int) -> None:
    if step <= 0:
        raise Fault(f"the step of a loop must be positive, got {step}", code="loop-step")


def captured(op: Operation) -> list[SSAValue]:
    """The values a region uses from outside, in order."""
    inner = {value for nested in op.walk() for value in nested.results}
    inner |= {arg for nested in op.walk() for region in nested.regions for block in region.blocks for arg in block.args}
    used = (v for nested in op.walk() if nested is not op for v in nested.operands if v not in inner)
    return list(dict.fromkeys(used))


class _ScopeCompiler:
    """Compiles what the vector unit runs inside a scope."""

    def __init__(self, program: Program, slots: Slots):
        self.program, self.slots = program, slots
        self.units, self.places = program.units, program.places

    def block(self, block: Block) -> list[ScopeStep]:
        """The steps of a block without its terminator."""
        return [self._op(op) for op in block.ops if not isinstance(op, scf.YieldOp)]

    def _op(self, op: Operation) -> ScopeStep:
        if isinstance(op, scf.ForOp):
            return self._for(op)
        if isinstance(op, scf.IfOp):
            return self._if(op)
        if isinstance(op, PtoOp) and op.decl.name in self.units.vectors:
            return self._vector(op)
        compute = scalar_function(op)
        if compute is None:
            raise refuse(op, f"the machine does not model '{op.name}' inside a vector scope", code="not-modelled")
        return self._scalar(op, compute)

    def _vector(self, op: PtoOp) -> ScopeStep:
        place = self.places.place(op)
        inputs = [self.slots[operand] for operand in op.operands]
        results = [self.slots[result] for result in op.results]
        vector, passes = self.units.vectors[op.decl.name](op), self.program.rates.passes[cost_class(op)]

        def step(lane: Lane, env: Env) -> None:
            lane.passes += passes
            try:
                found = vector(lane, place, [env[i] for i in inputs])
            except Fault as problem:
                raise lane.core.group.board.fault(lane.agent, place, problem) from problem
            if len(results) == 1:
                env[results[0]] = found
            elif results:
                _put(env, results, found)

        return step

    def _scalar(self, op: Operation, compute: Callable[..., Any]) -> ScopeStep:
        place, inputs = self.places.place(op), [self.slots[operand] for operand in op.operands]
        result = self.slots[op.results[0]]

        def step(lane: Lane, env: Env) -> None:
            try:
                env[result] = compute(*[env[i] for i in inputs])
            except Fault as problem:
                raise lane.core.group.board.fault(lane.agent, place, problem) from problem

        if len(inputs) != 2:
            return step
        left, right = inputs

        def binary(lane: Lane, env: Env) -> None:
            try:
                env[result] = compute(env[left], env[right])
            except Fault as problem:
                raise lane.core.group.board.fault(lane.agent, place, problem) from problem

        return binary

    def _for(self, op: scf.ForOp) -> ScopeStep:
        low, high, step_ = (self.slots[v] for v in (op.lb, op.ub, op.step))
        initial = [self.slots[v] for v in op.iter_args]
        head = [self.slots[v] for v in op.body.block.args]
        body = self.block(op.body.block)
        last = op.body.block.last_op
        ends = [] if last is None else [self.slots[v] for v in last.operands]
        results = [self.slots[v] for v in op.results]

        def step(lane: Lane, env: Env) -> None:
            carried = [env[i] for i in initial]
            _check_step(env[step_])
            for number in range(env[low], env[high], env[step_]):
                env[head[0]] = number
                _put(env, head[1:], carried)
                for one in body:
                    one(lane, env)
                carried = [env[i] for i in ends]
            _put(env, results, carried)

        return step

    def _if(self, op: scf.IfOp) -> ScopeStep:
        condition = self.slots[op.cond]
        results = [self.slots[v] for v in op.results]
        branches: list[tuple[list[ScopeStep], list[int]]] = []
        for region in op.regions:
            block = region.blocks.first
            last = None if block is None else block.last_op
            steps = [] if block is None else self.block(block)
            branches.append((steps, [] if last is None else [self.slots[v] for v in last.operands]))

        def step(lane: Lane, env: Env) -> None:
            body, ends = branches[0 if env[condition] else 1]
            for one in body:
                one(lane, env)
            _put(env, results, [env[i] for i in ends] if results else [])

        return step


def queue_of(op: PtoOp) -> Pipe:
    """The queue of an op: its own, or for a tile op the one that its affinity names."""
    affinity = op.decl.affinity
    pipe = op.decl.pipe or (affinity.pipe if isinstance(affinity, ByTiles) else None)
    assert pipe is not None
    return pipe


def rates_of(arch: str) -> Rates:
    """The rates of the machine that an architecture belongs to."""
    return RATES["a5" if arch == "a5" else "a2a3"]


def cost_class(op: PtoOp) -> str:
    """The class of a vector op in the rates of a machine."""
    return next((tag for tag in ("vector_slow", "reduction") if tag in op.decl.tags), "vector")


def not_modelled(op: Operation, what: str) -> Diagnostic:
    """The refusal of a mode of an op."""
    return refuse(op, f"the machine does not model {what} of '{op.name}'", code="not-modelled")
