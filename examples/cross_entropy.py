"""Cross-entropy of a language-model head: loss = logsumexp(h @ w) - logit of the target, one number per row.

h [32, 64] BF16, w [64, 128] BF16, target [32, 128] FP32 (one-hot), loss [32, 1] FP32.
The logits never leave the core group.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, VOCAB = 32, 64, 128
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class CrossEntropy:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        h: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, VOCAB], pl.BF16],
        target: pl.Tensor[[M, VOCAB], pl.FP32],
        loss: pl.Out[pl.Tensor[[M, 1], pl.FP32]],
    ) -> pl.Tensor[[M, 1], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            logits = pl.matmul(h, w, out_dtype=pl.FP32)
            shifted = pl.row_expand_sub(logits, pl.row_max(logits))
            log_total = pl.log(pl.row_sum(pl.exp(shifted)))
            chosen = pl.row_sum(pl.mul(shifted, target))
            loss = pl.assemble(loss, pl.sub(log_total, chosen), [0, 0])
        return loss


def inputs():
    rng = np.random.default_rng(19)
    return {
        "h": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, VOCAB)) / 4).astype(ml_dtypes.bfloat16),
        "target": np.eye(VOCAB, dtype=np.float32)[np.arange(M) * 37 % VOCAB],
        "loss": np.full((M, 1), -77, np.float32),
    }


def golden(inputs):
    logits = inputs["h"].astype(np.float32) @ inputs["w"].astype(np.float32)
    chosen = logits[np.arange(M), inputs["target"].argmax(axis=1)]
    return {"loss": (np.logaddexp.reduce(logits, axis=1) - chosen)[:, None]}
