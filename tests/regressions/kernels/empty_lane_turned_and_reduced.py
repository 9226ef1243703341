"""Lane 1 holds no column of [2, 1]; seen as a row and as a column again it had no row left to take the maximum of."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore, attrs={"split": pl.SplitMode.LEFT_RIGHT, "split_aiv": True})
    def kernel(
        self,
        x: pl.Tensor[[2, 1], pl.FP16],
        w: pl.Tensor[[1, 1], pl.FP16],
        y: pl.Out[pl.Tensor[[1, 2], pl.FP32]],
    ) -> pl.Tensor[[1, 2], pl.FP32]:
        xm = pl.tile.load(x, [0, 0], [2, 1], target_memory=pl.Mem.Mat)
        wm = pl.tile.load(w, [0, 0], [1, 1], target_memory=pl.Mem.Mat)
        acc = pl.tile.matmul(xm, wm)
        for lane in pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):
            h = pl.aiv_shard(acc)
            more = pl.tile.adds(h, 0.5)
            top = pl.tile.col_max(more)
            o = pl.tile.store(top, [0, lane], y)
        return o


def inputs():
    return {
        "x": np.array([[2], [3]], np.float16),
        "w": np.full((1, 1), 3, np.float16),
        "y": np.full((1, 2), -77, np.float32),
    }
