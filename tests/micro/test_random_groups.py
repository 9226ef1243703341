"""Random programs of a cube core and a lane that hand data to each other, synchronised from their dependencies.

With those flags and signals they are clean and equal to sequential execution in any order of the queues; without one
that is needed the machine reports a race.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from cubelane.ptodsl import pto

SLOTS, ROW = 3, 64
QUEUES = {
    ("AIC", "MTE2"): ("out", "l1"),
    ("AIC", "MTE1"): ("l1", "ub"),
    ("AIV", "MTE2"): ("in", "ub"),
    ("AIV", "V"): ("ub", "ub"),
    ("AIV", "MTE3"): ("ub", "out"),
}
"""From where to where each queue moves a row; V adds one on the way."""


@dataclass(frozen=True)
class Op:
    """A queue, the slot it reads and the slot it writes."""

    queue: tuple[str, str]
    source: int
    target: int

    @property
    def reads(self) -> tuple[str, int]:
        return QUEUES[self.queue][0], self.source

    @property
    def writes(self) -> tuple[str, int]:
        return QUEUES[self.queue][1], self.target


START = [
    op for slot in range(SLOTS) for op in (Op(("AIV", "MTE2"), slot, slot), Op(("AIC", "MTE2"), slot, slot))
]  # fmt: skip
slots = st.integers(0, SLOTS - 1)
programs = st.lists(st.builds(Op, st.sampled_from(list(QUEUES)), slots, slots), min_size=2, max_size=9).map(
    START.__add__
)
Edge = tuple[int, int]


def conflict(a: Op, b: Op) -> bool:
    return a.writes in (b.reads, b.writes) or a.reads == b.writes


def edges(program: list[Op]) -> list[Edge]:
    """Pairs on different queues that must keep their order and are not ordered by the pairs before."""
    chosen: list[Edge] = []
    known: list[set[int]] = []
    for j, op in enumerate(program):
        before = {k for i in range(j) if program[i].queue == op.queue for k in (known[i] | {i})}
        for i in reversed(range(j)):
            if i not in before and conflict(program[i], op):
                chosen.append((i, j))
                before |= known[i] | {i}
        known.append(before)
    return chosen


def ordered(program: list[Op], flags: list[Edge], first: int, last: int) -> bool:
    """Whether queues and flags order two ops."""
    reached = {first}
    for j in range(first + 1, last + 1):
        on_queue = any(i in reached for i in range(first, j) if program[i].queue == program[j].queue)
        if on_queue or any(i in reached for i, k in flags if k == j):
            reached.add(j)
    return last in reached


def sequential(program: list[Op]) -> np.ndarray:
    rows = {"in": np.arange(SLOTS) * 10.0 + 1, "out": np.arange(SLOTS) * 100.0}
    rows |= {"l1": np.zeros(SLOTS), "ub": np.zeros(SLOTS)}
    for op in program:
        (source, i), (target, j) = op.reads, op.writes
        rows[target][j] = rows[source][i] + (op.queue[1] == "V")
    return rows["out"]


def ids_of(program: list[Op], flags: list[Edge]) -> dict[Edge, int]:
    """An id of its own for each flag between two queues, and for each signal in a direction."""
    counts: dict[Any, int] = {}
    ids: dict[Edge, int] = {}
    for i, j in flags:
        a, b = program[i].queue, program[j].queue
        key = (a, b) if a[0] == b[0] else (a[0], b[0])
        ids[i, j] = counts[key] = counts.get(key, -1) + 1
        assume(ids[i, j] < (8 if a[0] == b[0] else 16))
    return ids


def write(program: list[Op], ids: dict[Edge, int], core: str, x: Any, y: Any) -> None:
    """The ops of one core with what they wait for and what they set."""
    memory = {"in": x, "out": y, "ub": pto.castptr(0, pto.ptr(pto.f32, "ub")),
              "l1": pto.castptr(0, pto.ptr(pto.f32, "mat"))}  # fmt: skip
    for number, op in enumerate(program):
        if op.queue[0] == core:
            for i, j in _at(ids, 1, number):
                _sync("wait", program[i].queue, op.queue, op.queue, ids[i, j])
            (source, i), (target, j) = op.reads, op.writes
            _move(op.queue, memory[source] + i * ROW, memory[target] + j * ROW)
            for i, j in _at(ids, 0, number):
                _sync("set", op.queue, program[j].queue, op.queue, ids[i, j])


def _at(ids: dict[Edge, int], end: int, number: int) -> Iterator[Edge]:
    return (edge for edge in ids if edge[end] == number)


def _sync(verb: str, source: Any, target: Any, own: Any, number: int) -> None:
    if source[0] == target[0]:
        getattr(pto, f"{verb}_flag")(source[1], target[1], event_id=number)
    else:
        getattr(pto, f"{verb}_intra_flag")(own[1], number)


def _move(queue: tuple[str, str], source: Any, target: Any) -> None:
    if queue == ("AIC", "MTE2"):
        pto.mte_gm_l1(source, target, ROW * 4)
    elif queue == ("AIC", "MTE1"):
        pto.mte_l1_ub(source, target, ROW * 4)
    elif queue[1] == "MTE2":
        pto.mte_gm_ub(source, target, 0, ROW * 4)
    elif queue[1] == "MTE3":
        pto.mte_ub_gm(source, target, ROW * 4)
    else:
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            pto.vsts(pto.vadds(pto.vlds(source, 0), 1.0, full), target, 0, full)


def run(program: list[Op], flags: list[Edge], seed: int) -> tuple[list[str], np.ndarray]:
    ids = ids_of(program, flags)

    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm")):
        with pto.section("cube"):
            write(program, ids, "AIC", x, y)
        with pto.section("vector"):
            write(program, ids, "AIV", x, y)

    x = np.repeat(np.arange(SLOTS) * 10.0 + 1, ROW).astype(np.float32)
    y = np.repeat(np.arange(SLOTS) * 100.0, ROW).astype(np.float32)
    result = kernel.compile().run(x, y, seed=seed, lanes=1)
    return result.kinds(), y.reshape(SLOTS, ROW)[:, 0]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, st.integers(0, 100))
def test_flags_and_signals_of_the_dependencies_make_a_group_clean_and_right(program: list[Op], seed: int):
    findings, out = run(program, edges(program), seed)
    assert findings == []
    np.testing.assert_array_equal(out, sequential(program))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, st.integers(0, 100), st.data())
def test_a_dropped_flag_or_signal_is_reported(program: list[Op], seed: int, data: st.DataObject):
    needed = edges(program)
    assume(needed)
    dropped = data.draw(st.sampled_from(needed))
    left = [edge for edge in needed if edge != dropped]
    if ordered(program, left, *dropped):
        event("redundant")
        return
    event("needed, between cores" if program[dropped[0]].queue[0] != program[dropped[1]].queue[0] else "needed")
    findings, _ = run(program, left, seed)
    assert "race" in findings
