"""A region for one lane in a loop: carries that move on by one, a reload, and what it makes goes to the cube."""

import ml_dtypes
import numpy as np

import cubelane.language as pl

M, K, N, H = 16, 16, 32, 16


@pl.program
class RegionCarry:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[3 * M, K], pl.FP16],
        w: pl.Tensor[[K, N], pl.FP16],
        u: pl.Tensor[[N, H], pl.BF16],
        t: pl.Tensor[[M, N], pl.FP32],
        s: pl.InOut[pl.Tensor[[M, N], pl.FP32]],
        y: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        z: pl.Out[pl.Tensor[[3 * M, H], pl.FP32]],
    ) -> tuple[pl.Tensor[[M, N], pl.FP32], pl.Tensor[[3 * M, H], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP):
            for i in pl.range(3):
                acc = pl.matmul(a[i * M : i * M + M, :], w, out_dtype=pl.FP32)
                for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                    part = pl.aiv_shard(acc)
                    mine = pl.slice(t, [M // 2, N], [lane * (M // 2), 0])
                    old = pl.slice(s, [M // 2, N], [lane * (M // 2), 0])
                    last, now = mine, pl.sub(part, mine)
                    for _j in pl.range(2):
                        kept = last
                        last = now
                        now = pl.sub(pl.mul(kept, 0.5), now)
                    s = pl.assemble(s, pl.add(old, now), [lane * (M // 2), 0])
                    y = pl.assemble(y, last, [lane * (M // 2), 0])
                    crossing = pl.aic_gather(pl.cast(now, target_type=pl.BF16))
                back = pl.matmul(crossing, u, out_dtype=pl.FP32)
                z = pl.assemble(z, back, [i * M, 0])
        return y, z


def inputs():
    rng = np.random.default_rng(7)
    return {
        "a": rng.integers(-3, 4, (3 * M, K)).astype(np.float16),
        "w": rng.integers(-3, 4, (K, N)).astype(np.float16),
        "u": rng.integers(-3, 4, (N, H)).astype(ml_dtypes.bfloat16),
        "t": rng.standard_normal((M, N)).astype(np.float32),
        "s": rng.standard_normal((M, N)).astype(np.float32),
        "y": np.full((M, N), -77, np.float32),
        "z": np.full((3 * M, H), -77, np.float32),
    }
