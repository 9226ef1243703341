"""A way to run the command in this process, and small kernel files."""

from pathlib import Path

import pytest

from cubelane.cli.main import main

GOOD = """
import pypto.language as pl
import numpy as np


@pl.program
class Scale:
    @pl.function
    def main(self, x: pl.Tensor[[32, 32], pl.FP16], w: pl.Tensor[[32, 16], pl.FP16],
             out: pl.Out[pl.Tensor[[32, 16], pl.FP32]]) -> pl.Tensor[[32, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.matmul(x, w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.mul(y, 2.0), [0, 0])
        return out
"""

JUDGE = """

def inputs():
    rows, columns = np.indices((32, 32))
    return {
        "x": ((rows * 3 + columns) % 7 - 3).astype(np.float16),
        "w": ((rows - columns * 2) % 5 - 2)[:, :16].astype(np.float16),
        "out": np.full((32, 16), -77, np.float32),
    }


def golden(inputs):
    return {"out": 2 * (inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32))}
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "scale.py"
    path.write_text(GOOD + JUDGE, encoding="utf-8")
    return path


@pytest.fixture
def run(capsys):
    """Runs `cubelane ARGUMENTS`; gives exit code, standard output, standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return command
