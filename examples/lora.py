"""Linear layer with a low-rank (LoRA) correction: out = x @ w + ALPHA * (x @ down) @ up.

x [64, 128] BF16, w [128, 64] BF16, down [128, 32] BF16, up [32, 64] BF16, out [64, 64] BF16.
The rank-32 product is scaled and rounded on the lanes between its two matmuls.
"""

import ml_dtypes
import numpy as np
import pypto.language as pl

M, K, N, RANK = 64, 128, 64, 32
ALPHA = 2.0
RTOL, ATOL = 1e-2, 2e-3


@pl.program
class Lora:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        w: pl.Tensor[[K, N], pl.BF16],
        down: pl.Tensor[[K, RANK], pl.BF16],
        up: pl.Tensor[[RANK, N], pl.BF16],
        out: pl.Out[pl.Tensor[[M, N], pl.BF16]],
    ) -> pl.Tensor[[M, N], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            base = pl.matmul(x, w, out_dtype=pl.FP32)
            low = pl.mul(pl.matmul(x, down, out_dtype=pl.FP32), ALPHA)
            delta = pl.matmul(pl.cast(low, target_type=pl.BF16), up, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.cast(pl.add(base, delta), target_type=pl.BF16), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(17)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": (rng.standard_normal((K, N)) / 12).astype(ml_dtypes.bfloat16),
        "down": (rng.standard_normal((K, RANK)) / 12).astype(ml_dtypes.bfloat16),
        "up": (rng.standard_normal((RANK, N)) / 6).astype(ml_dtypes.bfloat16),
        "out": np.full((M, N), -77, ml_dtypes.bfloat16),
    }


def golden(inputs):
    x, w, down, up = (inputs[name].astype(np.float32) for name in ("x", "w", "down", "up"))
    low = (np.float32(ALPHA) * (x @ down)).astype(ml_dtypes.bfloat16).astype(np.float32)
    return {"out": (x @ w + low @ up).astype(ml_dtypes.bfloat16)}
