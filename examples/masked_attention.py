"""One block of attention with an additive mask: out = softmax(q @ k^T / sqrt(D) + mask) @ v.

q [64, 64] BF16, k and v [64, 64] BF16, mask [64, 64] FP32 (0 keeps, -30000 hides), out [64, 64] FP32.
The weights are divided by their row sum after the second matmul, on the narrower side.
"""

import ml_dtypes
import numpy as np
import pypto.language as pl

M, S, D = 64, 64, 64
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class MaskedAttention:
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
            masked = pl.add(pl.mul(scores, SCALE), mask)
            weights = pl.exp(pl.row_expand_sub(masked, pl.row_max(masked)))
            total = pl.row_sum(weights)
            mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.row_expand_div(mixed, total), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(4)
    # each query sees its own number of leading keys, plus every seventh key
    row, col = np.indices((M, S))
    visible = (col <= (row * 5) % S) | (col % 7 == 0)
    return {
        "q": (rng.standard_normal((M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "k": (rng.standard_normal((S, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "v": rng.standard_normal((S, D)).astype(ml_dtypes.bfloat16),
        "mask": np.where(visible, 0, -30000).astype(np.float32),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    q, k, v = (inputs[name].astype(np.float32) for name in ("q", "k", "v"))
    scores = q @ k.T * np.float32(SCALE) + inputs["mask"]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    rounded = weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": rounded @ v / weights.sum(axis=1, keepdims=True)}
