"""Accumulators that change places in a loop: no instruction copies one, so it is refused, with a rewrite that works."""

import re

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import draw_inputs, run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse

KERNEL = """
import pypto.language as pl
@pl.program
class P:
    @pl.function
    def k(self, a: pl.Tensor[[32, 32], pl.FP16], w: pl.Tensor[[32, 64], pl.FP16], b: pl.Tensor[[32, 64], pl.FP32],
          out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.matmul(a, w, out_dtype=pl.FP32)
            z = pl.matmul(a, w, out_dtype=pl.FP32)
            for i, (p, q) in pl.range(3, init_values=(y, z)):
                n = pl.matmul_acc(p, a, w)
                p2, q2 = pl.yield_(q, n)
            out[:, :] = pl.add(pl.sub(p2, q2), b)
        return out
"""


def test_accumulators_that_change_places_are_refused_with_a_rewrite_that_compiles() -> None:
    with pytest.raises(Diagnostic, match="`q` would change its accumulator") as refused:
        compile_program(parse(KERNEL), "a2a3")
    problem = refused.value
    assert KERNEL.splitlines()[problem.location.line - 1].strip().startswith("for i, (p, q)")
    assert problem.instead is not None and "pl.add(acc, pl.matmul(...)) for pl.matmul_acc(acc, ...)" in problem.instead
    program = parse(re.sub(r"pl\.matmul_acc\((\w+), (.*)\)", r"pl.add(\1, pl.matmul(\2, out_dtype=pl.FP32))", KERNEL))
    given = draw_inputs(program)
    result = run_group(compile_program(program, "a2a3").module, given)
    assert not result.findings, result.findings[0]
    np.testing.assert_allclose(result.outputs["out"], run_reference(program, given)["out"], rtol=1e-4, atol=1e-3)
