"""The same input gives the same bytes, in every run and under every hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .all_outputs import COMMANDS

ROOT = Path(__file__).parents[2]
SEEDS = ("0", "1", "2")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """All bytes that the commands print and write, under each hash seed."""
    folders = [tmp_path_factory.mktemp(f"seed{seed}") for seed in SEEDS]
    running: list[subprocess.Popen[str]] = []
    for folder, seed in zip(folders, SEEDS, strict=True):
        (folder / "trust").symlink_to(ROOT / "benchmarks" / "trust" / "kernels")
        (folder / "ptodsl").symlink_to(ROOT / "examples" / "ptodsl")
        (folder / "refused.py").symlink_to(ROOT / "examples" / "matmul_softmax.py")
        command = [sys.executable, "-m", "tests.hostile.all_outputs"]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        running.append(subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said
    return [
        {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and not _given(p)}
        for folder in folders
    ]


def _given(path: Path) -> bool:
    return path.is_symlink() or path.parent.is_symlink()


@pytest.mark.parametrize("name", [*COMMANDS, "kernels"])
def test_same_input_prints_the_same_bytes(name, outputs):
    first, *others = (made[f"{name}.txt"] for made in outputs)
    assert all(first == other for other in others)
    assert len(first) > 100
    assert b"internal error" not in first


def test_same_input_writes_the_same_files(outputs):
    first, *others = outputs
    for other in others:
        assert first.keys() == other.keys()
        assert [name for name in first if first[name] != other[name]] == []
    assert "out/page.html" in first and "out/compile/summary.json" in first and "out/compile/final.mlir" in first
