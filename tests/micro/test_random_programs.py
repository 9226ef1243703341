"""Random transfers with flags from their dependency graph are clean and equal to sequential execution.

Without one of the flags that carry a dependency, the machine reports it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from cubelane.ptodsl import pto

SLOTS = 6
PIPES = ("MTE2", "V", "MTE3")


@dataclass(frozen=True)
class Op:
    """Queue, slot read, slot written: MTE2 reads GM, MTE3 writes GM, V adds one."""

    pipe: str
    source: int
    target: int


ops = st.builds(Op, st.sampled_from(PIPES), st.integers(0, SLOTS - 1), st.integers(0, SLOTS - 1))


def touched(op: Op) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """What an op reads and writes."""
    memories = {"MTE2": ("in", "ub"), "V": ("ub", "ub"), "MTE3": ("ub", "out")}[op.pipe]
    return {(memories[0], op.source)}, {(memories[1], op.target)}


def conflict(a: Op, b: Op) -> bool:
    (ra, wa), (rb, wb) = touched(a), touched(b)
    return bool(wa & (rb | wb) or ra & wb)


def edges(program: list[Op]) -> list[tuple[int, int]]:
    """Pairs on different queues that must keep their order and are not ordered by pairs before."""
    chosen: list[tuple[int, int]] = []
    known: list[set[int]] = []
    for j, op in enumerate(program):
        before: set[int] = set()
        for i in range(j):
            if program[i].pipe == op.pipe:
                before |= known[i] | {i}
        for i in reversed(range(j)):
            if i not in before and conflict(program[i], op):
                chosen.append((i, j))
                before |= known[i] | {i}
        known.append(before)
    return chosen


def sequential(program: list[Op]) -> np.ndarray:
    source, target = np.arange(SLOTS, dtype=np.float32) * 10, np.zeros(SLOTS, np.float32)
    slots = np.zeros(SLOTS, np.float32)
    for op in program:
        if op.pipe == "MTE2":
            slots[op.target] = source[op.source]
        elif op.pipe == "V":
            slots[op.target] = slots[op.source] + 1
        else:
            target[op.target] = slots[op.source]
    return target


def run(program: list[Op], flags: list[tuple[int, int]], seed: int) -> tuple[list[str], np.ndarray]:
    """The program on the machine. Each flag between two queues has an id of its own."""
    numbers: dict[tuple[str, str], int] = {}
    ids: dict[tuple[int, int], int] = {}
    for i, j in flags:
        pair = (program[i].pipe, program[j].pipe)
        ids[i, j] = numbers[pair] = numbers.get(pair, -1) + 1
    assume(all(n < 8 for n in numbers.values()))

    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            for slot in range(SLOTS):
                pto.vsts(pto.vbr(0.0), ub, slot * 64, full)
        pto.pipe_barrier("ALL")
        for number, op in enumerate(program):
            for i, j in flags:
                if j == number:
                    pto.wait_flag(program[i].pipe, op.pipe, event_id=ids[i, j])
            source, target = op.source * 64, op.target * 64
            if op.pipe == "MTE2":
                pto.mte_gm_ub(x + source, ub + target, 0, 256)
            elif op.pipe == "MTE3":
                pto.mte_ub_gm(ub + source, y + target, 256)
            else:
                with pto.vecscope():
                    full = pto.pset_b32("ALL")
                    pto.vsts(pto.vadds(pto.vlds(ub, source), 1.0, full), ub, target, full)
            for i, j in flags:
                if i == number:
                    pto.set_flag(op.pipe, program[j].pipe, event_id=ids[i, j])

    x: Any = np.repeat(np.arange(SLOTS, dtype=np.float32) * 10, 64)
    y: Any = np.zeros(SLOTS * 64, np.float32)
    result = kernel.compile().run(x, y, seed=seed)
    return result.kinds(), y.reshape(SLOTS, 64)[:, 0]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ops, min_size=1, max_size=10), st.integers(0, 100))
def test_flags_of_the_dependency_graph_make_a_program_clean_and_right(program: list[Op], seed: int):
    findings, target = run(program, edges(program), seed)
    assert findings == []
    np.testing.assert_array_equal(target, sequential(program))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ops, min_size=3, max_size=10), st.integers(0, 100), st.data())
def test_a_dropped_dependency_is_reported(program: list[Op], seed: int, data: st.DataObject):
    needed = edges(program)
    assume(needed)
    dropped = data.draw(st.sampled_from(needed))
    left = [edge for edge in needed if edge != dropped]
    if ordered(program, left, *dropped):
        event("redundant")
        return
    event("needed")
    findings, _ = run(program, left, seed)
    assert "race" in findings


def ordered(program: list[Op], flags: list[tuple[int, int]], first: int, last: int) -> bool:
    """Whether queues and flags order two ops; a wait also orders what its queue does later."""
    reached = {first}
    for j in range(first + 1, last + 1):
        on_queue = any(i in reached for i in range(first, j) if program[i].pipe == program[j].pipe)
        if on_queue or any(i in reached for i, k in flags if k == j):
            reached.add(j)
    return last in reached
