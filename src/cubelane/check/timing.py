"""How long a compiled kernel takes in the timing model: its trace once, its timeline for any ring depth."""

from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from cubelane.check.arrays import arguments_of, parameter_names
from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.check.execute import draw_inputs
from cubelane.check.kernel_file import Arrays, Judge
from cubelane.ir.context import shared_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes.tile.choose_split_mode import ChooseSplitMode
from cubelane.sim.machine import entry_functions
from cubelane.sim.timeline import Timeline
from cubelane.sim.timing_program import LaunchTasks, resolve
from cubelane.sim.timing_replay import Replay, Stalled
from cubelane.sim.timing_trace import Launch, trace
from cubelane.targets import TARGETS
from cubelane.targets.rates import RATES


@dataclass
class Timed:
    """The trace of a kernel on given inputs (`arrays` by parameter). `findings` tells why a run ended early."""

    target: str
    launches: list[Launch]
    findings: list[Diagnostic]
    arrays: Arrays

    @cached_property
    def tasks(self) -> list[LaunchTasks]:
        """The trace with its prices: what all replays share."""
        return resolve(self.launches, TARGETS[self.target], RATES[self.target])

    @property
    def complete(self) -> bool:
        """Whether all cores ran to their end."""
        return not self.findings

    def timeline(self, depth: int | None = None) -> Timeline | None:
        """The timeline with rings of `depth` slots (None: as compiled); None if the cores would wait for ever."""
        try:
            return Replay(RATES[self.target], depth).run(self.tasks)
        except Stalled:
            return None


def timed(compiled: CompiledKernel, judge: Judge | None = None, *, seed: int = 0) -> Timed:
    """Runs the kernel once on the inputs of its file (or drawn ones) and keeps what each core executed."""
    given: Arrays = judge.inputs() if judge and judge.inputs else draw_inputs(compiled.source, seed)
    functions = entry_functions(compiled.module)
    arguments: Arrays = {}
    for function in functions:
        arguments = {**arguments_of(function, dict(given)), **arguments}
    calls = [(f.sym_name.data, [arguments[n] for n in parameter_names(f)]) for f in functions]
    launches, findings = trace(compiled.module, calls)
    return Timed(compiled.target, launches, findings, arguments)


def has_a_mode(program: ModuleOp) -> bool:
    """Whether the split mode makes a difference: not where regions state their own, or nothing is split."""
    one, two = program.clone(), program.clone()
    ChooseSplitMode("up_down").apply(shared_context(), one)
    ChooseSplitMode("none").apply(shared_context(), two)
    return not one.is_structurally_equivalent(two)


def unsplit_cycles(compiled: CompiledKernel, judge: Judge | None = None, *, seed: int = 0) -> int | None:
    """Cycles of the same kernel with no split; None where it is refused without one, or has no split of its own."""
    if not has_a_mode(compiled.source):
        return None
    try:
        whole = compile_program(compiled.source, compiled.target, "none")
    except Diagnostic:
        return None
    timeline = timed(whole, judge, seed=seed).timeline()
    return timeline.cycles if timeline else None
