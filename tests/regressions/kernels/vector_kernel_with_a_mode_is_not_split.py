"""The fuzzer compared it with a region: but a function without cube work is not split, whatever its mode."""

import ml_dtypes
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
        self, p13: pl.Tensor[[2, 1], pl.UINT8], y27: pl.Out[pl.Tensor[[1, 1], pl.BF16]]
    ) -> pl.Tensor[[1, 1], pl.BF16]:
        with pl.at(
            level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=1)]
        ):
            v18 = pl.tensor.col_argmax(p13)
            y27 = pl.assemble(y27, pl.cast(v18, target_type=pl.BF16), [0, 0])
        return y27


def inputs():
    return {
        "p13": coded((2, 1), 2, 1, np.uint8),
        "y27": np.full((1, 1), -77, np.int8).astype(ml_dtypes.bfloat16),
    }
