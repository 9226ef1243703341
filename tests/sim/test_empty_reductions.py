"""Rows that are none at run time have nothing to reduce: no value, for the oracle as for the machine."""

import numpy as np
import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic

KERNEL = """
import cubelane.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[4, 8], pl.FP32], n: pl.Scalar[pl.INDEX],
               y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]) -> pl.Tensor[[1, 8], pl.FP32]:
        rows = pl.tile.load(x, [0, 0], [4, 8], [n, 8])
        y = pl.tile.store(pl.tile.OP(rows), [0, 0], y)
        return y
"""
FOLDS = {"col_prod": np.prod, "col_sum": np.sum, "col_max": np.max}


def inputs(rows: int) -> dict[str, object]:
    i, j = np.indices((4, 8))
    return {"x": ((i + j * 2) % 7 - 3).astype(np.float32), "n": rows, "y": np.full((1, 8), -77, np.float32)}


@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize("op", FOLDS)
def test_the_rows_that_are_there_are_reduced(op: str, rows: int):
    program, given = language.parse(KERNEL.replace("OP", op)), inputs(rows)
    wanted = FOLDS[op](given["x"][:rows], axis=0, keepdims=True)
    assert np.array_equal(run_reference(program, given)["y"], wanted)
    assert np.array_equal(run_group(compile_program(program).module, given).outputs["y"], wanted)


@pytest.mark.parametrize("op", FOLDS)
def test_no_rows_have_no_result(op: str):
    program = language.parse(KERNEL.replace("OP", op))
    with pytest.raises(Diagnostic) as caught:
        run_reference(program, inputs(0))
    assert caught.value.code == "poison"
    findings = run_group(compile_program(program).module, inputs(0)).findings
    assert {f.code for f in findings} == {"poison"}


PRODUCT = """
import cubelane.language as pl

@pl.program
class Prog:
    @pl.function
    def main(self, a: pl.Tensor[[4, 4], pl.FP16], b: pl.Tensor[[4, 4], pl.FP16], n: pl.Scalar[pl.INDEX],
             y: pl.Out[pl.Tensor[[4, 4], pl.FP32]]) -> pl.Tensor[[4, 4], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            some = pl.slice(b, [4, 4], [0, 0], valid_shape=[n, 4])
            y = pl.assemble(y, pl.matmul(a, some, out_dtype=pl.FP32), [0, 0])
        return y
"""


def test_a_product_over_nothing_has_no_result():
    program = language.parse(PRODUCT)
    i, j = np.indices((4, 4))
    given = {"a": (i + j).astype(np.float16), "b": (i - j).astype(np.float16), "y": np.full((4, 4), -77, np.float32)}
    whole = run_reference(program, given | {"n": 4})["y"]
    assert np.array_equal(whole, (given["a"].astype(np.float32) @ given["b"].astype(np.float32)))
    with pytest.raises(Diagnostic) as caught:
        run_reference(program, given | {"n": 0})
    assert caught.value.code == "poison"
    findings = run_group(compile_program(program).module, given | {"n": 0}).findings
    assert {f.code for f in findings} == {"poison"}
