"""What if: the same kernel in every split mode with rings of every depth, each with its own small timeline."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.analysis.memory_budget import budget
from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.check.kernel_file import Judge
from cubelane.check.summary import mode_of
from cubelane.check.timing import Timed, timed
from cubelane.check.tune import AS_WRITTEN, Variant, mode_argument, modes_of, with_variant
from cubelane.ir.context import shared_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes.tile.choose_split_mode import ChooseSplitMode
from cubelane.sim.timeline import Happening, Span, Timeline, union
from cubelane.sim.timing_program import Act
from cubelane.targets.rates import Pipe

DEPTHS = (1, 2, 4, 8)
RESOLUTION = 300
"""Parts of its time that a small timeline tells apart."""


def what_if(compiled: CompiledKernel, run: Timed, judge: Judge, seed: int) -> list[dict[str, Any]]:
    """One row for every split mode: a cell for every ring depth, or why the mode is refused."""
    return [_row(compiled, run, mode, judge, seed) for mode in modes_of(compiled.source)]


def _row(compiled: CompiledKernel, run: Timed, mode: str, judge: Judge, seed: int) -> dict[str, Any]:
    try:
        way = Way(compiled, run) if _same_as(compiled.source, mode) else Way.of(compiled, mode, judge, seed)
    except Diagnostic as problem:
        return {"mode": mode, "refused": problem.message, "line": problem.location.line}
    slots = {depth for launch in way.run.launches for depth in launch.rings.values()}
    chosen = mode in (AS_WRITTEN, mode_of(compiled.source))
    if not slots:
        return {"mode": mode, "chosen": chosen, "depth": 0, "cells": [way.cell(1, mode, judge, seed) | {"depth": 0}]}
    most, fitting = max(most_pushes(way.run), 1), fitting_depth(way.compiled)
    known: dict[int, dict[str, Any]] = {}
    cells: list[dict[str, Any]] = []
    for depth in DEPTHS:
        if depth > fitting:
            cells.append({"depth": depth, "refused": "does not fit"})
            continue
        enough = min(depth, most)  # slots that no tile ever takes change nothing
        if enough not in known:
            known[enough] = way.cell(enough, mode, judge, seed)
        cells.append(known[enough] | {"depth": depth})
    return {"mode": mode, "chosen": chosen, "depth": min(slots), "cells": cells}


@dataclass(frozen=True)
class Way:
    """One way to compile the kernel, and its trace."""

    compiled: CompiledKernel
    run: Timed

    @staticmethod
    def of(compiled: CompiledKernel, mode: str, judge: Judge, seed: int, depth: int | None = None) -> "Way":
        """The kernel compiled in a mode, with rings of a depth. Raises the Diagnostic of a refused one."""
        source = compiled.source if depth is None else with_variant(compiled.source, Variant(mode, depth))
        again = compile_program(source, compiled.target, mode_argument(mode))
        return Way(again, timed(again, judge, seed=seed))

    def cell(self, depth: int, mode: str, judge: Judge, seed: int) -> dict[str, Any]:
        """The program stays the same where it can run at that depth; where it cannot, it is compiled again."""
        timeline = self.run.timeline(depth) if self.run.complete else None
        if timeline is None and self.run.complete:
            try:
                again = Way.of(self.compiled, mode, judge, seed, depth).run
            except Diagnostic as problem:
                return {"depth": depth, "refused": problem.message}
            timeline = again.timeline() if again.complete else None
        return {"depth": depth, "refused": "deadlock"} if timeline is None else _cell(depth, timeline)


def fitting_depth(compiled: CompiledKernel) -> int:
    """The deepest rings for which there is memory beside the tiles of the program."""
    depths = [usage.fitting_depth or 0 for usage in budget(compiled.module) if usage.rings]
    return min(depths, default=max(DEPTHS))


def most_pushes(run: Timed) -> int:
    """The most tiles that one ring carries in one launch."""
    counts = Counter(
        (number, agent.name, task.ring)
        for number, launch in enumerate(run.tasks)
        for agent in launch.agents
        for task in agent.tasks
        if task.act is Act.PUSH
    )
    return max(counts.values(), default=0)


def _same_as(source: ModuleOp, mode: str) -> bool:
    """Whether a split mode changes nothing of a program."""
    if mode == AS_WRITTEN:
        return True
    other = source.clone()
    ChooseSplitMode(mode).apply(shared_context(), other)
    return other.is_structurally_equivalent(source)


def _cell(depth: int, timeline: Timeline) -> dict[str, Any]:
    gap = max(1, timeline.cycles // RESOLUTION)
    tracks = [_track(agent, timeline.of(agent), gap) for agent in timeline.agents]
    return {"depth": depth, "cycles": timeline.cycles, "overlap": round(timeline.overlap(), 3), "tracks": tracks}


def _track(agent: str, events: list[Happening], gap: int) -> dict[str, Any]:
    """When a core computes, moves data and waits for a ring."""
    computes = (Pipe.CUBE, Pipe.VECTOR)
    return {
        "agent": agent,
        "compute": coarse(((e.start, e.end) for e in events if e.pipe in computes), gap),
        "move": coarse(((e.start, e.end) for e in events if e.pipe not in computes), gap),
        "wait": coarse(((e.start - e.waited, e.start) for e in events if e.waited), gap),
    }


def coarse(spans: Iterable[Span], gap: int) -> list[int]:
    """Spans joined over gaps shorter than `gap`, as start, length, start, length, ..."""
    joined: list[list[int]] = []
    for start, end in union(spans):
        if joined and start - joined[-1][1] < gap:
            joined[-1][1] = end
        else:
            joined.append([start, end])
    return [n for start, end in joined for n in (start, end - start)]
