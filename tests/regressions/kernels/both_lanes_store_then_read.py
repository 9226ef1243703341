"""A column that both lanes hold whole is stored by both and read again by both: the same bytes, yet told as a race."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[32, 16], pl.FP16],
        w: pl.Tensor[[16, 16], pl.FP16],
        t: pl.Tensor[[32, 1], pl.FP32],
        s: pl.InOut[pl.Tensor[[34, 1], pl.FP32]],
        y: pl.Out[pl.Tensor[[32, 1], pl.FP32]],
        z: pl.Out[pl.Tensor[[32, 16], pl.FP32]],
    ) -> tuple[pl.Tensor[[32, 1], pl.FP32], pl.Tensor[[32, 16], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT)]):
            acc = pl.mul(pl.matmul(a, w, out_dtype=pl.FP32), 0.125)
            column = pl.slice(t, [32, 1], [0, 0])
            s = pl.assemble(s, column, [0, 0])
            y = pl.assemble(y, pl.slice(s, [32, 1], [2, 0]), [0, 0])
            z = pl.assemble(z, acc, [0, 0])
        return y, z


def inputs():
    i, j = np.indices((32, 16))
    return {
        "a": ((i + 3 * j) % 5).astype(np.float16),
        "w": np.eye(16).astype(np.float16),
        "t": np.arange(32, dtype=np.float32).reshape(32, 1),
        "s": -np.arange(34, dtype=np.float32).reshape(34, 1),
        "y": np.full((32, 1), -77, np.float32),
        "z": np.full((32, 16), -77, np.float32),
    }
