"""What a pass keeps of its analyses for the next one is used there, and forgotten as soon as the program may change."""

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from cubelane import language
from cubelane.analysis import kept
from cubelane.analysis.tile_buffers import TileBuffers
from cubelane.ir.kernel import TARGET
from cubelane.passes import pipeline
from cubelane.passes.tile import allocate_memory_addr, materialize_semantic_aliases

KERNEL = """
import cubelane.language as pl

@pl.program
class Small:
    @pl.function
    def main(self, x: pl.Tensor[[64, 64], pl.FP16], w: pl.Tensor[[64, 64], pl.FP16],
             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            out = pl.assemble(out, pl.exp(pl.matmul(x, w, out_dtype=pl.FP32)), [0, 0])
        return out
"""


@pytest.fixture
def built(monkeypatch) -> list[FuncOp]:
    """The functions whose buffers were looked for, once an entry."""
    asked: list[FuncOp] = []

    class Counted(TileBuffers):
        def __init__(self, function, target):
            asked.append(function)
            super().__init__(function, target)

    for module in (materialize_semantic_aliases, allocate_memory_addr):
        monkeypatch.setattr(module, "TileBuffers", Counted)
    return asked


def program() -> ModuleOp:
    module = language.parse(KERNEL)
    module.attributes[TARGET] = StringAttr("a2a3")
    return module


def test_addresses_are_given_to_the_buffers_that_were_found_for_the_copies(built):
    pipeline.run(program())
    assert len(built) == 2  # one a core


def test_who_looks_on_between_two_passes_may_change_the_program(built):
    looked_on, alone = program(), program()
    pipeline.run(looked_on, after=lambda stage, module: None)
    assert len(built) == 4
    assert str(looked_on) == str(pipeline.run(alone))


def test_nothing_is_kept_outside_of_a_pipeline():
    kept.keep("answer", 1)
    assert kept.kept("answer", lambda: 2) == 2


def test_an_answer_is_given_once_and_belongs_to_the_innermost_pipeline():
    with kept.keeping():
        kept.keep("answer", 1)
        with kept.keeping():
            assert kept.kept("answer", lambda: 2) == 2
        assert kept.kept("answer", lambda: 3) == 1
        assert kept.kept("answer", lambda: 4) == 4
