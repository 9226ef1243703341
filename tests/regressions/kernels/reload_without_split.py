"""Run between two passes, lane 1 of a kernel without split did all the work of lane 0 a second time: a race."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[8, 16], pl.BF16],
        w: pl.Tensor[[16, 16], pl.BF16],
        s: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
        y: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.cross_core_slot(slot_num=1)]):
            v = pl.mul(pl.matmul(a, w, out_dtype=pl.FP32), 0.125)
            s = pl.assemble(s, v, [0, 0])
            y = pl.assemble(y, pl.slice(s, [8, 16], [0, 0]), [0, 0])
        return y


def inputs():
    import ml_dtypes

    i, j = np.indices((8, 16))
    return {
        "a": ((i + 3 * j) % 5).astype(ml_dtypes.bfloat16),
        "w": np.eye(16).astype(ml_dtypes.bfloat16),
        "s": np.zeros((8, 16), np.float32),
        "y": np.full((8, 16), -77, np.float32),
    }
