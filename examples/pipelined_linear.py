"""Wide linear layer in column blocks, software-pipelined over two stages: out = max(x @ w + bias, 0) ** 2.

x [64, 64] BF16, w [64, 512] BF16, bias [1, 512] FP32, out [64, 512] BF16.
While the lanes finish one block of columns, the cube core may already multiply the next.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 64, 512
BLOCK = 64
RTOL, ATOL = 1e-2, 1e-3


@pl.program
class PipelinedLinear:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, N], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.BF16]],
    ) -> pl.Tensor[[M, N], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            for step in pl.pipeline(N // BLOCK, stage=2):
                w_block = pl.slice(w, [K, BLOCK], [0, step * BLOCK])
                bias_block = pl.slice(bias, [1, BLOCK], [0, step * BLOCK])
                y = pl.maximum(pl.add(pl.matmul(x, w_block, out_dtype=pl.FP32), bias_block), 0.0)
                squared = pl.cast(pl.mul(y, y), target_type=pl.BF16)
                out = pl.assemble(out, squared, [0, step * BLOCK])
        return out


def inputs():
    rng = np.random.default_rng(37)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, N)) / 8).astype(ml_dtypes.bfloat16),
        "bias": np.linspace(-1.0, 1.0, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, ml_dtypes.bfloat16),
    }


def golden(inputs):
    y = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32) + inputs["bias"]
    return {"out": (np.maximum(y, 0) ** 2).astype(ml_dtypes.bfloat16)}
