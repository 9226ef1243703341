"""What users report (cases A and B), one test each with the right answer; the names carry the case id.

B06 (hand-written pipes) and B08 (odd codes on the way to the cube) belong to the passes behind this one.
"""

import pytest

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
