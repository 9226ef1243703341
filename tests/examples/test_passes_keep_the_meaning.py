"""The law of the house: each pass keeps the meaning. The program is run after every pass, on every example."""

import pytest

from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.check.validate import validate
from cubelane.targets import TARGETS
from tests.examples.files import FILES


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_pass_keeps_the_meaning(path, target):
    judge = read_judge(path)
    inputs = judge.inputs()
    compiled = compile_program(read_program(str(path)), target, keep_stages=True)
    changed, last = [], None
    for stage in compiled.stages:
        text = language.print_program(stage.module)
        if text != last:
            changed.append((stage.name, stage.module))
        last = text
    verdicts = validate(changed, inputs, judge.golden(inputs), rtol=judge.rtol, atol=judge.atol)
    assert all(verdict.good for verdict in verdicts), str(verdicts[-1])
    assert len(verdicts) == len(changed) >= 5
