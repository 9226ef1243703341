"""Every front pass keeps the meaning of the program, by the reference run full width."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane import language
from cubelane.check.reference import run_reference
from cubelane.ir.kernel import TARGET
from cubelane.passes import run
from cubelane.passes.pipeline import TILE_STAGE, Pass
from tests.passes.front.random_kernels import inputs, kernel


def assert_meaning_kept(module: ModuleOp, arrays: Mapping[str, Any], tolerance: float) -> None:
    """Runs the passes and the reference after each of them."""
    module.attributes[TARGET] = StringAttr("a2a3")
    wanted = run_reference(module, arrays)

    def compare(stage: Pass, program: ModuleOp) -> None:
        program.verify()
        got = run_reference(program, arrays)
        for name, array in wanted.items():
            want, have = np.asarray(array, np.float64), np.asarray(got[name], np.float64)
            wrong = np.abs(want - have) > tolerance * (1 + np.abs(want))
            assert not wrong.any(), f"{name} after {stage.name}: {int(wrong.sum())} cells"

    run(module, TILE_STAGE, compare)


@pytest.mark.parametrize("seed", range(40))
def test_random_kernel_keeps_its_meaning(seed: int):
    assert_meaning_kept(language.parse(kernel(seed)), inputs(seed), 1e-3)
