"""A step that is known at run time only counts up: anything else is an error at the loop, in every executor."""

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group
from cubelane.check.reference import run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse

TEXT = """
import cubelane.language as pl

@pl.program
class P:
    @pl.function
    def main(self, x: pl.Tensor[[32, 32], pl.FP16], n: pl.Scalar[pl.INDEX],
             out: pl.Out[pl.Tensor[[32, 32], pl.FP32]]) -> pl.Tensor[[32, 32], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            v = pl.matmul(x, x, out_dtype=pl.FP32)
            for k in pl.range(4, 0, n):
                v = pl.add(v, 1.0)
            out = pl.assemble(out, v, [0, 0])
        return out
"""
LOOP_LINE = 11


def given(step: int) -> dict[str, object]:
    return {"x": np.eye(32, dtype=np.float16), "n": step}


@pytest.mark.parametrize("step", [-1, 0])
def test_the_oracle_refuses_a_step_that_does_not_count_up(step: int) -> None:
    with pytest.raises(Diagnostic, match=f"the step of this loop is {step}") as refused:
        run_reference(parse(TEXT), given(step))
    assert refused.value.location.line == LOOP_LINE


@pytest.mark.parametrize("step", [-1, 0])
def test_the_simulator_finds_a_step_that_does_not_count_up(step: int) -> None:
    (found, *_) = run_group(compile_program(parse(TEXT), "a5").module, given(step)).findings
    assert f"the step of this loop is {step}" in str(found) and found.location.line == LOOP_LINE


def test_a_step_that_counts_up_runs() -> None:
    text = TEXT.replace("pl.range(4, 0, n)", "pl.range(0, 4, n)")
    run = run_group(compile_program(parse(text), "a5").module, given(3))
    assert not run.findings
    np.testing.assert_array_equal(run.outputs["out"], np.eye(32) + 2)
