"""Where the reference is wrong behind the split (spec/passes.md 11.1), by number; that every number has a test."""

import re
from pathlib import Path

import numpy as np
import pytest

from cubelane.check.execute import run_group
from cubelane.check.protocol import check_protocol
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.tile.channel import ImportPeerBufferOp, ReserveBufferOp
from cubelane.passes.tile.verify_mixed_kernel_expanded import findings
from tests.expand.stages import TO_VEC, expanded, finished, function, kernel, lines, product
from tests.expand.test_programs import PAIR
from tests.expand.test_projection import block, inputs, run

VEC = f"v = {TO_VEC.format('acc')}\n"


def test_every_entry_has_a_test_with_its_number():
    text = "".join(path.read_text() for path in Path(__file__).parents[1].glob("*/test_*.py"))
    assert {int(number) for number in re.findall(r"def test_gap_(\d\d)_", text)} == set(range(1, 30))


@pytest.mark.parametrize("n", [1, 5])
def test_gap_08_branch_result_over_a_value_of_an_outer_body_keeps_that_value(n):
    text = kernel(
        "s0 = pl.tile.full([16, 32], dtype=pl.FP32, value=1.0)\ns1 = pl.tile.full([16, 32], dtype=pl.FP32, value=5.0)\n"
        "for i, (a,) in pl.range(2, init_values=(s0,)):\n"
        + lines("for k, (b,) in pl.range(2, init_values=(a,)):", 1)
        + product(depth=2)
        + lines(VEC + "if n > 3:\n    r = pl.yield_(s1)\nelse:\n    c = pl.tile.add(b, v)\n    r = pl.yield_(c)", 2)
        + lines("b2 = pl.yield_(r)", 2)
        + lines("a2 = pl.yield_(b2)", 1)
        + "out = pl.tile.store(a2, [0, 0], y)\nreturn out"
    )
    for target in ("a2a3", "a5"):
        given, outputs = run(text, target, n)
        assert np.array_equal(outputs["y"], np.full((16, 32), 5.0) if n > 3 else 1 + 4 * block(given))


@pytest.mark.parametrize("n", [2, 7])
def test_gap_08_branch_result_over_a_parameter_is_that_parameter(n):
    text = kernel(
        "for k, (y_it,) in pl.range(2, init_values=(y,)):\n"
        + lines("if n > 4:\n    r = pl.yield_(n)\nelse:\n    r = pl.yield_(1)", 1)
        + product(depth=1)
        + lines(VEC + "s = pl.cast(r, pl.FP32)\ne = pl.tile.adds(v, s)\ny1 = pl.tile.store(e, [0, 0], y_it)", 1)
        + lines("y2 = pl.yield_(y1)", 1)
        + "return y2"
    )
    given, outputs = run(text, "a2a3", n)
    assert np.array_equal(outputs["y"], block(given) + (n if n > 4 else 1))


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_gap_09_while_of_a_hand_written_pair_is_halved(target):
    text = PAIR.format(code=1).replace(
        "        e = pl.tile.adds(v, 1.0)\n        pl.system.tfree_to_aic(v)\n",
        "        i0 = 0\n        for (i, c) in pl.while_(init_values=(i0, v)):\n            pl.cond(i < 3)\n"
        "            d = pl.tile.adds(c, 1.0)\n            i2, e = pl.yield_(i + 1, d)\n"
        "        pl.system.tfree_to_aic(v)\n",
    )
    module = finished(text, target)
    assert not findings(module) and not check_protocol(module)[0].findings
    loop = next(op for op in function(module, "p_aiv").walk() if op.name == "scf.while")
    assert loop.results[1].type.shape == (8, 32)
    given = {name: value for name, value in inputs().items() if name in "xwy"}
    result = run_group(module, given)
    assert not result.findings
    assert np.array_equal(result.outputs["y"], block(given) + 3)


def test_gap_25_scratch_made_in_the_body_and_used_on_both_cores_is_refused():
    text = kernel(
        product() + "s = pl.tensor.create([16, 32], dtype=pl.FP32)\ns1 = pl.tile.store(acc, [0, 0], s)\n"
        "sv = pl.tile.load(s1, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
        "out = pl.tile.store(sv, [0, 0], y)\nreturn out"
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text)
    assert refusal.value.code == "tensor-on-both-cores" and refusal.value.location.line > 0


SET_UP = (
    "up = pl.system.import_peer_buffer(name='ring', peer_func='k_aiv')\n"
    "pl.system.aic_initialize_pipe(up, pl.const(0, pl.INT32), dir_mask=1, slot_size=2048, slot_num=3)\n"
    "down = pl.system.reserve_buffer(name='ring', size=6144, base=-1)\n"
    "pl.system.aiv_initialize_pipe(down, pl.const(0, pl.INT32), dir_mask=1, slot_size=2048, slot_num=3)\n"
)


def test_gap_27_ring_opened_by_hand_in_a_mixed_body_stays_with_the_core_that_opens_it():
    text = kernel(SET_UP + product() + VEC + "out = pl.tile.store(v, [0, 0], y)\nreturn out")
    module = expanded(text)
    assert not findings(module)
    for name, kept, other in (
        ("k_aic", ImportPeerBufferOp, ReserveBufferOp),
        ("k_aiv", ReserveBufferOp, ImportPeerBufferOp),
    ):
        kinds = [type(op) for op in function(module, name).walk()]
        assert kinds.count(kept) == 1 and other not in kinds
    given, outputs = run(text, "a5")
    assert np.array_equal(outputs["y"], block(given))


def test_gap_28_constant_part_of_a_half_cannot_be_joined():
    text = kernel(
        "lane = pl.tile.get_subblock_idx()\n"
        "tv = pl.tile.load(t, [lane * 8, 0], [8, 32], [5, 32], target_memory=pl.Mem.Vec)\n"
        "h = pl.tile.cast(tv, pl.FP16)\n"
        "m = pl.tile.aic_gather(h, split=1)\nml = pl.tile.move(m, target_memory=pl.Mem.Left)\n"
        "km = pl.tile.load(w, [0, 0], [32, 32], target_memory=pl.Mem.Mat)\n"
        "kr = pl.tile.move(km, target_memory=pl.Mem.Right)\nacc = pl.tile.matmul(ml, kr)\n"
        "out = pl.tile.store(acc, [0, 0], y)\nreturn out",
        attrs='"split_aiv": True',
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text)
    assert refusal.value.code == "lane-extent" and "5 of 8 rows" in refusal.value.message
