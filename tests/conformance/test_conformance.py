"""Every case of the public conformance set ends as its `want` says; the counts are printed (`pytest -s`)."""

from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.harness import ROOT, Case, run_case, tensor_cases, tile_cases
from tests.expand.test_conformance_stages import DEVIATES as STAGES
from tests.split.test_conformance import DEVIATES as AFTER_THE_SPLIT

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="the conformance set is not here")

DEVIATIONS: dict[str, str] = {
    "region_none_with_boundary": "a boundary op in a NONE region is refused, as the pass document asks",
    "region_none_notify": "a boundary op in a NONE region; distributed tensors are out of scope",
    "region_none_colsum": "a boundary op in a NONE region is refused, as the pass document asks",
}
"""Cases that end otherwise on purpose; docs/deviations.md says why."""


def sweep(cases: list[Case]) -> tuple[Counter[tuple[str, str]], dict[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    bad: dict[str, str] = {}
    for case in cases:
        outcome = run_case(case)
        counts[case.want, outcome.word] += 1
        if not outcome.satisfies(case):
            bad[case.name] = f"want {case.want}, {outcome.word}: {outcome.message[:300]}"
    return counts, bad


@pytest.mark.parametrize("cases", [tile_cases, tensor_cases], ids=["tile", "tensor"])
def test_every_case_ends_as_wanted(cases):
    counts, bad = sweep(cases())
    for (want, word), count in sorted(counts.items()):
        print(f"{want:18s} {word:10s} {count}")
    folders = {case.folder.name for case in cases()}
    agree = {name for name in DEVIATIONS if name in folders and not any(b.startswith(f"{name}-") for b in bad)}
    assert not agree, f"these agree by now: {agree}"
    unexpected = {name: why for name, why in bad.items() if name.rpartition("-")[0] not in DEVIATIONS}
    assert not unexpected, "\n".join(f"{name}: {why}" for name, why in unexpected.items())


def test_every_deviation_has_its_reason_in_the_docs():
    text = (Path(__file__).parents[2] / "docs" / "deviations.md").read_text(encoding="utf-8")
    listed = {*DEVIATIONS, *AFTER_THE_SPLIT, *(name for names in STAGES.values() for name in names)}
    assert {name for name in listed if f"`{name}`" not in text} == set()
