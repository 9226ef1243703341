"""AivSplitValid: one test for each lettered check, and the forms it must accept (spec 9.1)."""

import pytest

from cubelane.ir.context import new_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from cubelane.passes.tile.verify_aiv_split import VerifyAivSplit, aiv_split_problems

from .kernels import Kernel

STORE = "o = pl.tile.store(q, [lane * 16, 0], y)\nreturn o"


def codes(kernel: Kernel, text: str | None = None) -> list[str]:
    return [problem.code for problem in aiv_split_problems(parse(text or kernel.text, filename="kernel.py"))]


def test_good_regions_pass() -> None:
    assert codes(Kernel("q = pl.tile.neg(h)\n" + STORE, form="explicit")) == []


@pytest.mark.parametrize("form", ["explicit", "none"])
def test_a_cube_work_inside_a_region(form: str) -> None:
    body = "z = pl.tile.matmul(xl, wr)\nreturn y"
    assert "cube-work-in-region" in codes(Kernel(body, form=form))


def test_b_reduction_over_the_split_axis() -> None:
    kernel = Kernel("q = pl.tile.col_sum(h)\no = pl.tile.store(q, [lane, 0], y)\nreturn o", form="explicit")
    assert codes(kernel) == ["reduce-on-split-axis"]
    other = Kernel(
        "q = pl.tile.col_sum(h)\no = pl.tile.store(q, [0, lane * 12], y)\nreturn o", mode="LEFT_RIGHT", form="explicit"
    )
    assert codes(other) == []


def test_c_boundary_outside_all_regions() -> None:
    kernel = Kernel("q = pl.tile.aiv_shard(acc, split=1)\no = pl.tile.store(q, [0, 0], y)\nreturn o")
    assert codes(kernel) == ["boundary-outside-region"]


def test_d_operand_of_a_boundary_in_the_wrong_space() -> None:
    kernel = Kernel("q = pl.aiv_shard(xm)\nreturn y", form="explicit")
    assert "boundary-operand-space" in codes(kernel)


def test_e_vector_work_outside_the_regions() -> None:
    text = Kernel("q = pl.tile.neg(h)\n" + STORE, form="explicit").text
    text = text.replace(
        "        return o", "        e = pl.tile.full([8, 8], dtype=pl.FP32, value=0.0)\n        return o"
    )
    assert codes(Kernel(""), text) == ["vector-work-outside-region"]


def test_f_value_of_a_region_used_on_the_cube() -> None:
    text = Kernel("q = pl.tile.neg(h)\n" + STORE, form="explicit").text
    text = text.replace("        return o", "        e = pl.tile.move(q, target_memory=pl.Mem.Mat)\n        return o")
    assert codes(Kernel(""), text) == ["missing-gather"]


def test_g_cube_value_used_in_a_region_without_a_shard() -> None:
    kernel = Kernel("q = pl.tile.add(acc, acc)\nreturn y", form="explicit")
    assert "missing-shard" in codes(kernel)
    assert codes(Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o", form="region")) == ["missing-shard"]


def test_h_region_in_an_unmarked_incore_function() -> None:
    text = Kernel("q = pl.tile.neg(h)\n" + STORE, form="explicit").text.replace(', "split_aiv": True', "")
    assert codes(Kernel(""), text) == ["region-in-plain-incore"]


def test_boundary_in_a_none_region() -> None:
    assert codes(Kernel("q = pl.aiv_shard(acc)\nreturn y", form="none")) == ["boundary-without-axis"]


def test_pass_raises_the_first_problem_and_lists_the_others() -> None:
    module = parse(Kernel("q = pl.aiv_shard(acc)\nr = pl.aiv_shard(acc)\nreturn y", form="none").text)
    with pytest.raises(Diagnostic) as caught:
        VerifyAivSplit().apply(new_context(), module)
    assert "AivSplitValid" in str(caught.value) and len(caught.value.notes) == 2
