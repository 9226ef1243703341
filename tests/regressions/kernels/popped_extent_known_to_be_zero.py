"""Simplify tried to type a popped tile anew when its run-time extent turned out to be a constant."""

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
        self, x: pl.Tensor[[1, 1], pl.FP16], w: pl.Tensor[[2, 1], pl.FP16], y1: pl.Out[pl.Tensor[[1, 2], pl.FP32]]
    ) -> pl.Tensor[[1, 2], pl.FP32]:
        xm = pl.tile.load(x, [0, 0], [2, 2], [0, 0], target_memory=pl.Mem.Mat)
        wm = pl.tile.load(w, [0, 0], [2, 1], target_memory=pl.Mem.Mat)
        first = pl.tile.matmul(xm, wm)
        v = pl.tile.move(
            first, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box
        )
        return y1


def inputs():
    return {
        "x": coded((1, 1), 4, 2, np.float16),
        "w": coded((2, 1), 2, 1, np.float16),
        "y1": np.full((1, 2), -77, np.int8).astype(np.float32),
    }
