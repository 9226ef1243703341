"""Runs a whole final program: the host side in order, every group launch on the simulated core group."""

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from cubelane.analysis.tensor_handles import writes_of
from cubelane.emit.numpy_pair import runs_side_by_side
from cubelane.emit.numpy_program import EmittedFunction, Line, emit_function
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import DUAL_DISPATCH, SPLIT_AIV, FunctionKind, flag, functions_of, kind_of, split_of
from cubelane.ir.types import SplitMode
from cubelane.sim.core import Core
from cubelane.sim.group import Group, Member, Schedule, Suspect
from cubelane.sim.memory import Memory
from cubelane.sim.primitives import Fault, Poison, scalar_fault
from cubelane.sim.program import Runnable
from cubelane.sim.result import Event

_HOST = (FunctionKind.ORCHESTRATION, FunctionKind.OPAQUE)


def entry_functions(module: ModuleOp, name: str | None = None) -> list[FuncOp]:
    """Where a program starts: one function, or the two of a hand-written pair without a group.

    Functions nobody calls come into question; orchestration goes before groups, groups before cores, and of several
    the last, as callees stand before callers. `name` picks one, or the pair `<name>_aic` and `<name>_aiv`.
    """
    functions = [f for f in functions_of(module) if not f.is_declaration]
    if name is not None:
        chosen = [f for f in functions if f.sym_name.data == name]
        chosen = chosen or [f for f in functions if f.sym_name.data in (f"{name}_aic", f"{name}_aiv")]
        if not chosen:
            raise Diagnostic(f"the program has no function {name}", code="no-entry")
        return chosen
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}
    roots = [f for f in functions if f.sym_name.data not in called]
    for kinds in (_HOST, (FunctionKind.GROUP,)):
        if chosen := [f for f in roots if kind_of(f) in kinds]:
            return chosen[-1:]
    cores = [f for f in roots if kind_of(f).in_core]
    if len(cores) == 2 and {kind_of(f) for f in cores} == {FunctionKind.AIC, FunctionKind.AIV}:
        return cores
    if not cores:
        raise Diagnostic("the program has no function to start with", code="no-entry")
    return cores[-1:]


def lanes_of(function: FuncOp) -> int:
    """How many vector lanes run a function: two where it is dispatched to both or split between them."""
    split = flag(function, DUAL_DISPATCH) or flag(function, SPLIT_AIV) or split_of(function) is not SplitMode.NONE
    return 2 if split and kind_of(function) is not FunctionKind.AIC else 1


class Executable:
    """A final program emitted and compiled, to be run as often as one likes."""

    def __init__(self, module: ModuleOp, paired: bool = True):
        """`paired`: made ready for lanes side by side where both can; any other form is made when it is asked for."""
        self.module = module
        self.functions = {f.sym_name.data: f for f in functions_of(module) if not f.is_declaration}
        self.kinds = {f.sym_name.data: kind_of(f) for f in functions_of(module)}
        self.lanes = {name: lanes_of(f) for name, f in self.functions.items()}
        self.writes = writes_of(self.functions)
        self.pairs = {name for name, f in self.functions.items() if self.lanes[name] == 2 and runs_side_by_side(f)}
        """The functions that both lanes can run side by side."""
        self._runnables: dict[tuple[str, bool], Runnable] = {}
        self._entries: dict[str | None, list[FuncOp]] = {}
        for name in self.functions:
            self.runnable(name, paired and name in self.pairs)

    def runnable(self, name: str, paired: bool = False) -> Runnable:
        """A function as a program of one core, or of both lanes side by side."""
        key = name, paired
        if key not in self._runnables:
            self._runnables[key] = Runnable(emit_function(self.functions[name], self.kinds, paired))
        return self._runnables[key]

    def entry(self, name: str | None = None) -> list[FuncOp]:
        """Where the program starts; see `entry_functions`."""
        if name not in self._entries:
            self._entries[name] = entry_functions(self.module, name)
        return self._entries[name]

    def members(self, calls: Sequence[tuple[str, Sequence[Any]]], paired: bool = False) -> list[Member]:
        """Functions with their arguments, to be launched; `paired`: lanes side by side, if all of them can."""
        vector = [name for name, _ in calls if self.kinds[name] is not FunctionKind.AIC]
        paired = paired and self.pairs.issuperset(vector)
        return [self._member(name, arguments, paired and name in vector) for name, arguments in calls]

    def _member(self, name: str, arguments: Sequence[Any], paired: bool) -> Member:
        return Member(self.runnable(name, paired), arguments, self.lanes[name], self.writes[name], paired)


class Machine:
    """Executes one program once. `paired`: lanes that do the same run side by side, which is quicker.

    What goes wrong shows as well, but is told in the words of another order of events than that of single lanes.
    """

    def __init__(self, executable: Executable, schedule: Schedule, poison: Poison, paired: bool = False):
        self.schedule, self.poison, self.paired = schedule, poison, paired
        self.executable = executable
        self.memory = Memory()
        self.findings: list[Diagnostic] = []
        self.notes: list[Diagnostic] = []
        self.suspects: list[Suspect] = []
        self.groups: list[Group] = []
        self.board = Group([], self.memory, poison, schedule)
        host = Core(self.board, 0, "host", None)
        self.host = {**host.words(), "call": self.call, "together": self.together}
        """The words of the host's functions: they see tensors, not tiles."""
        self.host |= {"window": _host_window, "poison": self._create}
        self.hosted: dict[str, FunctionType] = {}

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Runs a function: on the cores if it is one of theirs, else on the host."""
        if self.executable.kinds[name].in_core:
            return self.together((name, arguments))[0]
        runnable = self.executable.runnable(name)
        if name not in self.hosted:
            self.hosted[name] = runnable.bind(self.host)
        try:
            return self.hosted[name](*arguments)
        except (Diagnostic, Stopped):
            raise
        except Exception as problem:
            raise self._located(problem, runnable.emitted) from problem

    def close(self) -> None:
        """Lets go of the host's functions, which would keep the memory of the run until the next garbage collection."""
        self.hosted.clear()
        self.host.clear()

    def _located(self, problem: Exception, program: EmittedFunction) -> Diagnostic:
        """An error of the host's part at its line."""
        trace, number = problem.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == f"<{program.name}>":
                number = trace.tb_lineno
            trace = trace.tb_next
        line = program.line(number)
        if (why := scalar_fault(problem)) is not None:
            return Diagnostic(f"{program.name}: {why}", line.location, code="scalar")
        code = problem.code if isinstance(problem, Fault) else "execution"
        return Diagnostic(f"{program.name}: {line.op}: {problem}", line.location, code=code)

    def _create(self, shape: Sequence[int], dtype: Any) -> Any:
        """A tensor made on the host: undefined until a kernel writes it."""
        tensor = self.poison.fill(shape, dtype)
        self.memory.declare_undefined(tensor)
        return tensor

    def together(self, *calls: tuple[str, Sequence[Any]]) -> list[Any]:
        """Runs the members of a group at the same time; what each returned."""
        if self.findings:
            raise Stopped
        members = self.executable.members(calls, self.paired)
        group = Group(members, self.memory, self.poison, self.schedule)
        results = group.run()
        self.findings += group.findings
        self.notes += group.notes
        self.suspects += group.suspects
        self.groups.append(group)
        if group.findings:
            raise Stopped
        return results

    def events(self) -> list[Event]:
        """The protocol log of all launches."""
        result: list[Event] = []
        for group in self.groups:
            result += group.events(len(result))
        return result

    def last_store(self, tensor: Any, position: Sequence[int]) -> Line:
        """The line of the last store that wrote an element; an empty one if none did."""
        return self.last_writer(tensor, position)[1]

    def last_writer(self, tensor: Any, position: Sequence[int]) -> tuple[str, Line]:
        """The agent that wrote an element last, and the line of its store; nobody and an empty line if none did."""
        for group in reversed(self.groups):
            for stored, index, agent, place in reversed(group.stores):
                if stored is tensor and all(s.start <= p < s.stop for s, p in zip(index, position, strict=True)):
                    return group.agents[agent].name, group.agents[agent].line(place)
        return "", Line()


class Stopped(Exception):
    """Raised to leave the host program after a finding; never seen by callers of `check.execute`."""


def _host_window(tensor: Any, offsets: Sequence[int], shape: Sequence[int], valid: Sequence[int] | None) -> Any:
    """On the host a window is a view: kernels write through it."""
    extents = valid or shape
    return tensor[tuple(slice(o, o + e) for o, e in zip(offsets, extents, strict=True))]
