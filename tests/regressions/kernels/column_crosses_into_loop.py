"""A column that came from the ring had another layout than its half; the loop it went into did not fit."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore, attrs={"split": pl.SplitMode.UP_DOWN})
    def kernel(
        self,
        x: pl.Tensor[[3, 16], pl.FP16],
        w: pl.Tensor[[16, 1], pl.FP16],
        y: pl.Out[pl.Tensor[[3, 1], pl.FP32]],
    ) -> pl.Tensor[[3, 1], pl.FP32]:
        xm = pl.tile.load(x, [0, 0], [3, 16], target_memory=pl.Mem.Mat)
        wm = pl.tile.load(w, [0, 0], [16, 1], target_memory=pl.Mem.Mat)
        acc = pl.tile.matmul(xm, wm)
        v = pl.tile.move(acc, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box)
        for _i, (c,) in pl.range(2, init_values=(v,)):
            d = pl.tile.neg(c)
            r = pl.yield_(d)
        o = pl.tile.store(r, [0, 0], y)
        return o


def inputs():
    i, j = np.indices((3, 16))
    return {
        "x": ((i + 2 * j) % 5).astype(np.float16),
        "w": (np.arange(16).reshape(16, 1) % 3).astype(np.float16),
        "y": np.full((3, 1), -77, np.float32),
    }
