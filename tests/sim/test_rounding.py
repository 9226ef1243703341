"""Rounding of narrow values inside a kernel is told apart from wrong numbers."""

import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import Judge
from cubelane.sim.machine import Executable

TEXT = """
import cubelane.language as pl

@pl.program
class Narrowed:
    @pl.function
    def main(self, x: pl.Tensor[[64, 32], pl.FP16], w: pl.Tensor[[32, 64], pl.FP16],
             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.matmul(x, w, out_dtype=pl.FP32)
            z = pl.matmul(pl.cast(y, target_type=pl.FP16), w, b_trans=True, out_dtype=pl.FP32)
            v = pl.matmul(pl.cast(z, target_type=pl.FP16), w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.mul(v, 1.0), [0, 0])
        return out
"""


def compiled(text: str = TEXT):
    return compile_program(language.parse(text), keep_stages=True)


def test_a_step_of_a_narrow_type_is_rounding_and_is_told():
    verdict = compiled().judge(seed=0)
    assert verdict.equal and verdict.max_error > 1e-2
    (note,) = verdict.notes
    assert note.startswith("out: ") and "so this is rounding" in note
    assert compiled().judge_each(seed=0).equal


@pytest.mark.parametrize(
    ("old", "new"), [("pl.mul(v, 1.0)", "pl.mul(v, 1.02)"), ("pl.mul(v, 1.0)", "pl.maximum(v, 0.0)")]
)
def test_other_numbers_are_no_rounding(old: str, new: str):
    wrong = Executable(compiled(TEXT.replace(old, new)).module)
    verdict = compiled().judge(seed=0, program=wrong)
    assert verdict.word == "differs" and not any("rounding" in note for note in verdict.notes)


def test_a_stated_tolerance_is_kept():
    verdict = compiled().judge(Judge(rtol=1e-5), seed=0)
    assert verdict.word == "differs" and not any("rounding" in note for note in verdict.notes)


def test_without_narrow_values_nothing_is_added():
    text = TEXT.replace("[64, 32], pl.FP16", "[64, 32], pl.FP32").replace("[32, 64], pl.FP16", "[32, 64], pl.FP32")
    verdict = compiled(
        text.replace("pl.cast(y, target_type=pl.FP16)", "y").replace("pl.cast(z, target_type=pl.FP16)", "z")
    )
    assert verdict.judge(seed=0).equal and not verdict.judge(seed=0).notes
