"""Columns shared out, an odd number of them, rows known at run time; two tiles of different size cross in turn."""

import numpy as np

import cubelane.language as pl

M, K, N = 16, 16, 21


@pl.program
class RaggedColumns:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        w: pl.Tensor[[K, N], pl.FP16],
        v: pl.Tensor[[K, 32], pl.FP16],
        b: pl.Tensor[[1, N], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        y: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        z: pl.Out[pl.Tensor[[M + 1, 33], pl.FP32]],
    ) -> tuple[pl.Tensor[[M, N], pl.FP32], pl.Tensor[[M + 1, 33], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT)]):
            x = pl.slice(a, [M, K], [0, 0], valid_shape=[n, K])
            one = pl.matmul(x, w, out_dtype=pl.FP32)
            two = pl.matmul(x, v, out_dtype=pl.FP32)
            y = pl.assemble(y, pl.col_expand_sub(one, b), [0, 0])
            z = pl.assemble(z, pl.div(two, pl.add(pl.abs(two), 1.0)), [1, 1])
        return y, z


def inputs():
    rng = np.random.default_rng(8)
    return {
        "a": rng.integers(-3, 4, (M, K)).astype(np.float16),
        "w": rng.integers(-3, 4, (K, N)).astype(np.float16),
        "v": rng.integers(-3, 4, (K, 32)).astype(np.float16),
        "b": rng.standard_normal((1, N)).astype(np.float32),
        "n": 11,
        "y": np.full((M, N), -77, np.float32),
        "z": np.full((M + 1, 33), -77, np.float32),
    }
