"""The BLAS matrix product with run-time factors: out = alpha * a @ b + beta * c.

a [64, 128] FP16, b [128, 64] FP16, c [64, 64] FP32, alpha and beta FP32 scalars, out [64, 64] FP32.
"""

import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class GemmAlphaBeta:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        b: pl.Tensor[[K, N], pl.FP16],
        c: pl.Tensor[[M, N], pl.FP32],
        alpha: pl.Scalar[pl.FP32],
        beta: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            product = pl.mul(pl.matmul(a, b, out_dtype=pl.FP32), alpha)
            out = pl.assemble(out, pl.add(product, pl.mul(c, beta)), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(40)
    return {
        "a": rng.standard_normal((M, K)).astype(np.float16),
        "b": (rng.standard_normal((K, N)) / 8).astype(np.float16),
        "c": rng.standard_normal((M, N)).astype(np.float32),
        "alpha": np.float32(0.75),
        "beta": np.float32(-1.5),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    product = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32)
    return {"out": inputs["alpha"] * product + inputs["beta"] * inputs["c"]}
