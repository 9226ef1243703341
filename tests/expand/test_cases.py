"""What users report of two cores and their channel (cases C and D; E and H: test_cases_order.py), one test each.

The names carry the case id. Every accepted kernel goes through all passes, its protocol is proven, and it runs under
several schedules against the oracle.
"""

from collections import Counter
from itertools import product as every

import numpy as np
import pytest

from cubelane.analysis.channel_protocol import core_groups
from cubelane.check.execute import Schedule, run_group, run_reference
from cubelane.check.protocol import Proof, check_protocol
from cubelane.check.timing import timed
from cubelane.ir.kernel import functions_of
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import InitializePipeOp, PopOp, PushOp
from cubelane.ir.types import TileType
from cubelane.passes import pipeline
from cubelane.passes.tile.verify_mixed_kernel_expanded import findings
from tests.expand.auto import TARGETS, Auto, count
from tests.expand.stages import HEAD, TO_VEC, expanded, finished, function, kernel, product
from tests.expand.test_programs import PAIR
from tests.expand.test_projection import block, inputs

X, W, OUT = ([16, 16], "FP16"), ([16, 32], "FP16"), ([16, 32], "FP32")
XW, ONE = {"x": X, "w": W}, {"out": OUT}
PLUS_ONE = "acc = pl.matmul(x, w, out_dtype=pl.FP32)\nout[:] = pl.add(acc, 1.0)"
MODES = (None, "NONE", "UP_DOWN", "LEFT_RIGHT")


# --- C: control flow and loop state on two cores ---------------------------------------------------------------------

C01 = """
m = pl.full([16, 1], dtype=pl.FP32, value=-100.0)
for k in pl.range(4):
    acc = pl.matmul(x, w[:, k * 8 : k * 8 + 8], out_dtype=pl.FP32)
    m = pl.maximum(m, pl.row_max(acc))
out[:] = m
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
def test_c01_each_core_keeps_the_carries_it_needs_and_no_others(mode, target):
    case = Auto(C01, XW, {"out": ([16, 1], "FP32")}, mode=mode)
    case.check(target)
    module = case.compiled(target).module
    cube = next(f for f in functions_of(module) if f.sym_name.data.endswith("_aic"))
    loop = next(op for op in cube.walk() if op.name == "scf.for")
    assert not loop.results and count(module, "tile.full", "_aic") == 0
    assert count(module, "tile.tpush_to_aiv", "_aic") == 1


C02 = """
for i in pl.range(2):
    acc = pl.full([16, 32], dtype=pl.FP32, value=0.0)
    for k in pl.range(2):
        a = pl.cast(pl.add(x[:, k * 16 : k * 16 + 16], 1.0), pl.FP16)
        acc = pl.add(acc, pl.matmul(a, w, out_dtype=pl.FP32))
    out[i * 16 : i * 16 + 16, :] = acc
"""


@pytest.mark.parametrize("mode", MODES)
def test_c02_seed_of_an_inner_accumulator_is_made_again_in_every_outer_trip(mode):
    Auto(C02, {"x": ([16, 32], "FP32"), "w": W}, {"out": ([32, 32], "FP32")}, mode=mode).check()


C04 = """
z = pl.full([16, 32], dtype=pl.FP32, value=0.0)
lag1 = z
lag2 = z
for k in pl.range(5):
    t = pl.mul(pl.matmul(x, w, out_dtype=pl.FP32), s[k * 16 : k * 16 + 16, :])
    out[k * 16 : k * 16 + 16, :] = pl.sub({lag}, t)
    lag2 = lag1
    lag1 = t
"""


@pytest.mark.parametrize("lag", ["t", "lag1", "lag2"])
def test_c04_carries_are_handed_on_at_once(lag):
    tensors = {"x": X, "w": W, "s": ([80, 32], "FP32")}
    Auto(C04.format(lag=lag), tensors, {"out": ([80, 32], "FP32")}).check()


C05 = """
if n > 16:
    b = n - 1
else:
    b = 0
if b < 64:
    out[:] = pl.add(pl.matmul(x, w, out_dtype=pl.FP32), 1.0)
"""


@pytest.mark.parametrize("n", [0, 16, 17, 64, 65, 100])
def test_c05_result_of_a_branch_over_parameters_is_on_both_cores(n):
    Auto(C05, XW, ONE, n=n).check("a2a3", seeds=(None,))


C06 = """
o = pl.full([16, 32], dtype=pl.FP32, value=0.0)
for k in pl.range(3):
    t = pl.matmul(x, w[k * 16 : k * 16 + 16, :], out_dtype=pl.FP32)
    if k == 0:
        o = t
    else:
        o = pl.add(o, t)
out[:] = o
"""


@pytest.mark.parametrize("target", TARGETS)
def test_c06_popped_tile_that_a_branch_hands_on(target):
    Auto(C06, {"x": X, "w": ([48, 32], "FP16")}, ONE).check(target)


C08 = """
for o in pl.range(4):
    g = pl.matmul(x, wg[:, o * 8 : o * 8 + 8], out_dtype=pl.FP32)
    u = pl.matmul(x, wu[:, o * 8 : o * 8 + 8], out_dtype=pl.FP32)
    s = pl.recip(pl.add(pl.exp(pl.neg(g)), 1.0))
    out[:, o * 8 : o * 8 + 8] = pl.mul(pl.mul(g, s), u)
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("slots", [1, 2])
def test_c08_pops_of_two_chains_interleave(slots, target):
    Auto(C08, {"x": X, "wg": W, "wu": W}, ONE, slots=slots).check(target)


ALIASED = (
    product()
    + "um = pl.tile.load(w, [0, 0], [16, 16], target_memory=pl.Mem.Mat)\n"
    + "ur = pl.tile.move(um, target_memory=pl.Mem.Right)\nsmall = pl.tile.matmul(xl, ur)\n"
    + f"t1 = {TO_VEC.format('acc')}\nq = {TO_VEC.format('small')}\n"
    + "z = pl.tile.store(q, [0, 0], t)\nif n > 1:\n    u = t1\n    e = pl.tile.adds(u, 1.0)\n    r = pl.yield_(e)\n"
    + "else:\n    f = pl.tile.full([16, 32], dtype=pl.FP32, value=2.0)\n    r = pl.yield_(f)\n"
    + "out = pl.tile.store(r, [0, 0], y)\nreturn out"
)


@pytest.mark.parametrize("n", [0, 2])
def test_c09_alias_in_a_branch_and_a_second_pipe_are_freed_once_on_each_path(n):
    module = expanded(kernel(ALIASED, scratch=True), "a5", pipe_per_size=True)
    for name in ("split-vector-kernel", "stamp-tfree-split"):
        pipeline.pass_named(name)(module)
    assert not findings(module)
    (verdict,) = check_protocol(module)
    assert not verdict.findings and verdict.paths >= 1 and verdict.proof is not Proof.NOT_PROVEN
    result = run_group(module, inputs(n))
    assert not result.findings
    assert np.array_equal(result.outputs["y"], block(inputs(n)) + 1 if n > 1 else np.full((16, 32), 2.0))


def test_c09_free_on_one_path_only_is_named():
    text = PAIR.format(code=0).replace(
        "pl.system.tfree_to_aic(v)", "if n > 1:\n            u = v\n            pl.system.tfree_to_aic(u)"
    )
    text = text.replace("def p_aiv(self, y:", "def p_aiv(self, n: pl.Scalar[pl.INDEX], y:").replace(
        "self.p_aiv(y)", "self.p_aiv(n, y)"
    )
    text = text.replace(
        "        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],\n    ) ->",
        "        n: pl.Scalar[pl.INDEX],\n        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],\n    ) ->",
    )
    module = finished(text)
    (verdict,) = check_protocol(module)
    assert verdict.findings and "AIV0" in str(verdict.findings[0]) and verdict.findings[0].location.line > 0
    assert any("never gives the slot back" in str(f) for f in findings(module))


C10 = """
for i in pl.range(4):
    if {condition}:
        out[i * 16 : i * 16 + 16, :] = pl.exp(pl.matmul(x, w, out_dtype=pl.FP32))
    else:
        out[i * 16 : i * 16 + 16, :] = y
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("condition", ["i % 2 == 0", "pl.read(y, [0, 0]) > 0.0"])
def test_c10_branch_with_work_of_both_cores(condition, target):
    tensors = {"x": X, "w": W, "y": OUT}
    Auto(C10.format(condition=condition), tensors, {"out": ([64, 32], "FP32")}).check(target)


def test_c10_condition_that_one_core_computes_is_refused_with_a_way_out():
    body = "t = pl.matmul(x, w, out_dtype=pl.FP32)\nif pl.read(pl.row_sum(t), [0, 0]) > 0.0:\n    out[:] = pl.exp(pl.matmul(x, w, out_dtype=pl.FP32))"  # noqa: E501
    problem = Auto(body, XW, ONE, mode=None).refusal()
    assert problem.code == "value-on-other-core" and problem.location.line == 9 and problem.instead


# --- D: push and pop, lanes, deadlock --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", MODES)
def test_d01_pops_of_every_lane_match_the_pushes_on_all_interleavings(mode, target):
    case = Auto(PLUS_ONE, XW, ONE, mode=mode)
    module = case.compiled(target).module
    (verdict,) = check_protocol(module)
    assert verdict.proof is Proof.EXPLORED and not verdict.findings
    result = case.check(target)
    if target == "a2a3" and mode in (None, "NONE"):
        kinds = Counter((event.agent, event.kind) for event in result.events)
        assert kinds["AIV1", "pop"] == kinds["AIV0", "pop"] == kinds["AIV1", "free"] == 1
        assert kinds["AIV1", "store"] == 0 and kinds["AIV0", "store"] == 1


def test_d02_two_tasks_in_a_row_leak_no_state():
    """Back to back on one group, with the lanes running at different speeds."""
    for target, mode in every(TARGETS, (None, "UP_DOWN")):
        Auto(PLUS_ONE, XW, ONE, mode=mode, scopes=2).check(target, seeds=(None, *range(6)))


BOTH_WAYS = (
    HEAD
    + """    @pl.function(type=pl.FunctionType.AIC)
    def p_aic(self, w: pl.Tensor[[32, 32], pl.FP16]):
        mine = pl.system.reserve_buffer(name="up", size=4096, base=-1)
        yours = pl.system.import_peer_buffer(name="down", peer_func="p_aiv")
        pl.system.aic_initialize_pipe(yours, mine, dir_mask=3, slot_size=2048, slot_num=2)
        m: pl.Tile[[16, 32], pl.FP16, pl.Mem.Mat] = pl.tile.tpop_from_aiv(split=0)
        l = pl.tile.move(m, target_memory=pl.Mem.Left)
        pl.system.tfree_to_aiv(m)
        km = pl.tile.load(w, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        kr = pl.tile.move(km, target_memory=pl.Mem.Right)
        acc = pl.tile.matmul(l, kr)
        pl.tile.tpush_to_aiv(acc, split=0)

    @pl.function(type=pl.FunctionType.AIV)
    def p_aiv(self, t: pl.Tensor[[16, 32], pl.FP16], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
        yours = pl.system.import_peer_buffer(name="up", peer_func="p_aic")
        mine = pl.system.reserve_buffer(name="down", size=4096, base=-1)
        pl.system.aiv_initialize_pipe(mine, yours, dir_mask=3, slot_size=2048, slot_num=2)
        v = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)
        pl.tile.tpush_to_aic(v, split=0)
        r: pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0)
        out = pl.tile.store(r, [0, 0], y)
        pl.system.tfree_to_aic(r)

    @pl.function(type=pl.FunctionType.Group)
    def p(
        self,
        t: pl.Tensor[[16, 32], pl.FP16],
        w: pl.Tensor[[32, 32], pl.FP16],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        self.p_aic(w)
        self.p_aiv(t, y)
"""
)


@pytest.mark.parametrize("target", TARGETS)
def test_d03_smallest_hand_written_pair_with_two_signatures_runs_with_one(target):
    module = finished(BOTH_WAYS, target)
    assert not findings(module)
    (verdict,) = check_protocol(module)
    assert verdict.proof is Proof.EXPLORED and not verdict.findings
    names = [[a.name_hint for a in function(module, name).body.block.args[:3]] for name in ("p_aic", "p_aiv", "p")]
    assert names[0] == names[1] == names[2]
    given = {name: array for name, array in inputs().items() if name in "twy"}
    given["t"], given["w"] = given["t"].astype(np.float16), given["w"][:32]
    result = run_group(module, given)
    assert not result.findings
    assert np.array_equal(result.outputs["y"], given["t"].astype(np.float32) @ given["w"].astype(np.float32))


def test_d05_idle_lane_of_an_unsplit_kernel_shows_as_waiting_and_not_as_slow():
    case = Auto(PLUS_ONE, XW, ONE, mode="NONE")
    stores = [event.agent for event in case.check("a2a3").events if event.kind == "store"]
    assert stores == ["AIV0"]
    timeline = timed(case.compiled("a2a3")).timeline()
    assert timeline is not None
    times = {t.agent: t for t in timeline.times()}
    assert times["AIV1"].busy < times["AIV0"].busy and times["AIV1"].computing < times["AIV0"].computing
    assert times["AIV1"].waiting + times["AIV1"].idle > times["AIV1"].busy


D06 = (
    product()
    + "for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    h = pl.aiv_shard(acc)\n"
    + "    out = pl.tile.store(h, [lane * 8, 0], y)\n    pl.system.notify(sig, 1, [lane, 0], 1, op=1)\nreturn out"
)


def test_d06_notification_of_a_region_runs_on_the_lanes_behind_their_data_and_never_on_the_cube():
    text = kernel(D06, attrs='"split_aiv": True').replace(
        "n: pl.Scalar[pl.INDEX],", "n: pl.Scalar[pl.INDEX],\n        sig: pl.InOut[pl.Tensor[[2, 1], pl.INT32]],"
    )
    module = finished(text, "a5", lower=True)
    assert count(module, "system.notify", "_aic") == 0 and count(module, "system.notify", "_aiv") == 1
    for seed in range(6):
        given = {**inputs(), "sig": np.zeros((2, 1), np.int32)}
        result = run_group(module, given, schedule=Schedule(seed))
        assert not result.findings
        told = [e for e in result.events if e.kind == "notify"]
        assert sorted(e.agent for e in told) == ["AIV0", "AIV1"]
        for event in told:
            before = [e.agent for e in result.events[: event.step] if e.kind == "store"]
            assert event.agent in before


D07 = """
acc = pl.matmul(x, w, out_dtype=pl.FP32)
for r in pl.range(16):
    p = pl.cast(pl.read(table, [r]), pl.INDEX)
    out[p : p + 1, :] = acc[r : r + 1, :]
"""


@pytest.mark.parametrize("mode", MODES)
def test_d07_rows_stored_at_addresses_from_memory(mode):
    rows = np.array([(5 * i + 3) % 16 for i in range(16)], np.int32)
    Auto(D07, {**XW, "table": ([16], "INT32")}, ONE, mode=mode, values={"table": rows}).check()


D09 = (
    product()
    + "um = pl.tile.load(w, [0, 0], [16, 16], target_memory=pl.Mem.Mat)\n"
    + "ur = pl.tile.move(um, target_memory=pl.Mem.Right)\nb = pl.tile.matmul(xl, ur)\n"
    + f"v = {TO_VEC.format('acc')}\nu = {TO_VEC.format('b')}\n"
    + "h = pl.tile.cast(u, pl.FP16)\nhl = pl.tile.move(h, target_memory=pl.Mem.Left)\nc = pl.tile.matmul(hl, wr)\n"
    + "y1 = pl.tile.store(c, [0, 0], t)\nout = pl.tile.store(v, [0, 0], y)\nreturn out"
)


@pytest.mark.parametrize("target", TARGETS)
def test_d09_pipes_of_their_own_for_tiles_of_different_sizes_and_no_address_for_a_direction_unused(target):
    module = expanded(kernel(D09, scratch=True), target, pipe_per_size=True)
    pipes = {}
    for op in module.walk():
        if isinstance(op, InitializePipeOp):
            pipes[python_value(op.properties["id"])] = (python_value(op.dir_mask), python_value(op.slot_size))
    assert pipes == {0: (1, 16 * 32 * 4), 1: (1, 16 * 16 * 4), 2: (2, 16 * 16 * 2)}
    assert not findings(module)
    for name in ("inject-gm-pipe-buffer", "split-vector-kernel", "stamp-tfree-split"):
        pipeline.pass_named(name)(module)
    (verdict,) = check_protocol(module)
    assert not verdict.findings
    result = run_group(module, inputs())
    assert not result.findings and np.array_equal(result.outputs["y"], block(inputs()))


D10 = {"x": ([128, 64], "FP16"), "w": ([64, 128], "FP16")}


def test_d10_ring_that_does_not_fit_is_named_with_its_tile_and_a_depth_that_fits():
    problem = Auto(PLUS_ONE, D10, {"out": ([128, 128], "FP32")}, slots=8).refusal("a2a3")
    told = str(problem)
    assert "c2v_slot_buffer" in told and "8 slots of 65,536" in told and "slot_num=2" in told
    assert "largest tile" in told and problem.location.line > 0


@pytest.mark.parametrize("slots", range(1, 9))
@pytest.mark.parametrize("mode", MODES)
def test_d10_depth_is_a_knob_in_every_mode_and_no_depth_hangs(mode, slots):
    case = Auto(C08, {"x": X, "wg": W, "wu": W}, ONE, mode=mode, slots=slots)
    module = case.compiled("a2a3").module
    assert {slots} == {depth for group in core_groups(module) for depth in group.depths.values()}
    case.check("a2a3", seeds=(None,))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("transposed", ["", ", b_trans=True"])
def test_d11_tile_travels_to_the_cube_in_the_layout_the_cube_expects(transposed, target):
    body = f"h = pl.cast(pl.add(v, 1.0), pl.FP16)\nout[:] = pl.matmul(h, w, out_dtype=pl.FP32{transposed})"
    case = Auto(body, {"v": ([16, 32], "FP32"), "w": ([32, 32], "FP16")}, ONE)
    case.check(target)
    module = case.compiled(target).module
    popped = [op.results[0].type for op in module.walk() if isinstance(op, PopOp) and not op.TO_LANES]
    pushed = [op.tile.type for op in module.walk() if isinstance(op, PushOp) and not op.TO_LANES]
    assert len(popped) == len(pushed) == 1
    assert isinstance(popped[0], TileType) and isinstance(pushed[0], TileType)
    layouts = [(k.data.blayout.value, k.data.slayout.value) for k in (popped[0], pushed[0])]
    assert layouts[0] == ("col_major", "row_major")
    assert layouts[1] == (layouts[0] if target == "a5" else ("row_major", "none_box"))


def test_d02_one_executable_two_launches_other_inputs():
    case = Auto(PLUS_ONE, XW, ONE)
    module = case.compiled("a5").module
    for shift in (0, 1):
        given = {**case.inputs, "x": (case.inputs["x"] + shift).astype(np.float16)}
        result = run_group(module, given, schedule=Schedule(shift))
        wanted = run_reference(case.parsed(), given)
        assert not result.findings and np.allclose(result.outputs["out"], wanted["out"])
