"""Products larger than L0 compile and give the right numbers: in M, N and K, summed, in loops, turned, with a bias."""

import pytest

from cubelane.check.compiled import compile_program
from cubelane.language import parse

PLAIN = "y = pl.matmul(x, w, out_dtype=pl.FP32)"
FORMS: dict[str, tuple[str, ...]] = {
    "plain": (PLAIN, "out = pl.assemble(out, y, [0, 0])"),
    "left turned": ("y = pl.matmul(x, w, out_dtype=pl.FP32, a_trans=True)", "out = pl.assemble(out, y, [0, 0])"),
    "right turned": ("y = pl.matmul(x, w, out_dtype=pl.FP32, b_trans=True)", "out = pl.assemble(out, y, [0, 0])"),
    "summed": (PLAIN, "y = pl.matmul_acc(y, x, w)", "out = pl.assemble(out, y, [0, 0])"),
    "summed in a loop": (
        "y = pl.full([M, N], dtype=pl.FP32, value=0.0)",
        "for i in pl.range(3):",
        "    y = pl.matmul_acc(y, x, w)",
        "out = pl.assemble(out, y, [0, 0])",
    ),
    "stored in a loop": ("for i in pl.range(2):", f"    {PLAIN}", "    out = pl.assemble(out, y, [0, 0])"),
    "bias": (PLAIN, "out = pl.assemble(out, pl.add(y, b), [0, 0])"),
}
SHAPES = {"rows": (512, 96, 64), "columns": (64, 96, 512), "depth": (64, 1024, 64), "all": (256, 512, 256)}
NO_ROOM = {("bias", "rows"), ("bias", "columns"), ("bias", "all")}
"""Work on the lanes is not cut into blocks: a half of these results does not fit Vec."""
ACC_TOO_SMALL = {("summed", "all", "a2a3"), ("summed in a loop", "all", "a2a3")}
"""The sum alone has 256 KiB, Acc has 128."""


def kernel(form: str, shape: tuple[int, int, int]) -> str:
    """The kernel of one form over x [M, K] and w [K, N], or their transposes."""
    m, k, n = shape
    x = f"{k}, {m}" if form == "left turned" else f"{m}, {k}"
    w = f"{n}, {k}" if form == "right turned" else f"{k}, {n}"
    lines = "".join(f"            {line}\n" for line in FORMS[form])
    split = ", optimizations=[pl.split(pl.SplitMode.UP_DOWN)]" if form == "bias" else ""
    return f"""
import cubelane.language as pl
M, N = {m}, {n}

@pl.program
class P:
    @pl.function
    def main(self, x: pl.Tensor[[{x}], pl.FP16], w: pl.Tensor[[{w}], pl.FP16], b: pl.Tensor[[1, N], pl.FP32],
             out: pl.Out[pl.Tensor[[M, N], pl.FP32]]) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP{split}):
{lines}        return out
"""


CASES = [
    (form, shape, target)
    for form in FORMS
    for shape in SHAPES
    for target in ("a2a3", "a5")
    if (form, shape) not in NO_ROOM and (form, shape, target) not in ACC_TOO_SMALL
]


@pytest.mark.parametrize(("form", "shape", "target"), CASES)
def test_large_product_gives_the_right_numbers(form: str, shape: str, target: str) -> None:
    compiled = compile_program(parse(kernel(form, SHAPES[shape])), target)
    verdict = compiled.judge()
    assert not verdict.findings, str(verdict.findings[0])
    assert verdict.equal
    assert "tile.extract" in str(compiled.module)
