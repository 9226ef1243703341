"""Rotary embedding applied to the queries, then scaled scores against rotated keys from the cache.

q [64, 64] FP32, cos and sin [64, 32] FP32 (one row per position), k [64, 64] BF16, out [64, 64] FP32.
The two rotated halves of the head are never joined: the scores are the sum of two matmuls over half the channels.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, S, HALF = 64, 64, 32
SCALE = 0.125
RTOL, ATOL = 5e-3, 2e-3


@pl.program
class RopeScores:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        q: pl.Tensor[[M, 2 * HALF], pl.FP32],
        cos: pl.Tensor[[M, HALF], pl.FP32],
        sin: pl.Tensor[[M, HALF], pl.FP32],
        k: pl.Tensor[[S, 2 * HALF], pl.BF16],
        out: pl.Out[pl.Tensor[[M, S], pl.FP32]],
    ) -> pl.Tensor[[M, S], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            q_low = pl.slice(q, [M, HALF], [0, 0])
            q_high = pl.slice(q, [M, HALF], [0, HALF])
            turned_low = pl.sub(pl.mul(q_low, cos), pl.mul(q_high, sin))
            turned_high = pl.add(pl.mul(q_high, cos), pl.mul(q_low, sin))
            k_low = pl.slice(k, [S, HALF], [0, 0])
            k_high = pl.slice(k, [S, HALF], [0, HALF])
            low16 = pl.cast(turned_low, target_type=pl.BF16)
            high16 = pl.cast(turned_high, target_type=pl.BF16)
            scores = pl.matmul(low16, k_low, b_trans=True, out_dtype=pl.FP32)
            scores = pl.matmul_acc(scores, high16, k_high, b_trans=True)
            out = pl.assemble(out, pl.mul(scores, SCALE), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(18)
    angle = np.arange(M)[:, None] * 10000.0 ** (-np.arange(HALF) / HALF)
    return {
        "q": rng.standard_normal((M, 2 * HALF)).astype(np.float32),
        "cos": np.cos(angle).astype(np.float32),
        "sin": np.sin(angle).astype(np.float32),
        "k": rng.standard_normal((S, 2 * HALF)).astype(ml_dtypes.bfloat16),
        "out": np.full((M, S), -77, np.float32),
    }


def golden(inputs):
    # a rotation in the complex plane: channel pair (i, i + HALF) is one complex number
    q = inputs["q"][:, :HALF] + 1j * inputs["q"][:, HALF:]
    turned = q * (inputs["cos"] + 1j * inputs["sin"])
    parts = np.concatenate([turned.real, turned.imag], axis=1)
    rounded = parts.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": rounded @ inputs["k"].astype(np.float32).T * np.float32(SCALE)}
