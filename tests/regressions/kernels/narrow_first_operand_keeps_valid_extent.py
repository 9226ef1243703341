"""Spreading a narrow first operand gave the result the whole box instead of the valid extent of the wide operand."""

import numpy as np
import pypto.language as pl

RTOL = ATOL = 0.001
VERDICT = "equal"


def coded(shape, a, b, dtype):
    i = np.indices(shape)
    return ((a * i[0] + b * i[-1] + i[0] * i[-1]) % 11 - 5).astype(np.int8).astype(dtype)


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore, attrs={"split": pl.SplitMode.UP_DOWN})
    def kernel(
        self, x: pl.Tensor[[1, 1], pl.FP16], w: pl.Tensor[[1, 2], pl.FP16], y1: pl.Out[pl.Tensor[[1, 1], pl.FP32]]
    ) -> pl.Tensor[[1, 1], pl.FP32]:
        xm = pl.tile.load(x, [0, 0], [2, 1], [1, 1], target_memory=pl.Mem.Mat)
        wm = pl.tile.load(w, [0, 0], [1, 2], target_memory=pl.Mem.Mat)
        first = pl.tile.matmul(xm, wm)
        s1 = pl.tile.create([2, 2], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        v2 = pl.tile.row_min(first, s1)
        v5 = pl.tile.fmod(v2, first)
        v9 = pl.tile.relu(v5)
        return y1


def inputs():
    return {
        "x": coded((1, 1), 4, 2, np.float16),
        "w": coded((1, 2), 2, 1, np.float16),
        "y1": np.full((1, 1), -77, np.int8).astype(np.float32),
    }
