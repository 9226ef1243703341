"""One step of a GRU cell: the reset gate acts on the old state before its matmul, the update gate blends.

x [32, 64] BF16, h [32, 64] FP32, wz, wr, wn, uz, ur and un [64, 64] BF16, bz, br and bn [1, 64] FP32,
out [32, 64] FP32 = (1 - z) * n + z * h. Each gate adds two matmuls, of the input and of the state, on the cube core.
"""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, D = 32, 64
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class GruCell:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, D], pl.BF16],
        h: pl.Tensor[[M, D], pl.FP32],
        wz: pl.Tensor[[D, D], pl.BF16],
        wr: pl.Tensor[[D, D], pl.BF16],
        wn: pl.Tensor[[D, D], pl.BF16],
        uz: pl.Tensor[[D, D], pl.BF16],
        ur: pl.Tensor[[D, D], pl.BF16],
        un: pl.Tensor[[D, D], pl.BF16],
        bz: pl.Tensor[[1, D], pl.FP32],
        br: pl.Tensor[[1, D], pl.FP32],
        bn: pl.Tensor[[1, D], pl.FP32],
        out: pl.Out[pl.Tensor[[M, D], pl.FP32]],
    ) -> pl.Tensor[[M, D], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            h16 = pl.cast(h, target_type=pl.BF16)
            z_in = pl.matmul_acc(pl.matmul(x, wz, out_dtype=pl.FP32), h16, uz)
            r_in = pl.matmul_acc(pl.matmul(x, wr, out_dtype=pl.FP32), h16, ur)
            z = pl.recip(pl.add(pl.exp(pl.neg(pl.add(z_in, bz))), 1.0))
            r = pl.recip(pl.add(pl.exp(pl.neg(pl.add(r_in, br))), 1.0))
            reset = pl.cast(pl.mul(r, h), target_type=pl.BF16)
            n_in = pl.add(pl.matmul_acc(pl.matmul(x, wn, out_dtype=pl.FP32), reset, un), bn)
            # tanh(u) = 1 - 2 / (exp(2 * u) + 1)
            tail = pl.recip(pl.add(pl.exp(pl.mul(n_in, 2.0)), 1.0))
            n = pl.add(pl.mul(tail, -2.0), 1.0)
            out = pl.assemble(out, pl.add(n, pl.mul(z, pl.sub(h, n))), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(44)
    weights = {
        name: (rng.standard_normal((D, D)) / 6).astype(ml_dtypes.bfloat16)
        for name in ("wz", "wr", "wn", "uz", "ur", "un")
    }
    biases = {name: rng.standard_normal((1, D)).astype(np.float32) for name in ("bz", "br", "bn")}
    return {
        "x": rng.standard_normal((M, D)).astype(ml_dtypes.bfloat16),
        "h": np.tanh(rng.standard_normal((M, D))).astype(np.float32),
        **weights,
        **biases,
        "out": np.full((M, D), -77, np.float32),
    }


def golden(inputs):
    def bf16(values):
        return values.astype(ml_dtypes.bfloat16).astype(np.float32)

    def gate(name, state):
        w, u = (inputs[letter + name].astype(np.float32) for letter in "wu")
        return inputs["x"].astype(np.float32) @ w + bf16(state) @ u + inputs["b" + name]

    h = inputs["h"]
    z = 1 / (1 + np.exp(-gate("z", h)))
    r = 1 / (1 + np.exp(-gate("r", h)))
    return {"out": (1 - z) * np.tanh(gate("n", r * h)) + z * h}
