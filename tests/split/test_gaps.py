"""Where the reference is wrong (spec/passes.md 11.1), each entry right or refused; names carry the entry's number."""

import pytest

from cubelane.analysis.equality import structurally_equal
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.types import DYNAMIC
from cubelane.language import parse, print_program

from .kernels import Kernel, ops, value

STORE = "o = pl.tile.store(q, [0, 0], y)\nreturn o"


def test_gap_01_carried_accumulator_is_halved() -> None:
    body = """
    s0 = pl.tile.full([32, 24], dtype=pl.FP32, value=0.5)
    for k, (s,) in pl.range(3, init_values=(s0,)):
        s1 = pl.tile.add(s, v)
        q = pl.yield_(s1)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    module = Kernel(body).check()
    assert value(module, "s").type.shape == value(module, "q").type.shape == (16, 24)


def test_gap_01_crossing_tile_seeds_a_loop() -> None:
    body = """
    for k, (s,) in pl.range(3, init_values=(v,)):
        s1 = pl.tile.adds(s, 1.0)
        q = pl.yield_(s1)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    Kernel(body).check()
    Kernel(body, rows=16, valid=12).check()
    Kernel(body, rows=16, valid="n", n=11).check()


def test_gap_01_while_carries_a_tile() -> None:
    body = """
    for (i, c) in pl.while_(init_values=(0, v)):
        pl.cond(i < n)
        c1 = pl.tile.adds(c, 1.0)
        i1 = i + 1
        i2, q = pl.yield_(i1, c1)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    for n in (0, 1, 3):
        module = Kernel(body, parameters={"n": "pl.Scalar[pl.INDEX]"}, values={"n": n}).check()
    assert value(module, "c").type.shape == (16, 24)


def test_gap_01_if_result_of_halved_tiles() -> None:
    body = """
    if n > 3:
        a = pl.tile.adds(v, 1.0)
        q = pl.yield_(a)
    else:
        b = pl.tile.muls(v, 2.0)
        q = pl.yield_(b)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    for n in (1, 9):
        module = Kernel(body, parameters={"n": "pl.Scalar[pl.INDEX]"}, values={"n": n}).check()
    assert value(module, "q").type.shape == (16, 24)


def test_gap_01_a_swap_of_two_carries() -> None:
    body = """
    z = pl.tile.full([32, 24], dtype=pl.FP32, value=0.0)
    for k, (a, b) in pl.range(3, init_values=(v, z)):
        b1 = pl.tile.adds(a, 1.0)
        q, r = pl.yield_(b, b1)
    o = pl.tile.store(q, [0, 0], y)
    p = pl.tile.store(r, [0, 0], u)
    return o, p
    """
    Kernel(body, outputs={"y": (32, 24), "u": (32, 24)}).check()


def test_gap_01_a_seed_with_the_axis_elsewhere_is_cut_in_front_of_the_loop() -> None:
    body = """
    s = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    z = pl.tile.full([1, 32], dtype=pl.FP32, value=0.0)
    for k, (a,) in pl.range(2, init_values=(z,)):
        m = pl.tile.row_sum(v, s)
        t = pl.tile.reshape(m, [1, 32])
        b = pl.tile.add(t, a)
        q = pl.yield_(b)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    module = Kernel(body, outputs={"y": (1, 32)}).check()
    assert value(module, "a").type.shape == (1, 16)


def test_gap_02_create_as_accumulator_is_halved() -> None:
    body = """
    e = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    q = pl.tile.expands(e, 3.0)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    assert value(Kernel(body).check(), "e").type.shape == (16, 24)


@pytest.mark.parametrize("layout", ["pl.TileLayout.col_major", "pl.TileLayout.row_major"])
@pytest.mark.parametrize("rows", [17, 16])
def test_gap_03_odd_half_of_a_layout_of_its_own_claims_no_row_too_many(layout: str, rows: int) -> None:
    body = f"""
    a = pl.tile.move(v, target_memory=pl.Mem.Vec, blayout={layout}, slayout=pl.TileLayout.none_box)
    q = pl.tile.adds(a, 1.0)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    module = Kernel(body, rows=rows).check()
    assert value(module, "q").type.valid == ((DYNAMIC, 24) if rows == 17 else (8, 24))


def test_gap_03_widening_in_a_body_of_one_ragged_crossing_loses_no_row() -> None:
    body = """
    f = pl.tile.fillpad(v)
    q = pl.tile.set_validshape(f, 16, 24)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    for valid in (5, 12, 13, 15):
        Kernel(body, rows=16, valid=valid).check()


@pytest.mark.parametrize("name", ["tri", "ci", "random"])
def test_gap_04_positional_generators_are_refused(name: str) -> None:
    calls = {
        "tri": "pl.tile.tri(0, [32, 24], dtype=pl.FP32)",
        "ci": "pl.tile.ci(pl.const(5, pl.INT32), [1, 24], dtype=pl.INT32)",
        "random": "pl.tile.random(1, 2, 3, 4, 5, 6, [32, 24], dtype=pl.UINT32)",
    }
    mode = "LEFT_RIGHT" if name == "ci" else "UP_DOWN"
    problem = Kernel(f"q = {calls[name]}\no = pl.tile.store(v, [0, 0], y)\nreturn o", mode=mode).refusal()
    assert f"tile.{name}" in problem.message and mode in problem.message


def test_gap_04_a_paste_that_spans_the_axis_is_lane_local() -> None:
    body = """
    t = pl.tile.full([32, 48], dtype=pl.FP32, value=1.0)
    q = pl.tile.assemble(t, v, [0, 24])
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    Kernel(body, outputs={"y": (32, 48)}).check()


def test_gap_04_a_paste_into_some_rows_is_refused() -> None:
    body = """
    t = pl.tile.full([64, 24], dtype=pl.FP32, value=1.0)
    q = pl.tile.assemble(t, v, [16, 0])
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    assert "split axis" in Kernel(body, outputs={"y": (64, 24)}).refusal().message


@pytest.mark.parametrize(("mode", "good"), [("UP_DOWN", True), ("LEFT_RIGHT", False)])
def test_gap_04_concat(mode: str, good: bool) -> None:
    body = "t = pl.tile.neg(v)\nq = pl.tile.concat(v, t)\n" + STORE
    kernel = Kernel(body, mode=mode, outputs={"y": (32, 48)})
    if good:
        kernel.check()
        Kernel(body, rows=17, outputs={"y": (17, 48)}).check()
    else:
        assert "split axis" in kernel.refusal().message


def test_gap_05_a_zero_row_store_is_guarded() -> None:
    module = Kernel("q = pl.tile.set_validshape(v, 6, 24)\n" + STORE).check()
    assert len(ops(module, "scf.if")) == 1


@pytest.mark.parametrize("op", ["pl.tile.transpose(v, 0, 1)", "pl.tile.transpose_view(v)"])
@pytest.mark.parametrize("rows", [2, 32])
def test_gap_06_transpose_of_the_split_axis_is_refused_before_halving(op: str, rows: int) -> None:
    problem = Kernel(f"q = {op}\n" + STORE, rows=rows, outputs={"y": (24, rows)}).refusal()
    assert "'q'" in problem.message and "split axis" in problem.message and "UP_DOWN" in problem.message


def test_gap_07_a_ragged_gather_is_used_outside_its_region() -> None:
    body = """
    p = pl.tile.cast(h, pl.FP16)
    full = pl.aic_gather(p)
    """
    kernel = Kernel(
        body,
        rows=16,
        valid=5,
        form="explicit",
        parameters={"u": "pl.Tensor[[24, 16], pl.FP16]"},
        outputs={"y": (16, 16)},
    )
    tail = """
        fl = pl.tile.move(full, target_memory=pl.Mem.Left)
        um = pl.tile.load(u, [0, 0], [24, 16], target_memory=pl.Mem.Mat)
        ur = pl.tile.move(um, target_memory=pl.Mem.Right)
        z = pl.tile.matmul(fl, ur)
        o = pl.tile.store(z, [0, 0], y)
        return o
"""

    class WithTail(Kernel):
        @property
        def text(self) -> str:
            return super().text.rstrip() + tail

    module = WithTail(**vars(kernel)).check()
    assert value(module, "z").type.valid == (5, 16)


def test_gap_10_guarded_store_results_are_joined() -> None:
    body = """
    o = pl.tile.store(h, [lane * 8, 0], y)
    g = pl.tile.neg(h)
    p = pl.tile.store(g, [lane * 8, 24], o)
    return p
    """
    Kernel(body, rows=16, valid=5, form="explicit", outputs={"y": (16, 48)}).check()


def test_gap_11_alias_is_the_value_itself() -> None:
    Kernel("b = v\n" + STORE.replace("q", "b")).check()


def test_gap_12_boundary_without_a_region_is_refused() -> None:
    problem = Kernel("q = pl.tile.aiv_shard(acc, split=1)\n" + STORE).refusal()
    assert "tile.aiv_shard" in problem.message


@pytest.mark.parametrize("n", [1, 7, 8, 9, 12, 15, 16])
def test_gap_13_run_time_number_of_rows_reaches_each_lane(n: int) -> None:
    Kernel("q = pl.tile.adds(v, 1.0)\n" + STORE, rows=16, valid="n", n=n).check()


def test_gap_14_loop_variable_with_the_name_of_the_lane_index() -> None:
    body = """
    for subblock_idx, (t,) in pl.range(3, init_values=(y,)):
        a = pl.tile.store(v, [subblock_idx * 32, 0], t)
        o = pl.yield_(a)
    return o
    """
    kernel = Kernel(body, outputs={"y": (96, 24)})
    module = kernel.check()
    again = parse(print_program(module))
    assert structurally_equal(again, module) is None


@pytest.mark.parametrize("extent", ["n", "N"])
def test_gap_20_extent_of_a_tile_known_at_run_time_only_is_refused(extent: str) -> None:
    body = f"a = pl.tile.load(x, [0, 0], [{extent}, 16], target_memory=pl.Mem.Vec)\n" + STORE.replace("q", "v")
    text = Kernel(body, n=4).text.replace("@pl.program", 'N = pl.dynamic("N")\n\n\n@pl.program')
    with pytest.raises(Diagnostic) as refusal:
        parse(text, filename="kernel.py")
    line = refusal.value.location.line
    assert f"[{extent}, 16]" in text.split("\n")[line - 1]


@pytest.mark.parametrize(("rows", "offset"), [(16, 0), (16, 4), (8, 8)])
def test_gap_17_window_on_the_split_axis_is_refused(rows: int, offset: int) -> None:
    body = f"q = pl.tile.slice(v, [{rows}, 24], [{offset}, 0])\n" + STORE
    problem = Kernel(body, outputs={"y": (rows, 24)}).refusal()
    assert "split axis" in problem.message and str(offset) in problem.message


def test_gap_17_window_on_the_other_axis_is_lane_local() -> None:
    Kernel("q = pl.tile.slice(v, [32, 8], [0, 4])\n" + STORE, outputs={"y": (32, 8)}).check()


@pytest.mark.parametrize(
    ("shape", "mode"), [((24, 32), "LEFT_RIGHT"), ((768, 1), "LEFT_RIGHT"), ((16, 48), "LEFT_RIGHT")]
)
def test_gap_18_regrouping_reshape_is_refused(shape: tuple[int, int], mode: str) -> None:
    body = f"q = pl.tile.reshape(v, [{shape[0]}, {shape[1]}])\n" + STORE
    assert "moves the split axis" in Kernel(body, mode=mode, outputs={"y": shape}).refusal().message


def test_gap_18_odd_extent_follows_a_vector_turn_and_nothing_else() -> None:
    body = """
    s = pl.tile.create([15, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    m = pl.tile.row_sum(v, s)
    q = pl.tile.reshape(m, [1, 15])
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    Kernel(body, rows=15, outputs={"y": (1, 15)}).check()
    problem = Kernel("q = pl.tile.reshape(v, [30, 12])\n" + STORE, rows=15, outputs={"y": (30, 12)}).refusal()
    assert "tile.reshape" in problem.message


def test_gap_19_guarded_store_inside_a_loop_hands_on_the_old_tensor() -> None:
    body = """
    for k, (t,) in pl.range(2, init_values=(y,)):
        o = pl.tile.store(h, [lane * 8, k * 24], t)
        q = pl.yield_(o)
    return q
    """
    Kernel(body, rows=16, valid=5, form="explicit", outputs={"y": (16, 48)}).check()


def test_gap_29_transpose_of_a_singleton_stays_whole() -> None:
    body = """
    b = pl.tile.load(t, [0, 0], [1, 32], target_memory=pl.Mem.Vec)
    c = pl.tile.transpose(b, 0, 1)
    q = pl.tile.row_expand_mul(v, c)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    module = Kernel(body, parameters={"t": "pl.Tensor[[1, 32], pl.FP32]"}).check()
    assert value(module, "b").type.shape == (1, 32)


def test_row_split_tile_meets_column_split_tile() -> None:
    body = """
    s = pl.tile.create([24, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    m = pl.tile.row_sum(v, s)
    r = pl.tile.reshape(m, [1, 24])
    q = pl.tile.col_expand_mul(v, r)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    problem = Kernel(body, rows=24).refusal()
    assert "rows" in problem.message and "columns" in problem.message
    assert any("r (kernel.py" in note for note in problem.notes)


def test_cell_of_a_halved_tile_is_refused() -> None:
    body = "a = pl.tile.read(v, [5, 3])\nq = pl.tile.adds(v, a)\n" + STORE
    assert "tile.read" in Kernel(body).refusal().message


def test_d05_atomic_add_of_a_row_both_lanes_hold_is_done_by_one() -> None:
    body = """
    e = pl.tile.store(v, [0, 0], z)
    b = pl.tile.load(t, [0, 0], [1, 24], target_memory=pl.Mem.Vec)
    o = pl.tile.store(b, [0, 0], y, atomic=pl.AtomicType.Add)
    return e, o
    """
    parameters = {"t": "pl.Tensor[[1, 24], pl.FP32]"}
    module = Kernel(body, parameters=parameters, outputs={"z": (32, 24), "y": (1, 24)}).check()
    assert len(ops(module, "scf.if")) == 1


def test_carried_ragged_half_in_an_explicit_region() -> None:
    body = """
    for k, (c,) in pl.range(3, init_values=(h,)):
        c1 = pl.tile.add(h, c)
        q = pl.yield_(c1)
    o = pl.tile.store(q, [lane * 8, 0], y)
    return o
    """
    module = Kernel(body, rows=16, valid=5, form="explicit").check()
    assert value(module, "c").type.valid == (DYNAMIC, 24)


def test_mask_packs_the_cells_of_its_own_lane() -> None:
    body = """
    t = pl.tile.neg(v)
    m = pl.tile.cmp(v, t, cmp_type=4)
    s = pl.tile.create([32, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    q = pl.tile.sel(m, v, t, s)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    module = Kernel(body, columns=64, mode="LEFT_RIGHT").check()
    assert value(module, "m").type.shape == (32, 32)
    assert "bit mask" in Kernel(body.replace("store(q", "store(m"), columns=64, mode="LEFT_RIGHT").refusal().message


def test_a_rank_1_scale_of_odd_length_is_cut_from_a_padded_copy() -> None:
    body = """
    g1 = pl.tile.load(g, [0], [21], target_memory=pl.Mem.Vec)
    g2 = pl.tile.reshape(g1, [1, 21])
    q = pl.tile.col_expand_mul(v, g2)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    Kernel(body, columns=21, mode="LEFT_RIGHT", parameters={"g": "pl.Tensor[[21], pl.FP32]"}).check()
