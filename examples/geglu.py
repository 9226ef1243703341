"""GeGLU with one fused weight: out = gelu(x @ w[:, :H]) * (x @ w[:, H:]), tanh form of GELU.

x [64, 128] FP16, w [128, 2 * 64] FP16 (gate half, value half), out [64, 64] FP16.
"""

import numpy as np

import cubelane.language as pl

M, K, H = 64, 128, 64
RTOL, ATOL = 2e-3, 1e-3


@pl.program
class GeGlu:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.FP16],
        w: pl.Tensor[[K, 2 * H], pl.FP16],
        out: pl.Out[pl.Tensor[[M, H], pl.FP16]],
    ) -> pl.Tensor[[M, H], pl.FP16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            gate = pl.matmul(x, pl.slice(w, [K, H], [0, 0]), out_dtype=pl.FP32)
            value = pl.matmul(x, pl.slice(w, [K, H], [0, H]), out_dtype=pl.FP32)
            # gelu(g) = g / (1 + exp(-2 * sqrt(2 / pi) * (g + 0.044715 * g^3)))
            slope = pl.add(pl.mul(pl.mul(gate, gate), 0.044715), 1.0)
            inner = pl.mul(pl.mul(gate, slope), -1.5957691216057308)
            gelu = pl.div(gate, pl.add(pl.exp(inner), 1.0))
            out = pl.assemble(out, pl.cast(pl.mul(gelu, value), target_type=pl.FP16), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(13)
    return {
        "x": rng.standard_normal((M, K)).astype(np.float16),
        "w": (rng.standard_normal((K, 2 * H)) / 8).astype(np.float16),
        "out": np.full((M, H), -77, np.float16),
    }


def golden(inputs):
    both = inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32)
    gate, value = np.split(both, 2, axis=1)
    gelu = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    return {"out": (gelu * value).astype(np.float16)}
