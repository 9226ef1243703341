"""Matmul over a long inner dimension, accumulated on the cube core: out = relu(a @ b + bias).

a [64, 512] BF16, b [512, 64] BF16, bias [1, 64] FP32, out [64, 64] FP32.
The accumulator stays in the cube core for all eight blocks of the K loop; only the finished sum goes to the
vector lanes, which add the bias and clip.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 512, 64
BLOCK = 64
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class KLoopAccumulate:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.BF16],
        b: pl.Tensor[[K, N], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            a_first = pl.slice(a, [M, BLOCK], [0, 0])
            b_first = pl.slice(b, [BLOCK, N], [0, 0])
            acc = pl.matmul(a_first, b_first, out_dtype=pl.FP32)
            for step in pl.range(1, K // BLOCK):
                a_block = pl.slice(a, [M, BLOCK], [0, step * BLOCK])
                b_block = pl.slice(b, [BLOCK, N], [step * BLOCK, 0])
                acc = pl.matmul_acc(acc, a_block, b_block)
            out = pl.assemble(out, pl.maximum(pl.add(acc, bias), 0.0), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(6)
    # blocks of very different weight: losing or repeating one shows
    block_gain = np.repeat(2.0 ** -np.arange(K // BLOCK), BLOCK)
    return {
        "a": (rng.standard_normal((M, K)) * block_gain).astype(ml_dtypes.bfloat16),
        "b": (rng.standard_normal((K, N)) / 4).astype(ml_dtypes.bfloat16),
        "bias": np.linspace(-2.0, 2.0, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    product = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32)
    return {"out": np.maximum(product + inputs["bias"], 0)}
