"""A run of many random kernels: blocks of numbers, tallies, findings, a state that the next run goes on from."""

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from cubelane import language
from cubelane.check.fuzz import coverage
from cubelane.check.fuzz.families import FAMILIES
from cubelane.check.fuzz.judge import Finding, Outcome, judge
from cubelane.check.fuzz.program import Program, kernel_file
from cubelane.check.fuzz.shrink import shrink
from cubelane.check.kernel_file import read_judge
from cubelane.check.workers import run_all
from cubelane.ir.text_file import read_text
from cubelane.targets import TARGETS

BLOCK = 8
"""Programs of one task."""

PATIENCE = 60
"""Seconds of processor time that one kernel may take before that is a finding."""

SHRINKING = 90.0
"""Seconds for making one kernel small."""

SAME = 3
"""Findings of one signature that are shrunk and kept; more are only counted."""


@dataclass(frozen=True)
class Block:
    """Consecutive programs of a seed."""

    seed: int
    first: int
    count: int = BLOCK
    targets: tuple[str, ...] = tuple(TARGETS)


@dataclass(frozen=True)
class Failure:
    """A program that shows a finding."""

    number: int
    program: Program
    finding: Finding


@dataclass
class BlockResult:
    """What the programs of a block showed."""

    tallies: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    coverage: Counter[str] = field(default_factory=Counter[str])
    failures: list[Failure] = field(default_factory=list[Failure])


def program(seed: int, number: int) -> Program:
    """The program of a number: the same on every machine and in every run."""
    rng = random.Random(f"{seed}:{number}")
    generate = rng.choices([f.generate for f in FAMILIES], [f.weight for f in FAMILIES])[0]
    return generate(rng.choice)


class TooSlow(BaseException):
    """A kernel took longer than `PATIENCE`; no check may take it for an error of what it checks."""


def judged(kernel: Program, targets: Sequence[str], inputs: dict[str, Any] | None = None) -> Outcome:
    """`judge` with a limit on its time where signals are there (the main thread)."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    try:
        before = signal.signal(signal.SIGVTALRM, late)
    except ValueError:
        return judge(kernel, targets, inputs)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)  # other work on the machine does not count
    try:
        return judge(kernel, targets, inputs)
    except TooSlow:
        return Outcome(findings=[Finding("too slow", "", "", f"more than {PATIENCE} s")])
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_block(block: Block) -> BlockResult:
    """Judges all programs of a block."""
    result = BlockResult()
    for number in range(block.first, block.first + block.count):
        kernel = program(block.seed, number)
        outcome = judged(kernel, block.targets)
        result.tallies[f"{kernel.family}|{outcome.word}"] += 1
        if outcome.rejected:
            result.refusals[f"as written|{outcome.rejected}"] += 1
        for target, word in outcome.verdicts.items():
            if word != "equal":
                result.refusals[f"{target}|{word}"] += 1
        if outcome.word == "equal" and outcome.source is not None:
            result.coverage += coverage.covered(outcome.source)
            result.coverage += coverage.of_programs(outcome.final.values())
        if outcome.findings:
            result.failures.append(Failure(number, kernel, outcome.findings[0]))
    return result


@dataclass
class State:
    """All that is known about a seed so far; `next` is the number of the first program not yet judged."""

    seed: int
    next: int = 0
    seconds: float = 0.0
    tallies: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    coverage: Counter[str] = field(default_factory=Counter[str])
    findings: dict[str, str] = field(default_factory=dict[str, str])
    signatures: Counter[str] = field(default_factory=Counter[str])

    def add(self, result: BlockResult) -> None:
        """Takes a block in."""
        self.tallies += result.tallies
        self.refusals += result.refusals
        self.coverage += result.coverage

    @property
    def programs(self) -> int:
        """Programs judged so far."""
        return sum(self.tallies.values())

    def count(self, word: str) -> int:
        """Programs with an outcome."""
        return sum(n for key, n in self.tallies.items() if key.endswith(f"|{word}"))

    def as_text(self) -> str:
        """The state as it is kept."""
        return json.dumps(vars(self), indent=1, sort_keys=True) + "\n"

    @staticmethod
    def read(path: Path, seed: int) -> "State":
        """The state of an earlier run with this seed, else a new one. What is no state is ignored."""
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            names = ("tallies", "refusals", "coverage", "signatures")
            counters: dict[str, Counter[str]] = {k: Counter(facts[k]) for k in names}
            state = State(facts["seed"], facts["next"], facts["seconds"], findings=dict(facts["findings"]), **counters)
        except (OSError, ValueError, KeyError, TypeError):
            return State(seed)
        return state if state.seed == seed else State(seed)


@dataclass
class Campaign:
    """Runs blocks until the time or the count is used up; keeps state and findings in a folder."""

    folder: Path
    seed: int
    write: Callable[[Path, str], None]
    seconds: float | None = None
    count: int | None = None
    jobs: int = 1
    scheduler: str | None = None
    targets: tuple[str, ...] = tuple(TARGETS)
    block: int = BLOCK
    same: int = SAME
    progress: Callable[[str], Any] = lambda text: None

    def __post_init__(self) -> None:
        self.place = self.folder / f"seed-{self.seed}.json"
        self.state = State.read(self.place, self.seed)
        self.start = time.monotonic()

    def run(self) -> State:
        """The whole run; gives the state at its end. Findings of earlier runs that are gone by now are forgotten."""
        self.state.findings = {p: words for p, words in self.state.findings.items() if self.still_there(Path(p))}
        before, waiting = self.state.seconds, dict[int, tuple[Block, BlockResult]]()
        for block, result in run_all(run_block, self.blocks(), self.jobs, self.scheduler):
            waiting[block.first] = block, result
            while self.state.next in waiting:
                self.take(*waiting.pop(self.state.next))
            self.state.seconds = round(before + time.monotonic() - self.start, 1)
            self.write(self.place, self.state.as_text())
            self.progress(self.line())
        return self.state

    def blocks(self) -> Iterator[Block]:
        """The blocks that there is time for."""
        first = self.state.next
        last = None if self.count is None else first + self.count
        while (last is None or first < last) and (self.seconds is None or time.monotonic() - self.start < self.seconds):
            size = self.block if last is None else min(self.block, last - first)
            yield Block(self.seed, first, size, self.targets)
            first += size

    def line(self) -> str:
        """Where the run is, in one line."""
        words = ("equal", "refused", "rejected", "finding")
        counts = ", ".join(f"{self.state.count(word)} {word}" for word in words)
        return f"{self.state.programs} programs: {counts}"

    def take(self, block: Block, result: BlockResult) -> None:
        """A block in its turn: tallies, and its findings made small."""
        self.state.add(result)
        self.state.next += block.count
        for failure in result.failures:
            key = " | ".join(failure.finding.signature)
            self.state.signatures[key] += 1
            if self.state.signatures[key] <= self.same:
                self.keep(failure)

    def keep(self, failure: Failure) -> None:
        """Shrinks a failing program and writes it as a kernel file."""
        self.progress(f"{self.line()}; making number {failure.number} small")
        finding = failure.finding
        targets = (finding.target,) if finding.target else self.targets

        def interesting(candidate: Program) -> bool:
            found = judged(candidate, targets).findings
            return any(f.signature == finding.signature for f in found)

        small = shrink(failure.program, interesting, SHRINKING)
        path = self.folder / f"finding-{self.seed}-{failure.number}.py"
        about = f"{finding}\n\nFound by `cubelane fuzz --seed {self.seed}`, number {failure.number}, and made small."
        about += f"\n\n    cubelane fuzz {path}"
        self.write(path, kernel_file(small, language.parse(small.text), about.replace('"""', "'''")))
        self.state.findings[str(path)] = str(finding)

    def still_there(self, path: Path) -> bool:
        """Whether the kernel file of an earlier finding shows one today."""
        return path.exists() and bool(judge_file(path, self.targets).findings)


def judge_file(path: Path, targets: Sequence[str] = tuple(TARGETS)) -> Outcome:
    """All checks on a kernel file, with the inputs it defines. Raises OSError for a file that cannot be read."""
    given = read_judge(path)
    return judged(Program(read_text(path)), targets, given.inputs() if given.inputs else None)
