"""A product of 5 valid rows of 6 counted as 6 wherever its width was not that of its left operand."""

import numpy as np
import pypto.language as pl

VERDICT = "equal"


@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[6, 16], pl.FP16],
        w: pl.Tensor[[16, 32], pl.FP16],
        y: pl.Out[pl.Tensor[[6, 32], pl.FP32]],
        n: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[6, 32], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            x = pl.slice(a, [6, 16], [0, 0], valid_shape=[n, 16])
            y = pl.assemble(y, pl.mul(pl.matmul(x, w, out_dtype=pl.FP32), 0.5), [0, 0])
        return y


def inputs():
    i, j = np.indices((6, 16))
    k, m = np.indices((16, 32))
    return {
        "a": ((3 * i + j) % 7).astype(np.float16),
        "w": ((k + 5 * m) % 7).astype(np.float16),
        "y": np.full((6, 32), -77, np.float32),
        "n": 5,
    }
