"""Causal linear attention over one chunk, feature map elu(x) + 1 on queries and keys.

q and k [64, 64] FP32, v [64, 64] BF16, causal [64, 64] FP32 (1 on and below the diagonal, else 0),
out [64, 64] FP32 = (A @ v) / rowsum(A) with A = (phi(q) @ phi(k)^T) * causal.
The lanes prepare both operands of the first matmul and the left one of the second.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, D = 64, 64
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class LinearAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.FP32],
        k: pl.Tensor[[M, D], pl.FP32],
        v: pl.Tensor[[M, D], pl.BF16],
        causal: pl.Tensor[[M, M], pl.FP32],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            # elu(x) + 1 is exp(x) for negative x and x + 1 otherwise
            q_phi = pl.add(pl.exp(pl.minimum(q, 0.0)), pl.maximum(q, 0.0))
            k_phi = pl.add(pl.exp(pl.minimum(k, 0.0)), pl.maximum(k, 0.0))
            q16 = pl.cast(q_phi, target_type=pl.BF16)
            k16 = pl.cast(k_phi, target_type=pl.BF16)
            weights = pl.mul(pl.matmul(q16, k16, b_trans=True, out_dtype=pl.FP32), causal)
            mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.row_expand_div(mixed, pl.row_sum(weights)), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(32)
    return {
        "q": rng.standard_normal((M, D)).astype(np.float32),
        "k": rng.standard_normal((M, D)).astype(np.float32),
        "v": rng.standard_normal((M, D)).astype(ml_dtypes.bfloat16),
        "causal": np.tri(M, dtype=np.float32),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    def bf16(x):
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)

    q, k = (bf16(np.where(x > 0, x + 1, np.exp(x))) for x in (inputs["q"], inputs["k"]))
    weights = np.tril(q @ k.T)
    return {"out": bf16(weights) @ inputs["v"].astype(np.float32) / weights.sum(axis=1, keepdims=True)}
