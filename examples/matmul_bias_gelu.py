"""Linear layer with GELU: out = gelu(x @ w + bias), tanh form.

x [64, 128] BF16, w [128, 64] BF16, bias [1, 64] FP32, out [64, 64] BF16.
The product is computed by the cube core; bias, GELU and the final rounding run on the vector lanes.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N = 64, 128, 64
RTOL, ATOL = 1e-2, 1e-3


@pl.program
class MatmulBiasGelu:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, N], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.BF16]],
    ) -> pl.Tensor[[M, N], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.add(pl.matmul(x, w, out_dtype=pl.FP32), bias)
            # 0.5 * y * (1 + tanh(u)) is y / (1 + exp(-2 * u)) with u = sqrt(2 / pi) * (y + 0.044715 * y^3)
            cubed = pl.mul(pl.mul(y, y), y)
            inner = pl.add(y, pl.mul(cubed, 0.044715))
            gate = pl.add(pl.exp(pl.mul(inner, -1.5957691216057308)), 1.0)
            gelu = pl.div(y, gate)
            out = pl.assemble(out, pl.cast(gelu, target_type=pl.BF16), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(1)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, N)) / 8).astype(ml_dtypes.bfloat16),
        "bias": np.linspace(-1.0, 1.0, N, dtype=np.float32)[None, :],
        "out": np.full((M, N), -77, ml_dtypes.bfloat16),
    }


def golden(inputs):
    x, w = inputs["x"].astype(np.float32), inputs["w"].astype(np.float32)
    y = x @ w + inputs["bias"]
    tanh = np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))
    return {"out": (0.5 * y * (1 + tanh)).astype(ml_dtypes.bfloat16)}
