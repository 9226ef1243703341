"""First stage of flash decoding: every split of the keys gives its own output and its logsumexp for a later merge.

q [32, 64] BF16, k and v [4 * 64, 64] BF16, partial [4 * 32, 64] FP32, lse [4 * 32, 1] FP32.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

SPLITS, M, BLOCK, D = 4, 32, 64, 64
S = SPLITS * BLOCK
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class FlashDecodingPartials:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.BF16],
        k: pl.Tensor[[S, D], pl.BF16],
        v: pl.Tensor[[S, D], pl.BF16],
        partial: pl.Out[pl.Tensor[[SPLITS * M, D], pl.FP32]],
        lse: pl.Out[pl.Tensor[[SPLITS * M, 1], pl.FP32]],
    ) -> tuple[pl.Tensor[[SPLITS * M, D], pl.FP32], pl.Tensor[[SPLITS * M, 1], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for part in pl.range(SPLITS):
                k_part = pl.slice(k, [BLOCK, D], [part * BLOCK, 0])
                v_part = pl.slice(v, [BLOCK, D], [part * BLOCK, 0])
                scores = pl.mul(pl.matmul(q, k_part, b_trans=True, out_dtype=pl.FP32), SCALE)
                top = pl.row_max(scores)
                weights = pl.exp(pl.row_expand_sub(scores, top))
                total = pl.row_sum(weights)
                mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v_part, out_dtype=pl.FP32)
                partial = pl.assemble(partial, pl.row_expand_div(mixed, total), [part * M, 0])
                lse = pl.assemble(lse, pl.add(pl.log(total), top), [part * M, 0])
        return partial, lse


def inputs():
    rng = np.random.default_rng(38)
    return {
        "q": (rng.standard_normal((M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "partial": np.full((SPLITS * M, D), -77, np.float32),
        "lse": np.full((SPLITS * M, 1), -77, np.float32),
    }


def golden(inputs):
    q = inputs["q"].astype(np.float32)
    k = inputs["k"].astype(np.float32).reshape(SPLITS, BLOCK, D)
    v = inputs["v"].astype(np.float32).reshape(SPLITS, BLOCK, D)
    scores = q @ k.transpose(0, 2, 1) * np.float32(SCALE)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    partial = rounded @ v / weights.sum(axis=2, keepdims=True)
    lse = np.logaddexp.reduce(scores, axis=2)
    return {"partial": partial.reshape(SPLITS * M, D), "lse": lse.reshape(SPLITS * M, 1)}
