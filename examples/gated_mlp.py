"""Gated MLP with two independent matmul chains and a SiLU gate between them.

x [64, 64] BF16, w_gate and w_up [64, 64] BF16, v_gate and v_up [64, 64] BF16, out [64, 64] FP32.
Each chain is matmul -> activation -> matmul. The chains advance in turn, so the cube core and the vector
lanes hand over tiles of both chains alternately; a product of the two results closes the kernel.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, H, N = 64, 64, 64, 64
RTOL, ATOL = 5e-3, 2e-3


@pl.program
class GatedMlp:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w_gate: pl.Tensor[[K, H], pl.BF16],
        w_up: pl.Tensor[[K, H], pl.BF16],
        v_gate: pl.Tensor[[H, N], pl.BF16],
        v_up: pl.Tensor[[H, N], pl.BF16],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            # first layer of both chains
            gate_in = pl.matmul(x, w_gate, out_dtype=pl.FP32)
            up_in = pl.matmul(x, w_up, out_dtype=pl.FP32)
            # activations: SiLU on the gate chain, ReLU on the other
            gate_act = pl.div(gate_in, pl.add(pl.exp(pl.neg(gate_in)), 1.0))
            up_act = pl.maximum(up_in, 0.0)
            # second layer of both chains
            gate_out = pl.matmul(pl.cast(gate_act, target_type=pl.BF16), v_gate, out_dtype=pl.FP32)
            up_out = pl.matmul(pl.cast(up_act, target_type=pl.BF16), v_up, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.mul(gate_out, up_out), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(2)

    def weights(rows, cols):
        return (rng.standard_normal((rows, cols)) * 1.5 / np.sqrt(rows)).astype(ml_dtypes.bfloat16)

    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w_gate": weights(K, H),
        "w_up": weights(K, H),
        "v_gate": weights(H, N),
        "v_up": weights(H, N),
        "out": np.full((M, N), -77, np.float32),
    }


def golden(inputs):
    x, w_gate, w_up, v_gate, v_up = (
        inputs[name].astype(np.float32) for name in ("x", "w_gate", "w_up", "v_gate", "v_up")
    )
    gate, up = x @ w_gate, x @ w_up
    gate = (gate / (1 + np.exp(-gate))).astype(ml_dtypes.bfloat16).astype(np.float32)
    up = np.maximum(up, 0).astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": (gate @ v_gate) * (up @ v_up)}
