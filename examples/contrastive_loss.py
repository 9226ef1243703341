"""Contrastive (InfoNCE) loss of two batches of embeddings: row i of a belongs to row i of b.

a and b [32, 64] FP32, pair [32, 32] FP32 (the identity), loss [32, 1] FP32:
loss = logsumexp of a row of cosine similarities over TEMPERATURE, minus the entry of the true pair.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, D = 32, 64
TEMPERATURE = 0.25
RTOL, ATOL = 5e-3, 5e-3


@pl.program
class ContrastiveLoss:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, D], pl.FP32],
        b: pl.Tensor[[M, D], pl.FP32],
        pair: pl.Tensor[[M, M], pl.FP32],
        loss: pl.Out[pl.Tensor[[M, 1], pl.FP32]],
    ) -> pl.Tensor[[M, 1], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            a_inv = pl.recip(pl.sqrt(pl.row_sum(pl.mul(a, a))))
            b_inv = pl.recip(pl.sqrt(pl.row_sum(pl.mul(b, b))))
            a_unit = pl.cast(pl.row_expand_mul(a, a_inv), target_type=pl.BF16)
            b_unit = pl.cast(pl.row_expand_mul(b, b_inv), target_type=pl.BF16)
            cosine = pl.matmul(a_unit, b_unit, b_trans=True, out_dtype=pl.FP32)
            logits = pl.mul(cosine, 1.0 / TEMPERATURE)
            # no logit exceeds 1 / TEMPERATURE, so the exponentials need no shift
            log_total = pl.log(pl.row_sum(pl.exp(logits)))
            true_pair = pl.row_sum(pl.mul(logits, pair))
            loss = pl.assemble(loss, pl.sub(log_total, true_pair), [0, 0])
        return loss


def inputs():
    rng = np.random.default_rng(42)
    base = rng.standard_normal((M, D))
    return {
        "a": (base * np.geomspace(0.1, 10.0, M)[:, None]).astype(np.float32),
        "b": (base + rng.standard_normal((M, D))).astype(np.float32),
        "pair": np.eye(M, dtype=np.float32),
        "loss": np.full((M, 1), -77, np.float32),
    }


def golden(inputs):
    def unit(rows):
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(ml_dtypes.bfloat16)

    a, b = unit(inputs["a"]).astype(np.float32), unit(inputs["b"]).astype(np.float32)
    logits = a @ b.T / np.float32(TEMPERATURE)
    return {"loss": (np.logaddexp.reduce(logits, axis=1) - np.diagonal(logits))[:, None]}
