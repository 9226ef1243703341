"""A number beside unsigned elements was a scalar that neither the oracle nor the machine could compute."""

import numpy as np

import cubelane.language as pl

RTOL = ATOL = 1e-3
VERDICT = "equal"


def coded(shape, a, b, dtype):
    i = np.indices(shape)
    return ((a * i[0] + b * i[-1] + i[0] * i[-1]) % 11 - 5).astype(np.int8).astype(dtype)


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[16, 16], pl.FP16],
        w: pl.Tensor[[16, 16], pl.FP16],
        u: pl.Tensor[[16, 16], pl.UINT8],
        y: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            c = pl.matmul(a, w, out_dtype=pl.FP32)
            v = pl.cast(pl.minimum(u, 5), target_type=pl.FP32)
            y = pl.assemble(y, pl.add(c, v), [0, 0])
        return y


def inputs():
    return {
        "a": coded((16, 16), 4, 2, np.float16),
        "w": coded((16, 16), 2, 1, np.float16),
        "u": coded((16, 16), 2, 3, np.uint8),
        "y": np.full((16, 16), -77, np.int8).astype(np.float32),
    }
