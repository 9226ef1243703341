"""Who catches a seeded fault: every checker by itself, on every mutant of a program."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane.analysis.lane_windows import LaneWindows
from cubelane.check.compare import compare
from cubelane.check.execute import run_group, run_reference
from cubelane.check.faults.engine import Rule, SeededFault, apply_rules
from cubelane.check.protocol import check_protocol
from cubelane.check.validate import is_expanded, runnable
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.passes import pipeline

Arrays = dict[str, Any]
CHECKERS = ("verifier", "protocol", "lane windows", "run", "comparison")
"""`run` is what the execution itself finds: races, deadlocks, undefined cells, accesses outside a tensor."""


@dataclass(frozen=True)
class Survivor:
    """A mutant that no checker caught: its rule, the kernel, the op, where it stands."""

    rule: str
    kernel: str
    op: str
    location: Location

    @property
    def key(self) -> tuple[str, str, str]:
        """What survivors of one reason have in common: kernel, rule, op."""
        return self.kernel, self.rule, self.op


@dataclass
class Kills:
    """How many mutants of each rule there were, how many each checker caught, and those that none did."""

    tried: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    caught: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    survivors: list[Survivor] = field(default_factory=list[Survivor])

    def count(self, rule: Rule, catchers: Iterable[str], kernel: str, fault: SeededFault) -> None:
        """Takes one mutant in."""
        self.tried[rule.kind, rule.name] += 1
        found = list(catchers)
        for checker in found:
            self.caught[rule.kind, rule.name, checker] += 1
        if found:
            self.caught[rule.kind, rule.name, "any"] += 1
        else:
            self.survivors.append(Survivor(rule.name, kernel, fault.op, fault.location))

    def add(self, other: "Kills") -> None:
        """Takes the mutants of another program in."""
        self.tried += other.tried
        self.caught += other.caught
        self.survivors += other.survivors


@dataclass(frozen=True)
class Subject:
    """A right program: its inputs, what it must give, and how exactly."""

    name: str
    module: ModuleOp
    inputs: Arrays
    expected: Arrays
    rtol: float | None = None
    atol: float | None = None


def kills(subject: Subject, rules: Sequence[Rule]) -> Kills:
    """Tries all mutants of a program."""
    result = Kills()
    checkers = _checkers(subject)
    for rule in rules:
        for fault in apply_rules(subject.module, [rule]):
            catchers = [name for name, check in checkers.items() if check(fault.module)]
            result.count(rule, catchers, subject.name, fault)
    return result


def _checkers(subject: Subject) -> dict[str, Callable[[ModuleOp], bool]]:
    """The checkers by name; each says whether it finds something. What cannot be run at all is found by `run`."""
    whole = {f.sym_name.data: LaneWindows(f) for f in functions_of(subject.module) if f.body.blocks}

    def verifier(module: ModuleOp) -> bool:
        return _raises(lambda: _verify(module))

    def protocol(module: ModuleOp) -> bool:
        return _raises(lambda: _raise_first([f for v in check_protocol(module) for f in v.findings]))

    def windows(module: ModuleOp) -> bool:
        return _raises(lambda: _raise_first(_window_findings(module, whole)))

    def run(module: ModuleOp) -> bool:
        return _raises(lambda: _raise_first(_executed(module, subject)[1]))

    def comparison(module: ModuleOp) -> bool:
        try:
            outputs, _ = _executed(module, subject)
        except Exception:
            return False
        return not compare(outputs, subject.expected, rtol=subject.rtol, atol=subject.atol).equal

    checks = (verifier, protocol, windows, run, comparison)
    return dict(zip(CHECKERS, checks, strict=True))


def _verify(module: ModuleOp) -> None:
    module.verify()
    names = ("verify-mixed-kernel-expanded",) if is_expanded(module) else ("verify-aiv-split",)
    for place, name in pipeline.VERIFIERS.values():
        if name in names:
            pipeline.Pass(name, place)(module)


def _window_findings(module: ModuleOp, whole: dict[str, LaneWindows]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for function in functions_of(module):
        if kind_of(function) in (FunctionKind.AIV, FunctionKind.INCORE) and function.body.blocks:
            windows = LaneWindows(function)
            found += windows.conflicts()
            found += windows.missing(whole[function.sym_name.data])
    return found


def _executed(module: ModuleOp, subject: Subject) -> tuple[Arrays, list[Diagnostic]]:
    if is_expanded(module):
        result = run_group(runnable(module), subject.inputs)
        return result.outputs, result.findings
    return run_reference(module, subject.inputs), []


def _raise_first(findings: Sequence[Diagnostic]) -> None:
    for finding in findings:
        raise finding


def _raises(action: Callable[[], Any]) -> bool:
    try:
        action()
    except Exception:
        return True
    return False
