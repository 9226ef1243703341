"""What users of mixed kernels reported about operators: order of sums, overflows, no text."""

import re

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.emit.pto_program import pto_modules
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from tests.pto_text.texts import run_text

SUMS = """
import pypto.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 1], pl.FP32]]):
        t = pl.create_tile([16, 64], dtype=pl.FP32)
        out = pl.store(pl.row_sum(pl.load(x, [0, 0], [16, 64]), t), [0, 0], out)
        return out
"""


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_a_sum_whose_order_matters_is_as_near_as_fp32_allows_wherever_it_runs(target: str) -> None:
    numbers = np.random.default_rng(11)
    x = (numbers.standard_normal((16, 64)) * 10.0 ** numbers.integers(-3, 8, (16, 64))).astype(np.float32)
    x[0, :4] = [1e8, 1, -1e8, 1]
    x[0, 4:] = 0
    exact = np.array([[sum(map(float, row))] for row in x])
    bound = 64 * np.finfo(np.float32).eps * np.abs(x.astype(np.float64)).sum(axis=1, keepdims=True)
    program = parse(SUMS)
    given = {"x": x, "out": np.full((16, 1), -77, np.float32)}
    compiled = compile_program(program, target)
    results = [run_group(compiled.module, given), run_text(compiled, given)]
    for outputs in (run_reference(program, given), *(result.outputs for result in results)):
        assert np.all(np.abs(outputs["out"] - exact) <= bound)
    np.testing.assert_array_equal(results[0].outputs["out"], results[1].outputs["out"])


CHAIN = """
import pypto.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[512, 128], pl.FP32], out: pl.Out[pl.Tensor[[128, 512], pl.FP32]]):
        scaled = pl.mul(pl.load(x, [0, 0], [512, ROWS]), 2.0)
        turned = pl.transpose(pl.reshape(scaled, [512, ROWS]), 0, 1)
        out = pl.store(pl.exp(turned), [0, 0], out)
        return out
"""


def test_a_chain_that_overflows_names_the_largest_tile_and_a_height_that_fits() -> None:
    with pytest.raises(Diagnostic, match=r"Vec of AIV overflows in `k\w*`: [\d,]+ of 188,416 bytes") as refused:
        compile_program(parse(CHAIN.replace("ROWS", "128")), "a2a3")
    problem = refused.value
    assert problem.location.line > 0
    assert any("the largest tile is `" in note for note in problem.notes)
    advice = re.fullmatch(r"tiles of (\d+) rows instead of 128", problem.instead or "")
    assert advice is not None, "the rows of the turned tile"
    compile_program(parse(CHAIN.replace("ROWS", advice[1])), "a2a3")


def test_an_operator_without_an_instruction_runs_and_has_no_text() -> None:
    text = """
import pypto.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, out: pl.Out[pl.Tensor[[16, 32], pl.UINT32]]):
        words = pl.tile.random(1, 2, 3, 4, 5, 6, [16, 32], dtype=pl.UINT32)
        out = pl.store(words, [0, 0], out)
        return out
"""
    program = parse(text)
    compiled = compile_program(program, "a2a3")
    given = {"out": np.zeros((16, 32), np.uint32)}
    np.testing.assert_array_equal(
        run_group(compiled.module, given).outputs["out"], run_reference(program, given)["out"]
    )
    with pytest.raises(Diagnostic, match="`random` has no form in PTO IR") as refused:
        pto_modules(compiled.module)
    assert refused.value.location.line == 7 and "load it here" in (refused.value.instead or "")
