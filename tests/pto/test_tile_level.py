"""PTO text of the tile level goes through `cubelane ptoas --emit-pto-ir` unchanged: as text, and when it runs."""

from pathlib import Path

import numpy as np
import pytest

from cubelane.check.compiled import CompiledKernel, compile_program
from cubelane.check.execute import draw_inputs, run_group
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.check.pto_text import PtoExecutable
from cubelane.cli.ptoas import ptoas
from cubelane.emit.pto_program import pto_texts
from cubelane.ir.pto.text import print_pto, read_pto
from tests.examples.files import FILES

CASES = [(path, "a5" if number % 3 else "a2a3") for number, path in enumerate(FILES)]
CLOSE = {"rtol": 1e-4, "atol": 2e-5}
"""Rows are summed in another order when text is run."""


def assembled(compiled: CompiledKernel, folder: Path) -> dict[str, str]:
    """Every text through the command."""
    found: dict[str, str] = {}
    for name, text in pto_texts(compiled.module).items():
        source, target = folder / f"{name}.pto", folder / f"{name}.out.pto"
        source.write_text(text)
        assert ptoas(["--emit-pto-ir", str(source), "-o", str(target)]) == 0
        found[name] = target.read_text()
        assert found[name] == print_pto(read_pto(text)), "sections or kinds were added"
    return found


@pytest.mark.parametrize(("path", "target"), CASES, ids=lambda case: getattr(case, "stem", case))
def test_text_of_an_example_keeps_its_meaning(path: Path, target: str, tmp_path: Path):
    compiled = compile_program(read_program(str(path)), target)
    texts = assembled(compiled, tmp_path)
    judge = read_judge(path)
    given = judge.inputs() if judge.inputs is not None else draw_inputs(compiled.module)
    want, got = run_group(compiled.module, given), run_group(PtoExecutable(compiled.module, texts), given)
    assert texts and want.ok and got.ok, [*want.findings, *got.findings]
    for name, value in want.outputs.items():
        np.testing.assert_allclose(np.asarray(got.outputs[name], float), np.asarray(value, float), **CLOSE)
