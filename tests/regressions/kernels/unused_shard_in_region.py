"""A region whose half nobody used lost its boundary, and with it the lane: both lanes worked as lane 0."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[2, 16], pl.FP16],
        w: pl.Tensor[[16, 16], pl.FP16],
        t: pl.Tensor[[2, 16], pl.FP32],
        y: pl.Out[pl.Tensor[[2, 16], pl.FP32]],
    ) -> pl.Tensor[[2, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            acc = pl.matmul(a, w, out_dtype=pl.FP32)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                half = pl.aiv_shard(acc)
                mine = pl.slice(t, [1, 16], [lane, 0])
                y = pl.assemble(y, mine, [lane, 0])
        return y


def inputs():
    return {
        "a": np.ones((2, 16), np.float16),
        "w": np.ones((16, 16), np.float16),
        "t": np.arange(32, dtype=np.float32).reshape(2, 16),
        "y": np.full((2, 16), -77, np.float32),
    }
