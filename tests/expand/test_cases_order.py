"""What users report of order through memory and of the same job elsewhere (cases E and H), one test each."""

import random
from collections import Counter

import pytest

from cubelane.analysis.channel_protocol import Limits, core_groups, scenarios
from cubelane.check.execute import Schedule, run_group
from cubelane.check.interleavings import Machine, explore
from cubelane.check.protocol import Proof, check_protocol
from cubelane.check.timing import timed
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp
from cubelane.language import parse
from tests.expand.auto import TARGETS, Auto
from tests.expand.stages import TO_VEC, finished, kernel, lines, product
from tests.expand.test_projection import inputs

X, W, OUT = ([16, 16], "FP16"), ([16, 32], "FP16"), ([16, 32], "FP32")
XW, ONE = {"x": X, "w": W}, {"out": OUT}
PLUS_ONE = "acc = pl.matmul(x, w, out_dtype=pl.FP32)\nout[:] = pl.add(acc, 1.0)"
MODES = (None, "NONE", "UP_DOWN", "LEFT_RIGHT")

# --- E: order through global memory ----------------------------------------------------------------------------------

SCRATCH = {"scratch": OUT, "out": OUT}
E01 = """
scratch[:] = pl.matmul(x, w, out_dtype=pl.FP32)
y = scratch[0:16, :]
out[:] = pl.add(y, 1.0)
"""
E02 = """
for j in pl.range(4):
    scratch[:, j * 8 : (j + 1) * 8] = pl.matmul(x, w[:, j * 8 : j * 8 + 8], out_dtype=pl.FP32)
out[:] = pl.add(scratch, 1.0)
"""
E03 = """
mid[:] = pl.cast(pl.add(v, 1.0), pl.FP16)
out[:] = pl.matmul(mid, w, out_dtype=pl.FP32)
"""
SEEDS = (None, *range(8))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
def test_e01_store_of_the_cube_is_ordered_before_the_load_of_the_lanes(mode, target):
    Auto(E01, XW, SCRATCH, mode=mode).check(target, SEEDS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
def test_e02_many_stores_of_the_cube_are_ordered_before_the_load(mode, target):
    Auto(E02, XW, SCRATCH, mode=mode).check(target, SEEDS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
def test_e03_store_of_the_lanes_is_ordered_before_the_load_of_the_cube(mode, target):
    tensors = {"v": ([16, 32], "FP32"), "w": ([32, 32], "FP16")}
    Auto(E03, tensors, {"mid": ([16, 32], "FP16"), "out": OUT}, mode=mode).check(target, SEEDS)


def test_e03_without_the_token_the_race_is_reported_with_both_lines():
    case = Auto(
        E03, {"v": ([16, 32], "FP32"), "w": ([32, 32], "FP16")}, {"mid": ([16, 32], "FP16"), "out": OUT}, mode=None
    )
    module = case.compiled("a5").module
    token = next(op for op in module.walk() if isinstance(op, PopOp) and not op.TO_LANES)
    push = next(op for op in module.walk() if isinstance(op, PushOp) and not op.TO_LANES)
    for op in (*(u.operation for u in list(token.results[0].uses)), token, push):
        op.detach()
        op.erase()
    found = run_group(module, case.inputs).findings
    race = next(f for f in found if f.code == "race")
    assert race.message.count("kernel.py:") == 2 and "AIV0 writes" in race.message and "AIC reads" in race.message


def test_e05_producer_that_is_never_given_a_slot_back_is_a_deadlock_and_credits_cure_it():
    loop = kernel(
        "for k, (y_it,) in pl.range(15, init_values=(y,)):\n"
        + product(depth=1)
        + lines(f"v = {TO_VEC.format('acc')}\ny1 = pl.tile.store(v, [0, 0], y_it)\ny2 = pl.yield_(y1)", 1)
        + "return y2"
    )
    module = finished(loop)
    assert check_protocol(module)[0].proof is Proof.EXPLORED
    free = next(op for op in module.walk() if isinstance(op, FreeOp))
    free.detach()
    free.erase()
    (verdict,) = check_protocol(module)
    assert [f.code for f in verdict.findings] == ["deadlock"]
    assert "deadlock" in [f.code for f in run_group(module, inputs()).findings]


@pytest.mark.parametrize("call", ["pl.system.sync_set(0)", "pl.system.sync_wait(0)"])
def test_e05_flags_by_hand_are_refused_where_they_stand(call):
    with pytest.raises(Diagnostic) as refusal:
        parse(kernel(call + "\nreturn y"), filename="kernel.py")
    assert refusal.value.location.line == 15 and call.partition("(")[0].rpartition(".")[2] in refusal.value.message


E06 = """
out[:] = pl.matmul(x, w, out_dtype=pl.FP32)
s = pl.row_sum(pl.exp(out[0:16, :]))
out[:] = pl.row_expand_div(out[0:16, :], s)
"""


@pytest.mark.parametrize("mode", [None, "NONE", "UP_DOWN"])
def test_e06_store_then_load_then_store_of_one_tensor_keep_their_order(mode):
    Auto(E06, XW, ONE, mode=mode).check("a2a3", SEEDS)
    Auto(E06, XW, ONE, mode=mode).check("a5", SEEDS)


# --- H: the same job elsewhere ---------------------------------------------------------------------------------------

H01 = """
for k in pl.range(n):
    acc = pl.matmul(x, w[:, k * 8 : k * 8 + 8], out_dtype=pl.FP32)
    out[:, k * 8 : k * 8 + 8] = pl.add(acc, 1.0)
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_h01_every_trip_count_ends_at_every_depth(slots, mode, target):
    for trips in range(slots + 2):
        Auto(H01, XW, ONE, mode=mode, n=min(trips, 4), slots=slots).check(target, seeds=(None,))


H02 = """
for k in pl.range(3):
    if (k + 1) * 16 <= n:
        acc = pl.matmul(x[k * 16 : k * 16 + 16, :], w, out_dtype=pl.FP32)
        out[k * 16 : k * 16 + 16, :] = pl.add(acc, 1.0)
    else:
        if k * 16 < n:
            part = pl.slice(x, [16, 16], [k * 16, 0], valid_shape=[n - k * 16, 16])
            tail = pl.matmul(part, w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.add(tail, 1.0), [k * 16, 0])
"""


@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
@pytest.mark.parametrize("n", [16, 17, 31, 32, 48])
def test_h02_ragged_last_tile_on_a_path_of_its_own(n, mode):
    Auto(H02, {"x": ([48, 16], "FP16"), "w": W}, {"out": ([48, 32], "FP32")}, mode=mode, n=n, slots=1).check()


H03 = """
i = 0
while i < n:
    acc = pl.matmul(x, w[:, i * 8 : i * 8 + 8], out_dtype=pl.FP32)
    out[:, i * 8 : i * 8 + 8] = pl.add(acc, 1.0)
    i = i + 1
"""


@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_h03_loop_of_both_cores_inside_a_while(n, mode):
    Auto(H03, XW, ONE, mode=mode, n=n).check()


H05 = """
for k in pl.range({trips}):
    acc = pl.matmul(x, w[:, k * 64 : k * 64 + 64], out_dtype=pl.FP32)
    out[:, k * 64 : k * 64 + 64] = pl.exp(pl.mul(acc, 0.01))
"""


def test_h05_cube_works_on_the_next_trip_while_the_lanes_work_on_this_one():
    def cycles(trips):
        tensors = {"x": ([64, 64], "FP16"), "w": ([64, 64 * trips], "FP16")}
        case = Auto(H05.format(trips=trips), tensors, {"out": ([64, 64 * trips], "FP32")})
        timeline = timed(case.compiled("a5")).timeline()
        assert timeline is not None
        return timeline.cycles, {t.agent: t.busy for t in timeline.times()}

    whole, busy = cycles(4)
    once, _ = cycles(1)
    assert whole < 0.85 * (busy["AIC"] + busy["AIV0"])
    assert whole <= max(busy["AIC"], busy["AIV0"]) + once


H06 = """
scratch[:] = pl.matmul(x, w, out_dtype=pl.FP32)
z = pl.matmul(x, w, out_dtype=pl.FP32)
y = scratch[0:16, :]
out[:] = pl.add(y, z)
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", [None, "UP_DOWN"])
def test_h06_wait_covers_the_earlier_of_a_popped_tile_and_a_load(mode, target):
    Auto(H06, XW, SCRATCH, mode=mode).check(target, SEEDS)


@pytest.mark.parametrize("slots", [1, 2])
def test_h07_cube_waits_for_both_lanes_before_it_takes_a_slot_again(slots):
    case = Auto(H01, XW, ONE, n=4, slots=slots)
    case.check("a5", seeds=tuple(range(12)))
    module = case.compiled("a5").module
    free = next(op for op in module.walk() if isinstance(op, FreeOp))
    pop = free.tile.owner
    assert isinstance(pop, PopOp) and pop.next_op is not free
    free.detach()
    pop.parent_block().insert_op_after(free, pop)
    assert run_group(module, case.inputs).findings, "a slot given back before its last use is not noticed"


EARLY = (
    product()
    + "for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    h = pl.aiv_shard(acc)\n"
    + "    o1 = pl.tile.store(h, [lane * 8, 0], y)\n    if lane == 0:\n"
    + lines("tv = pl.tile.load(t, [lane * 8, 0], [8, 32], target_memory=pl.Mem.Vec)", 2)
    + lines("e = pl.tile.adds(tv, 1.0)\nf = pl.tile.adds(e, 1.0)\ng = pl.tile.store(f, [0, 0], o1)", 2)
    + lines("out = pl.yield_(g)", 2)
    + "    else:\n        out = pl.yield_(o1)\nreturn out"
)


def test_h09_lane_that_ends_early_is_not_accused_and_every_removal_is():
    module = finished(kernel(EARLY, attrs='"split_aiv": True'), "a5", lower=True)
    (verdict,) = check_protocol(module)
    assert not verdict.findings
    for seed in range(6):
        assert not run_group(module, inputs(), schedule=Schedule(seed)).findings
    caught = Counter()
    for number, op in enumerate(module.walk()):
        if not isinstance(op, PushOp | PopOp | FreeOp) or (isinstance(op, PopOp) and op.results[0].uses):
            continue
        copy = module.clone()
        victim = next(o for i, o in enumerate(copy.walk()) if i == number)
        victim.detach()
        victim.erase()
        assert any(v.findings for v in check_protocol(copy)), op.name
        caught[op.name] += 1
    assert set(caught) == {"tile.tpush_to_aiv", "system.tfree_to_aic"}


def test_h10_every_interleaving_of_a_tiny_kernel_is_visited():
    """Counted once more by plain enumeration; random schedules stay within what was counted."""
    module = Auto(H01, XW, ONE, mode="UP_DOWN", n=3, slots=1).compiled("a2a3").module
    (group,) = core_groups(module)
    scenario = max(scenarios(group, Limits(trips=(0, 1, 2, 3))), key=lambda s: sum(map(len, s.actions)))
    machine = Machine(group, scenario.actions)
    outcome = explore(machine, 10**6)
    assert outcome.stuck is None and outcome.reuse is None
    reached = {tuple(0 for _ in machine.actions)}
    todo = list(reached)
    while todo:
        state = todo.pop()
        for agent in range(len(state)):
            if machine.can_run(agent, state):
                after = tuple(s + (a == agent) for a, s in enumerate(state))
                if after not in reached:
                    reached.add(after)
                    todo.append(after)
    assert outcome.states == len(reached) and machine.end in reached
    for seed in range(20):
        order, state = random.Random(seed), (0,) * len(machine.actions)
        while state != machine.end:
            agent = order.choice([a for a in range(len(state)) if machine.can_run(a, state)])
            state = tuple(s + (a == agent) for a, s in enumerate(state))
            assert state in reached
