"""Tiles of more than two axes, turned matrices and large products keep their meaning (spec/front.md 3.6, 3.7)."""

import numpy as np
import pytest

from cubelane import language
from tests.passes.front.test_meaning import assert_meaning_kept

FRAME = """import cubelane.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(self, {parameters}, out: pl.Out[pl.Tensor[{shape}, pl.FP32]]) -> pl.Tensor[{shape}, pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
{body}
        return out
"""

TYPES = {np.float32: "FP32", np.float16: "FP16", np.int8: "INT8"}

CASES = {
    "elementwise on three axes": (
        {"x": ((2, 8, 16), np.float32)},
        (2, 8, 16),
        "y = pl.exp(pl.mul(x, 0.5))\nout = pl.assemble(out, y, [0, 0, 0])",
    ),
    "row reduction on three axes": (
        {"x": ((2, 8, 16), np.float32)},
        (2, 8, 16),
        "y = pl.row_expand_sub(x, pl.row_max(x))\nout = pl.assemble(out, y, [0, 0, 0])",
    ),
    "window of matrices of a batch": (
        {"x": ((4, 8, 16), np.float32)},
        (4, 8, 16),
        "for b in pl.range(2):\n"
        "    y = pl.neg(pl.slice(x, [2, 8, 16], [b * 2, 0, 0]))\n"
        "    out = pl.assemble(out, y, [b * 2, 0, 0])",
    ),
    "rows of one matrix of a batch": (
        {"x": ((4, 8, 16), np.float32)},
        (4, 8, 16),
        "for b in pl.range(4):\n"
        "    y = pl.neg(pl.slice(x, [1, 4, 16], [b, 4, 0]))\n"
        "    out = pl.assemble(out, y, [b, 0, 0])\n"
        "    out = pl.assemble(out, y, [b, 4, 0])",
    ),
    "windows of a tile on three axes": (
        {"x": ((4, 8, 16), np.float32)},
        (4, 8, 16),
        "y = pl.abs(x)\n"
        "z = pl.assemble(y, pl.slice(y, [1, 8, 16], [3, 0, 0]), [0, 0, 0])\n"
        "out = pl.assemble(out, z, [0, 0, 0])",
    ),
    "batched product": (
        {"a": ((2, 16, 32), np.float16), "b": ((2, 32, 16), np.float16)},
        (2, 16, 16),
        "y = pl.mul(pl.matmul(a, b, out_dtype=pl.FP32), 0.5)\nout = pl.assemble(out, y, [0, 0, 0])",
    ),
    "batched product with one turned factor for all": (
        {"a": ((2, 16, 32), np.float16), "b": ((48, 32), np.float16)},
        (2, 16, 48),
        "y = pl.matmul(a, b, b_trans=True, out_dtype=pl.FP32)\nout = pl.assemble(out, y, [0, 0, 0])",
    ),
    "turned factor": (
        {"a": ((32, 16), np.float16), "b": ((32, 48), np.float16)},
        (16, 48),
        "y = pl.matmul(pl.transpose(a, 0, 1), b, out_dtype=pl.FP32)\nout = pl.assemble(out, y, [0, 0])",
    ),
    "turned tile": (
        {"a": ((32, 16), np.float32)},
        (16, 32),
        "out = pl.assemble(out, pl.transpose(pl.abs(a), 0, 1), [0, 0])",
    ),
    "deep product": (
        {"a": ((128, 1024), np.float16), "b": ((1024, 128), np.float16)},
        (128, 128),
        "out = pl.assemble(out, pl.mul(pl.matmul(a, b, out_dtype=pl.FP32), 0.25), [0, 0])",
    ),
    "wide product that is stored": (
        {"a": ((128, 256), np.float16), "b": ((256, 512), np.float16)},
        (128, 512),
        "out = pl.assemble(out, pl.matmul(a, b, out_dtype=pl.FP32), [0, 0])",
    ),
    "wide product that is worked on": (
        {"a": ((64, 256), np.float16), "b": ((256, 1024), np.float16)},
        (64, 1024),
        "out = pl.assemble(out, pl.abs(pl.matmul(a, b, out_dtype=pl.FP32)), [0, 0])",
    ),
    "conversion in several steps": (
        {"q": ((8, 32), np.int8)},
        (8, 32),
        "out = pl.assemble(out, pl.cast(q, target_type=pl.FP32, mode='none'), [0, 0])",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_meaning_is_kept(case: str):
    parameters, shape, body = CASES[case]
    draw = np.random.default_rng(1)
    arrays: dict[str, object] = {
        name: (draw.standard_normal(extents) * 4).astype(dtype) for name, (extents, dtype) in parameters.items()
    }
    text = FRAME.format(
        parameters=", ".join(f"{n}: pl.Tensor[{list(s)}, pl.{TYPES[t]}]" for n, (s, t) in parameters.items()),
        shape=list(shape),
        body="\n".join(" " * 12 + line for line in body.splitlines()),
    )
    arrays["out"] = np.full(shape, -77, np.float32)
    assert_meaning_kept(language.parse(text), arrays, 1e-3)
