"""Linear layer whose activation is chosen at run time: SiLU for a positive `mode`, else ReLU plus a residual.

x [64, 64] FP16, w [64, 64] FP16, residual [64, 64] FP32, mode INT32 scalar, out [64, 64] FP32.
"""

import numpy as np

import cubelane.language as pl

M, K, N = 64, 64, 64
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class EpilogueSwitch:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP16],
        w: pl.Tensor[[K, N], pl.FP16],
        residual: pl.Tensor[[M, N], pl.FP32],
        mode: pl.Scalar[pl.INT32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.mul(pl.matmul(x, w, out_dtype=pl.FP32), 0.5)
            if mode > 0:
                y = pl.div(y, pl.add(pl.exp(pl.neg(y)), 1.0))
            else:
                y = pl.add(pl.maximum(y, 0.0), residual)
            out = pl.assemble(out, y, [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(41)
    return {
        "x": rng.standard_normal((M, K)).astype(np.float16),
        "w": (rng.standard_normal((K, N)) / 4).astype(np.float16),
        "residual": rng.standard_normal((M, N)).astype(np.float32),
        "mode": np.int32(1),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    y = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32) * np.float32(0.5)
    if inputs["mode"] > 0:
        return {"out": y / (1 + np.exp(-y))}
    return {"out": np.maximum(y, 0) + inputs["residual"]}
