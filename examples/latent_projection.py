"""Low-rank projection through a normalised latent: out = rmsnorm(x @ w_down) * gamma @ w_up.

x [64, 128] BF16, w_down [128, 64] BF16, gamma [1, 64] FP32, w_up [64, 128] BF16,
latent [64, 64] BF16 (kept for the cache), out [64, 128] FP32 (stored by the cube core itself).
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, LATENT, N = 64, 128, 64, 128
EPS = 1e-6
RTOL, ATOL = 1e-2, 4e-3


@pl.program
class LatentProjection:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w_down: pl.Tensor[[K, LATENT], pl.BF16],
        gamma: pl.Tensor[[1, LATENT], pl.FP32],
        w_up: pl.Tensor[[LATENT, N], pl.BF16],
        latent: pl.Out[pl.Tensor[[M, LATENT], pl.BF16]],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> tuple[pl.Tensor[[M, LATENT], pl.BF16], pl.Tensor[[M, N], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            down = pl.matmul(x, w_down, out_dtype=pl.FP32)
            mean_square = pl.mul(pl.row_sum(pl.mul(down, down)), 1.0 / LATENT)
            inv = pl.rsqrt(pl.add(mean_square, EPS))
            normed = pl.cast(pl.col_expand_mul(pl.row_expand_mul(down, inv), gamma), target_type=pl.BF16)
            latent = pl.assemble(latent, normed, [0, 0])
            out = pl.assemble(out, pl.matmul(normed, w_up, out_dtype=pl.FP32), [0, 0])
        return latent, out


def inputs():
    rng = np.random.default_rng(36)
    scale = np.geomspace(0.1, 4.0, M)[:, None]
    return {
        "x": (rng.standard_normal((M, K)) * scale).astype(ml_dtypes.bfloat16),
        "w_down": (rng.standard_normal((K, LATENT)) / 12).astype(ml_dtypes.bfloat16),
        "gamma": np.linspace(0.5, 1.5, LATENT, dtype=np.float32)[None, :],
        "w_up": (rng.standard_normal((LATENT, N)) / 8).astype(ml_dtypes.bfloat16),
        "latent": np.full((M, LATENT), -77, ml_dtypes.bfloat16),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    down = inputs["x"].astype(np.float32) @ inputs["w_down"].astype(np.float32)
    rms = np.sqrt(np.mean(down**2, axis=1, keepdims=True) + np.float32(EPS))
    latent = (down / rms * inputs["gamma"]).astype(ml_dtypes.bfloat16)
    return {"latent": latent, "out": latent.astype(np.float32) @ inputs["w_up"].astype(np.float32)}
