"""`pl.split_aiv` regions: the three body shapes, several regions, regions in loops (seed; spec 4.7, 4.8)."""

from textwrap import dedent

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import REGION_VALIDATED, SPLIT_AIV, functions_of
from cubelane.language import parse
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit

from .kernels import Kernel, ops, value

STORE = "o = pl.tile.store(q, [lane * {half}, 0], y)\nreturn o"


def vector_function(body: str, parameters: str, marks: str = '"split_aiv": True') -> str:
    """A function without cube work."""
    lines = "\n".join("        " + line for line in dedent(body).strip().split("\n"))
    return (
        "import pypto.language as pl\n\n@pl.program\nclass Prog:\n"
        f"    @pl.function(type=pl.FunctionType.InCore, attrs={{{marks}}})\n"
        f"    def kernel(self, {parameters}):\n{lines}\n"
    )


def lowered(text: str):
    module = LowerAutoVectorSplit()(parse(text, filename="kernel.py"))
    module.verify()
    return module


def refusal(text: str) -> Diagnostic:
    with pytest.raises(Diagnostic) as caught:
        LowerAutoVectorSplit()(parse(text, filename="kernel.py"))
    return caught.value


TWO = (
    "t: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]], z: pl.Out[pl.Tensor[[32, 64], pl.FP32]]"
)


def test_full_width_body_is_shared_out_by_its_own_mode() -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", form="region").check()
    assert value(module, "q").type.shape == (16, 24)
    function = functions_of(module)[0]
    assert SPLIT_AIV in function.attributes and REGION_VALIDATED in function.attributes


def test_both_index_bindings_survive_and_the_injected_one_is_first() -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", form="region").lowered()
    assert [op.results[0].name_hint for op in ops(module, "tile.get_subblock_idx")] == ["subblock_idx", "lane"]


def test_sibling_regions_of_two_modes_do_not_leak() -> None:
    body = """
    for k in pl.range(2):
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            a = pl.tile.load(t, [0, 0], [32, 64], target_memory=pl.Mem.Vec)
            o = pl.tile.store(a, [0, 0], y)
    for lane in pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):
        b = pl.tile.load(t, [0, 0], [32, 64], target_memory=pl.Mem.Vec)
        p = pl.tile.store(b, [0, 0], z)
    return p
    """
    module = lowered(vector_function(body, TWO))
    assert value(module, "a").type.shape == (16, 64)
    assert value(module, "b").type.shape == (32, 32)
    names = [op.results[0].name_hint for op in ops(module, "tile.get_subblock_idx")]
    assert names == ["subblock_idx", "lane", "subblock_idx__ssa_v0", "lane"]
    assert ops(module, "kernel.split_aiv") == []


def test_explicit_body_is_spliced_unchanged() -> None:
    module = Kernel("q = pl.tile.neg(h)\n" + STORE.format(half=16), form="explicit").check()
    assert value(module, "q").type.shape == (16, 24)
    assert len(ops(module, "tile.aiv_shard")) == 1 and len(ops(module, "tile.get_subblock_idx")) == 1


def test_a06_bias_row_beside_an_explicit_shard_is_accepted() -> None:
    body = """
    b = pl.tile.load(t, [0, 0], [1, 24], target_memory=pl.Mem.Vec)
    q = pl.tile.col_expand_mul(h, b)
    o = pl.tile.store(q, [lane * 16, 0], y)
    return o
    """
    Kernel(body, form="explicit", parameters={"t": "pl.Tensor[[1, 24], pl.FP32]"}).check()


ACCEPTED = {
    "generator for itself": "z = pl.tile.full([16, 24], dtype=pl.FP32, value=1.0)\nq = pl.tile.add(h, z)\n",
    "load at a lane address": "a = pl.tile.load(t, [lane * 16, 0], [16, 24], target_memory=pl.Mem.Vec)\n"
    "q = pl.tile.add(h, a)\n",
    "load at an address derived from the lane": "at = lane * 8\nat2 = at + at\n"
    "a = pl.tile.load(t, [at2, 0], [16, 24], target_memory=pl.Mem.Vec)\nq = pl.tile.add(h, a)\n",
}
OFFENDERS = {
    "full-width load": ("q = pl.tile.load(t, [0, 0], [32, 24], target_memory=pl.Mem.Vec)\n", "tile.load"),
    "generator vouching for its consumer": (
        "z = pl.tile.full([32, 24], dtype=pl.FP32, value=1.0)\nq = pl.tile.add(z, z)\n",
        "tile.add",
    ),
    "lane in a valid extent only": (
        "q = pl.tile.load(t, [0, 0], [32, 24], [lane + 1, 24], target_memory=pl.Mem.Vec)\n",
        "tile.load",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_an_explicit_body_may_hold(name: str) -> None:
    body = ACCEPTED[name] + STORE.format(half=16)
    Kernel(body, form="explicit", parameters={"t": "pl.Tensor[[32, 24], pl.FP32]"}).check()


@pytest.mark.parametrize("name", OFFENDERS)
def test_full_width_work_in_an_explicit_body_is_named(name: str) -> None:
    body, op = OFFENDERS[name]
    kernel = Kernel(
        body + "o = pl.tile.store(h, [lane * 16, 0], y)\nreturn o",
        form="explicit",
        parameters={"t": "pl.Tensor[[32, 24], pl.FP32]"},
    )
    problem = kernel.refusal()
    assert op in problem.message and "UP_DOWN" in problem.message and "'q'" in problem.message


def test_a16_half_carried_by_a_while() -> None:
    body = """
    for (i, c) in pl.while_(init_values=(0, h)):
        pl.cond(i < n)
        c1 = pl.tile.adds(c, 1.0)
        i1 = i + 1
        i2, q = pl.yield_(i1, c1)
    o = pl.tile.store(q, [lane * 16, 0], y)
    return o
    """
    Kernel(body, form="explicit", parameters={"n": "pl.Scalar[pl.INDEX]"}, values={"n": 2}).check()


@pytest.mark.parametrize("op", ["pl.aiv_shard(acc)", "pl.aic_gather(h)"])
def test_boundary_in_a_none_region_is_refused(op: str) -> None:
    body = f"h = pl.tile.full([16, 24], dtype=pl.FP32, value=1.0)\nq = {op}\nreturn y"
    assert "NONE" in Kernel(body, form="none").refusal().message


def test_none_region_is_spliced_as_it_is() -> None:
    body = """
    for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
        a = pl.tile.load(t, [lane * 16, 0], [16, 64], target_memory=pl.Mem.Vec)
        o = pl.tile.store(a, [lane * 16, 0], y)
    return o
    """
    module = lowered(vector_function(body, TWO))
    assert value(module, "a").type.shape == (16, 64)
    assert [op.results[0].name_hint for op in ops(module, "tile.get_subblock_idx")] == ["lane"]


def test_a17_region_behind_a_scope_is_refused_at_the_region() -> None:
    body = """
    with pl.at(level=pl.Level.CORE_GROUP):
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            a = pl.tile.load(t, [0, 0], [32, 64], target_memory=pl.Mem.Vec)
            o = pl.tile.store(a, [0, 0], y)
    return o
    """
    problem = refusal(vector_function(body, TWO))
    assert "scope" in problem.message and problem.location.line == 8


def test_lane_index_in_an_automatic_region_is_refused() -> None:
    body = """
    for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
        a = pl.tile.load(t, [lane * 16, 0], [16, 64], target_memory=pl.Mem.Vec)
        o = pl.tile.store(a, [lane * 16, 0], y)
    return o
    """
    problem = refusal(vector_function(body, TWO))
    assert "'lane'" in problem.message and "UP_DOWN" in problem.message


def test_half_used_outside_its_region_is_refused() -> None:
    body = """
    for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
        a = pl.tile.load(t, [0, 0], [32, 64], target_memory=pl.Mem.Vec)
    o = pl.tile.store(a, [0, 0], y)
    return o
    """
    assert "'a'" in refusal(vector_function(body, TWO)).message


def test_crossing_under_a_test_of_the_lane_is_refused() -> None:
    body = """
    if lane < 1:
        k = pl.aiv_shard(acc)
        p = pl.tile.store(k, [0, 0], y)
        o = pl.yield_(p)
    else:
        o = pl.yield_(y)
    return o
    """
    problem = Kernel(body, form="explicit").refusal()
    assert "lane index" in problem.message


def test_lanes_of_an_explicit_body_that_store_over_each_other_are_refused_with_the_rows() -> None:
    problem = Kernel("q = pl.tile.neg(h)\n" + STORE.format(half=8), form="explicit").refusal()
    assert "rows 8..15" in problem.message and "'y'" in problem.message


def test_transpose_in_an_explicit_body() -> None:
    body = "q = pl.tile.transpose(h, 0, 1)\no = pl.tile.store(q, [0, lane * 16], y)\nreturn o"
    problem = Kernel(body, form="explicit", outputs={"y": (24, 32)}).refusal()
    assert "'q'" in problem.message and "UP_DOWN" in problem.message
    Kernel(
        body.replace("[0, lane * 16]", "[lane * 12, 0]"), form="explicit", mode="LEFT_RIGHT", outputs={"y": (24, 32)}
    ).refusal()


def test_reduction_over_the_split_axis_of_an_explicit_body() -> None:
    body = "q = pl.tile.col_sum(h)\no = pl.tile.store(q, [lane, 0], y)\nreturn o"
    assert "tile.col_sum" in Kernel(body, form="explicit", outputs={"y": (2, 24)}).refusal().message
