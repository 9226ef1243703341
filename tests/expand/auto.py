"""Kernels as users report them: tensors inside one CORE_GROUP scope, through all passes, run and compared."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.check.execute import RunResult, Schedule, run_group, run_reference
from cubelane.check.protocol import Proof, check_protocol
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of
from cubelane.language import parse

MARK = -777.0
DTYPES: dict[str, Any] = {"FP32": np.float32, "FP16": np.float16, "INT32": np.int32, "BF16": np.float32}
TARGETS = ("a2a3", "a5")


def coded(*shape: int, dtype: Any = np.float32) -> Any:
    """Index-coded small integers: FP16 products stay exact, a row in the wrong place shows."""
    i = np.indices(shape)
    return ((3 * i[0] + 5 * i[-1] + i[0] * i[-1]) % 7 - 3).astype(dtype)


@dataclass
class Auto:
    """A kernel whose `body` stands in one scope. `tensors` and `outs` are parameters by name: shape and element type.

    `mode` splits the scope (None: no word of it), `slots` is the depth of its rings, `n` a scalar parameter.
    """

    body: str
    tensors: dict[str, tuple[list[int], str]]
    outs: dict[str, tuple[list[int], str]]
    mode: str | None = "UP_DOWN"
    slots: int | None = None
    n: int | None = None
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    before: str = ""
    scopes: int = 1

    @property
    def text(self) -> str:
        """The program."""
        options = [f"pl.split(pl.SplitMode.{self.mode})"] if self.mode else []
        options += [f"pl.cross_core_slot(slot_num={self.slots})"] if self.slots else []
        optimizations = f", optimizations=[{', '.join(options)}]" if options else ""
        parameters = [f"{k}: pl.Tensor[{s}, pl.{d}]" for k, (s, d) in self.tensors.items()]
        parameters += ["n: pl.Scalar[pl.INDEX]"] if self.n is not None else []
        parameters += [f"{k}: pl.{self.direction(k)}[pl.Tensor[{s}, pl.{d}]]" for k, (s, d) in self.outs.items()]
        kinds = [f"pl.Tensor[{s}, pl.{d}]" for s, d in self.outs.values()]
        returns = kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"
        lines = ["import pypto.language as pl", "", "@pl.program", "class Prog:", "    @pl.function"]
        lines += [f"    def main(self, {', '.join(parameters)}) -> {returns}:"]
        for _ in range(self.scopes):
            lines += [f"        with pl.at(level=pl.Level.CORE_GROUP{optimizations}):"]
            lines += [f"            {line}" for line in self.body.strip("\n").split("\n")]
        lines += [f"        return {', '.join(self.outs)}"]
        return "\n".join(lines) + "\n"

    def direction(self, name: str) -> str:
        """InOut for an output with a value, Out for the others."""
        return "InOut" if name in self.values else "Out"

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """Index-coded inputs, marker-filled outputs."""
        made: dict[str, Any] = {k: coded(*s, dtype=DTYPES[d]) for k, (s, d) in self.tensors.items()}
        made |= {k: np.full(s, MARK, DTYPES[d]) for k, (s, d) in self.outs.items()}
        return {**made, **({} if self.n is None else {"n": self.n}), **self.values}

    def parsed(self) -> ModuleOp:
        """The program as written."""
        return parse(self.text, filename="kernel.py")

    def compiled(self, target: str = "a5", **options: Any) -> CompiledKernel:
        """The three programs."""
        return compile_program(self.parsed(), target, **options)

    def check(self, target: str = "a5", seeds: tuple[int | None, ...] = (None, 1, 2)) -> RunResult:
        """Compiles, proves the protocol, runs under several schedules and compares with the oracle."""
        module = self.compiled(target).module
        module.verify()
        for verdict in check_protocol(module):
            assert not verdict.findings, verdict.findings[0]
            assert verdict.proof is not Proof.NOT_PROVEN, verdict
        wanted = run_reference(self.parsed(), self.inputs)
        result = RunResult()
        for seed in seeds:
            result = run_group(module, self.inputs, schedule=Schedule(seed))
            assert not result.findings, result.findings[0]
            for name, array in wanted.items():
                np.testing.assert_allclose(result.outputs[name], array, rtol=1e-3, atol=1e-3, err_msg=name)
        return result

    def refusal(self, target: str = "a5") -> Diagnostic:
        """The refusal of the compiler."""
        try:
            self.compiled(target)
        except Diagnostic as problem:
            return problem
        raise AssertionError("not refused")


def count(module: ModuleOp, name: str, function: str = "") -> int:
    """How many ops of a name the functions hold whose names end so."""
    found = [f for f in functions_of(module) if f.sym_name.data.endswith(function)]
    return sum(op.name == name for f in found for op in f.walk())
