"""Cosine similarity of two sets of embeddings: rows are brought to length one, then multiplied pairwise.

a and b [64, 64] FP32, out [64, 64] FP32. Both operands of the matmul come from the vector lanes.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, N, D = 64, 64, 64
EPS = 1e-12
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class CosineSimilarity:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, D], pl.FP32],
        b: pl.Tensor[[N, D], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            a_inv = pl.rsqrt(pl.add(pl.row_sum(pl.mul(a, a)), EPS))
            b_inv = pl.rsqrt(pl.add(pl.row_sum(pl.mul(b, b)), EPS))
            a_unit = pl.cast(pl.row_expand_mul(a, a_inv), target_type=pl.BF16)
            b_unit = pl.cast(pl.row_expand_mul(b, b_inv), target_type=pl.BF16)
            out = pl.assemble(out, pl.matmul(a_unit, b_unit, b_trans=True, out_dtype=pl.FP32), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(27)
    base = rng.standard_normal((M, D))
    return {
        "a": (base * np.geomspace(0.1, 10.0, M)[:, None]).astype(np.float32),
        # every b is a noisy copy of another a
        "b": (np.roll(base, 5, axis=0) + rng.standard_normal((N, D)) / 2).astype(np.float32),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    def unit(rows):
        length = np.sqrt((rows * rows).sum(axis=1, keepdims=True) + np.float32(EPS))
        return (rows / length).astype(ml_dtypes.bfloat16).astype(np.float32)

    return {"out": unit(inputs["a"]) @ unit(inputs["b"]).T}
