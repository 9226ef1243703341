"""A slot goes back after the last use of its tile, on every path, in the order of the pops (cases C08, C09, D10)."""

import numpy as np
import pytest

from cubelane.analysis.channel_protocol import core_groups
from cubelane.check.execute import run_group
from cubelane.check.protocol import Proof, check_protocol
from cubelane.ir.diagnostic import Diagnostic
from tests.expand.stages import TO_VEC, expanded, finished, kernel, lines, ops, product
from tests.expand.test_projection import block, inputs

MOVE = TO_VEC.format


def judged(text, target="a5", lower=False):
    module = finished(text, target, lower=lower)
    for verdict in check_protocol(module):
        assert not verdict.findings, verdict.findings[0]
        assert verdict.proof is not Proof.NOT_PROVEN, verdict
    given = inputs()
    result = run_group(module, given)
    assert not result.findings, result.findings[0]
    return given, result.outputs["y"]


def test_free_stands_behind_the_last_use_of_a_view():
    text = kernel(
        product()
        + f"v = {MOVE('acc')}\nr = pl.tile.reshape(v, [32, 16])\nq = pl.tile.reshape(r, [16, 32])\n"
        + "e = pl.tile.adds(q, 1.0)\nout = pl.tile.store(e, [0, 0], y)\nreturn out"
    )
    names = ops(expanded(text), "k_aiv")
    assert names.index("system.tfree_to_aic") == names.index("tile.adds") + 1
    given, y = judged(text)
    assert np.array_equal(y, block(given) + 1)


def test_unused_pop_is_freed_at_once():
    text = kernel(
        product()
        + f"v = {MOVE('acc')}\ntv = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
        + "out = pl.tile.store(tv, [0, 0], y)\nreturn out"
    )
    names = ops(expanded(text), "k_aiv")
    assert names.index("system.tfree_to_aic") == names.index("tile.tpop_from_aic") + 1


def test_gap_21_popped_tile_that_is_carried_is_copied_out_of_its_slot():
    text = kernel(
        "s0 = pl.tile.full([16, 32], dtype=pl.FP32, value=0.0)\nfor k, (s,) in pl.range(5, init_values=(s0,)):\n"
        + product(depth=1)
        + lines(f"v = {MOVE('acc')}\ns2 = pl.yield_(v)", 1)
        + "out = pl.tile.store(s2, [0, 0], y)\nreturn out"
    )
    names = ops(expanded(text), "k_aiv")
    pop = names.index("tile.tpop_from_aic")
    assert names[pop + 1 : pop + 3] == ["tile.move", "system.tfree_to_aic"]
    given, y = judged(text, "a2a3")
    assert np.array_equal(y, block(given))


def test_gap_24_branch_that_may_hold_the_tile_keeps_the_slot_until_its_last_use():
    """Gap 24: only one branch yields the popped tile; it is read behind the branch."""
    text = kernel(
        product()
        + f"v = {MOVE('acc')}\nif n > 1:\n    r = pl.yield_(v)\nelse:\n"
        + lines("z = pl.tile.full([16, 32], dtype=pl.FP32, value=5.0)\nr = pl.yield_(z)", 1)
        + "e = pl.tile.adds(r, 1.0)\nout = pl.tile.store(e, [0, 0], y)\nreturn out"
    )
    names = ops(expanded(text), "k_aiv")
    assert names.index("system.tfree_to_aic") > names.index("tile.adds")
    given, y = judged(text)
    assert np.array_equal(y, block(given) + 1)


TWO = (
    product("g")
    + "um = pl.tile.load(w, [16, 0], [16, 32], target_memory=pl.Mem.Mat)\n"
    + "ur = pl.tile.move(um, target_memory=pl.Mem.Right)\nu = pl.tile.matmul(xl, ur)\n"
    + f"gv = {MOVE('g')}\nuv = {MOVE('u')}\n"
)


def test_two_chains_overlap_and_each_goes_back_after_its_last_use():
    text = kernel(TWO + "m = pl.tile.mul(gv, uv)\nout = pl.tile.store(m, [0, 0], y)\nreturn out")
    names = ops(expanded(text), "k_aiv")
    assert "tile.move" not in names and names.count("system.tfree_to_aic") == 2
    judged(text)


def test_frees_keep_the_order_of_the_pops():
    """A free names no tile on the machine, so the tile that was popped first goes back first."""
    text = kernel(
        TWO + "a = pl.tile.adds(uv, 1.0)\nb = pl.tile.adds(gv, 2.0)\nm = pl.tile.mul(a, b)\n"
        "out = pl.tile.store(m, [0, 0], y)\nreturn out"
    )
    names = ops(expanded(text), "k_aiv")
    assert names.index("system.tfree_to_aic") > names.index("tile.adds") + 1
    judged(text)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_ring_of_any_depth_carries_two_tiles_that_live_together(depth):
    text = kernel(
        TWO + "m = pl.tile.mul(gv, uv)\nout = pl.tile.store(m, [0, 0], y)\nreturn out", attrs=f'"slot_num": {depth}'
    )
    module = expanded(text)
    assert set(core_groups(module)[0].depths.values()) == {depth}
    copies = ops(module, "k_aiv").count("tile.move")
    assert copies == (1 if depth == 1 else 0)
    judged(text)


def test_tile_that_lives_across_a_loop_with_pops_is_copied():
    text = kernel(
        product("first")
        + f"f = {MOVE('first')}\nfor k, (y_it,) in pl.range(3, init_values=(y,)):\n"
        + product(depth=1)
        + lines(f"v = {MOVE('acc')}\ns = pl.tile.add(v, f)\ny1 = pl.tile.store(s, [0, 0], y_it)\ny2 = pl.yield_(y1)", 1)
        + "return y2"
    )
    given, y = judged(text)
    assert np.array_equal(y, 2 * block(given))


def test_ring_without_slots_is_refused():
    text = kernel(
        product() + f"v = {MOVE('acc')}\nout = pl.tile.store(v, [0, 0], y)\nreturn out", attrs='"slot_num": 0'
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text)
    assert refusal.value.code == "slot-num"
