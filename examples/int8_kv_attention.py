"""Attention over an int8 key/value cache with one scale per cached position.

q [64, 64] BF16, kq and vq [64, 64] INT8, k_scale and v_scale [64, 1] FP32, out [64, 64] FP32.
Keys and values are widened and scaled on the vector lanes before either matmul can use them.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, S, D = 64, 64, 64
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class Int8KvAttention:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, D], pl.BF16],
        kq: pl.Tensor[[S, D], pl.INT8],
        vq: pl.Tensor[[S, D], pl.INT8],
        k_scale: pl.Tensor[[S, 1], pl.FP32],
        v_scale: pl.Tensor[[S, 1], pl.FP32],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            k_wide = pl.cast(pl.cast(kq, target_type=pl.FP16), target_type=pl.FP32)
            v_wide = pl.cast(pl.cast(vq, target_type=pl.FP16), target_type=pl.FP32)
            k = pl.cast(pl.row_expand_mul(k_wide, k_scale), target_type=pl.BF16)
            v = pl.cast(pl.row_expand_mul(v_wide, v_scale), target_type=pl.BF16)
            scores = pl.mul(pl.matmul(q, k, b_trans=True, out_dtype=pl.FP32), SCALE)
            weights = pl.exp(pl.row_expand_sub(scores, pl.row_max(scores)))
            total = pl.row_sum(weights)
            mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.row_expand_div(mixed, total), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(33)
    return {
        "q": (rng.standard_normal((M, D)) * 1.5).astype(ml_dtypes.bfloat16),
        "kq": rng.integers(-127, 128, (S, D), dtype=np.int8),
        "vq": rng.integers(-127, 128, (S, D), dtype=np.int8),
        "k_scale": rng.uniform(0.01, 0.03, (S, 1)).astype(np.float32),
        "v_scale": rng.uniform(0.01, 0.02, (S, 1)).astype(np.float32),
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    def bf16(x):
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)

    k = bf16(inputs["kq"].astype(np.float32) * inputs["k_scale"])
    v = bf16(inputs["vq"].astype(np.float32) * inputs["v_scale"])
    scores = inputs["q"].astype(np.float32) @ k.T * np.float32(SCALE)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": bf16(weights) @ v / weights.sum(axis=1, keepdims=True)}
