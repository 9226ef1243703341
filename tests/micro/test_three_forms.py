"""One kernel, three forms: matmul and bias as a whole-function split, as a region, and by hand; the same numbers."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_program

from .mutations import example

M, K, N = 32, 64, 64
HEAD = f"""
import cubelane.language as pl

@pl.program
class Linear:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(self, x: pl.Tensor[[{M}, {K}], pl.BF16], w: pl.Tensor[[{K}, {N}], pl.BF16],
             bias: pl.Tensor[[1, {N}], pl.FP32], out: pl.Out[pl.Tensor[[{M}, {N}], pl.FP32]]
             ) -> pl.Tensor[[{M}, {N}], pl.FP32]:
"""
WHOLE = """        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.add(pl.matmul(x, w, out_dtype=pl.FP32), bias)
            out = pl.assemble(out, y, [0, 0])
        return out
"""
REGION = """        with pl.at(level=pl.Level.CORE_GROUP):
            y = pl.matmul(x, w, out_dtype=pl.FP32)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                out = pl.assemble(out, pl.add(pl.aiv_shard(y), bias), [lane * 16, 0])
        return out
"""


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {
        "x": rng.integers(-4, 5, (M, K)).astype(ml_dtypes.bfloat16),
        "w": rng.integers(-4, 5, (K, N)).astype(ml_dtypes.bfloat16),
        "bias": rng.integers(-9, 9, (1, N)).astype(np.float32),
        "out": np.full((M, N), np.nan, np.float32),
    }


def by_hand() -> np.ndarray:
    given = arrays()
    kernel = example("gemm_bias").gemm_bias.compile(M=M, N=N, K=K, BM=16, BN=64, BK=32)
    kernel(given["x"], np.ascontiguousarray(given["w"].T), given["bias"], given["out"])
    return given["out"]


@pytest.mark.parametrize("body", [WHOLE, REGION], ids=["whole function", "region"])
def test_the_same_numbers(body: str, tmp_path: Path):
    file = tmp_path / "linear.py"
    file.write_text(HEAD + body)
    result = compile_program(read_program(str(file)), "a5").run(arrays())
    assert result.ok
    given = arrays()
    want = given["x"].astype(np.float32) @ given["w"].astype(np.float32) + given["bias"]
    np.testing.assert_array_equal(result.outputs["out"], want)
    np.testing.assert_array_equal(by_hand(), want)
