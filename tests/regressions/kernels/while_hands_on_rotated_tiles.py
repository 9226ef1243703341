"""Tiles that change places in a `while` were copied in its condition, where the language has no place for a copy."""

import numpy as np

import cubelane.language as pl

RTOL = ATOL = 1e-3
VERDICT = "equal"


def coded(shape, a, b, dtype):
    i = np.indices(shape)
    return ((a * i[0] + b * i[-1] + i[0] * i[-1]) % 11 - 5).astype(np.int8).astype(dtype)


WIDE = 1


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        p20: pl.Tensor[[2, 1], pl.FP32],
        y25: pl.Out[pl.Tensor[[2, 1], pl.FP32]],
        y34: pl.Out[pl.Tensor[[1, 1], pl.FP32]],
    ) -> pl.Tensor[[1, 1], pl.FP32]:
        for lane19 in pl.split_aiv(2, mode=pl.SplitMode.NONE):
            v21 = pl.slice(p20, [1, 1], [lane19 * 1, 0])
            z22 = pl.create_tensor([1, 1], dtype=pl.FP32)
            w24 = 0
            while w24 < 0:
                v21 = z22
                z22 = pl.mul(v21, 0.5)
            y25 = pl.assemble(y25, v21, [lane19 * 1, 0])
        return y34


def inputs():
    return {
        "p20": coded((2, 1), 4, 5, np.float32),
        "y25": np.full((2, 1), -77, np.int8).astype(np.float32),
        "y34": np.full((1, 1), -77, np.int8).astype(np.float32),
    }
