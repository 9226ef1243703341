"""Parsing and every pass take as many steps as the kernel has ops: counted calls, so that no clock is asked."""

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest
from xdsl.dialects.builtin import StringAttr

from cubelane import language
from cubelane.ir.kernel import TARGET
from cubelane.passes import pipeline

SHORT, LONG = 60, 240
FACTOR = 1.15
"""How much more than in proportion the longer kernel may take: a step that looks at all ops for every op takes 4."""
FEW = 400
"""Calls of a pass below which its fixed part still shows."""


def kernel(body: list[str]) -> str:
    """A mixed kernel with these statements between its first product and its store."""
    return "\n".join(
        [
            "import cubelane.language as pl",
            "@pl.program",
            "class Long:",
            "    @pl.function",
            "    def main(self, x: pl.Tensor[[64, 64], pl.FP16], w: pl.Tensor[[64, 64], pl.FP16],",
            "             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:",
            "        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):",
            "            v = pl.matmul(x, w, out_dtype=pl.FP32)",
            *(f"            {line}" for line in body),
            "            out = pl.assemble(out, v, [0, 0])",
            "        return out",
        ]
    )


def chain(length: int) -> str:
    """Vector ops one behind the other."""
    return kernel([f"v = pl.{('exp', 'neg', 'abs', 'relu')[i % 4]}(v)" for i in range(length)])


def crossings(length: int) -> str:
    """From the lanes to the cube and back, again and again."""
    lines = ["v = pl.matmul(pl.cast(v, target_type=pl.FP16), w, out_dtype=pl.FP32)", "v = pl.exp(v)"]
    return kernel(lines * (length // 4))


def loops(length: int) -> str:
    """Loops with a carried tile, one behind the other."""
    lines = ["for i in pl.range(2):", "    v = pl.mul(pl.add(v, 1.0), 0.5)", "    v = pl.relu(v)"]
    return kernel(lines * (length // 5))


def branches(length: int) -> str:
    """Branches that choose a tile, one behind the other."""
    lines = ["if pl.get_block_idx() > 0:", "    v = pl.exp(v)", "else:", "    v = pl.relu(v)"]
    return kernel(lines * (length // 4))


def windows(length: int) -> str:
    """Windows of a tensor that are read, and of another that are written."""
    lines = [
        "v = pl.add(v, pl.cast(pl.slice(x, [64, 64], [0, 0]), target_type=pl.FP32))",
        "out = pl.assemble(out, v, [0, 0])",
    ]
    return kernel(lines * (length // 4))


def shared(length: int) -> str:
    """One tile that every op reads."""
    return kernel(["one = pl.exp(v)", *(["v = pl.add(v, one)"] * length)])


def calls(text: str) -> Counter[str]:
    """How many functions are called while the text is read, and by every pass with the checks behind it."""
    counted: Counter[str] = Counter()
    doing = "parse"

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            counted[doing] += 1

    sys.setprofile(count)
    try:
        module = language.parse(text)
        module.attributes[TARGET] = StringAttr("a2a3")
        for stage in pipeline.PASSES:
            if stage.applies_to(module):
                doing = stage.name
                stage(module)
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("shape", [chain, crossings, loops, branches, windows, shared])
def test_every_pass_grows_with_the_kernel_and_not_faster(shape):
    calls(shape(SHORT)), calls(shape(LONG))  # what is looked up once per class of ops
    short, long = calls(shape(SHORT)), calls(shape(LONG))
    grown = {name: long[name] / short[name] for name in long if long[name] > FEW}
    steep = {name: round(factor, 2) for name, factor in grown.items() if factor > FACTOR * LONG / SHORT}
    assert not steep
