"""Attention with ALiBi: head h adds slope_h * (key position - query position) to its scores.

q [4 * 32, 64] BF16, k and v [4 * 64, 64] BF16 (heads stacked by rows), distance [32, 64] FP32 (zero or negative),
out [4 * 32, 64] FP32. The slopes form a geometric series, so the loop over the heads carries the current slope.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

HEADS, M, S, D = 4, 32, 64, 64
SCALE = 0.125
FIRST_SLOPE, SLOPE_RATIO = 0.25, 0.25
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class AlibiAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[HEADS * M, D], pl.BF16],
        k: pl.Tensor[[HEADS * S, D], pl.BF16],
        v: pl.Tensor[[HEADS * S, D], pl.BF16],
        distance: pl.Tensor[[M, S], pl.FP32],
        out: pl.Out[pl.Tensor[[HEADS * M, D], pl.FP32]],
    ) -> pl.Tensor[[HEADS * M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            slope = pl.full([M, 1], dtype=pl.FP32, value=FIRST_SLOPE)
            for head in pl.range(HEADS):
                q_head = pl.slice(q, [M, D], [head * M, 0])
                k_head = pl.slice(k, [S, D], [head * S, 0])
                v_head = pl.slice(v, [S, D], [head * S, 0])
                scores = pl.mul(pl.matmul(q_head, k_head, b_trans=True, out_dtype=pl.FP32), SCALE)
                biased = pl.add(scores, pl.row_expand_mul(distance, slope))
                weights = pl.exp(pl.row_expand_sub(biased, pl.row_max(biased)))
                total = pl.row_sum(weights)
                mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v_head, out_dtype=pl.FP32)
                out = pl.assemble(out, pl.row_expand_div(mixed, total), [head * M, 0])
                slope = pl.mul(slope, SLOPE_RATIO)
        return out


def inputs():
    rng = np.random.default_rng(24)
    # the queries are the last M positions of the S keys
    distance = np.arange(S)[None, :] - np.arange(S - M, S)[:, None]
    return {
        "q": (rng.standard_normal((HEADS * M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((HEADS * S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((HEADS * S, D)).astype(ml_dtypes.bfloat16),
        "distance": np.minimum(distance, 0).astype(np.float32),
        "out": np.full((HEADS * M, D), -77, np.float32),
    }


def golden(inputs):
    q = inputs["q"].astype(np.float32).reshape(HEADS, M, D)
    k = inputs["k"].astype(np.float32).reshape(HEADS, S, D)
    v = inputs["v"].astype(np.float32).reshape(HEADS, S, D)
    slopes = np.float32(2.0) ** (-2 * np.arange(1, HEADS + 1, dtype=np.float32))
    scores = q @ k.transpose(0, 2, 1) * np.float32(SCALE) + slopes[:, None, None] * inputs["distance"]
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": (rounded @ v / weights.sum(axis=2, keepdims=True)).reshape(HEADS * M, D)}
