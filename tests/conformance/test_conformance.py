"""Every case of the public conformance set ends as its `want` says; the counts are printed (`pytest -s`)."""

from collections import Counter

import pytest

from tests.conformance.harness import ROOT, Case, run_case, tensor_cases, tile_cases

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="the conformance set is not here")

KNOWN_GAPS: dict[str, str] = {}
"""Cases that do not end as they should yet, with the reason; docs/deviations.md lists the same."""


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
    unexpected = {name: why for name, why in bad.items() if name not in KNOWN_GAPS}
    assert not unexpected, "\n".join(f"{name}: {why}" for name, why in unexpected.items())
