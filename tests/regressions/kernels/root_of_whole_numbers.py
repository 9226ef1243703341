"""The logarithm of whole numbers was kept as a float between two ops of a core."""

import numpy as np
import pypto.language as pl

RTOL = ATOL = 0.001
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
        p11: pl.Tensor[[1, 1], pl.UINT8],
        y17: pl.Out[pl.Tensor[[2, 2], pl.FP32]],
        y31: pl.Out[pl.Tensor[[1, 1], pl.FP32]],
    ) -> pl.Tensor[[1, 1], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.cross_core_slot(slot_num=1)]):
            v14 = pl.tensor.rsqrt(pl.maximum(pl.minimum(p11, 2), 1))
            y17 = pl.assemble(y17, v14, [1, 1])
        return y31


def inputs():
    return {
        "p11": coded((1, 1), 1, 1, np.uint8),
        "y17": np.full((2, 2), -77, np.int8).astype(np.float32),
        "y31": np.full((1, 1), -77, np.int8).astype(np.float32),
    }
