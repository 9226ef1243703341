"""No split: lane 0 does the vector work of a loop that goes to the cube and back, lane 1 keeps the handshakes."""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 16, 16, 32


@pl.program
class UnsplitRoundTrip:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[2 * M, K], pl.BF16],
        w: pl.Tensor[[K, N], pl.BF16],
        u: pl.Tensor[[N, N], pl.BF16],
        y: pl.Out[pl.Tensor[[2 * M, N], pl.FP32]],
        top: pl.Out[pl.Tensor[[1, N], pl.FP32]],
    ) -> tuple[pl.Tensor[[2 * M, N], pl.FP32], pl.Tensor[[1, N], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.cross_core_slot(slot_num=2)]):
            highest = pl.full([1, N], dtype=pl.FP32, value=-1000.0)
            for i in pl.range(2):
                p = pl.matmul(a[i * M : i * M + M, :], w, out_dtype=pl.FP32)
                q = pl.cast(pl.mul(p, 0.5), target_type=pl.BF16)
                r = pl.matmul(q, u, out_dtype=pl.FP32)
                highest = pl.maximum(highest, pl.col_max(r))
                y = pl.assemble(y, pl.sub(r, p), [i * M, 0])
            top = pl.assemble(top, highest, [0, 0])
        return y, top


def inputs():
    rng = np.random.default_rng(9)
    return {
        "a": rng.integers(-3, 4, (2 * M, K)).astype(ml_dtypes.bfloat16),
        "w": rng.integers(-3, 4, (K, N)).astype(ml_dtypes.bfloat16),
        "u": rng.integers(-3, 4, (N, N)).astype(ml_dtypes.bfloat16),
        "y": np.full((2 * M, N), -77, np.float32),
        "top": np.full((1, N), -77, np.float32),
    }
