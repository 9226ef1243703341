"""RMSNorm followed by a projection: out = rmsnorm(x) * gamma @ w.

x [64, 128] FP32, gamma [1, 128] FP32, w [128, 64] BF16, out [64, 64] FP32.
The vector lanes normalise and hand the rounded result to the cube core. The norm is a column of one number
per row; its arithmetic is done on the column laid out as a row: column -> row -> column.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
EPS = 1e-5
RTOL, ATOL = 5e-3, 2e-3


@pl.program
class RmsNormProjection:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP32],
        gamma: pl.Tensor[[1, K], pl.FP32],
        w: pl.Tensor[[K, N], pl.BF16],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            energy = pl.row_sum(pl.mul(x, x))
            energy_row = pl.reshape(energy, [1, M])
            inv_row = pl.rsqrt(pl.add(pl.mul(energy_row, 1.0 / K), EPS))
            inv = pl.reshape(inv_row, [M, 1])
            normed = pl.col_expand_mul(pl.row_expand_mul(x, inv), gamma)
            proj = pl.matmul(pl.cast(normed, target_type=pl.BF16), w, out_dtype=pl.FP32)
            out = pl.assemble(out, proj, [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(3)
    # every row has its own magnitude, so a norm that lands in the wrong row is visible
    scale = np.linspace(0.25, 4.0, M)[:, None]
    return {
        "x": (rng.standard_normal((M, K)) * scale).astype(np.float32),
        "gamma": np.linspace(0.5, 1.5, K, dtype=np.float32)[None, :],
        "w": (rng.standard_normal((K, N)) / 8).astype(ml_dtypes.bfloat16),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    x = inputs["x"]
    normed = x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(EPS)) * inputs["gamma"]
    return {"out": normed.astype(ml_dtypes.bfloat16).astype(np.float32) @ inputs["w"].astype(np.float32)}
