"""Mixture-of-experts gate with sigmoid scores, normalised over the experts and scaled.

x [64, 128] BF16, w [128, 32] BF16 (one column per expert), out [64, 32] FP32:
s = sigmoid(x @ w), out = ROUTE_SCALE * s / sum(s).
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, EXPERTS = 64, 128, 32
ROUTE_SCALE = 2.5
RTOL, ATOL = 1e-4, 1e-5


@pl.program
class MoeSigmoidGate:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, EXPERTS], pl.BF16],
        out: pl.Out[pl.Tensor[[M, EXPERTS], pl.FP32]],
    ) -> pl.Tensor[[M, EXPERTS], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            logits = pl.matmul(x, w, out_dtype=pl.FP32)
            scores = pl.recip(pl.add(pl.exp(pl.neg(logits)), 1.0))
            factor = pl.mul(pl.recip(pl.row_sum(scores)), ROUTE_SCALE)
            out = pl.assemble(out, pl.row_expand_mul(scores, factor), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(25)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, EXPERTS)) / 6).astype(ml_dtypes.bfloat16),
        "out": np.full((M, EXPERTS), -77, np.float32),
    }


def golden(inputs):
    logits = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32)
    scores = 1 / (1 + np.exp(-logits))
    return {"out": np.float32(ROUTE_SCALE) * scores / scores.sum(axis=1, keepdims=True)}
