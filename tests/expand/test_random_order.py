"""Random kernels whose cores meet in global memory: accepted ones have an order on every schedule, others are refused.

The race detector of the simulator judges, and the values of the reference execution.
"""

import numpy as np
import pytest

from cubelane.check.execute import Schedule, run_group, run_reference
from cubelane.check.protocol import check_protocol
from cubelane.ir.diagnostic import Diagnostic
from tests.expand.random_order import random_inputs, random_kernel
from tests.expand.stages import finished, program

SEEDS, CHUNK = 96, 12
REFUSALS = {"unordered-memory", "lane-conflict"}
"""What such kernels may be refused with: no token can give the order, or the two lanes meet."""


def judged(seed: int) -> str:
    """What came of one kernel: "equal" or the code of its refusal. Fails where neither is honest."""
    split, target = bool(seed % 2), ("a2a3", "a5")[seed // 2 % 2]
    text, given = random_kernel(seed, split), random_inputs()
    try:
        module = finished(text, target, lower=split)
    except Diagnostic as refusal:
        assert refusal.code in REFUSALS, refusal
        assert refusal.location.line and refusal.instead, refusal
        return refusal.code
    wanted = run_reference(program(text), given)
    for verdict in check_protocol(module):
        assert not verdict.findings, (seed, verdict.findings[0])
    for order in (None, 1, 2):
        result = run_group(module, given, schedule=Schedule(order))
        assert not result.findings, (seed, order, result.findings[0])
        for name, value in wanted.items():
            assert np.allclose(result.outputs[name], value, 1e-3, 1e-3), (seed, order, name)
    return "equal"


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_random_kernels_are_ordered_or_refused(first):
    came = [judged(seed) for seed in range(first, first + CHUNK)]
    assert came.count("equal") >= CHUNK // 3, came
