"""Dynamic quantisation: each row of x is scaled to int8 on the fly, multiplied, and scaled back.

x [64, 128] FP32, w [128, 64] INT8, w_scale [1, 64] FP32, out [64, 64] FP32.
Quantising goes through FP16, the only float the hardware turns into int8, with rounding to nearest even.
"""

import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
RTOL, ATOL = 1e-3, 2e-3


@pl.program
class DynamicQuantMatmul:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP32],
        w: pl.Tensor[[K, N], pl.INT8],
        w_scale: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            x_scale = pl.mul(pl.row_max(pl.abs(x)), 1.0 / 127.0)
            steps = pl.cast(pl.row_expand_div(x, x_scale), target_type=pl.FP16)
            x_int = pl.cast(steps, target_type=pl.INT8, mode="rint")
            sums = pl.cast(pl.matmul(x_int, w, out_dtype=pl.INT32), target_type=pl.FP32)
            scaled = pl.col_expand_mul(pl.row_expand_mul(sums, x_scale), w_scale)
            out = pl.assemble(out, scaled, [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(16)
    # a quarter step off the int8 grid: the rounding has work to do, yet no value lies near a tie
    steps = rng.integers(-126, 127, (M, K)) + rng.choice([-0.25, 0.25], (M, K))
    steps[np.arange(M), np.arange(M) * 5 % K] = 127
    step_size = 2.0 ** -(np.arange(M) % 8 + 3)[:, None]
    return {
        "x": (steps * step_size).astype(np.float32),
        "w": rng.integers(-127, 128, (K, N), dtype=np.int8),
        "w_scale": np.geomspace(5e-4, 5e-3, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    x = inputs["x"]
    x_scale = np.abs(x).max(axis=1, keepdims=True) * np.float32(1 / 127)
    x_int = np.rint((x / x_scale).astype(np.float16)).astype(np.int32)
    sums = x_int @ inputs["w"].astype(np.int32)
    return {"out": sums.astype(np.float32) * x_scale * inputs["w_scale"]}
