"""What goes wrong on the core group is found, named and located."""

import numpy as np
import pytest
from programs import PAIR, pair, read

from cubelane.check.compare import compare
from cubelane.check.execute import Schedule, draw_inputs, run_group
from cubelane.check.faults import KINDS, seed_faults
from cubelane.sim.result import RunResult


def broken(kind: str, trips: int = 3, slots: int = 2, number: int = 0) -> RunResult:
    module = pair(trips, slots)
    fault = list(seed_faults(module, (kind,)))[number]
    return run_group(fault.module, draw_inputs(module))


def test_dropped_free_with_too_few_slots_is_a_deadlock_that_names_everyone():
    result = broken("free dropped")
    assert result.kinds() == ["deadlock"]
    report = str(result.findings[0])
    assert "AIC at" in report and "AIV0 at" in report and "AIV1 at" in report
    assert "a free slot of the ring cube to lanes: all 2 are taken, AIV0 freed 0, AIV1 freed 0" in report
    assert "waits for tile 2 of the ring cube to lanes, AIC pushed 2" in report


def test_dropped_free_with_slots_to_spare_is_left_over():
    assert broken("free dropped", slots=4).kinds() == ["leftover", "leftover"]


def test_dropped_push_is_a_deadlock():
    result = broken("push dropped")
    assert result.kinds() == ["deadlock"]
    assert "AIC ended before" in str(result.findings[0])


def test_dropped_pop_is_found():
    assert broken("pop dropped").findings


def test_lane_at_the_wrong_place_is_a_race():
    result = broken("lane offset zero")
    assert result.kinds() == ["race"]
    assert "AIV0 writes at" in str(result.findings[0]) and "AIV1 writes at" in str(result.findings[0])


def test_codes_that_disagree_are_found():
    result = broken("code whole")
    assert result.kinds() == ["protocol"]


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_every_trip_count_and_depth_ends(trips, slots):
    module = pair(trips, slots)
    inputs = draw_inputs(module)
    for seed in (None, 1, 2, 3):
        result = run_group(module, inputs, schedule=Schedule(seed))
        want = trips * (inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32))
        assert result.ok and compare(result.outputs, {"y": want}).equal


def test_all_single_faults_are_caught_under_every_schedule():
    module = pair()
    inputs = draw_inputs(module)
    good = run_group(module, inputs)
    faults = list(seed_faults(module))
    assert {f.kind for f in faults} == set(KINDS) - {"load not halved"}
    for fault in faults:
        for seed in (None, 1, 2):
            result = run_group(fault.module, inputs, schedule=Schedule(seed))
            assert result.findings or not compare(result.outputs, good.outputs).equal, fault


def test_store_outside_the_tensor_is_located():
    text = PAIR.replace("arith.constant 16 : index", "arith.constant 24 : index")
    result = run_group(read(text, TRIPS=1, SLOTS=2), draw_inputs(pair()))
    assert result.kinds() == ["out-of-bounds"]
    assert "16 elements at 24 on axis 0 do not lie in a tensor of 32" in str(result.findings[0])


def test_a_slot_that_is_too_small_is_found():
    text = PAIR.replace("slot_size = 1024", "slot_size = 512")
    assert run_group(read(text, TRIPS=1, SLOTS=2), draw_inputs(pair())).kinds() == ["slot-size"]


def test_undefined_cells_that_reach_memory_are_found():
    text = PAIR.replace('"tile.full"() <{value = 0.0 : f64}>', '"tile.create"()')
    result = run_group(read(text, TRIPS=1, SLOTS=2), draw_inputs(pair()))
    assert result.kinds() == ["poison"]
    assert "y[0, 0] has no value of its own" in str(result.findings[0])


def test_a_real_nan_is_no_finding():
    inputs = draw_inputs(pair())
    inputs["x"][3, :] = np.nan
    result = run_group(pair(trips=1), inputs)
    assert result.ok and np.isnan(result.outputs["y"][3]).all()


def test_the_protocol_log_counts_alike():
    events = run_group(pair(trips=3), draw_inputs(pair())).events
    kinds = [(e.agent, e.kind) for e in events]
    assert kinds.count(("AIC", "push")) == 3
    for lane in ("AIV0", "AIV1"):
        assert kinds.count((lane, "pop")) == kinds.count((lane, "free")) == 3
