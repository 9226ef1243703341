"""The scratch tile of `col_argmax` stays whole where the columns are shared out, and its type rule refused that."""

import numpy as np

import cubelane.language as pl

RTOL = ATOL = 1e-3
VERDICT = "equal"


def coded(shape, a, b, dtype):
    i = np.indices(shape)
    return ((a * i[0] + b * i[-1] + i[0] * i[-1]) % 11 - 5).astype(np.int8).astype(dtype)


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore, attrs={"split": pl.SplitMode.LEFT_RIGHT})
    def kernel(
        self, x: pl.Tensor[[1, 16], pl.FP16], w: pl.Tensor[[16, 2], pl.FP16], y2: pl.Out[pl.Tensor[[1, 2], pl.INT32]]
    ) -> pl.Tensor[[1, 2], pl.INT32]:
        xm = pl.tile.load(x, [0, 0], [1, 16], target_memory=pl.Mem.Mat)
        wm = pl.tile.load(w, [0, 0], [16, 2], target_memory=pl.Mem.Mat)
        first = pl.tile.gemv(xm, wm)
        s5 = pl.tile.create([16, 2], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        kept = pl.tile.move(
            first,
            target_memory=pl.Mem.Vec,
            blayout=pl.TileLayout.row_major,
            slayout=pl.TileLayout.none_box,
        )
        v6 = pl.tile.col_argmax(kept, s5)
        y2 = pl.tile.store(v6, [0, 0], y2)
        return y2


def inputs():
    return {
        "x": coded((1, 16), 4, 2, np.float16),
        "w": coded((16, 2), 2, 1, np.float16),
        "y2": np.full((1, 2), -77, np.int32),
    }
