"""Validation of every pass: the program is run after each of them and compared with what it meant before any."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compare import NO_NOISE, Comparisons, compare
from cubelane.check.execute import run_group, run_reference
from cubelane.check.kernel_file import Arrays
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import DUAL_DISPATCH, SPLIT_AIV, FunctionKind, flag, functions_of, kind_of
from cubelane.passes import pipeline


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
