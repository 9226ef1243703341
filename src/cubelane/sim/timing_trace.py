"""Which ops each core really executed: the emitted programs run once with a mark behind every statement.

The trace follows loops, branches and run-time extents exactly, whatever they depend on. It holds no times; the replay
(`timing_replay`) puts it on a time axis.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import functions_of
from cubelane.ir.surface import SurfaceOp
from cubelane.sim.group import Group, Member, Schedule
from cubelane.sim.machine import Executable, Machine, Stopped
from cubelane.sim.primitives import Poison
from cubelane.sim.program import Runnable

OP, ENTER, NEXT, THEN, ELSE = "op", "enter", "next", "then", "else"
"""What a mark says: an op ran, a loop begins, an iteration ended, a branch ended."""

MARK = "mark"


@dataclass(frozen=True)
class Step:
    """One mark: what happened to which op; the valid extents of its result where only the run knows them."""

    kind: str
    op: Operation
    valid: tuple[int, ...] | None = None


@dataclass
class AgentTrace:
    """The steps of one core."""

    name: str
    lane: int | None
    function: FuncOp
    steps: list[Step] = field(default_factory=list[Step])


@dataclass(frozen=True)
class Write:
    """One window of a tensor that a core wrote, and the op that did."""

    agent: str
    tensor: Any
    index: tuple[slice, ...]
    location: Location


@dataclass
class Launch:
    """One launch of the core group: its agents, the depth of each ring (direction, pipe), what was written where."""

    agents: list[AgentTrace]
    rings: dict[tuple[str, int], int]
    writes: list[Write] = field(default_factory=list[Write])


class Instrumented:
    """A program of a core with marks in it, and the op each mark stands for."""

    def __init__(self, runnable: Runnable, function: FuncOp):
        self.emitted, self.function = runnable.emitted, function
        self.ops: dict[int, Operation] = {}
        tree = ast.parse(self.emitted.text)
        body = tree.body[0]
        assert isinstance(body, ast.FunctionDef)
        self.names = frozenset(runnable.code.co_varnames)
        body.body = list(self._marked(body.body))
        self.runnable = Runnable(self.emitted, compile(tree, f"<{self.emitted.name}>", "exec"))

    def _marked(self, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            line = self.emitted.line(statement.lineno)
            op = line.operation
            if isinstance(statement, ast.For | ast.While) and isinstance(op, scf.ForOp | scf.WhileOp):
                self.ops[statement.lineno] = op
                yield self._mark(statement, ENTER)
                statement.body = [*self._marked(statement.body), self._mark(statement.body[-1], NEXT, statement)]
                yield statement
            elif isinstance(statement, ast.If) and isinstance(op, scf.IfOp):
                yield from self._branches(statement, op)
            else:
                yield statement
                yield from self._after(statement)

    def _branches(self, statement: ast.If, op: Operation) -> Iterator[ast.stmt]:
        self.ops[statement.lineno] = op
        statement.body = [*self._marked(statement.body), self._mark(statement.body[-1], THEN, statement)]
        if statement.orelse:
            statement.orelse = [*self._marked(statement.orelse), self._mark(statement.orelse[-1], ELSE, statement)]
        yield statement

    def _after(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        line = self.emitted.line(statement.lineno)
        if isinstance(statement, ast.Assign) and line.variable is not None:
            if any(isinstance(t, ast.Name) and t.id == f"{line.variable}_valid" for t in statement.targets):
                return
        if isinstance(statement, ast.Return | ast.Pass):
            return
        if isinstance(line.operation, SurfaceOp):
            self.ops[statement.lineno] = line.operation
            companion = f"{line.variable}_valid"
            yield self._mark(statement, OP, valid=companion if companion in self.names else None)

    @staticmethod
    def _mark(place: ast.stmt, kind: str, owner: ast.stmt | None = None, valid: str | None = None) -> ast.stmt:
        number = (owner or place).lineno
        extents: ast.expr = ast.Constant(None) if valid is None else ast.Name(valid, ast.Load())
        call = ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(kind), ast.Constant(number), extents], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), place))


class TracedMachine(Machine):
    """A machine that notes what its cores execute. A launch that fails ends the trace."""

    def __init__(self, executable: Executable):
        super().__init__(executable, Schedule(), Poison())
        self.functions = {f.sym_name.data: f for f in functions_of(executable.module)}
        self.instrumented: dict[str, Instrumented] = {}
        self.launches: list[Launch] = []

    def together(self, *calls: tuple[str, Sequence[Any]]) -> list[Any]:
        """Runs the members of a group and keeps their traces."""
        members: list[Member] = []
        for member in self.executable.members(calls):
            name = member.program.name
            if name not in self.instrumented:
                self.instrumented[name] = Instrumented(member.runnable, self.functions[name])
            members.append(replace(member, runnable=self.instrumented[name].runnable))
        group = Group(members, self.memory, self.poison, self.schedule)
        agents = [self._listen(agent.function.__globals__, agent.member, agent.name, agent.lane)
                  for agent in group.agents]  # fmt: skip
        results = group.run()
        depths = {key: ring.slot_num for key, ring in group.rings.items()}
        self.launches.append(Launch(agents, depths, list(_writes(group))))
        self.findings += group.findings
        if group.findings:
            raise Stopped
        return results

    def _listen(self, namespace: dict[str, Any], member: Member, name: str, lane: int | None) -> AgentTrace:
        program = self.instrumented[member.program.name]
        trace = AgentTrace(name, lane, program.function)
        ops, steps = program.ops, trace.steps

        def mark(kind: str, number: int, valid: Sequence[int] | None) -> None:
            steps.append(Step(kind, ops[number], None if valid is None else tuple(int(v) for v in valid)))

        namespace[MARK] = mark
        return trace


def _writes(group: Group) -> Iterator[Write]:
    """The windows that were written, in order."""
    for tensor, index, number, place in group.stores:
        agent = group.agents[number]
        yield Write(agent.name, tensor, index, agent.line(place).location)


def trace(module: ModuleOp, calls: Sequence[tuple[str, Sequence[Any]]]) -> tuple[list[Launch], list[Diagnostic]]:
    """Runs the entry functions once; the launches in order, and what went wrong (then the last launch is cut short)."""
    machine = TracedMachine(Executable(module, paired=False))
    try:
        if len(calls) == 1:
            machine.call(*calls[0])
        else:
            machine.together(*calls)
    except Stopped:
        pass
    return machine.launches, machine.findings
