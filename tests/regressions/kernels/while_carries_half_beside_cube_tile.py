"""The oracle ran a while once for each lane as soon as it carried a half, and lost that the cube's tile is one."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[16, 16], pl.FP16],
        w: pl.Tensor[[16, 16], pl.FP16],
        t: pl.Tensor[[16, 16], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        z: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        n: pl.Scalar[pl.INDEX],
    ) -> tuple[pl.Tensor[[16, 16], pl.FP32], pl.Tensor[[16, 16], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT)]):
            acc = pl.matmul(a, w, out_dtype=pl.FP32)
            v = pl.slice(t, [16, 16], [0, 0])
            i = 0
            while i < n:
                v = pl.add(v, v)
                acc = pl.matmul_acc(acc, a, w)
                i = i + 1
            y = pl.assemble(y, acc, [0, 0])
            z = pl.assemble(z, v, [0, 0])
        return y, z


def inputs():
    i, j = np.indices((16, 16))
    return {
        "a": ((i + 3 * j) % 5).astype(np.float16),
        "w": ((2 * i + j) % 5).astype(np.float16),
        "t": (i * 16 + j).astype(np.float32),
        "y": np.full((16, 16), -77, np.float32),
        "z": np.full((16, 16), -77, np.float32),
        "n": 2,
    }
