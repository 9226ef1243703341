"""Every example is equal to its references on both targets in every legal mode; the others are refused.

So is its PTO text after the assembler's normalization, read back and run on the memories of the cores.
"""

import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.check.pto_text import PtoExecutable
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes.tile.choose_split_mode import MODES
from cubelane.targets import TARGETS
from tests.examples.files import BY_COLUMNS, FILES, TOO_LARGE
from tests.pto_text.texts import normalized


def test_the_required_examples_are_here():
    required = {
        "matmul_bias_gelu",
        "gated_mlp",
        "rmsnorm_projection",
        "masked_attention",
        "flash_attention",
        "k_loop_accumulate",
        "prologue_epilogue",
    }
    assert required <= {path.stem for path in FILES}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_example_is_equal_to_oracle_and_golden_in_every_legal_mode(path, target):
    program, judge = read_program(str(path)), read_judge(path)
    assert judge.golden is not None
    for mode in MODES:
        if mode == "left_right" and path.stem not in BY_COLUMNS:
            with pytest.raises(Diagnostic, match="split axis"):
                compile_program(program, target, mode)
            continue
        if (path.stem, target, mode) in TOO_LARGE:
            with pytest.raises(Diagnostic, match="overflows"):
                compile_program(program, target, mode)
            continue
        compiled = compile_program(program, target, mode)
        verdict = compiled.judge(judge)
        assert set(verdict.comparisons) == {"oracle", "golden"}, (mode, verdict.findings)
        assert verdict.equal, (mode, {name: str(c) for name, c in verdict.comparisons.items()})
        text = compiled.judge(judge, program=PtoExecutable(compiled.module, normalized(compiled)))
        assert set(text.comparisons) == {"oracle", "golden"}, (mode, text.findings)
        assert text.equal, (mode, {name: str(c) for name, c in text.comparisons.items()})
