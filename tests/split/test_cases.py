"""What users report (cases A and B), one test each with the right answer; the names carry the case id."""

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

from cubelane.check.execute import run_group, run_reference
from cubelane.check.protocol import check_protocol
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import SPLIT, functions_of
from cubelane.language import parse
from cubelane.passes import pipeline
from tests.expand.auto import Auto
from tests.expand.stages import finished
from tests.expand.test_programs import PAIR
from tests.expand.test_projection import inputs

from .kernels import Kernel, ops, value


def scratch(rows: int, columns: int) -> str:
    return f"s = pl.tile.create([{rows}, {columns}], dtype=pl.FP32, target_memory=pl.Mem.Vec)\n"


def test_a01_row_normalise_follows_the_axis_through_two_reshapes() -> None:
    body = (
        scratch(16, 16)
        + """
m = pl.tile.row_sum(v, s)
r = pl.tile.reshape(m, [1, 16])
e = pl.tile.adds(r, 1.0)
k = pl.tile.reshape(e, [16, 1])
q = pl.tile.row_expand_mul(v, k)
o = pl.tile.store(q, [0, 0], y)
return o
"""
    )
    module = Kernel(body, rows=16, columns=16).check()
    assert value(module, "e").type.shape == (1, 8) and value(module, "k").type.shape == (8, 1)


def test_a02_shape_arguments_agree_with_their_types() -> None:
    body = (
        scratch(16, 16)
        + """
h = pl.tile.adds(v, 1.0)
m = pl.tile.row_sum(h, s)
k = pl.tile.reshape(m, [16, 1])
q = pl.tile.row_expand_mul(h, k)
o = pl.tile.store(q, [0, 0], y)
return o
"""
    )
    Kernel(body, rows=16, columns=16).check().verify()


@pytest.mark.parametrize(("mode", "rows", "columns"), [("UP_DOWN", 32, 4), ("LEFT_RIGHT", 4, 8)])
def test_a04_set_validshape_of_the_full_extent(mode: str, rows: int, columns: int) -> None:
    body = f"q = pl.tile.set_validshape(v, {rows}, {columns})\no = pl.tile.store(q, [0, 0], y)\nreturn o"
    Kernel(body, columns=8, mode=mode).check()


@pytest.mark.parametrize("form", ["function", "explicit"])
def test_a05_a06_broadcast_row_in_both_forms(form: str) -> None:
    source, at = ("v", "0") if form == "function" else ("h", "lane * 16")
    body = f"""
    g = pl.tile.load(t, [0, 0], [1, 24], target_memory=pl.Mem.Vec)
    q = pl.tile.col_expand_mul({source}, g)
    o = pl.tile.store(q, [{at}, 0], y)
    return o
    """
    Kernel(body, form=form, parameters={"t": "pl.Tensor[[1, 24], pl.FP32]"}).check()


def test_a08_the_transpose_check_is_in_this_pass() -> None:
    body = "q = pl.tile.transpose(v, 0, 1)\no = pl.tile.store(q, [0, 0], y)\nreturn o"
    assert "split axis" in Kernel(body, outputs={"y": (24, 32)}).refusal().message


def test_a09_gather_along_the_operands_own_axis() -> None:
    body = (
        scratch(16, 16)
        + """
m = pl.tile.row_sum(v, s)
r = pl.tile.reshape(m, [1, 16])
c = pl.tile.cast(r, pl.FP16)
l = pl.tile.move(c, target_memory=pl.Mem.Left)
um = pl.tile.load(u, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
ur = pl.tile.move(um, target_memory=pl.Mem.Right)
z = pl.tile.matmul(l, ur)
o = pl.tile.store(z, [0, 0], y)
return o
"""
    )
    tensor = {"u": "pl.Tensor[[16, 16], pl.FP16]"}
    module = Kernel(body, rows=16, columns=16, parameters=tensor, outputs={"y": (1, 16)}).check()
    assert ops(module, "tile.aic_gather")[0].results[0].type.shape == (1, 16)


PIPELINE_KERNELS = {
    "bias": Auto(
        "acc = pl.matmul(x, w, out_dtype=pl.FP32)\nout[:] = pl.add(acc, 1.0)",
        {"x": ([32, 16], "FP16"), "w": ([16, 24], "FP16")},
        {"out": ([32, 24], "FP32")},
    ),
    "there and back": Auto(
        "p = pl.cast(pl.exp(pl.mul(pl.matmul(x, w, out_dtype=pl.FP32), 0.1)), pl.FP16)\n"
        "out[:] = pl.matmul(p, u, out_dtype=pl.FP32)",
        {"x": ([32, 16], "FP16"), "w": ([16, 32], "FP16"), "u": ([32, 16], "FP16")},
        {"out": ([32, 16], "FP32")},
    ),
    "region": Auto(
        "acc = pl.matmul(x, w, out_dtype=pl.FP32)\nfor lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n"
        "    h = pl.aiv_shard(acc)\n    out[lane * 16 : lane * 16 + 16, :] = pl.add(h, 1.0)",
        {"x": ([32, 16], "FP16"), "w": ([16, 24], "FP16")},
        {"out": ([32, 24], "FP32")},
        mode=None,
    ),
}
PASSES = [stage.name for stage in pipeline.PASSES]


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("left_out", PASSES)
@pytest.mark.parametrize("name", PIPELINE_KERNELS)
def test_a08_pipeline_without_one_pass_is_right_or_refused(name: str, left_out: str, target: str) -> None:
    right_or_refused(PIPELINE_KERNELS[name], [p for p in PASSES if p != left_out], target)


@pytest.mark.parametrize("first", range(len(PASSES) - 1))
@pytest.mark.parametrize("name", PIPELINE_KERNELS)
def test_a08_pipeline_with_two_passes_exchanged_is_right_or_refused(name: str, first: int) -> None:
    order = list(PASSES)
    order[first], order[first + 1] = order[first + 1], order[first]
    right_or_refused(PIPELINE_KERNELS[name], order, "a5")


def right_or_refused(case: Auto, passes: list[str], target: str) -> None:
    """Runs a pipeline of the user's own making: the right numbers, or a Diagnostic with a place."""
    module = case.parsed()
    module.attributes["kernel.target"] = StringAttr(target)
    try:
        for name in passes:
            pipeline.pass_named(name)(module)
        module.verify()
        result = run_group(module, case.inputs)
    except Diagnostic as problem:
        assert problem.location.line > 0, problem
        return
    if result.findings:
        assert all(finding.location.line > 0 for finding in result.findings)
        return
    wanted = run_reference(case.parsed(), case.inputs)
    for output, array in wanted.items():
        np.testing.assert_allclose(result.outputs[output], array, rtol=2e-3, atol=2e-3)


BLOCKS = """
for k, (t,) in pl.range({trips}, init_values=(y,)):
    a = pl.tile.slice(v, [{rows}, 24], [k * {rows}, 0])
    b = pl.tile.store(a, [k * {rows}, 0], t)
    o = pl.yield_(b)
return o
"""


def test_a10_blocks_along_the_split_axis_are_refused_by_name() -> None:
    problem = Kernel(BLOCKS.format(trips=4, rows=8)).refusal()
    assert "tile.slice" in problem.message and "'v'" in problem.message


def test_a13_row_by_row_copy_keeps_its_matmul() -> None:
    module = Kernel(BLOCKS.format(trips=32, rows=1), mode="LEFT_RIGHT").check()
    assert len(ops(module, "tile.matmul")) == len(ops(module, "tile.aiv_shard")) == 1


def test_a12_split_applies_only_where_cube_and_vector_meet() -> None:
    kernel = Kernel("o = pl.tile.store(acc, [0, 0], y)\nreturn o")
    text = "\n".join(line for line in kernel.text.split("\n") if " v = " not in line)

    class Cube(Kernel):
        @property
        def text(self) -> str:
            return text

    module = Cube("").parsed()
    before = str(module)
    assert str(Cube("").lowered()) == before


def test_a12_pure_vector_scope_beside_a_mixed_one_keeps_its_odd_row_and_loses_its_split() -> None:
    case = Auto(
        "z = pl.full([1, 16], dtype=pl.FP32, value=2.0)\nout[:] = pl.add(z, 1.0)",
        {"x": ([32, 16], "FP16")},
        {"out": ([1, 16], "FP32")},
    )
    case.check()
    (kernel,) = (f for f in functions_of(case.compiled().module) if f.sym_name.data == "main_incore_0")
    assert SPLIT not in kernel.attributes and str(kernel.attributes["kernel.kind"]).endswith("<aiv>")


GATHERED = """
u0 = pl.tile.full([16, 32], dtype=pl.FP16, value=0.0)
for k, (u,) in pl.range(16, init_values=(u0,)):
    a = pl.tile.gather_row(u, pool, {at})
    u1 = pl.yield_(a)
f = pl.aic_gather(u1)
return y
"""


@pytest.mark.parametrize(
    ("at", "good"), [("[k, 0], [lane * 16 + k, 0], [1, 32]", True), ("[lane * 0 + k, 0], [k, 0], [1, 32]", False)]
)
def test_a14_only_the_read_address_proves_per_lane_work(at: str, good: bool) -> None:
    kernel = Kernel(GATHERED.format(at=at), form="explicit", parameters={"pool": "pl.Tensor[[64, 32], pl.FP16]"})
    if good:
        kernel.lowered()
    else:
        assert "tile.gather_row" in kernel.refusal().message


@pytest.mark.parametrize("form", ["function", "region"])
def test_a16_vector_work_inside_a_while_is_halved(form: str) -> None:
    body = """
    for (i, t) in pl.while_(init_values=(0, y)):
        pl.cond(i < 2)
        q = pl.tile.adds(v, 1.0)
        a = pl.tile.store(q, [i * 32, 0], t)
        i1 = i + 1
        i2, o = pl.yield_(i1, a)
    return o
    """
    module = Kernel(body, form=form, outputs={"y": (64, 24)}).check()
    assert value(module, "q").type.shape == (16, 24)


def test_a17_scope_inside_the_body_is_refused() -> None:
    body = (
        "with pl.at(level=pl.Level.CORE_GROUP):\n    q = pl.tile.neg(v)\n    o = pl.tile.store(q, [0, 0], y)\nreturn o"
    )
    for form in ("function", "region"):
        assert "scope" in Kernel(body, form=form).refusal().message


def test_a18_four_row_scales_beside_a_second_output() -> None:
    parts = ""
    for i, source in enumerate(("v", "q0", "q1", "q2")):
        parts += f"k{i} = pl.tile.slice(v, [32, 1], [0, {i}])\n"
        parts += f"q{i} = pl.tile.row_expand_mul({source}, k{i})\n"
    body = f"{parts}o = pl.tile.store(q3, [0, 0], y)\np = pl.tile.store(v, [0, 0], u)\nreturn o, p"
    Kernel(body, outputs={"y": (32, 24), "u": (32, 24)}).check()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 15, 16])
def test_b02_run_time_rows(n: int) -> None:
    Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o", rows=16, valid="n", n=n).check()


def test_b03_five_of_sixteen_rows_in_an_explicit_region() -> None:
    Kernel("o = pl.tile.store(h, [lane * 8, 0], y)\nreturn o", rows=16, valid=5, form="explicit").check()


def test_b04_run_time_twelve_of_sixteen_in_an_explicit_region() -> None:
    Kernel("o = pl.tile.store(h, [lane * 8, 0], y)\nreturn o", rows=16, valid="n", n=12, form="explicit").check()


def test_b07_narrowed_product_and_its_cast() -> None:
    body = "c = pl.tile.cast(v, pl.INT32)\nq = pl.tile.cast(c, pl.FP32)\no = pl.tile.store(q, [0, 0], y)\nreturn o"
    Kernel(body, rows=64, valid=16).check()
    Kernel(body, rows=64, valid="n", n=16).check()


@pytest.mark.parametrize("total", [13, 16, 20, 24])
def test_b10_tail_block(total: int) -> None:
    body = f"""
    for k, (t,) in pl.range(3, init_values=(y,)):
        r = pl.min(pl.max({total} - k * 8, 0), 8)
        a = pl.tile.load(b, [k * 8, 0], [8, 24], [r, 24], target_memory=pl.Mem.Vec)
        e = pl.tile.neg(a)
        f = pl.tile.store(e, [k * 8, 0], t)
        o = pl.yield_(f)
    w1 = pl.tile.store(v, [0, 0], u)
    return o, w1
    """
    Kernel(body, parameters={"b": "pl.Tensor[[24, 24], pl.FP32]"}, outputs={"y": (24, 24), "u": (32, 24)}).check()


def ragged_pair(valid: int, code: int = 1) -> str:
    """The hand-written pair whose cube pushes `valid` of 16 rows."""
    text = PAIR.format(code=code).replace(
        "pl.tile.load(x, [0, 0], [16, 16], target", f"pl.tile.load(x, [0, 0], [16, 16], [{valid}, 16], target"
    )
    return text.replace(
        "pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec]",
        f"pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[{valid}, 32])]",
    )


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("valid", [1, 7, 8, 9, 12, 15, 16])
def test_b06_hand_written_pair_of_a_ragged_tile(valid: int, target: str) -> None:
    """Lane 1 may hold nothing and takes part all the same; bands that no code places are refused."""
    lanes = (min(valid, 8), max(valid - 8, 0))
    if lanes[1] and lanes[0] - lanes[1] > 1:
        with pytest.raises(Diagnostic) as refusal:
            finished(ragged_pair(valid), target)
        assert refusal.value.code == "shard-lanes" and refusal.value.location.line > 0 and refusal.value.instead
        return
    module = finished(ragged_pair(valid), target)
    (verdict,) = check_protocol(module)
    assert not verdict.findings
    given = {name: array for name, array in inputs().items() if name in "xwy"}
    result = run_group(module, given)
    assert not result.findings, result.findings[0]
    wanted = given["y"].copy()
    wanted[:valid] = given["x"][:valid, :16].astype(np.float32) @ given["w"][:16].astype(np.float32) + 1
    np.testing.assert_array_equal(result.outputs["y"], wanted)
    pops = [(e.agent, e.kind) for e in result.events if e.kind in ("pop", "free")]
    assert sorted(pops) == [(lane, kind) for lane in ("AIV0", "AIV1") for kind in ("free", "pop")]


@pytest.mark.parametrize("op", ["pl.tile.tpush_to_aic(e, split={code})", "{pop} = pl.tile.tpop_from_aiv(split={code})"])
@pytest.mark.parametrize("code", [3, 4])
def test_b08_odd_codes_exist_from_the_cube_to_the_lanes_only(code: int, op: str) -> None:
    line = op.format(code=code, pop="m: pl.Tile[[16, 32], pl.FP32, pl.Mem.Mat]")
    text = PAIR.format(code=1).replace("pl.system.tfree_to_aic(v)", f"pl.system.tfree_to_aic(v)\n        {line}")
    with pytest.raises(Diagnostic) as refusal:
        parse(text, filename="kernel.py")
    assert refusal.value.location.line == text.split("\n").index(f"        {line}") + 1
    assert str(code) in refusal.value.message and refusal.value.instead
    finished(PAIR.format(code=code), "a5")
