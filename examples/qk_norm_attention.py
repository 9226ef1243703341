"""Attention with query/key normalisation: both are RMS-normalised per row before the scores are taken.

q and k [32, 64] and [64, 64] FP32, q_gain and k_gain [1, 64] FP32, v [64, 64] BF16, out [32, 64] FP32.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, S, D = 32, 64, 64
SCALE, EPS = 0.125, 1e-6
RTOL, ATOL = 5e-3, 2e-3


@pl.program
class QkNormAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.FP32],
        k: pl.Tensor[[S, D], pl.FP32],
        q_gain: pl.Tensor[[1, D], pl.FP32],
        k_gain: pl.Tensor[[1, D], pl.FP32],
        v: pl.Tensor[[S, D], pl.BF16],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            q_inv = pl.rsqrt(pl.add(pl.mul(pl.row_sum(pl.mul(q, q)), 1.0 / D), EPS))
            k_inv = pl.rsqrt(pl.add(pl.mul(pl.row_sum(pl.mul(k, k)), 1.0 / D), EPS))
            q_norm = pl.col_expand_mul(pl.row_expand_mul(q, q_inv), q_gain)
            k_norm = pl.col_expand_mul(pl.row_expand_mul(k, k_inv), k_gain)
            q16 = pl.cast(q_norm, target_type=pl.BF16)
            k16 = pl.cast(k_norm, target_type=pl.BF16)
            scores = pl.mul(pl.matmul(q16, k16, b_trans=True, out_dtype=pl.FP32), SCALE)
            weights = pl.exp(pl.row_expand_sub(scores, pl.row_max(scores)))
            total = pl.row_sum(weights)
            mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.row_expand_div(mixed, total), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(35)
    return {
        "q": (rng.standard_normal((M, D)) * np.geomspace(0.1, 10, M)[:, None]).astype(np.float32),
        "k": (rng.standard_normal((S, D)) * np.geomspace(10, 0.1, S)[:, None]).astype(np.float32),
        "q_gain": np.linspace(0.5, 2.0, D, dtype=np.float32)[None, :],
        "k_gain": np.linspace(2.0, 0.5, D, dtype=np.float32)[None, :],
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    def bf16(x):
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)

    def norm(x, gain):
        return bf16(x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(EPS)) * gain)

    q, k = norm(inputs["q"], inputs["q_gain"]), norm(inputs["k"], inputs["k_gain"])
    scores = q @ k.T * np.float32(SCALE)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": bf16(weights) @ inputs["v"].astype(np.float32) / weights.sum(axis=1, keepdims=True)}
