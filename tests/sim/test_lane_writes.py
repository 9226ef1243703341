"""Both lanes writing different values to one element is chance: the oracle says so instead of choosing a lane."""

import numpy as np
import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic

KERNEL = """
import cubelane.language as pl

@pl.program
class Prog:
    @pl.function
    def main(self, x: pl.Tensor[[34, 64], pl.FP32], out: pl.InOut[pl.Tensor[[34, 64], pl.FP32]],
             n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[34, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
                v = pl.slice(x, [17, 64], [lane * 17, 0])
                step = 0
                while step < n:
                    WRITE
                    step = step + 1
        return out
"""
CLASH = "out = pl.assemble(out, v, [0, 0])"
RIGHT = {
    "apart": "out = pl.assemble(out, v, [lane * 17, 0])",
    "on one lane": "if lane == 0:\n                        out = pl.assemble(out, v, [0, 0])",
    "the same value": "out = pl.assemble(out, pl.slice(x, [17, 64], [3, 0]), [0, 0])",
}


def program(write: str):
    return language.parse(KERNEL.replace("WRITE", write))


def inputs(trips: int = 1) -> dict[str, object]:
    rows, columns = np.indices((34, 64))
    return {"x": (rows * 64 + columns).astype(np.float32), "out": np.full((34, 64), -77, np.float32), "n": trips}


def test_a_clash_is_refused_at_the_write():
    with pytest.raises(Diagnostic) as caught:
        run_reference(program(CLASH), inputs())
    assert (caught.value.code, caught.value.location.line) == ("lane-race", 14)
    assert "lane == 0" in (caught.value.instead or "")
    findings = run_group(compile_program(program(CLASH)).module, inputs()).findings
    assert [f.code for f in findings] == ["race"], "the core group sees the same"


def test_a_clash_in_part_of_the_window_is_one():
    overlap = "out = pl.assemble(out, v, [lane * 16, 0])"
    with pytest.raises(Diagnostic, match="the same elements"):
        run_reference(program(overlap), inputs())


def test_a_write_that_does_not_happen_is_none():
    untouched = run_reference(program(CLASH), inputs(trips=0))["out"]
    assert (untouched == -77).all()


@pytest.mark.parametrize("write", RIGHT.values(), ids=RIGHT.keys())
def test_writes_that_agree_or_lie_apart_are_right(write: str):
    given = inputs()
    expected = run_reference(program(write), given)["out"]
    assert np.array_equal(run_group(compile_program(program(write)).module, given).outputs["out"], expected)
    rows = {"apart": slice(0, 34), "on one lane": slice(0, 17), "the same value": slice(3, 20)}
    wanted = given["out"].copy()
    part = given["x"][next(rows[name] for name, text in RIGHT.items() if text == write)]
    wanted[: len(part)] = part
    assert np.array_equal(expected, wanted)
