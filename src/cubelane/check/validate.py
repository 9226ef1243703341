"""Validation of every pass: the program is run after each of them and compared with what it meant before any."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from cubelane.analysis.tensor_handles import TensorHandles, written_slot
from cubelane.check.compare import NO_NOISE, Comparisons, compare
from cubelane.check.execute import run_group, run_reference
from cubelane.check.kernel_file import Arrays
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import DUAL_DISPATCH, SPLIT_AIV, FunctionKind, flag, functions_of, kind_of
from cubelane.passes import pipeline
from cubelane.sim.group import Schedule


@dataclass(frozen=True)
class PassVerdict:
    """What running the program after one pass showed."""

    name: str
    findings: tuple[Diagnostic, ...] = ()
    comparison: Comparisons | None = None

    @property
    def good(self) -> bool:
        """Whether the pass kept the meaning."""
        return not self.findings and self.comparison is not None and self.comparison.equal

    def __str__(self) -> str:
        if self.findings:
            return f"after {self.name}: {self.findings[0]}"
        return f"after {self.name}: {self.comparison}"


def is_expanded(module: ModuleOp) -> bool:
    """Whether the program holds programs of single cores already."""
    return any(kind_of(f) in (FunctionKind.AIC, FunctionKind.AIV) for f in functions_of(module))


def runnable(module: ModuleOp) -> ModuleOp:
    """What to run of an expanded program: where lane 1 has not been told what is left for it, a copy in which it has.

    A kernel without split is dispatched to both lanes; until `split-vector-kernel` both would do all the work.
    """
    if not any(flag(f, DUAL_DISPATCH) and not flag(f, SPLIT_AIV) for f in functions_of(module)):
        return module
    return pipeline.pass_named("split-vector-kernel")(module.clone())


def blamed(module: ModuleOp, inputs: Arrays, comparison: Comparisons) -> list[str]:
    """Who wrote the first differing element of each output: agent and place where the cores run, else the places."""
    wrong = {name: c.first for name, c in comparison.outputs.items() if not c.equal and c.first is not None}
    if not is_expanded(module):
        return [f"{name} is written by {', '.join(_writes(module, name))}" for name in wrong]
    run = run_group(runnable(module), inputs, schedule=Schedule(0))  # one lane after the other, to tell them apart
    told: list[str] = []
    for name, first in wrong.items():
        agent, place = run.writer(name, first)
        who = f"was written last by {agent} at {place}" if agent else "was written by nobody"
        told.append(f"{name}{list(first)} {who}")
    return told


def _writes(module: ModuleOp, name: str) -> list[str]:
    """The places that write to the parameter of a name, in functions that run on cores."""
    found: list[str] = []
    functions = {f.sym_name.data: f for f in functions_of(module)}
    for function in functions.values():
        if function.is_declaration:
            continue
        handles = TensorHandles(function.body.block, functions)
        for op in function.walk():
            slot = written_slot(op)
            root = None if slot is None else handles[op.operands[slot]]
            if root is not None and root.name_hint == name:
                found.append(f"{op.name} at {Location.of(op)}")
    return found or ["no op"]


def validate(
    stages: Iterable[tuple[str, ModuleOp]],
    inputs: Arrays,
    expected: Arrays,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    noise: Mapping[str, float] = NO_NOISE,
) -> list[PassVerdict]:
    """Runs each stage: by the oracle while functions are whole, on the core group once they are split up.

    Stops behind the first pass that changed the meaning; `expected` is what the program meant before any pass.
    """
    verdicts: list[PassVerdict] = []
    for name, module in stages:
        if is_expanded(module):
            run = run_group(runnable(module), inputs)
            outputs, findings = run.outputs, tuple(run.findings)
        else:
            outputs, findings = run_reference(module, inputs), ()
        comparison = None if findings else compare(outputs, expected, rtol=rtol, atol=atol, noise=noise)
        verdict = PassVerdict(name, findings, comparison)
        verdicts.append(verdict)
        if not verdict.good:
            break
    return verdicts
