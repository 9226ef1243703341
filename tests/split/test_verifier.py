"""AivSplitValid: one test for each lettered check, and the forms it must accept (spec 9.1)."""

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.rewriter import Rewriter

from cubelane.ir.context import new_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import SplitAttr, SplitRegionOp
from cubelane.ir.types import MemorySpace, SplitMode
from cubelane.language import parse
from cubelane.passes import pipeline
from cubelane.passes.tile.verify_aiv_split import VerifyAivSplit, aiv_split_problems
from tests.expand.auto import Auto

from .kernels import Kernel

REGION = Auto(
    "acc = pl.matmul(x, w, out_dtype=pl.FP32)\nfor lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n"
    "    h = pl.aiv_shard(acc)\n    out[lane * 8 : lane * 8 + 8, :] = pl.add(h, 1.0)",
    {"x": ([16, 16], "FP16"), "w": ([16, 32], "FP16")},
    {"out": ([16, 32], "FP32")},
    mode=None,
)
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


def test_c_tensor_form_of_a_boundary_outside_all_regions() -> None:
    module = REGION.parsed()
    region = next(op for op in module.walk() if isinstance(op, SplitRegionOp))
    shard = next(op for op in region.walk() if op.name == "gm.aiv_shard")
    shard.detach()
    region.parent_block().insert_op_before(shard, region)
    assert [problem.code for problem in aiv_split_problems(module)] == ["boundary-outside-region"]


@pytest.mark.parametrize("call", ["pl.aiv_shard(acc)", "pl.aic_gather(h)"])
def test_d_result_of_a_boundary_in_the_wrong_space(call: str) -> None:
    module = parse(Kernel(f"q = {call}\nreturn y", form="explicit").text)
    boundary = [op for op in module.walk() if op.name in ("tile.aiv_shard", "tile.aic_gather")][-1]
    result = boundary.results[0]
    Rewriter.replace_value_with_new_type(result, result.type.in_memory(MemorySpace.LEFT))
    assert "boundary-result-space" in [problem.code for problem in aiv_split_problems(module)]


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


POINTS = ("outline-incore-scopes", "convert-tensor-to-tile", "infer-tile-memory-space")


def test_the_property_is_produced_at_the_three_points_and_closed_by_the_split() -> None:
    assert tuple(s.name for s in pipeline.PASSES if pipeline.REGIONS in s.produced) == POINTS
    assert [s.name for s in pipeline.PASSES if pipeline.REGIONS in s.invalidated] == ["lower-auto-vector-split"]
    assert [s.name for s in pipeline.PASSES if pipeline.REGIONS in s.required] == ["lower-auto-vector-split"]


@pytest.mark.parametrize("point", POINTS)
def test_a_violation_that_appears_before_a_point_is_found_at_it(point: str) -> None:
    module = REGION.parsed()
    module.attributes["kernel.target"] = StringAttr("a5")
    names = [stage.name for stage in pipeline.PASSES]
    ran: list[str] = []

    def after(stage: pipeline.Pass, program: ModuleOp) -> None:
        ran.append(stage.name)
        if stage.name == names[names.index(point) - 1]:
            spoil(program)

    if point == names[0]:
        spoil(module)
    with pytest.raises(Diagnostic) as refusal:
        pipeline.run(module, after=after)
    assert refusal.value.code == "boundary-without-axis" and "AivSplitValid" in str(refusal.value)
    assert ran == names[: names.index(point)]


def spoil(program: ModuleOp) -> None:
    """Takes the axis from every region, so that its boundary has nothing to share out."""
    for op in program.walk():
        if isinstance(op, SplitRegionOp):
            op.mode = SplitAttr.of(SplitMode.NONE)
