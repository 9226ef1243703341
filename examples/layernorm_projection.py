"""LayerNorm followed by a linear layer: out = (layernorm(x) * gamma + beta) @ w + bias.

x [64, 64] FP32, gamma and beta [1, 64] FP32, w [64, 64] BF16, bias [1, 64] FP32, out [64, 64] FP32.
Mean and variance are taken in two passes over the row, as the textbook has it.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 64, 64
EPS = 1e-5
RTOL, ATOL = 5e-3, 3e-3


@pl.program
class LayerNormProjection:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP32],
        gamma: pl.Tensor[[1, K], pl.FP32],
        beta: pl.Tensor[[1, K], pl.FP32],
        w: pl.Tensor[[K, N], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            mean = pl.mul(pl.row_sum(x), 1.0 / K)
            centred = pl.row_expand_sub(x, mean)
            variance = pl.mul(pl.row_sum(pl.mul(centred, centred)), 1.0 / K)
            inv = pl.rsqrt(pl.add(variance, EPS))
            normed = pl.add(pl.col_expand_mul(pl.row_expand_mul(centred, inv), gamma), beta)
            proj = pl.matmul(pl.cast(normed, target_type=pl.BF16), w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.add(proj, bias), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(10)
    # every row has its own mean and spread
    spread, centre = np.linspace(0.5, 3.0, M)[:, None], np.linspace(-4.0, 4.0, M)[:, None]
    return {
        "x": (rng.standard_normal((M, K)) * spread + centre).astype(np.float32),
        "gamma": np.linspace(0.5, 1.5, K, dtype=np.float32)[None, :],
        "beta": np.linspace(-0.5, 0.5, K, dtype=np.float32)[None, :],
        "w": (rng.standard_normal((K, N)) / 8).astype(ml_dtypes.bfloat16),
        "bias": np.linspace(1.0, -1.0, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    x = inputs["x"]
    normed = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + np.float32(EPS))
    normed = (normed * inputs["gamma"] + inputs["beta"]).astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": normed @ inputs["w"].astype(np.float32) + inputs["bias"]}
