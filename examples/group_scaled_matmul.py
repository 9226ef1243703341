"""Matmul with one scale per group of K and output column; the groups are summed on the vector lanes.

a [64, 256] FP16, b [256, 64] FP16, scale [4, 64] FP32, out [64, 64] FP32:
out = sum over groups g of (a_g @ b_g) * scale[g].
"""

import numpy as np

import cubelane.language as pl

M, K, N = 64, 256, 64
GROUP = 64
RTOL, ATOL = 1e-4, 1e-4


@pl.program
class GroupScaledMatmul:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        b: pl.Tensor[[K, N], pl.FP16],
        scale: pl.Tensor[[K // GROUP, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            total = pl.full([M, N], dtype=pl.FP32, value=0.0)
            for g in pl.range(K // GROUP):
                a_group = pl.slice(a, [M, GROUP], [0, g * GROUP])
                b_group = pl.slice(b, [GROUP, N], [g * GROUP, 0])
                part = pl.matmul(a_group, b_group, out_dtype=pl.FP32)
                total = pl.add(total, pl.col_expand_mul(part, pl.slice(scale, [1, N], [g, 0])))
            out = pl.assemble(out, total, [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(28)
    return {
        "a": rng.standard_normal((M, K)).astype(np.float16),
        "b": (rng.standard_normal((K, N)) / 8).astype(np.float16),
        "scale": (rng.uniform(0.5, 2.0, (K // GROUP, N)) / 2).astype(np.float32),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    b = inputs["b"].astype(np.float32) * np.repeat(inputs["scale"], GROUP, axis=0)
    return {"out": inputs["a"].astype(np.float32) @ b}
