"""The optional conformance set: final programs printed by another compiler, run here against their goldens.

Also the oracle on the kernels themselves. Skipped where the set is not at hand.
"""

import json
import os
import runpy
from pathlib import Path

import pytest

from cubelane import language
from cubelane.check.compare import compare
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))


def cases(needs: str) -> list[Path]:
    found: list[Path] = []
    for path in sorted(ROOT.glob("tile/*/case.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["golden"] and (path.parent / needs).exists():
            found.append(path.parent)
    return found


def facts_of(folder: Path) -> dict:
    return json.loads((folder / "case.json").read_text(encoding="utf-8"))


def judge(folder: Path, outputs: dict, inputs: dict) -> None:
    golden = runpy.run_path(str(folder / "golden.py"))["golden"](inputs)
    tolerance = facts_of(folder)["tolerance"]
    verdict = compare(outputs, golden, rtol=tolerance["rtol"], atol=tolerance["atol"])
    assert verdict.equal, str(verdict)


@pytest.mark.parametrize("folder", cases("expected/split.py"), ids=lambda folder: folder.name)
def test_a_right_final_program_equals_its_golden(folder):
    facts = facts_of(folder)
    if facts["peer_correct"] is not True:
        pytest.skip("the printed program is not known to be right")
    path = folder / "expected" / "split.py"
    module = language.parse(path.read_text(encoding="utf-8"), filename=str(path))
    inputs = runpy.run_path(str(folder / "golden.py"))["inputs"]()
    result = run_group(module, inputs, entry=None)
    assert not result.findings, "\n".join(map(str, result.findings))
    judge(folder, result.outputs, inputs)


@pytest.mark.parametrize("folder", cases("kernel.py"), ids=lambda folder: folder.name)
def test_the_oracle_equals_the_golden(folder):
    facts = facts_of(folder)
    if facts["want"] == "refuse":
        pytest.skip("refused")
    path = folder / "kernel.py"
    module = language.parse(path.read_text(encoding="utf-8"), filename=str(path))
    inputs = runpy.run_path(str(folder / "golden.py"))["inputs"]()
    try:
        outputs = run_reference(module, inputs)
    except Diagnostic as problem:
        if problem.code == "not-executable":
            pytest.skip(str(problem))
        raise
    judge(folder, outputs, inputs)
