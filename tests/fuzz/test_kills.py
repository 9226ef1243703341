"""Seeded faults: every rule breaks something, and whatever survives has a reason that is written down."""

import pytest

from benchmarks.trust.__main__ import kill_tables, replaced, survivor_table
from benchmarks.trust.subjects import FINAL, KERNELS, LEVELS, PTO, PTO_EXAMPLES, SPLIT, tile_subjects
from benchmarks.trust.survivors import REASONS
from cubelane.check.faults import apply_rules
from cubelane.check.faults.kills import Kills, kills
from cubelane.check.faults.pto_kills import pto_kills
from cubelane.check.faults.pto_rules import PTO_RULES
from cubelane.check.faults.tile_rules import TILE_RULES

SMALL = next(path for path in KERNELS if path.stem == "ragged_columns")


@pytest.fixture(scope="module")
def found() -> dict[str, Kills]:
    """The kills on one small kernel at each level."""
    result = {level: kills(subject, TILE_RULES) for level, subject in tile_subjects(SMALL, "a2a3")}
    softmax = next(path for path in PTO_EXAMPLES if path.stem == "softmax")
    return {**result, PTO: pto_kills(softmax, PTO_RULES)}


@pytest.mark.parametrize("level", LEVELS)
def test_every_survivor_has_a_reason(level, found):
    assert [s for s in found[level].survivors if (level, *s.key) not in REASONS] == []


@pytest.mark.parametrize("level", [SPLIT, FINAL])
def test_every_checker_catches_something(level, found):
    caught = {checker for _, _, checker in found[level].caught}
    assert caught >= {"verifier", "lane windows", "run", "comparison"}
    assert level == SPLIT or "protocol" in caught


def test_most_faults_are_caught_by_more_than_one_checker(found):
    total = sum(found[FINAL].tried.values())
    singles = sum(n for key, n in found[FINAL].caught.items() if key[2] != "any")
    assert total > 50 and singles > 1.5 * total


def test_a_fault_changes_a_copy_and_the_copy_only():
    _, subject = next(tile_subjects(SMALL, "a5"))
    before = str(subject.module)
    faults = list(apply_rules(subject.module, TILE_RULES))
    assert str(subject.module) == before
    assert len({str(fault.module) for fault in faults}) > 0.9 * len(faults)
    assert all(fault.location.line > 0 or fault.op.startswith("arith") for fault in faults)


def test_the_page_is_rewritten_between_its_marks(found):
    page = "head\n<!-- kills -->\nstale table\n<!-- end of kills -->\ntail\n"
    text = replaced(page, "kills", kill_tables(found))
    assert "stale table" not in text and text.startswith("head\n") and text.endswith("tail\n")
    assert replaced(text, "kills", kill_tables(found)) == text
    assert "not explained" not in survivor_table(found)
    with pytest.raises(ValueError, match="no part named other"):
        replaced(page, "other", "")
