"""The timing model against first principles (docs/timing.md)."""

import json
from itertools import pairwise

import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.timing import timed
from cubelane.sim.timeline import Timeline, common, length, union
from cubelane.targets.rates import RATES, Pipe
from tests.report.conftest import example

RATE = RATES["a2a3"]

MATMUL = """
import cubelane.language as pl
@pl.program
class Product:
    @pl.function
    def main(self, x: pl.Tensor[[{m}, {k}], pl.{dtype}], w: pl.Tensor[[{k}, {n}], pl.{dtype}],
             out: pl.Out[pl.Tensor[[{m}, {n}], pl.FP32]]) -> pl.Tensor[[{m}, {n}], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            out = pl.assemble(out, pl.matmul(x, w, out_dtype=pl.FP32), [0, 0])
        return out
"""

CHAIN = """
import cubelane.language as pl
@pl.program
class Chain:
    @pl.function
    def main(self, x: pl.Tensor[[64, 128], pl.FP32],
             out: pl.Out[pl.Tensor[[64, 128], pl.FP32]]) -> pl.Tensor[[64, 128], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            y = x
{body}
            out = pl.assemble(out, y, [0, 0])
        return out
"""

LOOP = """
import cubelane.language as pl
@pl.program
class Overlapped:
    @pl.function
    def main(self, x: pl.Tensor[[64, 64], pl.BF16], w: pl.Tensor[[64, 2048], pl.BF16],
             out: pl.Out[pl.Tensor[[64, 2048], pl.FP32]]) -> pl.Tensor[[64, 2048], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN),
                                                             pl.cross_core_slot(slot_num=4)]):
            for step in pl.pipeline(32, stage=2):
                y = pl.matmul(x, pl.slice(w, [64, 64], [0, step * 64]), out_dtype=pl.FP32)
{body}
                out = pl.assemble(out, y, [0, step * 64])
        return out
"""


def timeline_of(text: str, target: str = "a2a3", depth: int | None = None) -> Timeline:
    """The timeline of a kernel given as text, on drawn inputs."""
    timeline = timed(compile_program(language.parse(text, "k.py"), target)).timeline(depth)
    assert timeline is not None
    return timeline


def spent(timeline: Timeline, agent: str, *pipes: Pipe) -> int:
    """Cycles that some pipes of a core worked."""
    return sum(e.end - e.start for e in timeline.of(agent) if e.pipe in pipes)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "width"),
    [(64, 64, 64, "BF16", 2), (128, 64, 128, "FP16", 2), (64, 64, 64, "FP32", 4)],
)
def test_matmul_takes_the_analytic_cycles(m: int, n: int, k: int, dtype: str, width: int, target: str):
    timeline = timeline_of(MATMUL.format(m=m, n=n, k=k, dtype=dtype), target)
    analytic = m * n * k / RATES[target].macs[width]
    ops = sum(e.pipe is Pipe.CUBE for e in timeline.events)
    assert spent(timeline, "AIC", Pipe.CUBE) - ops * RATE.cube_startup == pytest.approx(analytic, rel=0.05)


def test_matmul_end_to_end_is_the_sum_of_its_way():
    timeline = timeline_of(MATMUL.format(m=64, n=64, k=64, dtype="BF16"))
    tile, result = 64 * 64 * 2, 64 * 64 * 4
    loads = 2 * (300 + tile // 64)
    last_move, product, store = 30 + tile // 128, 20 + 64, 300 + result // 64
    assert timeline.cycles == pytest.approx(loads + last_move + product + store, rel=0.05)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("count", [1, 8, 40])
def test_vector_chain_takes_the_analytic_cycles(count: int, target: str):
    body = "\n".join(f"            y = pl.add(y, {i}.0)" for i in range(1, count + 1))
    timeline = timeline_of(CHAIN.format(body=body), target)
    one = RATE.vector_startup + 64 * 128 * 4 // RATE.vector_bytes
    assert spent(timeline, "AIV0", Pipe.VECTOR) == pytest.approx(count * one, rel=0.05)
    moved = 2 * (300 + 64 * 128 * 4 // 64)
    assert timeline.cycles == pytest.approx(count * one + moved, rel=0.05)


@pytest.mark.parametrize("ops", [2, 60])
def test_overlapped_loop_approaches_the_slower_side(ops: int):
    body = "\n".join("                y = pl.add(y, 1.0)" for _ in range(ops))
    timeline = timeline_of(LOOP.format(body=body))
    busiest = max(spent(timeline, agent, pipe) for agent in timeline.agents for pipe in Pipe)
    assert busiest <= timeline.cycles <= 1.1 * busiest


def test_deeper_rings_are_never_slower():
    compiled, judge, _ = example("pipelined_linear", mode="none")
    run = timed(compiled, judge)
    cycles = [run.timeline(depth).cycles for depth in (1, 2, 4, 8)]  # pyright: ignore
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > cycles[1]


def test_a_ring_that_is_too_shallow_has_no_timeline():
    compiled, judge, _ = example("gated_mlp")
    assert timed(compiled, judge).timeline(1) is None


def test_lanes_halve_the_vector_work():
    split = timed(*example("matmul_bias_gelu")[:2]).timeline()
    whole = timed(*example("matmul_bias_gelu", mode="none")[:2]).timeline()
    assert split is not None and whole is not None
    assert spent(split, "AIV0", Pipe.VECTOR) < 0.75 * spent(whole, "AIV0", Pipe.VECTOR)


@pytest.mark.parametrize("name", ["flash_attention", "causal_attention", "epilogue_switch", "k_loop_accumulate"])
@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_timeline_keeps_the_laws_of_the_machine(name: str, target: str):
    timeline = timed(*example(name, target)[:2]).timeline()
    assert timeline is not None
    ends: dict[tuple[str, Pipe], int] = {}
    for event in timeline.events:
        if event.end > event.start:
            assert event.start >= ends.get((event.agent, event.pipe), 0), "a pipe works in order"
            ends[event.agent, event.pipe] = event.end
        assert event.cause < event.number
        if event.cause >= 0:
            assert timeline.events[event.cause].end <= event.start
        assert event.location.line > 0
    for times in timeline.times():
        assert times.busy + times.waiting + times.idle == timeline.cycles
        assert times.idle >= 0
    for use in timeline.rings:
        assert use.start <= use.full <= use.end
    path = timeline.critical_path()
    assert path[-1].end == timeline.cycles
    assert all(a.number == b.cause for a, b in pairwise(path))


def test_slots_of_a_ring_are_never_shared():
    timeline = timed(*example("pipelined_linear")[:2]).timeline()
    assert timeline is not None
    by_slot: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for use in timeline.rings:
        by_slot.setdefault((use.ring, use.slot), []).append((use.start, use.end))
    for spans in by_slot.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_chrome_trace_is_valid_and_deterministic():
    traces = [json.dumps(timed(*example("gated_mlp")[:2]).timeline().chrome_trace()) for _ in range(2)]  # pyright: ignore
    assert traces[0] == traces[1]
    events = json.loads(traces[0])["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X"}
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in events if e["ph"] == "X")
    assert {"compute", "transfer", "wait", "ring"} <= {e["cat"] for e in events if e["ph"] == "X"}


def test_sets_of_cycles():
    assert union([(5, 9), (0, 2), (2, 3), (4, 4)]) == [(0, 3), (5, 9)]
    assert common([(0, 5), (8, 10)], [(3, 9)]) == [(3, 5), (8, 9)]
    assert length([(0, 3), (5, 9)]) == 7
