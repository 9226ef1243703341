"""Sliding-window attention: every query sees the WINDOW keys up to and including its own position.

q [192, 64] BF16, k and v [32 + 192, 64] BF16 (the first 32 rows are the positions before the queries),
older and own [32, 32] FP32 masks, out [192, 64] FP32. With blocks as long as the window a query block meets two key
blocks, each half hidden by a triangle; the two products with v are summed on the cube core.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

WINDOW, BLOCKS, D = 32, 6, 64
M, S = WINDOW * BLOCKS, WINDOW * (BLOCKS + 1)
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class SlidingWindowAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.BF16],
        k: pl.Tensor[[S, D], pl.BF16],
        v: pl.Tensor[[S, D], pl.BF16],
        older: pl.Tensor[[WINDOW, WINDOW], pl.FP32],
        own: pl.Tensor[[WINDOW, WINDOW], pl.FP32],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for i in pl.range(BLOCKS):
                q_block = pl.slice(q, [WINDOW, D], [i * WINDOW, 0])
                k_old = pl.slice(k, [WINDOW, D], [i * WINDOW, 0])
                k_own = pl.slice(k, [WINDOW, D], [(i + 1) * WINDOW, 0])
                v_old = pl.slice(v, [WINDOW, D], [i * WINDOW, 0])
                v_own = pl.slice(v, [WINDOW, D], [(i + 1) * WINDOW, 0])
                s_old = pl.mul(pl.matmul(q_block, k_old, b_trans=True, out_dtype=pl.FP32), SCALE)
                s_own = pl.mul(pl.matmul(q_block, k_own, b_trans=True, out_dtype=pl.FP32), SCALE)
                s_old = pl.add(s_old, older)
                s_own = pl.add(s_own, own)
                top = pl.maximum(pl.row_max(s_old), pl.row_max(s_own))
                p_old = pl.exp(pl.row_expand_sub(s_old, top))
                p_own = pl.exp(pl.row_expand_sub(s_own, top))
                total = pl.add(pl.row_sum(p_old), pl.row_sum(p_own))
                mixed = pl.matmul(pl.cast(p_old, target_type=pl.BF16), v_old, out_dtype=pl.FP32)
                mixed = pl.matmul_acc(mixed, pl.cast(p_own, target_type=pl.BF16), v_own)
                out = pl.assemble(out, pl.row_expand_div(mixed, total), [i * WINDOW, 0])
        return out


def inputs():
    rng = np.random.default_rng(30)
    row, col = np.indices((WINDOW, WINDOW))
    return {
        "q": (rng.standard_normal((M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "older": np.where(col > row, 0, -30000).astype(np.float32),
        "own": np.where(col <= row, 0, -30000).astype(np.float32),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32) for name in ("q", "k", "v"))
    position, key = WINDOW + np.arange(M)[:, None], np.arange(S)[None, :]
    visible = (key <= position) & (key > position - WINDOW)
    scores = np.where(visible, q @ k.T * np.float32(SCALE), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": rounded @ v / weights.sum(axis=1, keepdims=True)}
