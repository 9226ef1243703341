"""Top-2 gating of a mixture of experts: softmax scores, all but the two best set to zero, rest renormalised.

x [64, 128] BF16, w [128, 32] BF16 (one column per expert), out [64, 32] FP32.
No sorting: take the row maximum, cover it, take the maximum again. A number is turned into "is below" (1 or 0)
by scaling its positive distance until everything but zero saturates.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, EXPERTS = 64, 128, 32
HUGE = 1e30
RTOL, ATOL = 1e-3, 1e-5


@pl.program
class MoeTop2Gate:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, EXPERTS], pl.BF16],
        out: pl.Out[pl.Tensor[[M, EXPERTS], pl.FP32]],
    ) -> pl.Tensor[[M, EXPERTS], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            logits = pl.matmul(x, w, out_dtype=pl.FP32)
            best = pl.row_max(logits)
            below_best = pl.neg(pl.row_expand_sub(logits, best))
            scores = pl.exp(pl.neg(below_best))
            # the best score is exactly 1; without it the row maximum is the second best
            others = pl.mul(scores, pl.minimum(pl.mul(below_best, HUGE), 1.0))
            second = pl.row_max(others)
            below_second = pl.maximum(pl.neg(pl.row_expand_sub(scores, second)), 0.0)
            keep = pl.add(pl.neg(pl.minimum(pl.mul(below_second, HUGE), 1.0)), 1.0)
            kept = pl.mul(scores, keep)
            out = pl.assemble(out, pl.row_expand_div(kept, pl.row_sum(kept)), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(26)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, EXPERTS)) / 8).astype(ml_dtypes.bfloat16),
        "out": np.full((M, EXPERTS), -77, np.float32),
    }


def golden(inputs):
    logits = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32)
    order = np.argsort(logits, axis=1)[:, -2:]
    scores = np.exp(np.take_along_axis(logits, order, axis=1))
    out = np.zeros((M, EXPERTS), np.float32)
    np.put_along_axis(out, order, scores / scores.sum(axis=1, keepdims=True), axis=1)
    return {"out": out}
