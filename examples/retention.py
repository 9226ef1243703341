"""Retention (parallel form): out = rms_norm((q @ k^T * decay) @ v), a linear-attention layer without softmax.

q, k and v [64, 64] BF16, decay [64, 64] FP32 (gamma ** (row - column) below the diagonal, 0 above),
out [64, 64] FP32.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, D = 64, 64
SCALE, EPS = 0.125, 1e-5
RTOL, ATOL = 5e-3, 2e-3


@pl.program
class Retention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.BF16],
        k: pl.Tensor[[M, D], pl.BF16],
        v: pl.Tensor[[M, D], pl.BF16],
        decay: pl.Tensor[[M, M], pl.FP32],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            scores = pl.mul(pl.matmul(q, k, b_trans=True, out_dtype=pl.FP32), SCALE)
            faded = pl.cast(pl.mul(scores, decay), target_type=pl.BF16)
            mixed = pl.matmul(faded, v, out_dtype=pl.FP32)
            mean_square = pl.mul(pl.row_sum(pl.mul(mixed, mixed)), 1.0 / D)
            inv = pl.rsqrt(pl.add(mean_square, EPS))
            out = pl.assemble(out, pl.row_expand_mul(mixed, inv), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(31)
    lag = np.arange(M)[:, None] - np.arange(M)[None, :]
    return {
        "q": rng.standard_normal((M, D)).astype(ml_dtypes.bfloat16),
        "k": rng.standard_normal((M, D)).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((M, D)).astype(ml_dtypes.bfloat16),
        "decay": np.where(lag >= 0, 0.95 ** np.maximum(lag, 0), 0).astype(np.float32),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32) for name in ("q", "k", "v"))
    faded = (q @ k.T * np.float32(SCALE) * inputs["decay"]).astype(ml_dtypes.bfloat16).astype(np.float32)
    mixed = faded @ v
    return {"out": mixed / np.sqrt(np.mean(mixed**2, axis=1, keepdims=True) + np.float32(EPS))}
