"""Flash attention whose trips overlap: the cube scores block i + 1 while the lanes do the softmax of block i.

q [128, 64] FP16, k and v [512, 64] FP16, out [128, 64] FP32.
`pl.pipeline(n, stage=2)` lets both cores be one trip apart. In a plain loop the cube waits in every trip for the
weights, and the lanes for both products; `cubelane compile` prints how much of the waiting is left.
"""

import numpy as np

import cubelane.language as pl

ROWS, DEPTH, BLOCK, BLOCKS = 128, 64, 64, 8
LENGTH = BLOCK * BLOCKS
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class PipelinedFlashAttention:
    @pl.function
    def main(
        self,
        q: pl.Tensor[[ROWS, DEPTH], pl.FP16],
        k: pl.Tensor[[LENGTH, DEPTH], pl.FP16],
        v: pl.Tensor[[LENGTH, DEPTH], pl.FP16],
        out: pl.Out[pl.Tensor[[ROWS, DEPTH], pl.FP32]],
    ) -> pl.Tensor[[ROWS, DEPTH], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            best = pl.full([ROWS, 1], dtype=pl.FP32, value=-1e30)
            weight = pl.full([ROWS, 1], dtype=pl.FP32, value=0.0)
            mixed = pl.full([ROWS, DEPTH], dtype=pl.FP32, value=0.0)
            for block in pl.pipeline(BLOCKS, stage=2):
                keys = pl.slice(k, [BLOCK, DEPTH], [block * BLOCK, 0])
                scores = pl.mul(pl.matmul(q, keys, b_trans=True, out_dtype=pl.FP32), 0.125)
                higher = pl.maximum(best, pl.row_max(scores))
                p = pl.exp(pl.row_expand_sub(scores, higher))
                fade = pl.exp(pl.sub(best, higher))
                values = pl.slice(v, [BLOCK, DEPTH], [block * BLOCK, 0])
                part = pl.matmul(pl.cast(p, target_type=pl.FP16), values, out_dtype=pl.FP32)
                weight = pl.add(pl.mul(weight, fade), pl.row_sum(p))
                mixed = pl.add(pl.row_expand_mul(mixed, fade), part)
                best = higher
            out = pl.assemble(out, pl.row_expand_div(mixed, weight), [0, 0])
        return out


def inputs():
    rng = np.random.default_rng(17)
    rising = np.linspace(0.3, 1.5, LENGTH)[:, None]
    return {
        "q": rng.standard_normal((ROWS, DEPTH)).astype(np.float16),
        "k": (rng.standard_normal((LENGTH, DEPTH)) * rising).astype(np.float16),
        "v": rng.standard_normal((LENGTH, DEPTH)).astype(np.float16),
        "out": np.full((ROWS, DEPTH), -77, np.float32),
    }


def golden(inputs):
    """Softmax over the whole row at once."""
    q, k, v = (inputs[name].astype(np.float64) for name in ("q", "k", "v"))
    scores = q @ k.T / 8
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": (p / p.sum(axis=1, keepdims=True) @ v).astype(np.float32)}
