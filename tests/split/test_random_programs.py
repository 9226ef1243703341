"""Random programs: what is accepted computes what the author wrote on three agents; everything else is a Diagnostic."""

import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import StringAttr

from cubelane.check.execute import run_group, run_reference
from cubelane.check.fuzz.program import Choose, Program, inputs_of
from cubelane.check.fuzz.tiles import generate, generate_explicit
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import TARGET
from cubelane.language import parse
from cubelane.passes import pipeline

from .kernels import LANE_PASSES


def judged(program: Program) -> str:
    """`equal` or `refused`; `none` for a text that is no program. Anything else raises."""
    try:
        source = parse(program.text, filename="kernel.py")
        inputs = inputs_of(source, program.scalars)
        wanted = run_reference(source, inputs)
    except Diagnostic:
        return "none"
    module = parse(program.text, filename="kernel.py")
    module.attributes[TARGET] = StringAttr("a5")
    try:
        pipeline.pass_named(LANE_PASSES[0])(module)
    except Diagnostic as problem:
        assert problem.location.line > 0 and problem.instead, problem
        return "refused"
    module.verify()
    for name in LANE_PASSES[1:]:
        pipeline.pass_named(name)(module)
    run = run_group(module, inputs)
    assert not run.findings, (program.text, [str(f) for f in run.findings])
    for name, array in wanted.items():
        np.testing.assert_allclose(run.outputs[name], array, rtol=1e-3, atol=1e-3, err_msg=program.text)
    return "equal"


PROGRAMS = int(os.environ.get("CUBELANE_RANDOM_PROGRAMS", "2000"))
BLOCKS = 20


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_program_is_equal_or_refused(block: int) -> None:
    number = max(1, PROGRAMS // BLOCKS)
    found = [judged(generate(random.Random(100_000 * block + seed).choice)) for seed in range(number)]
    assert found.count("equal") >= number // 2


@pytest.mark.parametrize("block", range(4))
def test_random_explicit_region_is_equal_or_refused(block: int) -> None:
    number = max(1, PROGRAMS // BLOCKS)
    found = [judged(generate_explicit(random.Random(100_000 * block + seed).choice)) for seed in range(number)]
    assert found.count("equal") >= number // 2


@given(st.data())
@settings(max_examples=40)
def test_shrinkable_random_program_is_equal_or_refused(data: Any) -> None:
    choose: Choose = lambda options: data.draw(st.sampled_from(list(options)))  # noqa: E731
    judged(data.draw(st.sampled_from((generate, generate_explicit)))(choose))
