"""Runs a case of the public conformance set and says what became of it. The set is optional: tests skip without it."""

import json
import os
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group
from cubelane.check.protocol import Proof, check_protocol
from cubelane.ir.diagnostic import Diagnostic

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))


@dataclass(frozen=True)
class Case:
    """One kernel on one target and what a correct tool does with it."""

    folder: Path
    target: str
    want: str
    words: tuple[str, ...]
    rtol: float
    atol: float

    @property
    def name(self) -> str:
        return f"{self.folder.name}-{self.target}"


@dataclass(frozen=True)
class Outcome:
    """`equal`, `differs`, `refused`, `lowered` (no golden to compare with) or `accused` (by the protocol checker).

    The message goes with it.
    """

    word: str
    message: str = ""

    def satisfies(self, case: Case) -> bool:
        """Whether this is what the case wants."""
        if self.word == "refused":
            said = self.message.lower()
            allowed = case.want in ("refuse", "golden_or_refuse")
            return allowed and all(word.lower() in said for word in case.words)
        return case.want != "refuse" and self.word in ("equal", "lowered")


def tile_cases() -> list[Case]:
    """All cases of the tile set."""
    cases: list[Case] = []
    for path in sorted(ROOT.glob("tile/*/case.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        tolerance: dict[str, float] = facts.get("tolerance") or {}
        words = (facts.get("error") or {}).get("must_mention", ()) if facts["result"] == "error" else ()
        cases.append(
            Case(
                path.parent,
                facts["backend"],
                facts["want"],
                tuple(words),
                tolerance.get("rtol", 0.0),
                tolerance.get("atol", 0.0),
            )
        )
    return cases


def tensor_cases() -> list[Case]:
    """All cases of the tensor set, once per target."""
    cases: list[Case] = []
    for path in sorted(ROOT.glob("tensor/*/case.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        for target, backend in facts["backends"].items():
            words = tuple(facts.get("if_refused_must_mention", ()))
            if facts["verdict"] == "reject":
                words = tuple((backend.get("error") or {}).get("must_mention", ()))
            golden: dict[str, Any] = runpy.run_path(str(path.parent / "golden.py"))
            rtol, atol = golden.get("RTOL", 1e-3), golden.get("ATOL", 1e-3)
            cases.append(Case(path.parent, target, facts["want"], words, rtol, atol))
    return cases


def run_case(case: Case) -> Outcome:
    """Compiles and runs a case; only a Diagnostic counts as a refusal, any other exception is a defect."""
    path = case.folder / "kernel.py"
    try:
        program = language.parse(path.read_text(encoding="utf-8"), filename=str(path))
        compiled = compile_program(program, case.target)
    except Diagnostic as problem:
        return Outcome("refused", str(problem))
    for protocol in check_protocol(compiled.module):
        if protocol.findings or protocol.proof is Proof.NOT_PROVEN:
            return Outcome("accused", str(protocol.findings[0] if protocol.findings else protocol))
    golden_file = case.folder / "golden.py"
    if not golden_file.exists():
        return Outcome("lowered")
    judge = runpy.run_path(str(golden_file))
    inputs = judge["inputs"]()
    run = run_group(compiled.module, inputs)
    if run.findings:
        return Outcome("differs", "; ".join(str(f) for f in run.findings))
    return compare_all(run.outputs, judge["golden"](inputs), case)


def compare_all(got: dict[str, Any], wanted: dict[str, Any], case: Case) -> Outcome:
    """Compares every output the golden names, by plain NumPy."""
    for name, want in wanted.items():
        have, want = np.asarray(got[name]).astype(np.float64), np.asarray(want).astype(np.float64)
        wrong = ~(np.abs(have - want) <= case.atol + case.rtol * np.abs(want))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            return Outcome("differs", f"{name}{list(at)} is {have[at]}, wanted {want[at]}; {int(wrong.sum())} cells")
    return Outcome("equal")
