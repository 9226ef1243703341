"""Causal flash attention: query block i attends to the key blocks before it and to the lower triangle of its own.

q, k and v [192, 64] BF16, triangle [32, 32] FP32 (0 on and below the diagonal, -30000 above), out [192, 64] FP32.
The inner loop runs over the i earlier blocks (none for the first query block) and carries the running maximum,
sum and output; the diagonal block, the only one that needs the mask, follows the loop.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

BLOCK, BLOCKS, D = 32, 6, 64
S = BLOCK * BLOCKS
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class CausalAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[S, D], pl.BF16],
        k: pl.Tensor[[S, D], pl.BF16],
        v: pl.Tensor[[S, D], pl.BF16],
        triangle: pl.Tensor[[BLOCK, BLOCK], pl.FP32],
        out: pl.Out[pl.Tensor[[S, D], pl.FP32]],
    ) -> pl.Tensor[[S, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for i in pl.range(BLOCKS):
                q_block = pl.slice(q, [BLOCK, D], [i * BLOCK, 0])
                top = pl.full([BLOCK, 1], dtype=pl.FP32, value=-1e30)
                total = pl.full([BLOCK, 1], dtype=pl.FP32, value=0.0)
                acc = pl.full([BLOCK, D], dtype=pl.FP32, value=0.0)
                for j in pl.range(i):
                    k_block = pl.slice(k, [BLOCK, D], [j * BLOCK, 0])
                    v_block = pl.slice(v, [BLOCK, D], [j * BLOCK, 0])
                    scores = pl.mul(pl.matmul(q_block, k_block, b_trans=True, out_dtype=pl.FP32), SCALE)
                    top_next = pl.maximum(top, pl.row_max(scores))
                    p = pl.exp(pl.row_expand_sub(scores, top_next))
                    shrink = pl.exp(pl.sub(top, top_next))
                    total = pl.add(pl.mul(total, shrink), pl.row_sum(p))
                    pv = pl.matmul(pl.cast(p, target_type=pl.BF16), v_block, out_dtype=pl.FP32)
                    acc = pl.add(pl.row_expand_mul(acc, shrink), pv)
                    top = top_next
                k_own = pl.slice(k, [BLOCK, D], [i * BLOCK, 0])
                v_own = pl.slice(v, [BLOCK, D], [i * BLOCK, 0])
                own = pl.mul(pl.matmul(q_block, k_own, b_trans=True, out_dtype=pl.FP32), SCALE)
                own_masked = pl.add(own, triangle)
                top_own = pl.maximum(top, pl.row_max(own_masked))
                p_own = pl.exp(pl.row_expand_sub(own_masked, top_own))
                shrink_own = pl.exp(pl.sub(top, top_own))
                total_own = pl.add(pl.mul(total, shrink_own), pl.row_sum(p_own))
                pv_own = pl.matmul(pl.cast(p_own, target_type=pl.BF16), v_own, out_dtype=pl.FP32)
                acc_own = pl.add(pl.row_expand_mul(acc, shrink_own), pv_own)
                out = pl.assemble(out, pl.row_expand_div(acc_own, total_own), [i * BLOCK, 0])
        return out


def inputs():
    rng = np.random.default_rng(8)
    row, col = np.indices((BLOCK, BLOCK))
    return {
        "q": (rng.standard_normal((S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "triangle": np.where(col <= row, 0, -30000).astype(np.float32),
        "out": np.full((S, D), -77, np.float32),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32) for name in ("q", "k", "v"))
    row, col = np.indices((S, S))
    scores = np.where(col <= row, q @ k.T * np.float32(SCALE), -np.inf)
    # the kernel rounds the weights against the maximum of the blocks seen so far
    block_top = scores.reshape(S, BLOCKS, BLOCK).max(axis=2)
    seen_top = np.repeat(np.maximum.accumulate(block_top, axis=1), BLOCK, axis=1)
    final_top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - seen_top)
    fade = np.exp(seen_top - final_top)
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": (rounded * fade) @ v / np.exp(scores - final_top).sum(axis=1, keepdims=True)}
