"""Grouped-query attention: four query heads share two key/value heads, one head per loop step.

q [4 * 32, 64] BF16, k and v [2 * 64, 64] BF16 (heads stacked by rows), out [4 * 32, 64] FP32.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

HEADS, KV_HEADS = 4, 2
GROUP = HEADS // KV_HEADS
M, S, D = 32, 64, 64
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class GroupedQueryAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[HEADS * M, D], pl.BF16],
        k: pl.Tensor[[KV_HEADS * S, D], pl.BF16],
        v: pl.Tensor[[KV_HEADS * S, D], pl.BF16],
        out: pl.Out[pl.Tensor[[HEADS * M, D], pl.FP32]],
    ) -> pl.Tensor[[HEADS * M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for head in pl.range(HEADS):
                shared = (head // GROUP) * S
                q_head = pl.slice(q, [M, D], [head * M, 0])
                k_head = pl.slice(k, [S, D], [shared, 0])
                v_head = pl.slice(v, [S, D], [shared, 0])
                scores = pl.mul(pl.matmul(q_head, k_head, b_trans=True, out_dtype=pl.FP32), SCALE)
                weights = pl.exp(pl.row_expand_sub(scores, pl.row_max(scores)))
                total = pl.row_sum(weights)
                mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v_head, out_dtype=pl.FP32)
                out = pl.assemble(out, pl.row_expand_div(mixed, total), [head * M, 0])
        return out


def inputs():
    rng = np.random.default_rng(9)
    return {
        "q": (rng.standard_normal((HEADS * M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((KV_HEADS * S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((KV_HEADS * S, D)).astype(ml_dtypes.bfloat16),
        "out": np.full((HEADS * M, D), -77, np.float32),
    }


def golden(inputs):
    q = inputs["q"].astype(np.float32).reshape(HEADS, M, D)
    k = np.repeat(inputs["k"].astype(np.float32).reshape(KV_HEADS, S, D), GROUP, axis=0)
    v = np.repeat(inputs["v"].astype(np.float32).reshape(KV_HEADS, S, D), GROUP, axis=0)
    scores = q @ k.transpose(0, 2, 1) * np.float32(SCALE)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": (rounded @ v / weights.sum(axis=2, keepdims=True)).reshape(HEADS * M, D)}
