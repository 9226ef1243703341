"""Order through global memory (cases E01 to E03, E06, H06): the race detector of the simulator is the judge."""

import numpy as np
import pytest

from cubelane.check.execute import run_group
from cubelane.check.protocol import check_protocol
from cubelane.ir.diagnostic import Diagnostic
from tests.expand.stages import TO_VEC, expanded, finished, kernel, lines, ops, product
from tests.expand.test_projection import block, inputs

LOAD_T = "tv = pl.tile.load({t}, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
STORE_Y = "e = pl.tile.adds(tv, 1.0)\nout = pl.tile.store(e, [0, 0], y)\nreturn out"
MOVE = TO_VEC.format


def judged(text, target, lower=False):
    module = finished(text, target, lower=lower)
    for verdict in check_protocol(module):
        assert not verdict.findings, verdict.findings[0]
    given = inputs()
    result = run_group(module, given)
    assert not result.findings, result.findings[0]
    return given, result.outputs["y"]


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_cube_store_then_lane_load_is_fenced_once(target):
    text = kernel(product() + "t1 = pl.tile.store(acc, [0, 0], t)\n" + LOAD_T.format(t="t1") + STORE_Y, scratch=True)
    assert ops(expanded(text, target), "k_aiv").count("tile.tpop_from_aic") == 1
    given, y = judged(text, target)
    assert np.array_equal(y, block(given) + 1)


def test_gap_22_fence_takes_the_place_among_the_crossings_that_its_push_has():
    """Gap 22: the token is pushed before the data, so it is popped before the data, though the load comes later."""
    text = kernel(
        product()
        + "t1 = pl.tile.store(acc, [0, 0], t)\nb = pl.tile.matmul(xl, wr)\n"
        + f"zv = {MOVE('b')}\nz1 = pl.tile.adds(zv, 1.0)\n"
        + LOAD_T.format(t="t1")
        + "e = pl.tile.add(tv, z1)\nout = pl.tile.store(e, [0, 0], y)\nreturn out",
        scratch=True,
    )
    given, y = judged(text, "a2a3")
    assert np.array_equal(y, 2 * block(given) + 1)


def test_data_that_crosses_between_the_two_accesses_orders_them():
    """H06: the popped tile covers the earlier store; no token is needed."""
    text = kernel(
        product()
        + "t1 = pl.tile.store(acc, [0, 0], t)\n"
        + f"zv = {MOVE('acc')}\n"
        + LOAD_T.format(t="t1")
        + "e = pl.tile.add(tv, zv)\nout = pl.tile.store(e, [0, 0], y)\nreturn out",
        scratch=True,
    )
    assert ops(expanded(text), "k_aic").count("tile.tpush_to_aiv") == 1
    given, y = judged(text, "a5")
    assert np.array_equal(y, 2 * block(given))


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_many_stores_in_a_loop_then_a_load_of_all(target):
    """E02: a token per trip; the load waits for all of them."""
    text = kernel(
        "for j, (t_it,) in pl.range(4, init_values=(t,)):\n"
        + lines(
            "xm = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)\n"
            "xl = pl.tile.move(xm, target_memory=pl.Mem.Left)\n"
            "wm = pl.tile.load(w, [0, j * 8], [16, 8], target_memory=pl.Mem.Mat)\n"
            "wr = pl.tile.move(wm, target_memory=pl.Mem.Right)\nacc = pl.tile.matmul(xl, wr)\n"
            "t1 = pl.tile.store(acc, [0, j * 8], t_it)\nt2 = pl.yield_(t1)",
            1,
        )
        + LOAD_T.format(t="t2")
        + STORE_Y,
        scratch=True,
    )
    given, y = judged(text, target)
    assert np.array_equal(y, block(given) + 1)


def test_straight_stores_need_one_token_behind_the_last():
    text = kernel(
        product()
        + "b = pl.tile.matmul(xl, wr)\nt1 = pl.tile.store(acc, [0, 0], t)\nt2 = pl.tile.store(b, [0, 0], t1)\n"
        + LOAD_T.format(t="t2")
        + STORE_Y,
        scratch=True,
    )
    assert ops(expanded(text), "k_aic").count("tile.tpush_to_aiv") == 1
    judged(text, "a5")


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_lane_store_then_cube_load_is_fenced(target):
    """E03: the other direction; the token goes up the ring to the cube."""
    text = kernel(
        "tv = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\nc = pl.tile.adds(tv, 1.0)\n"
        "y1 = pl.tile.store(c, [0, 0], y)\n"
        "ym = pl.tile.load(y1, [0, 0], [16, 32], target_memory=pl.Mem.Mat)\n"
        "yl = pl.tile.move(ym, target_memory=pl.Mem.Left)\n"
        "km = pl.tile.load(t, [0, 0], [32, 32], target_memory=pl.Mem.Mat)\n"
        "kr = pl.tile.move(km, target_memory=pl.Mem.Right)\nacc = pl.tile.matmul(yl, kr)\n"
        "out = pl.tile.store(acc, [0, 0], y1)\nreturn out"
    ).replace("t: pl.Tensor[[16, 32]", "t: pl.Tensor[[32, 32]")
    module = finished(text, target)
    given = inputs()
    given["t"] = np.full((32, 32), 2, np.float32)
    result = run_group(module, given)
    assert not result.findings, result.findings[0]
    assert np.array_equal(result.outputs["y"], np.full((16, 32), 3.0 * 2 * 32, np.float32))


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_scratch_that_is_used_again_in_each_trip_is_ordered_both_ways(target):
    text = kernel(
        "s0 = pl.tile.full([16, 32], dtype=pl.FP32, value=0.0)\n"
        "for k, (t_it, s) in pl.range(3, init_values=(t, s0)):\n"
        + product(depth=1)
        + lines("t1 = pl.tile.store(acc, [0, 0], t_it)\n" + LOAD_T.format(t="t1"), 1)
        + lines("s1 = pl.tile.add(s, tv)\nt2, s2 = pl.yield_(t1, s1)", 1)
        + "out = pl.tile.store(s2, [0, 0], y)\nreturn out",
        scratch=True,
    )
    given, y = judged(text, target)
    assert np.array_equal(y, 3 * block(given))


def test_windows_that_never_meet_need_no_token():
    text = kernel(
        product()
        + "lo = pl.tile.store(acc, [0, 0], t)\n"
        + "tv = pl.tile.load(t, [16, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
        + STORE_Y,
        scratch=True,
    ).replace("[[16, 32], pl.FP32]]", "[[32, 32], pl.FP32]]", 1)
    assert "tile.tpush_to_aiv" not in ops(expanded(text), "k_aic")


def test_order_that_no_token_can_give_is_refused_with_both_places():
    """The cube reads what a lane overwrites; what the cube read is in L1 and cannot cross."""
    text = kernel(
        "ym = pl.tile.load(y, [0, 0], [16, 32], target_memory=pl.Mem.Mat)\n"
        "yl = pl.tile.move(ym, target_memory=pl.Mem.Left)\n"
        "km = pl.tile.load(w, [0, 0], [32, 32], target_memory=pl.Mem.Mat)\n"
        "kr = pl.tile.move(km, target_memory=pl.Mem.Right)\nacc = pl.tile.matmul(yl, kr)\n"
        "t1 = pl.tile.store(acc, [0, 0], t)\n"
        "f = pl.tile.full([16, 32], dtype=pl.FP32, value=1.0)\n"
        "out = pl.tile.store(f, [0, 0], y)\nreturn out",
        scratch=True,
    ).replace("y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]", "y: pl.InOut[pl.Tensor[[16, 32], pl.FP16]]")
    text = text.replace("-> pl.Tensor[[16, 32], pl.FP32]", "-> pl.Tensor[[16, 32], pl.FP16]").replace(
        "pl.tile.full([16, 32], dtype=pl.FP32", "pl.tile.full([16, 32], dtype=pl.FP16"
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text)
    assert refusal.value.code == "unordered-memory"
    assert "`y`" in refusal.value.message and refusal.value.message.count("kernel.py:") == 1


def test_lane_that_reads_what_the_other_lane_stored_is_refused():
    text = kernel(
        product()
        + f"v = {MOVE('acc')}\ny1 = pl.tile.store(v, [0, 0], y)\n"
        + "r = pl.tile.load(y1, [8, 0], [8, 32], target_memory=pl.Mem.Vec)\n"
        + "out = pl.tile.store(r, [0, 0], t)\nreturn y1",
        attrs='"split": pl.SplitMode.UP_DOWN',
        scratch=True,
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text, lower=True)
    assert refusal.value.code == "lane-conflict"


def test_lane_that_reads_its_own_rows_again_is_accepted():
    text = kernel(
        product()
        + f"v = {MOVE('acc')}\ny1 = pl.tile.store(v, [0, 0], y)\n"
        + "r = pl.tile.load(y1, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\nq = pl.tile.adds(r, 1.0)\n"
        + "out = pl.tile.store(q, [0, 0], y1)\nreturn out",
        attrs='"split": pl.SplitMode.UP_DOWN',
    )
    given, y = judged(text, "a2a3", lower=True)
    assert np.array_equal(y, block(given) + 1)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_one_token_is_popped_before_the_first_of_all_loads_that_rely_on_it(target):
    """The load of the next trip and the one in the branch share the token of the store: the branch comes first."""
    load = "{v} = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
    text = kernel(
        "for i in pl.range(3):\n"
        + lines(
            load.format(v="before")
            + "pl.tile.store(before, [0, 0], y)\n"
            + product()
            + "pl.tile.store(acc, [0, 0], t)\n"
            + "if i == 1:\n"
            + lines(load.format(v="behind") + "pl.tile.store(behind, [0, 0], y)\n", 1),
            1,
        )
        + LOAD_T.format(t="t")
        + STORE_Y,
        scratch=True,
    ).replace("t: pl.Out", "t: pl.InOut")
    assert ops(expanded(text, target), "k_aic").count("tile.tpush_to_aiv") == 1
    given, y = judged(text, target)
    assert np.array_equal(y, block(given) + 1)
