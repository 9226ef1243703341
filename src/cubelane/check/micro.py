"""Kernels of the tracing language and PTO texts, judged on the micro-op machine like any other kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compare import Comparisons, compare
from cubelane.check.kernel_file import Arrays, Judge, run_file
from cubelane.emit.vpto import Job, StageFailure
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.ir.text_file import read_text
from cubelane.ptodsl.jit import Kernel, clone_module
from cubelane.sim.micro.launch import MicroResult, launch_split, load, split


@dataclass(frozen=True)
class MicroProgram:
    """A program to judge: the traced or parsed module, its entry, and what the file says about right results."""

    module: ModuleOp
    name: str | None
    mode: str
    judge: Judge

    @property
    def text(self) -> str:
        """PTO text."""
        return print_pto(self.module)

    def vpto(self) -> str:
        """VPTO text."""
        try:
            return print_pto(Job("", self.name or "<kernel>", module=clone_module(self.module)).vpto())
        except StageFailure as failure:
            raise failure.diagnostic from None


def read_micro(path: Path, wanted: str | None, golden: Path | None = None) -> MicroProgram:
    """Reads a file; a PTODSL file is executed to trace its kernels."""
    if path.suffix == ".pto":
        judge = Judge() if golden is None else _judge(vars(run_file(golden)))
        return MicroProgram(read_pto(read_text(path), str(path)), wanted, "-", judge)
    namespace = vars(run_file(path))
    kernel = _pick(namespace, wanted, path)
    judge = _judge(namespace if golden is None else vars(run_file(golden)))
    handle = kernel.compile()
    return MicroProgram(handle.mlir_module(), kernel.spec.function_name, kernel.spec.mode, judge)


def _judge(namespace: dict[str, Any]) -> Judge:
    return Judge(namespace.get("inputs"), namespace.get("golden"), namespace.get("RTOL"), namespace.get("ATOL"))


def _pick(namespace: dict[str, Any], wanted: str | None, path: Path) -> Kernel:
    kernels = {v.spec.function_name: v for v in namespace.values() if isinstance(v, Kernel) and v.spec.entry}
    if wanted is not None:
        found = kernels.get(wanted) or namespace.get(wanted)
        if isinstance(found, Kernel):
            return found
    elif len(kernels) == 1:
        return next(iter(kernels.values()))
    names = ", ".join(kernels) or "none"
    raise Diagnostic(
        f"no kernel named {wanted}; the file holds: {names}"
        if wanted
        else f"the file holds {len(kernels)} kernels ({names})",
        Location(str(path)),
        instead=f"name one: {path}:{next(iter(kernels))}" if kernels else None,
        code="which-kernel",
    )


@dataclass(frozen=True)
class MicroVerdict:
    """What the machine showed: findings, comparisons with the golden, facts for the table."""

    kernel: str
    target: str
    mode: str
    cores: str
    signals: int
    findings: Sequence[Diagnostic]
    comparisons: dict[str, Comparisons]
    run: MicroResult

    @property
    def equal(self) -> bool:
        """Whether nothing was found and the outputs are right."""
        return not self.findings and all(c.equal for c in self.comparisons.values())

    @property
    def max_error(self) -> float:
        """The largest absolute difference to the golden."""
        return max((c.max_error for c in self.comparisons.values()), default=0.0)

    @property
    def word(self) -> str:
        """`equal`, `differs`, `clean` (ran without a golden) or the kind of the first finding."""
        if self.findings:
            return self.findings[0].code
        if not self.comparisons:
            return "clean"
        return "equal" if self.equal else "differs"

    def row(self) -> tuple[str, ...]:
        """The cells of the table that `cubelane compile` prints; no rings at this level."""
        return (
            self.kernel,
            self.target,
            self.mode,
            self.cores,
            str(self.signals),
            "0",
            f"{self.max_error:.2e}",
            self.word,
        )


def judge_micro(program: MicroProgram, seed: int | None = None) -> MicroVerdict:
    """Splits and runs a program; compares with its golden."""
    module = split(clone_module(program.module))
    loaded = load(module, program.name)
    judge = program.judge
    given: Arrays = {} if judge.inputs is None else judge.inputs()
    parameters = [a.name_hint or "" for a in next(iter(loaded.entries.values())).body.block.args]
    if parameters and judge.inputs is None:
        raise Diagnostic(
            f"{loaded.name} takes {', '.join(parameters)}, and pointers have no extent to draw inputs for",
            Location.of(module),
            instead="define inputs() -> {name: array} in the file, or in the one named by --golden",
            code="no-inputs",
        )
    want = judge.golden(_copied(given)) if judge.golden is not None else None
    run = launch_split(module, program.name, list(given.values()), seed=seed)
    comparisons: dict[str, Comparisons] = {}
    if want is not None:
        comparisons["golden"] = compare(given, want, rtol=judge.rtol, atol=judge.atol)
    signals = sum(isinstance(op, PtoOp) and op.decl.name == "sync.set" for op in module.walk())
    cores = "+".join({"cube": "AIC", "vector": "AIV"}[kind.value] for kind in reversed(list(loaded.entries)))
    return MicroVerdict(loaded.name, loaded.arch, program.mode, cores, signals, run.findings, comparisons, run)


def _copied(given: Arrays) -> Arrays:
    return {
        name: cast("Any", value).copy() if isinstance(value, np.ndarray) else value for name, value in given.items()
    }
