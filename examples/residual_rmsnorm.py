"""Output projection, residual add and RMSNorm in one go; both the new residual stream and its norm are stored.

a [64, 64] BF16, w [64, 64] BF16, residual [64, 64] FP32, gamma [1, 64] FP32,
stream [64, 64] FP32 = residual + a @ w, normed [64, 64] BF16 = rmsnorm(stream) * gamma.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 64, 64
EPS = 1e-5
RTOL, ATOL = 1e-2, 1e-3


@pl.program
class ResidualRmsNorm:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, N], pl.BF16],
        residual: pl.Tensor[[M, N], pl.FP32],
        gamma: pl.Tensor[[1, N], pl.FP32],
        stream: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        normed: pl.Out[pl.Tensor[[M, N], pl.BF16]],
    ) -> tuple[pl.Tensor[[M, N], pl.FP32], pl.Tensor[[M, N], pl.BF16]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            total = pl.add(pl.matmul(a, w, out_dtype=pl.FP32), residual)
            stream = pl.assemble(stream, total, [0, 0])
            mean_square = pl.mul(pl.row_sum(pl.mul(total, total)), 1.0 / N)
            inv = pl.rsqrt(pl.add(mean_square, EPS))
            unit = pl.col_expand_mul(pl.row_expand_mul(total, inv), gamma)
            normed = pl.assemble(normed, pl.cast(unit, target_type=pl.BF16), [0, 0])
        return stream, normed


def inputs():
    rng = np.random.default_rng(11)
    scale = np.linspace(0.2, 3.0, M)[:, None]
    return {
        "a": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, N)) / 8).astype(ml_dtypes.bfloat16),
        "residual": (rng.standard_normal((M, N)) * scale).astype(np.float32),
        "gamma": np.linspace(0.5, 1.5, N, dtype=np.float32)[None, :],
        "stream": np.full((M, N), -77, np.float32),
        "normed": np.full((M, N), -77, ml_dtypes.bfloat16),
    }


def golden(inputs):
    stream = inputs["residual"] + inputs["a"].astype(np.float32) @ inputs["w"].astype(np.float32)
    rms = np.sqrt(np.mean(stream**2, axis=1, keepdims=True) + np.float32(EPS))
    return {"stream": stream, "normed": (stream / rms * inputs["gamma"]).astype(ml_dtypes.bfloat16)}
