"""Paged attention: keys and values lie in pages that a block table names, and each sequence has a length of its own.

q [4 * 16, 64] FP16 (sequences stacked by rows), k and v [16 * 64, 64] FP16 (pages of 64 rows), table [4, 4] INT32,
lengths [4] INT32, out [4 * 16, 64] FP32. Page, trip count and the valid columns of the last page are run-time values.
"""

import numpy as np

import cubelane.language as pl

SEQUENCES, PAGES = 4, 4
M, D, PAGE = 16, 64, 64
S = SEQUENCES * PAGES * PAGE
SCALE = 0.125
RTOL, ATOL = 5e-3, 1e-3


@pl.program
class PagedAttention:
    @pl.function
    def main(
        self,
        q: pl.Tensor[[SEQUENCES * M, D], pl.FP16],
        k: pl.Tensor[[S, D], pl.FP16],
        v: pl.Tensor[[S, D], pl.FP16],
        table: pl.Tensor[[SEQUENCES, PAGES], pl.INT32],
        lengths: pl.Tensor[[SEQUENCES], pl.INT32],
        out: pl.Out[pl.Tensor[[SEQUENCES * M, D], pl.FP32]],
    ) -> pl.Tensor[[SEQUENCES * M, D], pl.FP32]:
        for sequence in pl.range(SEQUENCES):
            length = pl.read(lengths, [sequence])
            with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
                queries = pl.slice(q, [M, D], [sequence * M, 0])
                top = pl.full([M, 1], dtype=pl.FP32, value=-1e30)
                total = pl.full([M, 1], dtype=pl.FP32, value=0.0)
                acc = pl.full([M, D], dtype=pl.FP32, value=0.0)
                for block in pl.range((length + PAGE - 1) // PAGE):
                    page = pl.read(table, [sequence, block])
                    keys = pl.slice(k, [PAGE, D], [page * PAGE, 0])
                    values = pl.slice(v, [PAGE, D], [page * PAGE, 0])
                    scores = pl.mul(pl.matmul(queries, keys, b_trans=True, out_dtype=pl.FP32), SCALE)
                    inside = pl.set_validshape(scores, M, pl.min(length - block * PAGE, PAGE))
                    scores = pl.fillpad(inside, pad_value=pl.PadValue.min)
                    top_next = pl.maximum(top, pl.row_max(scores))
                    weights = pl.exp(pl.row_expand_sub(scores, top_next))
                    rescale = pl.exp(pl.sub(top, top_next))
                    mixed = pl.matmul(pl.cast(weights, target_type=pl.FP16), values, out_dtype=pl.FP32)
                    total = pl.add(pl.mul(total, rescale), pl.row_sum(weights))
                    acc = pl.add(pl.row_expand_mul(acc, rescale), mixed)
                    top = top_next
                out = pl.assemble(out, pl.row_expand_div(acc, total), [sequence * M, 0])
        return out


def inputs():
    rng = np.random.default_rng(46)
    return {
        "q": rng.standard_normal((SEQUENCES * M, D)).astype(np.float16),
        "k": rng.standard_normal((S, D)).astype(np.float16),
        "v": rng.standard_normal((S, D)).astype(np.float16),
        "table": rng.permutation(SEQUENCES * PAGES).reshape(SEQUENCES, PAGES).astype(np.int32),
        "lengths": np.array([200, 64, 3, 131], np.int32),
        "out": np.full((SEQUENCES * M, D), -77, np.float32),
    }


def golden(inputs):
    out = np.empty((SEQUENCES * M, D), np.float32)
    for sequence, length in enumerate(inputs["lengths"]):
        position = np.arange(length)
        rows = inputs["table"][sequence, position // PAGE] * PAGE + position % PAGE
        mine = slice(sequence * M, (sequence + 1) * M)
        scores = inputs["q"][mine].astype(np.float32) @ inputs["k"][rows].astype(np.float32).T * np.float32(SCALE)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[mine] = weights @ inputs["v"][rows].astype(np.float32) / weights.sum(axis=1, keepdims=True)
    return {"out": out}
