"""Attention with soft-capped scores: cap * tanh(score / cap) keeps every score within +-CAP before the softmax.

q [64, 64] BF16, k and v [64, 64] BF16, mask [64, 64] FP32 (0 keeps, -30000 hides), out [64, 64] FP32.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, S, D = 64, 64, 64
SCALE, CAP = 0.125, 5.0
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class SoftcapAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.BF16],
        k: pl.Tensor[[S, D], pl.BF16],
        v: pl.Tensor[[S, D], pl.BF16],
        mask: pl.Tensor[[M, S], pl.FP32],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            scores = pl.matmul(q, k, b_trans=True, out_dtype=pl.FP32)
            # tanh(u) = 1 - 2 / (exp(2 * u) + 1)
            grown = pl.add(pl.exp(pl.mul(scores, 2.0 * SCALE / CAP)), 1.0)
            capped = pl.add(pl.mul(pl.recip(grown), -2.0 * CAP), CAP)
            masked = pl.add(capped, mask)
            weights = pl.exp(pl.row_expand_sub(masked, pl.row_max(masked)))
            total = pl.row_sum(weights)
            mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.row_expand_div(mixed, total), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(29)
    row, col = np.indices((M, S))
    return {
        "q": (rng.standard_normal((M, D)) * 2).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((S, D)) * 2).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "mask": np.where(col <= row, 0, -30000).astype(np.float32),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32) for name in ("q", "k", "v"))
    scores = CAP * np.tanh(q @ k.T * np.float32(SCALE / CAP)) + inputs["mask"]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": rounded @ v / weights.sum(axis=1, keepdims=True)}
