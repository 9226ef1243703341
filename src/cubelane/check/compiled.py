"""The main job: one kernel through all passes, run on the core group, judged against its reference meaning."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.check.compare import NO_NOISE, Comparisons, compare
from cubelane.check.execute import Executable, RunResult, draw_inputs, run_group, run_reference
from cubelane.check.kernel_file import Arrays, Judge
from cubelane.check.rounding import allowance, notes
from cubelane.check.validate import blamed, validate
from cubelane.ir.collector import paused
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import TARGET, functions_of, program_name
from cubelane.passes import pipeline
from cubelane.passes.tile.choose_split_mode import ChooseSplitMode
from cubelane.targets import TARGETS


@dataclass(frozen=True)
class Stage:
    """The program after one pass."""

    name: str
    module: ModuleOp


@dataclass
class Verdict:
    """What running the compiled kernel showed.

    `findings` are problems of execution (deadlock, race, undefined cells, slots left over), `comparisons` the
    outputs against the golden of the kernel file and against the oracle. `notes` tell what the comparison took into
    account.
    """

    findings: Sequence[Diagnostic]
    comparisons: dict[str, Comparisons]
    run: RunResult | None
    notes: Sequence[str] = ()

    @property
    def equal(self) -> bool:
        """Whether the three programs computed what the author wrote."""
        return not self.findings and all(c.equal for c in self.comparisons.values())

    @property
    def max_error(self) -> float:
        """The largest absolute difference to any reference."""
        return max((c.max_error for c in self.comparisons.values()), default=0.0)

    @property
    def word(self) -> str:
        """`equal`, `differs`, or the kind of the first finding."""
        if self.findings:
            return self.findings[0].code
        if self.run is None:
            return "not run"
        return "equal" if self.equal else "differs"


@dataclass
class CompiledKernel:
    """A kernel and its three programs.

    `source` is the program as written (after the choice of target and split mode), `module` after the last
    pass, `stages` the program after each pass when they were kept.
    """

    source: ModuleOp
    module: ModuleOp
    target: str
    stages: list[Stage] = field(default_factory=list[Stage])

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return program_name(self.source)

    def __repr__(self) -> str:
        functions = ", ".join(f.sym_name.data for f in functions_of(self.module))
        return f"<CompiledKernel {self.name} for {self.target}: {functions}>"

    def run(self, inputs: Arrays) -> RunResult:
        """Runs the three programs on the simulated core group; arrays by parameter name, outputs included."""
        return run_group(self.module, inputs)

    def judge(self, judge: Judge | None = None, *, seed: int = 0, program: Executable | None = None) -> Verdict:
        """Runs the programs and compares them with the oracle, and with the golden where there is one.

        `program` runs in their place where it is given: the same kernel in another form. Where the author states no
        tolerance and a difference shows, the rounding noise of the kernel as written is measured and allowed for.
        """
        judge = judge or Judge()
        given, expected = _expected(self.source, judge, seed)
        run = run_group(program or self.module, given)
        if run.findings:
            return Verdict(run.findings, {}, run)
        references = {"oracle": expected} | ({"golden": judge.golden(given)} if judge.golden else {})
        comparisons = allowed = _compared(run.outputs, references, judge)
        told: list[str] = []
        if not all(c.equal for c in comparisons.values()) and not judge.states_tolerance:
            noise = allowance(self.source, given, expected)
            allowed = _compared(run.outputs, references, judge, noise)
            told += notes(comparisons, allowed, noise)
        wrong = next((c for c in allowed.values() if not c.equal), None)
        if wrong is not None and program is None:
            told += blamed(self.module, given, wrong)
        return Verdict((), allowed, run, tuple(told))

    def judge_each(self, judge: Judge | None = None, *, seed: int = 0) -> Verdict:
        """Like `judge`, but also runs the program after every pass; names the pass that changed the meaning.

        Needs the stages to have been kept.
        """
        judge = judge or Judge()
        given, expected = _expected(self.source, judge, seed)
        stages = [(stage.name, stage.module) for stage in self.stages]
        noise = {} if judge.states_tolerance else allowance(self.source, given, expected)
        last = validate(stages, given, expected, rtol=judge.rtol, atol=judge.atol, noise=noise)[-1]
        if last.good:
            return self.judge(judge, seed=seed)
        findings = [replace(f, notes=(*f.notes, f"the program behind {last.name} does this")) for f in last.findings]
        comparisons = {f"meaning before {last.name}": last.comparison} if last.comparison else {}
        broken = next(module for name, module in stages if name == last.name)
        blame = blamed(broken, given, last.comparison) if last.comparison else []
        return Verdict(findings, comparisons, RunResult(findings=findings), blame)


def _expected(source: ModuleOp, judge: Judge, seed: int) -> tuple[Arrays, Arrays]:
    """Inputs, and what the program as written makes of them."""
    if judge.inputs:
        given = judge.inputs()
        return given, run_reference(source, given)
    given = draw_inputs(source, seed)
    try:
        return given, run_reference(source, given)
    except Diagnostic as problem:
        # a table of page numbers or lengths has a meaning that its type does not tell
        drawn = "the file defines no inputs(): they were drawn at random from the types of the parameters"
        instead = (
            problem.instead or "define inputs() -> {parameter: array} in the file, or in the one named by --golden"
        )
        raise replace(problem, notes=(*problem.notes, drawn), instead=instead) from problem


def _compared(
    outputs: Arrays, references: Mapping[str, Arrays], judge: Judge, noise: Mapping[str, float] = NO_NOISE
) -> dict[str, Comparisons]:
    """The outputs against every reference, by its name."""
    return {
        name: compare(outputs, want, rtol=judge.rtol, atol=judge.atol, noise=noise) for name, want in references.items()
    }


def for_machine(program: ModuleOp, target: str, mode: str | None) -> ModuleOp:
    """A copy of the program for a machine, in a mode where one is given. Raises ValueError for an unknown target."""
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}; known: {', '.join(TARGETS)}")
    source = program.clone()
    source.attributes[TARGET] = StringAttr(target)
    if mode is not None:
        ChooseSplitMode(mode).apply(Context(), source)
    return source


def compile_program(
    program: ModuleOp,
    target: str = "a2a3",
    mode: str | None = None,
    *,
    keep_stages: bool = False,
    progress: Callable[[str], Any] | None = None,
) -> CompiledKernel:
    """Runs all passes on a copy of the program.

    `mode` (`up_down`, `left_right`, `none`) replaces the author's split mode. Raises a Diagnostic when the kernel
    is refused, ValueError for an unknown target.
    """
    stages: list[Stage] = []

    def after(step: pipeline.Pass, module: ModuleOp) -> None:
        if progress:
            progress(step.name)
        if keep_stages:
            stages.append(Stage(step.name, module.clone()))

    with paused():
        source = for_machine(program, target, mode)
        module = pipeline.run(source.clone(), after=after if progress or keep_stages else None)
    return CompiledKernel(source, module, target, stages)
