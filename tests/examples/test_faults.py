"""A program with one fault in it never passes: the run finds something, or its numbers differ."""

from collections import Counter

import pytest

from cubelane.check.compare import compare
from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group
from cubelane.check.faults import seed_faults
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.targets import TARGETS
from tests.examples.files import FILES


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_seeded_fault_is_caught(path, target):
    judge = read_judge(path)
    inputs = judge.inputs()
    golden = judge.golden(inputs)
    compiled = compile_program(read_program(str(path)), target)
    caught, missed = Counter(), []
    for fault in seed_faults(compiled.module):
        run = run_group(fault.module, inputs)
        if run.findings or not compare(run.outputs, golden, rtol=judge.rtol, atol=judge.atol).equal:
            caught[fault.kind] += 1
        else:
            missed.append(str(fault))
    assert not missed
    assert {"push dropped", "pop dropped", "free dropped", "lane offset zero"} <= set(caught)
