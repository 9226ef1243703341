"""What a start loads, and how a process ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "ml_dtypes", "islpy", "rich", "jinja2", "dask", "json", "traceback", "difflib", "multiprocessing")
"""What lowering a kernel has no use for."""


def loaded(code: str) -> set[str]:
    """The top-level packages that a piece of Python loads."""
    after = "\nimport sys; print(*sorted({m.split('.')[0] for m in sys.modules}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + after], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def run(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "cubelane.cli.main", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_lowering_loads_nothing_that_it_does_not_need(good: Path) -> None:
    found = loaded(f"from cubelane.cli.main import run_command\nrun_command('lower', [{str(good)!r}])")
    assert "xdsl" in found and not found & set(HEAVY)


@pytest.mark.parametrize(
    "code",
    [
        "import cubelane.language as pl\npl.Tensor[[4, 4], pl.FP32]",
        "import cubelane",
        "from cubelane.cli.main import answer\nanswer(['--version'])\nanswer(['--help'])",
    ],
    ids=["language", "package", "help"],
)
def test_what_needs_no_ir_loads_no_xdsl(code: str) -> None:
    assert not loaded(code) & {"xdsl", "numpy"}


def test_the_text_is_complete_and_the_code_0(good: Path) -> None:
    done = run("lower", str(good))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# pypto.program: Scale") and done.stdout.endswith("\n")


def test_a_refusal_ends_with_1(good: Path) -> None:
    done = run("lower", str(good), "--mode", "left_right", "--to", "nonsense")
    assert done.returncode == 2
    good.write_text("import cubelane.language as pl\n", encoding="utf-8")
    done = run("lower", str(good))
    assert done.returncode == 1 and "error:" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_said_so(good: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = run("lower", str(good), stdout=full.fileno())
    assert done.returncode == 2 and done.stderr == "cubelane: [Errno 28] No space left on device\n"


def test_a_reader_that_leaves_is_no_error(good: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run("lower", str(good), stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_script_of_the_user_runs_with_the_collector_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import gc\nprint(gc.isenabled())\n", encoding="utf-8")
    assert run("run", str(script)).stdout == "True\n"


def test_products_run_on_one_thread_unless_the_user_says_otherwise(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good.write_text(good.read_text() + "\nimport os, sys\nprint(os.environ['OPENBLAS_NUM_THREADS'], file=sys.stderr)\n")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert run("compile", str(good)).stderr == "1\n"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert run("compile", str(good)).stderr == "3\n"
