"""Vector prologue, matmul, vector epilogue.

x [64, 64] FP32, scale and shift [1, 64] FP32, w [64, 64] FP16, residual [64, 64] FP32, out [64, 64] FP32.
Prologue: scale and shift every input channel, apply SiLU, round to FP16. Epilogue: damp the product and add
the residual. Both ends work on halves of the tile, the cube core in the middle sees it whole.
"""

import numpy as np

import cubelane.language as pl

M, K, N = 64, 64, 64
RTOL, ATOL = 2e-3, 5e-4


@pl.program
class PrologueEpilogue:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP32],
        scale: pl.Tensor[[1, K], pl.FP32],
        shift: pl.Tensor[[1, K], pl.FP32],
        w: pl.Tensor[[K, N], pl.FP16],
        residual: pl.Tensor[[M, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            channel = pl.add(pl.col_expand_mul(x, scale), shift)
            sigmoid = pl.recip(pl.add(pl.exp(pl.neg(channel)), 1.0))
            active = pl.cast(pl.mul(channel, sigmoid), target_type=pl.FP16)
            product = pl.matmul(active, w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.add(pl.mul(product, 0.5), residual), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(7)
    return {
        "x": rng.standard_normal((M, K)).astype(np.float32),
        "scale": np.linspace(0.5, 2.0, K, dtype=np.float32)[None, :],
        "shift": np.linspace(1.0, -1.0, K, dtype=np.float32)[None, :],
        "w": (rng.standard_normal((K, N)) / 8).astype(np.float16),
        "residual": (np.arange(M * N).reshape(M, N) % 97 / 48 - 1).astype(np.float32),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    channel = inputs["x"] * inputs["scale"] + inputs["shift"]
    active = (channel / (1 + np.exp(-channel))).astype(np.float16).astype(np.float32)
    return {"out": active @ inputs["w"].astype(np.float32) * np.float32(0.5) + inputs["residual"]}
