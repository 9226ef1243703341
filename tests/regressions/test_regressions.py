"""What the fuzzer once found, as small as it made it: today each kernel is right on every machine, or refused.

A kernel file says in its first lines what went wrong, and in VERDICT what must come out now.
"""

from pathlib import Path

import pytest

from cubelane.check.fuzz.campaign import judge_file
from cubelane.check.kernel_file import run_file
from cubelane.targets import TARGETS

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.py"))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_what_was_found_once_stays_mended(path: Path) -> None:
    wanted = run_file(path).VERDICT
    outcome = judge_file(path)
    assert not outcome.findings, "\n".join(map(str, outcome.findings))
    assert outcome.rejected is None
    assert outcome.verdicts == dict.fromkeys(TARGETS, wanted)
