"""Squared distance of every point to every centroid, and to the nearest one, through one matmul.

x [64, 64] FP32, centroids [64, 64] BF16, norms [1, 64] FP32 (squared lengths of the centroids),
distance [64, 64] FP32 = |x|^2 - 2 x . c + |c|^2, nearest [64, 1] FP32 = its row minimum.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, C, D = 64, 64, 64
RTOL, ATOL = 1e-3, 2e-2


@pl.program
class KmeansDistance:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, D], pl.FP32],
        centroids: pl.Tensor[[C, D], pl.BF16],
        norms: pl.Tensor[[1, C], pl.FP32],
        distance: pl.Out[pl.Tensor[[M, C], pl.FP32]],
        nearest: pl.Out[pl.Tensor[[M, 1], pl.FP32]],
    ) -> tuple[pl.Tensor[[M, C], pl.FP32], pl.Tensor[[M, 1], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            x16 = pl.cast(x, target_type=pl.BF16)
            dots = pl.matmul(x16, centroids, b_trans=True, out_dtype=pl.FP32)
            length = pl.row_sum(pl.mul(x, x))
            shifted = pl.add(pl.mul(dots, -2.0), norms)
            squared = pl.maximum(pl.row_expand_add(shifted, length), 0.0)
            distance = pl.assemble(distance, squared, [0, 0])
            nearest = pl.assemble(nearest, pl.row_min(squared), [0, 0])
        return distance, nearest


def inputs():
    rng = np.random.default_rng(43)
    centroids = (rng.standard_normal((C, D)) * 1.5).astype(ml_dtypes.bfloat16)
    offsets = rng.standard_normal((M, D)) * np.linspace(0.2, 1.0, M)[:, None]
    return {
        "x": (centroids[np.arange(M) * 11 % C].astype(np.float32) + offsets).astype(np.float32),
        "centroids": centroids,
        "norms": np.sum(centroids.astype(np.float32) ** 2, axis=1)[None, :],
        "distance": np.full((M, C), -77, np.float32),
        "nearest": np.full((M, 1), -77, np.float32),
    }


def golden(inputs):
    x, centroids = inputs["x"], inputs["centroids"].astype(np.float32)
    dots = x.astype(ml_dtypes.bfloat16).astype(np.float32) @ centroids.T
    squared = np.maximum(np.sum(x * x, axis=1, keepdims=True) - 2 * dots + inputs["norms"], 0)
    return {"distance": squared, "nearest": squared.min(axis=1, keepdims=True)}
