"""Quantised matmul: int8 operands, exact int32 sums, one scale per row of a and one per column of w.

a [64, 128] INT8, w [128, 64] INT8, row_scale [64, 1] FP32, col_scale and bias [1, 64] FP32, out [64, 64] BF16.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
RTOL, ATOL = 1e-2, 1e-3


@pl.program
class Int8Matmul:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.INT8],
        w: pl.Tensor[[K, N], pl.INT8],
        row_scale: pl.Tensor[[M, 1], pl.FP32],
        col_scale: pl.Tensor[[1, N], pl.FP32],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.BF16]],
    ) -> pl.Tensor[[M, N], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            sums = pl.cast(pl.matmul(a, w, out_dtype=pl.INT32), target_type=pl.FP32)
            scaled = pl.col_expand_mul(pl.row_expand_mul(sums, row_scale), col_scale)
            out = pl.assemble(out, pl.cast(pl.add(scaled, bias), target_type=pl.BF16), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(14)
    return {
        "a": rng.integers(-127, 128, (M, K), dtype=np.int8),
        "w": rng.integers(-127, 128, (K, N), dtype=np.int8),
        "row_scale": np.geomspace(1e-3, 1e-2, M, dtype=np.float32)[:, None],
        "col_scale": np.geomspace(2e-2, 5e-3, N, dtype=np.float32)[None, :],
        "bias": np.linspace(-1.0, 1.0, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, ml_dtypes.bfloat16),
    }


def golden(inputs):
    sums = inputs["a"].astype(np.int32) @ inputs["w"].astype(np.int32)
    scaled = sums.astype(np.float32) * inputs["row_scale"] * inputs["col_scale"] + inputs["bias"]
    return {"out": scaled.astype(ml_dtypes.bfloat16)}
