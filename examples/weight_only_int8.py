"""Weight-only int8 matmul: weights are stored as int8 with one scale per output channel.

a [64, 128] FP16, wq [128, 64] INT8, scale [1, 64] FP32, out [64, 64] FP16.
The lanes widen the weights to FP16 (exactly), the cube core multiplies, the lanes apply the channel scale.
"""

import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
RTOL, ATOL = 2e-3, 1e-3


@pl.program
class WeightOnlyInt8:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        wq: pl.Tensor[[K, N], pl.INT8],
        scale: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP16]],
    ) -> pl.Tensor[[M, N], pl.FP16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            w = pl.cast(wq, target_type=pl.FP16)
            product = pl.matmul(a, w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.cast(pl.col_expand_mul(product, scale), target_type=pl.FP16), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(15)
    return {
        "a": rng.standard_normal((M, K)).astype(np.float16),
        "wq": rng.integers(-127, 128, (K, N), dtype=np.int8),
        "scale": np.geomspace(5e-4, 5e-3, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, np.float16),
    }


def golden(inputs):
    w = inputs["wq"].astype(np.float32) * inputs["scale"]
    return {"out": (inputs["a"].astype(np.float32) @ w).astype(np.float16)}
