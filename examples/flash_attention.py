"""Flash attention over 16 key blocks: out = softmax(q @ k^T / sqrt(D)) @ v without the full score matrix.

q [64, 64] BF16, k and v [1024, 64] BF16, out [64, 64] FP32.
The loop carries the running row maximum, the running row sum and the unnormalised output. Every step does two
matmuls on the cube core with a rescaled softmax between them on the vector lanes.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, D = 64, 64
BLOCK, BLOCKS = 64, 16
S = BLOCK * BLOCKS
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class FlashAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.BF16],
        k: pl.Tensor[[S, D], pl.BF16],
        v: pl.Tensor[[S, D], pl.BF16],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            top = pl.full([M, 1], dtype=pl.FP32, value=-1e30)
            total = pl.full([M, 1], dtype=pl.FP32, value=0.0)
            acc = pl.full([M, D], dtype=pl.FP32, value=0.0)
            for block in pl.range(BLOCKS):
                k_block = pl.slice(k, [BLOCK, D], [block * BLOCK, 0])
                v_block = pl.slice(v, [BLOCK, D], [block * BLOCK, 0])
                scores = pl.mul(pl.matmul(q, k_block, b_trans=True, out_dtype=pl.FP32), SCALE)
                top_next = pl.maximum(top, pl.row_max(scores))
                p = pl.exp(pl.row_expand_sub(scores, top_next))
                shrink = pl.exp(pl.sub(top, top_next))
                total = pl.add(pl.mul(total, shrink), pl.row_sum(p))
                pv = pl.matmul(pl.cast(p, target_type=pl.BF16), v_block, out_dtype=pl.FP32)
                acc = pl.add(pl.row_expand_mul(acc, shrink), pv)
                top = top_next
            out = pl.assemble(out, pl.row_expand_div(acc, total), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(5)
    # keys grow along the sequence, so the running maximum keeps moving
    growth = np.linspace(0.5, 2.0, S)[:, None]
    return {
        "q": (rng.standard_normal((M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((S, D)) * growth).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32) for name in ("q", "k", "v"))
    top = np.full((M, 1), -np.inf, np.float32)
    total = np.zeros((M, 1), np.float32)
    result = np.zeros((M, D), np.float32)
    for start in range(0, S, BLOCK):
        scores = q @ k[start : start + BLOCK].T * np.float32(SCALE)
        new_top = np.maximum(top, scores.max(axis=1, keepdims=True))
        weights, fade = np.exp(scores - new_top), np.exp(top - new_top)
        total = total * fade + weights.sum(axis=1, keepdims=True)
        rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
        result = result * fade + rounded @ v[start : start + BLOCK]
        top = new_top
    return {"out": result / total}
