"""A lane without rows has nothing to reduce: no value, for the oracle as for the machine."""

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
    @pl.function(type=pl.FunctionType.InCore, attrs={"split": pl.SplitMode.UP_DOWN, "split_aiv": True})
    def kernel(self, x: pl.Tensor[[4, 8], pl.FP16], w: pl.Tensor[[8, 8], pl.FP16], n: pl.Scalar[pl.INDEX],
               y: pl.Out[pl.Tensor[[2, 8], pl.FP32]]) -> pl.Tensor[[2, 8], pl.FP32]:
        xm = pl.tile.load(x, [0, 0], [4, 8], [n, 8], target_memory=pl.Mem.Mat)
        wm = pl.tile.load(w, [0, 0], [8, 8], target_memory=pl.Mem.Mat)
        first = pl.tile.matmul(xm, wm)
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            y = pl.tile.store(pl.tile.OP(pl.aiv_shard(first)), [lane, 0], y)
        return y
"""
FOLDS = {"col_prod": np.prod, "col_sum": np.sum, "col_max": np.max}


def inputs(rows: int) -> dict[str, object]:
    i, j = np.indices((8, 8))
    w, x = ((i * 3 + j) % 5 - 2).astype(np.float16), ((i + j * 2) % 7 - 3)[:4].astype(np.float16)
    return {"x": x, "w": w, "n": rows, "y": np.full((2, 8), -77, np.float32)}


@pytest.mark.parametrize("op", FOLDS)
def test_every_lane_reduces_its_own_rows(op: str):
    program, given = language.parse(KERNEL.replace("OP", op)), inputs(4)
    product = given["x"].astype(np.float32) @ given["w"].astype(np.float32)
    wanted = np.stack([FOLDS[op](product[:2], axis=0), FOLDS[op](product[2:], axis=0)])
    assert np.array_equal(run_reference(program, given)["y"], wanted)
    assert np.array_equal(run_group(compile_program(program).module, given).outputs["y"], wanted)


@pytest.mark.parametrize("op", FOLDS)
def test_a_lane_without_rows_has_no_result(op: str):
    program = language.parse(KERNEL.replace("OP", op))
    with pytest.raises(Diagnostic) as caught:
        run_reference(program, inputs(0))
    assert caught.value.code == "poison"
    findings = run_group(compile_program(program).module, inputs(0)).findings
    assert {f.code for f in findings} == {"poison"}
