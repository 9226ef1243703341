"""What the front passes refuse: the place, the user's names, and a rewrite that compiles (spec/front.md 3.4 to 3.8)."""

from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane import language
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import TARGET
from cubelane.passes import run
from cubelane.passes.pipeline import TILE_STAGE
from tests.passes.front.texts import verified

FRAME = """import cubelane.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[32, 64], pl.FP16],
        w: pl.Tensor[[64, 64], pl.FP16],
        x: pl.Tensor[[32, 64], pl.FP32],
        big: pl.Tensor[[512, 64], pl.FP16],
        wide: pl.Tensor[[64, 512], pl.FP16],
        nd: pl.Tensor[[4, 8, 64], pl.FP32],
        rows: pl.Tensor[[pl.dynamic("R"), 64], pl.FP32],
        words: pl.Tensor[[32, 64], pl.UINT32],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        large: pl.Out[pl.Tensor[[512, 512], pl.FP32]],
    ) -> pl.Tensor[[32, 64], pl.FP32]:
{body}
        return out
"""


@dataclass(frozen=True)
class Case:
    """A kernel that is refused, and what its author writes instead."""

    code: str
    refused: str
    accepted: str
    words: tuple[str, ...]


REGION = "y = pl.matmul(a, w, out_dtype=pl.FP32)\nfor lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n"
SCOPE = "with pl.at(level=pl.Level.CORE_GROUP):"
SPLIT_SCOPE = "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):"

CASES = [
    Case(
        "missing-shard",
        REGION + "    z = pl.exp(y)\n    out = pl.assemble(out, z, [0, 0])",
        REGION + "    z = pl.exp(pl.aiv_shard(y))\n    out = pl.assemble(out, z, [lane * 16, 0])",
        ("'y'", "aiv_shard"),
    ),
    Case(
        "vector-work-outside-region",
        REGION + "    z = pl.aiv_shard(y)\n    out = pl.assemble(out, z, [lane * 16, 0])\nlate = pl.exp(y)\n"
        "out = pl.assemble(out, late, [0, 0])",
        REGION + "    z = pl.exp(pl.aiv_shard(y))\n    out = pl.assemble(out, z, [lane * 16, 0])",
        ("outside",),
    ),
    Case(
        "missing-gather",
        REGION + "    z = pl.cast(pl.aiv_shard(y), target_type=pl.FP16, mode='rint')\n"
        "p = pl.matmul(z, w, out_dtype=pl.FP32)\nout = pl.assemble(out, p, [0, 0])",
        REGION + "    z = pl.aic_gather(pl.cast(pl.aiv_shard(y), target_type=pl.FP16, mode='rint'))\n"
        "p = pl.matmul(z, w, out_dtype=pl.FP32)\nout = pl.assemble(out, p, [0, 0])",
        ("aic_gather",),
    ),
    Case(
        "no-way-into-acc",
        "acc = pl.mul(x, 0.5)\nacc = pl.matmul_acc(acc, a, w)\nout = pl.assemble(out, acc, [0, 0])",
        "acc = pl.mul(x, 0.5)\nacc = pl.add(acc, pl.matmul(a, w, out_dtype=pl.FP32))\n"
        "out = pl.assemble(out, acc, [0, 0])",
        ("`acc`", "accumulator"),
    ),
    Case(
        "dynamic-tile",
        "y = pl.exp(rows)\nout = pl.assemble(out, pl.slice(y, [32, 64], [0, 0]), [0, 0])",
        "y = pl.exp(pl.slice(rows, [32, 64], [0, 0]))\nout = pl.assemble(out, y, [0, 0])",
        ("`rows`", "run-time extent R"),
    ),
    Case(
        "folded-axis",
        "y = pl.col_sum(nd)\nout = pl.assemble(out, pl.reshape(y, [8, 64]), [0, 0])",
        "for i in pl.range(4):\n    y = pl.col_sum(pl.reshape(pl.slice(nd, [1, 8, 64], [i, 0, 0]), [8, 64]))\n"
        "    out = pl.assemble(out, y, [i, 0])",
        ("`y`", "one matrix at a time"),
    ),
    Case(
        "mixed-writes",
        "out = pl.assemble(out, pl.exp(x), [0, 0])\nout = pl.write(out, [0, 0], 1.0)",
        "t = pl.exp(x)\nt = pl.write(t, [0, 0], 1.0)\nout = pl.assemble(out, t, [0, 0])",
        ("`out`", "cell by cell"),
    ),
    Case(
        "no-cast",
        "y = pl.cast(x, target_type=pl.UINT32, mode='rint')\nwords = pl.assemble(words, y, [0, 0])",
        "y = pl.cast(x, target_type=pl.INT32, mode='rint')\n"
        "out = pl.assemble(out, pl.cast(y, target_type=pl.FP32, mode='rint'), [0, 0])",
        ("FP32 to UINT32",),
    ),
]


def program(body: str) -> ModuleOp:
    """The program of a body in a scope."""
    lines = [" " * 8 + SCOPE, *(" " * 12 + line for line in body.splitlines())]
    module = language.parse(FRAME.format(body="\n".join(lines)), filename="k.py")
    module.attributes[TARGET] = StringAttr("a2a3")
    return module


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_refusal_names_the_place_and_a_way_out(case: Case):
    with pytest.raises(Diagnostic) as refused:
        run(program(case.refused), TILE_STAGE)
    problem = refused.value
    assert problem.code == case.code
    assert problem.location.file == "k.py" and problem.location.line > 18
    assert problem.instead
    assert all(word in str(problem) for word in case.words)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_the_way_out_compiles(case: Case):
    run(program(case.accepted), TILE_STAGE, verified)


def test_product_that_no_block_serves_is_refused():
    body = "big_sum = pl.matmul(big, wide, out_dtype=pl.FP32)\nlarge = pl.assemble(large, big_sum, [0, 0])"
    run(program(body), TILE_STAGE, verified)
    tall = FRAME.replace("[512, 64]", "[4096, 64]").replace("[512, 512]", "[4096, 512]")
    lines = [" " * 8 + SPLIT_SCOPE, *(" " * 12 + line for line in body.splitlines())]
    module = language.parse(tall.format(body="\n".join(lines)), filename="k.py")
    with pytest.raises(Diagnostic) as refused:
        run(module, TILE_STAGE)
    assert refused.value.code == "product-too-large"
    assert "[4096, 64] x [64, 512]" in refused.value.message
