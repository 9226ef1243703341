"""Everything that must hold for one kernel, checked after every pass: the heart of `cubelane fuzz`.

A kernel is lowered for a target. Behind each pass the IR verifies, both texts come back from their parsers, and the
program, run, gives what it meant before any pass; the expansion loses no op that anybody needs; the final program
keeps the channel protocol and fits its buffers. A refusal is an answer, with a place in the user's text; everything
else is a finding.
"""

import traceback
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from cubelane import language
from cubelane.analysis import memory_budget
from cubelane.analysis.equality import structurally_equal
from cubelane.check.compare import compare
from cubelane.check.execute import run_group, run_reference
from cubelane.check.fuzz.forms import answer, as_region, tile_form
from cubelane.check.fuzz.liveness import lost_ops
from cubelane.check.fuzz.program import TOLERANCE, Program, inputs_of
from cubelane.check.fuzz.setting import FILE, Arrays, targeted
from cubelane.check.protocol import check_protocol
from cubelane.check.validate import is_expanded, runnable
from cubelane.ir.context import shared_context
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes import pipeline
from cubelane.targets import TARGETS


@dataclass(frozen=True)
class Finding:
    """Something that must not be: what kind, behind which pass on which target, and the words."""

    kind: str
    stage: str
    target: str
    detail: str
    cause: str = ""

    @property
    def signature(self) -> tuple[str, str, str]:
        """What two findings of one root have in common; a smaller kernel must keep it."""
        return self.kind, self.stage, self.cause

    def __str__(self) -> str:
        where = f" after {self.stage}" if self.stage else ""
        machine = f" on {self.target}" if self.target else ""
        return f"{self.kind}{where}{machine}: {self.detail}"


@dataclass
class Outcome:
    """What became of a kernel.

    `verdicts` says per target `equal`, or the code of the refusal. A text that the language refuses or that has no
    meaning (it reads undefined cells, say) has no verdicts but `rejected`, the code of that refusal. `final` are the
    programs of the cores where they are equal.
    """

    verdicts: dict[str, str] = field(default_factory=dict[str, str])
    findings: list[Finding] = field(default_factory=list[Finding])
    rejected: str | None = None
    source: ModuleOp | None = None
    final: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])

    @property
    def word(self) -> str:
        """One word for the tallies."""
        if self.findings:
            return "finding"
        if self.rejected is not None:
            return "rejected"
        return "equal" if "equal" in self.verdicts.values() else "refused"


class Found(Exception):
    """Carries a finding out of the checks."""

    def __init__(self, finding: Finding):
        super().__init__(str(finding))
        self.finding = finding


def judge(program: Program, targets: Sequence[str] = tuple(TARGETS), inputs: Arrays | None = None) -> Outcome:
    """Checks one kernel on all targets; `inputs` replaces the index-coded ones."""
    outcome = Outcome()
    try:
        source = language.parse(program.text, FILE)
        outcome.source = source
        given = inputs_of(source, program.scalars) if inputs is None else inputs
        expected = run_reference(source, given)
    except Diagnostic as problem:
        outcome.rejected = problem.code
        return outcome
    except Exception as problem:
        outcome.findings.append(internal_error(problem, "reading", ""))
        return outcome
    seen: set[str] = set()
    for target in targets:
        check = _Check(target, given, expected, seen)
        try:
            word, module = check.lowered(source)
            outcome.verdicts[target] = word
            if word == "equal":
                outcome.final[target] = module
        except Found as found:
            outcome.findings.append(found.finding)
    if not outcome.findings and (found := two_forms(source, targets[0], given, expected)):
        outcome.findings.append(found)
    return outcome


def two_forms(source: ModuleOp, target: str, given: Arrays, expected: Arrays) -> Finding | None:
    """A kernel split by its mode, and the same one as a region: accepted both or refused both, and right."""
    try:
        text = tile_form(source, target)
        twin = None if text is None else as_region(text)
        if text is None or twin is None:
            return None
        one, two = (answer(t, target, given, expected) for t in (text, twin))
    except Exception as problem:
        return internal_error(problem, "the other form", target)
    alike = one == two or (one.startswith("refused") and two.startswith("refused"))
    words = f"split by its mode: {one}; as a region: {two}"
    return None if alike else Finding("forms disagree", "", target, words, f"{one[:40]}, {two[:40]}")


def internal_error(problem: Exception, stage: str, target: str) -> Finding:
    """An exception that is no Diagnostic: never the user's fault."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    words = f"{type(problem).__name__}: {problem}".splitlines()[0]
    place = f"{frame.filename.rpartition('cubelane/')[2]}:{frame.lineno} in {frame.name}"
    return Finding("internal error", stage, target, f"{words} ({place})", f"{type(problem).__name__} in {frame.name}")


MLIR_EVERY = 4
"""The MLIR text, slow to parse, is read back for one program text in so many, picked by the text."""


class _Check:
    """One kernel on one target. `seen` holds texts that are checked already: passes often change nothing."""

    def __init__(self, target: str, given: Arrays, expected: Arrays, seen: set[str]):
        self.target, self.given, self.expected, self.seen = target, given, expected, seen
        self.stage = ""

    def finding(self, kind: str, detail: Any, cause: str = "") -> Found:
        """A finding behind the present pass."""
        return Found(Finding(kind, self.stage, self.target, str(detail), cause))

    def lowered(self, source: ModuleOp) -> tuple[str, ModuleOp]:
        """Runs all passes with all checks; `equal` or the code of the refusal, and the program. Raises Found."""
        module = targeted(source.clone(), self.target)
        self.stage = "reading"
        self.seen.add(self.texts(module))
        for stage in pipeline.PASSES:
            if not stage.applies_to(module):
                continue
            self.stage = stage.name
            before = module.clone() if stage.name == "expand-mixed-kernel" else None
            try:
                self.run_pass(stage, module)
            except Diagnostic as problem:
                if not problem.location.line:
                    raise self.finding("refusal without a place", problem.message, problem.code) from None
                return problem.code, module
            self.behind(module, before)
        self.stage = "the last pass"
        return self.finished(module), module

    def run_pass(self, stage: pipeline.Pass, module: ModuleOp) -> None:
        """One pass and the verifiers of what it promises."""
        try:
            stage(module)
            for prop in sorted(stage.produced & pipeline.VERIFIERS.keys()):
                pipeline.Pass(pipeline.VERIFIERS[prop][1], pipeline.VERIFIERS[prop][0])(module)
        except Diagnostic:
            raise
        except Exception as problem:
            raise Found(internal_error(problem, self.stage, self.target)) from problem

    def behind(self, module: ModuleOp, before: ModuleOp | None) -> None:
        """The checks behind a pass; what did not change is not checked again."""
        try:
            module.verify()
        except Exception as problem:
            words = str(problem).strip().splitlines()
            raise self.finding("invalid IR", words[-1] if words else type(problem).__name__, "verify") from problem
        text = self.texts(module)
        if before is not None:
            for op in lost_ops(before, module):
                raise self.finding("lost op", f"no core runs {op}", "lost")
        if text not in self.seen:
            self.meaning(module)
            self.seen.add(text)

    def texts(self, module: ModuleOp) -> str:
        """Both texts of the program come back from their parsers. Gives the text."""
        try:
            text = language.print_program(module)
            if text in self.seen:
                return text
            difference = structurally_equal(module, language.parse(text, FILE))
            mlir = str(module) if zlib.crc32(text.encode()) % MLIR_EVERY == 0 else ""
            again = str(Parser(shared_context(), mlir).parse_module()) if mlir else ""
        except Exception as problem:
            if isinstance(problem, Diagnostic):
                raise self.finding("text not read back", problem, f"text {problem.code}") from None
            error = internal_error(problem, self.stage, self.target)
            raise self.finding("text not read back", error.detail, error.cause) from problem
        if difference is not None:
            raise self.finding("text changes the program", difference, "text")
        if again != mlir:
            raise self.finding("MLIR text changes the program", "printed again, it is another text", "mlir")
        return text

    def meaning(self, module: ModuleOp) -> None:
        """Runs the program and compares it with what it meant before any pass."""
        try:
            if is_expanded(module):
                run = run_group(runnable(module), self.given)
                outputs = run.outputs
                if run.findings:
                    raise self.finding(run.findings[0].code, run.findings[0], run.findings[0].code)
            else:
                outputs = run_reference(module, self.given)
        except Found:
            raise
        except Diagnostic as problem:
            raise self.finding("does not run", problem, problem.code) from None
        except Exception as problem:
            raise Found(internal_error(problem, self.stage, self.target)) from problem
        comparison = compare(outputs, self.expected, rtol=TOLERANCE, atol=TOLERANCE)
        if not comparison.equal:
            raise self.finding("another meaning", comparison, "differs")

    def finished(self, module: ModuleOp) -> str:
        """The checks of the final program."""
        try:
            verdicts = check_protocol(module)
            overflow = memory_budget.findings(module)
        except Diagnostic as problem:
            raise self.finding("does not run", problem, problem.code) from None
        except Exception as problem:
            raise Found(internal_error(problem, self.stage, self.target)) from problem
        for verdict in verdicts:
            if verdict.findings:
                raise self.finding("protocol", verdict.findings[0], verdict.findings[0].code)
        self.again(module)
        return overflow[0].code if overflow else "equal"

    def again(self, module: ModuleOp) -> None:
        """The final program, given as a source, is taken as it is: programs of cores written by hand."""
        self.stage = "compiling its own result"
        text = language.print_program(module)
        try:
            twice = pipeline.run(targeted(language.parse(text, FILE), self.target))
        except Diagnostic as problem:
            raise self.finding("refuses its own result", problem, problem.code) from None
        except Exception as problem:
            raise Found(internal_error(problem, self.stage, self.target)) from problem
        if language.print_program(twice) != text:
            self.meaning(twice)
