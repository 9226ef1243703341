"""Online logsumexp over a large vocabulary: lse = logsumexp(h @ w^T) with one pass over blocks of w.

h [64, 64] FP16, w [512, 64] FP16 (one row per word), lse [64, 1] FP32.
The loop carries two columns, the running maximum and the running sum.
"""

import numpy as np

import cubelane.language as pl

M, K = 64, 64
BLOCK, BLOCKS = 64, 8
VOCAB = BLOCK * BLOCKS
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class OnlineLogSumExp:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        h: pl.Tensor[[M, K], pl.FP16],
        w: pl.Tensor[[VOCAB, K], pl.FP16],
        lse: pl.Out[pl.Tensor[[M, 1], pl.FP32]],
    ) -> pl.Tensor[[M, 1], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            top = pl.full([M, 1], dtype=pl.FP32, value=-1e30)
            total = pl.full([M, 1], dtype=pl.FP32, value=0.0)
            for block in pl.range(BLOCKS):
                words = pl.slice(w, [BLOCK, K], [block * BLOCK, 0])
                logits = pl.matmul(h, words, b_trans=True, out_dtype=pl.FP32)
                top_next = pl.maximum(top, pl.row_max(logits))
                share = pl.row_sum(pl.exp(pl.row_expand_sub(logits, top_next)))
                total = pl.add(pl.mul(total, pl.exp(pl.sub(top, top_next))), share)
                top = top_next
            lse = pl.assemble(lse, pl.add(pl.log(total), top), [0, 0])
        return lse


def inputs():
    rng = np.random.default_rng(22)
    growth = np.linspace(0.5, 1.5, VOCAB)[:, None]
    return {
        "h": rng.standard_normal((M, K)).astype(np.float16),
        "w": (rng.standard_normal((VOCAB, K)) / 4 * growth).astype(np.float16),
        "lse": np.full((M, 1), -77, np.float32),
    }


def golden(inputs):
    logits = inputs["h"].astype(np.float32) @ inputs["w"].astype(np.float32).T
    return {"lse": np.logaddexp.reduce(logits, axis=1, keepdims=True)}
