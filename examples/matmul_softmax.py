"""Classifier head: out = softmax((x @ w + bias) / TEMPERATURE) over the rows.

x [64, 128] BF16, w [128, 64] BF16, bias [1, 64] FP32, out [64, 64] FP32.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
TEMPERATURE = 0.5
RTOL, ATOL = 1e-3, 1e-5


@pl.program
class MatmulSoftmax:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, N], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            logits = pl.mul(pl.add(pl.matmul(x, w, out_dtype=pl.FP32), bias), 1.0 / TEMPERATURE)
            weights = pl.exp(pl.row_expand_sub(logits, pl.row_max(logits)))
            out = pl.assemble(out, pl.row_expand_div(weights, pl.row_sum(weights)), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(23)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, N)) / 12).astype(ml_dtypes.bfloat16),
        "bias": np.linspace(-0.5, 0.5, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    logits = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32) + inputs["bias"]
    weights = np.exp((logits - logits.max(axis=1, keepdims=True)) / np.float32(TEMPERATURE))
    return {"out": weights / weights.sum(axis=1, keepdims=True)}
