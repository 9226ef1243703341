"""Every legal way to compile a kernel, judged by execution and ranked by the timing model."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from cubelane.analysis.memory_budget import findings as budget_findings
from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_judge, read_program, split_name
from cubelane.check.timing import has_a_mode, timed
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import LOOP, SLOT_NUM, STAGE, LoopAttr, LoopFlavour, ScopeOp, functions_of, kind_of
from cubelane.passes.tile.choose_split_mode import MODES

DEPTHS = (1, 2, 4, 8)
STAGES = (1, 2, 3, 4)
AS_WRITTEN = "as written"
"""The only mode of a program that no split mode changes."""


@dataclass(frozen=True)
class Variant:
    """One way to compile: split mode, ring depth, stages of the pipelined loops (None where there are none)."""

    mode: str
    depth: int
    stages: int | None = None

    @property
    def label(self) -> str:
        """The variant in one word, as the cache names it."""
        return f"{self.mode}/{self.depth}/{self.stages or '-'}"


@dataclass(frozen=True)
class Outcome:
    """What became of a variant: cycles of the model, or why it is out of question."""

    mode: str
    depth: int
    stages: int | None
    cycles: int | None
    microseconds: float | None
    overlap: float | None
    verdict: str
    reason: str = ""

    @property
    def good(self) -> bool:
        """Whether the variant may be chosen."""
        return self.verdict == "equal" and self.cycles is not None


@dataclass(frozen=True)
class Task:
    """A variant of a kernel file for a machine: all that a worker must know."""

    file: str
    target: str
    seed: int
    variant: Variant


def variants(program: ModuleOp, depths: Sequence[int] = DEPTHS) -> list[Variant]:
    """All combinations that make sense for a program."""
    stages: Sequence[int | None] = STAGES if any(_is_pipelined(op) for op in program.walk()) else (None,)
    return [Variant(mode, depth, stage) for mode in modes_of(program) for depth in depths for stage in stages]


def modes_of(program: ModuleOp) -> list[str]:
    """The split modes that may be tried; AS_WRITTEN alone where the program states its regions, or no split at all."""
    return list(MODES) if has_a_mode(program) else [AS_WRITTEN]


def mode_argument(mode: str) -> str | None:
    """The mode as `compile_program` takes it."""
    return None if mode == AS_WRITTEN else mode


def _is_pipelined(op: Any) -> bool:
    flavour = op.attributes.get(LOOP)
    return isinstance(flavour, LoopAttr) and flavour.data is LoopFlavour.PIPELINE


def with_variant(program: ModuleOp, variant: Variant) -> ModuleOp:
    """A copy of the program with ring depth and stages of the variant (the mode is an argument of the compile)."""
    result = program.clone()
    for op in result.walk():
        if isinstance(op, ScopeOp):
            op.slot_num = IntegerAttr(variant.depth, i64)
        elif variant.stages is not None and _is_pipelined(op):
            op.attributes[STAGE] = IntegerAttr(variant.stages, i64)
    for function in functions_of(result):
        if kind_of(function).in_core:
            function.attributes[SLOT_NUM] = IntegerAttr(variant.depth, i64)
    return result


def evaluate(task: Task) -> Outcome:
    """Compiles, judges and times one variant."""
    variant = task.variant
    facts = (variant.mode, variant.depth, variant.stages)
    program, judge = read_program(task.file), read_judge(split_name(task.file)[0])
    try:
        compiled = compile_program(with_variant(program, variant), task.target, mode_argument(variant.mode))
    except Diagnostic as problem:
        return Outcome(*facts, None, None, None, "refused", f"{problem.location}: {problem.message}")
    overflow = budget_findings(compiled.module)
    if overflow:
        return Outcome(*facts, None, None, None, "too large", overflow[0].message)
    verdict = compiled.judge(judge, seed=task.seed)
    if not verdict.equal:
        reason = verdict.findings[0].message if verdict.findings else "the outputs differ from the references"
        return Outcome(*facts, None, None, None, verdict.word, reason)
    timeline = timed(compiled, judge, seed=task.seed).timeline()
    if timeline is None:
        return Outcome(*facts, None, None, None, "deadlock", "the cores wait for each other in the timing model")
    return Outcome(*facts, timeline.cycles, round(timeline.microseconds, 3), round(timeline.overlap(), 4), "equal")


# --- the memory between runs ---------------------------------------------------------------------------------------


class Cache:
    """Outcomes in a JSON file, keyed by all they depend on: kernel text, machine, seed, version, variant."""

    def __init__(self, path: Path | None, write: Callable[[Path, str], None]):
        self.path, self.write = path, write
        self.entries: dict[str, Any] = {}
        if path is not None and path.exists():
            try:
                loaded = json.loads(path.read_text(encoding="utf-8"))
                self.entries = loaded if isinstance(loaded, dict) else {}
            except ValueError:
                self.entries = {}

    @staticmethod
    def key(task: Task, text: str) -> str:
        """The name of an outcome."""
        content = "\0".join((text, task.file.rpartition(":")[2], task.target, str(task.seed), version("cubelane")))
        return f"{hashlib.sha256(content.encode()).hexdigest()[:16]} {task.variant.label}"

    def get(self, key: str) -> Outcome | None:
        """An outcome of an earlier run; what does not look like one is forgotten."""
        try:
            return Outcome(**self.entries[key]) if key in self.entries else None
        except TypeError:
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keeps an outcome; the file is whole at every moment."""
        self.entries[key] = asdict(outcome)
        if self.path is not None:
            self.write(self.path, json.dumps(self.entries, indent=1, sort_keys=True) + "\n")


def ranked(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The good ones first, the fastest before the slower, shallow rings before deep ones; then the others."""
    order = [*MODES, AS_WRITTEN]
    return sorted(
        outcomes,
        key=lambda o: (not o.good, o.cycles or 0, o.depth, o.stages or 0, order.index(o.mode)),
    )
