"""The optional conformance set: final programs printed by another compiler, run here against their goldens.

Also the oracle on the kernels themselves. Skipped where the set is not at hand.
"""

import json
import os
import re
import runpy
from pathlib import Path

import pytest

from cubelane import language
from cubelane.check.compare import compare
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))


OUTSIDE = ("region_none_notify",)
"""Cases that use distributed tensors, which are no part of the language."""

EMPTY_TILE = re.compile(
    r"^( *)(\w+): (pl\.Tile\[.*valid_shape=\[0, 0\].*?) = (pl\.tile\.(?:create|full)\(.*\))$", re.MULTILINE
)


def cases(needs: str) -> list[Path]:
    found: list[Path] = []
    for path in sorted(ROOT.glob("tile/*/case.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if path.parent.name not in OUTSIDE and facts["golden"] and (path.parent / needs).exists():
            found.append(path.parent)
    return found


def in_our_words(text: str) -> str:
    """The lane-1 replay returns from both branches of its last `if`; our language returns once, at the end.

    What they return are Out parameters after a store, which the parameters name as well. And a new tile is whole
    here: one without valid cells is made by set_validshape.
    """
    text = EMPTY_TILE.sub(r"\1\2_whole = \4\n\1\2: \3 = pl.tile.set_validshape(\2_whole, 0, 0)", text)
    lines: list[str] = []
    inner: list[str] = []
    outs: list[str] = []
    for line in [*text.splitlines(), "    @"]:
        words = line.strip()
        if words.startswith("def "):
            outs = [n for n in re.findall(r"(\w+): pl\.(?:Out|InOut)\[", line) if not n.startswith("__gm")]
        if line.startswith(" " * 12) and words.startswith("return"):
            inner.append(words)
            line = line.replace(words, "pass")
        elif line.startswith("    @") and inner:
            lines.append(" " * 8 + "return " + ", ".join(outs[: inner[-1].count(",") + 1]))
            inner = []
        lines.append(line)
    return "\n".join(lines[:-1])


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
    module = language.parse(in_our_words(path.read_text(encoding="utf-8")), filename=str(path))
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
