"""Multi-head attention over a packed projection: the heads lie side by side in the columns of q, k and v.

q, k and v [64, 4 * 32] BF16, out [64, 4 * 32] BF16. One head per loop step.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

HEADS, M, D = 4, 64, 32
SCALE = 0.1767766952966369
RTOL, ATOL = 1e-2, 2e-3


@pl.program
class MultiHeadAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, HEADS * D], pl.BF16],
        k: pl.Tensor[[M, HEADS * D], pl.BF16],
        v: pl.Tensor[[M, HEADS * D], pl.BF16],
        out: pl.Out[pl.Tensor[[M, HEADS * D], pl.BF16]],
    ) -> pl.Tensor[[M, HEADS * D], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for head in pl.range(HEADS):
                q_head = pl.slice(q, [M, D], [0, head * D])
                k_head = pl.slice(k, [M, D], [0, head * D])
                v_head = pl.slice(v, [M, D], [0, head * D])
                scores = pl.mul(pl.matmul(q_head, k_head, b_trans=True, out_dtype=pl.FP32), SCALE)
                weights = pl.exp(pl.row_expand_sub(scores, pl.row_max(scores)))
                total = pl.row_sum(weights)
                mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v_head, out_dtype=pl.FP32)
                result = pl.row_expand_div(mixed, total)
                out = pl.assemble(out, pl.cast(result, target_type=pl.BF16), [0, head * D])
        return out


def inputs():
    rng = np.random.default_rng(21)
    return {
        "q": (rng.standard_normal((M, HEADS * D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((M, HEADS * D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((M, HEADS * D)).astype(ml_dtypes.bfloat16),
        "out": np.full((M, HEADS * D), -77, ml_dtypes.bfloat16),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32).reshape(M, HEADS, D).transpose(1, 0, 2) for name in ("q", "k", "v"))
    scores = q @ k.transpose(0, 2, 1) * np.float32(SCALE)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    result = rounded @ v / weights.sum(axis=2, keepdims=True)
    return {"out": result.transpose(1, 0, 2).reshape(M, HEADS * D).astype(ml_dtypes.bfloat16)}
