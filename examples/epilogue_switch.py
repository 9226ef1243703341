"""Linear layer whose activation is chosen at run time: SiLU for the first `gated` row blocks, else ReLU + residual.

x [128, 64] FP16 in blocks of 64 rows, w [64, 64] FP16, residual [128, 64] FP32, gated INT32 scalar, out [128, 64] FP32.
"""

import numpy as np

import cubelane.language as pl

M, K, N, ROWS = 128, 64, 64, 64
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class EpilogueSwitch:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP16],
        w: pl.Tensor[[K, N], pl.FP16],
        residual: pl.Tensor[[M, N], pl.FP32],
        gated: pl.Scalar[pl.INT32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for block in pl.range(M // ROWS):
                xb = pl.slice(x, [ROWS, K], [block * ROWS, 0])
                y = pl.mul(pl.matmul(xb, w, out_dtype=pl.FP32), 0.5)
                if block < pl.cast(gated, pl.INDEX):
                    y = pl.div(y, pl.add(pl.exp(pl.neg(y)), 1.0))
                else:
                    y = pl.add(pl.maximum(y, 0.0), pl.slice(residual, [ROWS, N], [block * ROWS, 0]))
                out = pl.assemble(out, y, [block * ROWS, 0])
        return out


def inputs():
    rng = np.random.default_rng(41)
    return {
        "x": rng.standard_normal((M, K)).astype(np.float16),
        "w": (rng.standard_normal((K, N)) / 4).astype(np.float16),
        "residual": rng.standard_normal((M, N)).astype(np.float32),
        "gated": np.int32(1),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    y = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32) * np.float32(0.5)
    silu, relu = y / (1 + np.exp(-y)), np.maximum(y, 0) + inputs["residual"]
    rows = np.arange(M)[:, None] < int(inputs["gated"]) * ROWS
    return {"out": np.where(rows, silu, relu)}
