"""Pre-norm MLP block of a transformer: out = x + (silu(n @ w_gate) * (n @ w_up)) @ w_down, n = rmsnorm(x) * gamma.

x [32, 64] FP32, gamma [1, 64] FP32, w_gate and w_up [64, 128] BF16, w_down [128, 64] BF16, out [32, 64] FP32.
The data crosses four times: lanes -> cube -> lanes -> cube -> lanes.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, H = 32, 64, 128
EPS = 1e-5
RTOL, ATOL = 5e-3, 4e-3


@pl.program
class TransformerMlpBlock:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP32],
        gamma: pl.Tensor[[1, K], pl.FP32],
        w_gate: pl.Tensor[[K, H], pl.BF16],
        w_up: pl.Tensor[[K, H], pl.BF16],
        w_down: pl.Tensor[[H, K], pl.BF16],
        out: pl.Out[pl.Tensor[[M, K], pl.FP32]],
    ) -> pl.Tensor[[M, K], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            mean_square = pl.mul(pl.row_sum(pl.mul(x, x)), 1.0 / K)
            inv = pl.rsqrt(pl.add(mean_square, EPS))
            normed = pl.cast(pl.col_expand_mul(pl.row_expand_mul(x, inv), gamma), target_type=pl.BF16)
            gate = pl.matmul(normed, w_gate, out_dtype=pl.FP32)
            up = pl.matmul(normed, w_up, out_dtype=pl.FP32)
            silu = pl.div(gate, pl.add(pl.exp(pl.neg(gate)), 1.0))
            hidden = pl.cast(pl.mul(silu, up), target_type=pl.BF16)
            down = pl.matmul(hidden, w_down, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.add(x, down), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(34)
    return {
        "x": (rng.standard_normal((M, K)) * np.linspace(0.25, 3.0, M)[:, None]).astype(np.float32),
        "gamma": np.linspace(0.5, 1.5, K, dtype=np.float32)[None, :],
        "w_gate": (rng.standard_normal((K, H)) / 6).astype(ml_dtypes.bfloat16),
        "w_up": (rng.standard_normal((K, H)) / 6).astype(ml_dtypes.bfloat16),
        "w_down": (rng.standard_normal((H, K)) / 10).astype(ml_dtypes.bfloat16),
        "out": np.full((M, K), -77, np.float32),
    }


def golden(inputs):
    def bf16(values):
        return values.astype(ml_dtypes.bfloat16).astype(np.float32)

    x = inputs["x"]
    w_gate, w_up, w_down = (inputs[name].astype(np.float32) for name in ("w_gate", "w_up", "w_down"))
    normed = bf16(x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(EPS)) * inputs["gamma"])
    gate = normed @ w_gate
    hidden = bf16(gate / (1 + np.exp(-gate)) * (normed @ w_up))
    return {"out": x + hidden @ w_down}
