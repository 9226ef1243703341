"""The timing model of micro-ops: prices, order, the same times in any order of the simulation, slower agents."""

from typing import Any

import numpy as np
import pytest

from cubelane.ptodsl import pto
from cubelane.sim.timeline import Timeline
from cubelane.targets.rates import A5_RATES, Pipe

from .mutations import example, names


def timeline(handle: Any, *arguments: Any, **options: Any) -> Timeline:
    result = handle.run(*arguments, **options)
    assert not result.findings
    return result.timeline


def spans(times: Timeline) -> list[tuple[str, str, int, int]]:
    return sorted((e.agent, e.pipe.value, e.start, e.end) for e in times.events)


@pytest.mark.parametrize("name", names())
def test_times_do_not_depend_on_the_order_of_the_simulation(name: str):
    file = example(name)
    handle = file.KERNEL.compile()
    first, *others = (spans(timeline(handle, *file.inputs().values(), seed=seed)) for seed in (None, 1, 2))
    assert first and all(other == first for other in others)


@pytest.mark.parametrize("name", names())
def test_queues_run_one_op_at_a_time_and_causes_come_before(name: str):
    file = example(name)
    times = timeline(file.KERNEL.compile(), *file.inputs().values())
    queues: dict[tuple[str, Pipe], int] = {}
    for event in times.events:
        key = (event.agent, event.pipe)
        assert event.start >= queues.get(key, 0) and event.end >= event.start
        queues[key] = event.end
        assert event.cause < 0 or times.events[event.cause].end <= event.start
    assert times.critical_path()[-1].end == times.cycles
    assert sum(t.busy + t.waiting + t.idle for t in times.times()) == times.cycles * len(times.agents)


def test_transfer_product_and_scope_take_their_price():
    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        pto.mte_gm_ub(x, ub, 0, 4096)
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            v = pto.vexp(pto.vlds(ub, 0), full)
            pto.vsts(pto.vadd(v, v, full), ub, 64, full)

    load, scope = timeline(kernel.compile(), np.zeros(1024, np.float32)).events
    path = next(p for ends, p in A5_RATES.paths.items() if [m.name for m in ends] == ["DDR", "VEC"])
    assert load.end - load.start == path.latency + 4096 // path.rate and load.size == 4096
    slow, plain = A5_RATES.passes["vector_slow"], A5_RATES.passes["vector"]
    assert scope.end - scope.start == A5_RATES.vector_startup + slow + 4 * plain
    assert scope.start == load.end and scope.waited > 0 and scope.reason == "flag"


def test_a_double_buffered_gemm_overlaps_its_queues():
    file = example("gemm_bias")
    size = {"M": 128, "N": 256, "K": 256}
    times = timeline(file.gemm_bias.compile(**size, BM=64, BN=128, BK=64), *file.inputs(**size).values())
    longest = max(sum(e.end - e.start for e in times.events if e.agent == "AIC" and e.pipe is p) for p in Pipe)
    together = sum(e.end - e.start for e in times.events if e.agent == "AIC")
    assert longest < times.cycles < 1.25 * longest and together > 1.2 * times.cycles


@pytest.mark.parametrize("slow", [{"AIV": 2.0}, {"AIV1": 8.0}, {"AIC FIX": 5.0}, {"AIC": 3.0, "AIV0 MTE3": 20.0}])
def test_g05_slower_agents_change_the_time_and_nothing_else(slow: dict[str, float]):
    file = example("flash_attention")
    handle, plain, given = file.KERNEL.compile(), file.inputs(), file.inputs()
    normal, slower = timeline(handle, *plain.values()), timeline(handle, *given.values(), slow=slow)
    assert slower.cycles > normal.cycles
    for name, value in plain.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(given[name], value)


def test_the_trace_names_queues_and_source_lines():
    file = example("gemm_bias")
    rows = timeline(file.KERNEL.compile(), *file.inputs().values()).chrome_trace()["traceEvents"]
    assert {row["args"]["name"] for row in rows if row["name"] == "process_name"} == {"AIC", "AIV0", "AIV1"}
    work = next(row for row in rows if row["name"].startswith("mad"))
    assert "gemm_bias.py" in work["args"]["source"]
