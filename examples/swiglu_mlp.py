"""SwiGLU MLP with a wide hidden layer taken in blocks: out = (silu(x @ w_gate) * (x @ w_up)) @ w_down.

x [64, 64] BF16, w_gate and w_up [64, 256] BF16, w_down [256, 64] BF16, out [64, 64] FP32.
Each step computes 64 hidden channels and adds their share of the output, which the loop carries on the lanes.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, HIDDEN = 64, 64, 256
BLOCK = 64
RTOL, ATOL = 5e-3, 2e-3


@pl.program
class SwigluMlp:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w_gate: pl.Tensor[[K, HIDDEN], pl.BF16],
        w_up: pl.Tensor[[K, HIDDEN], pl.BF16],
        w_down: pl.Tensor[[HIDDEN, K], pl.BF16],
        out: pl.Out[pl.Tensor[[M, K], pl.FP32]],
    ) -> pl.Tensor[[M, K], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            acc = pl.full([M, K], dtype=pl.FP32, value=0.0)
            for step in pl.range(HIDDEN // BLOCK):
                gate = pl.matmul(x, pl.slice(w_gate, [K, BLOCK], [0, step * BLOCK]), out_dtype=pl.FP32)
                up = pl.matmul(x, pl.slice(w_up, [K, BLOCK], [0, step * BLOCK]), out_dtype=pl.FP32)
                silu = pl.div(gate, pl.add(pl.exp(pl.neg(gate)), 1.0))
                hidden = pl.cast(pl.mul(silu, up), target_type=pl.BF16)
                share = pl.matmul(hidden, pl.slice(w_down, [BLOCK, K], [step * BLOCK, 0]), out_dtype=pl.FP32)
                acc = pl.add(acc, share)
            out = pl.assemble(out, acc, [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(12)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w_gate": (rng.standard_normal((K, HIDDEN)) / 6).astype(ml_dtypes.bfloat16),
        "w_up": (rng.standard_normal((K, HIDDEN)) / 6).astype(ml_dtypes.bfloat16),
        "w_down": (rng.standard_normal((HIDDEN, K)) / 12).astype(ml_dtypes.bfloat16),
        "out": np.full((M, K), -77, np.float32),
    }


def golden(inputs):
    x, w_gate, w_up, w_down = (inputs[n].astype(np.float32) for n in ("x", "w_gate", "w_up", "w_down"))
    gate = x @ w_gate
    hidden = gate / (1 + np.exp(-gate)) * (x @ w_up)
    return {"out": hidden.astype(ml_dtypes.bfloat16).astype(np.float32) @ w_down}
