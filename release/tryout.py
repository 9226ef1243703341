"""Installs a wheel into an empty environment outside of the repository, and runs every command from there."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

KERNEL = "matmul_softmax.py"

PTO = """module attributes {pto.target_arch = "a5"} {
  func.func @k(%x: !pto.ptr<f32, gm>) attributes {pto.entry} {
    return
  }
}
"""


class Step(NamedTuple):
    """A command line, its exit code, and a word it must print."""

    words: Sequence[str]
    code: int = 0
    says: str = ""


class Failed(Exception):
    """A step that did not do what it must."""


def install(wheel: Path, folder: Path, python: str = sys.executable) -> Path:
    """A fresh environment with nothing but the wheel and what it requires; gives its folder of programs."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True, env=environment())
    programs = folder / "bin"
    command = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(command, check=True, cwd=folder, env=environment())
    return programs


def environment() -> dict[str, str]:
    """Without anything that leads to the repository, and with a cache and a home of its own to leave alone."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {"CUBELANE_CACHE": "off"}


def steps(examples: Path) -> Iterator[Step]:
    """Every command once, as a user starts with it."""
    kernel = str(examples / KERNEL)
    yield Step(["--version"], says="cubelane ")
    yield Step(["--help"], says="commands:")
    yield Step(["compile", "-o", "out", "--report", "page.html", "--trace", "trace.json", kernel], says="equal")
    yield Step(["compile", "--target", "a5", "--validate", "each", kernel], says="equal")
    yield Step(["lower", kernel], says="pl.tile.matmul")
    yield Step(["emit", "--as", "pto", kernel], says="pto.")
    yield Step(["emit", "--as", "vpto", str(examples / "ptodsl" / "softmax.py")], says="pto.")
    yield Step(["check", kernel])
    yield Step(["report", kernel, "-o", "explorer.html"])
    yield Step(["tune", kernel], says="cycles")
    yield Step(["fuzz", "--count", "2"], says="programs")
    yield Step(["cache"], says="switched off")
    yield Step(["run", "script.py"], says="ran with cubelane")
    yield Step(["opt", "--help"], says="usage")
    yield Step(["ptoas", "--emit-pto-ir", "kernel.pto"], says="func.func")
    yield Step(["demo"], says="equal,")
    yield Step(["nothing"], code=2)


SCRIPT = """import pypto.language as pl

assert "cubelane" in pl.__file__
print("ran with cubelane")
"""


def try_out(programs: Path, folder: Path) -> list[str]:
    """Runs all steps in a folder; a line for each. Raises Failed for the first that goes wrong."""
    python = str(programs / "python")
    where = "import cubelane, pathlib; print(pathlib.Path(cubelane.__file__).parent)"
    place = subprocess.run(
        [python, "-c", where], cwd=folder, env=environment(), capture_output=True, text=True, check=True
    )
    package = Path(place.stdout.strip())
    if programs.parent not in package.parents:
        raise Failed(f"cubelane comes from {package}, not from the environment")
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "kernel.pto").write_text(PTO, encoding="utf-8")
    told: list[str] = []
    for step in steps(package / "examples"):
        done = subprocess.run(
            [str(programs / "cubelane"), *step.words], cwd=folder, env=environment(), capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        line = f"cubelane {' '.join(Path(word).name for word in step.words)}"
        if done.returncode != step.code or step.says not in said or "Traceback" in said:
            raise Failed(f"{line}: exit code {done.returncode}\n{said}")
        told.append(line)
    for name in ("page.html", "explorer.html", "trace.json", "out/summary.json"):
        if not (folder / name).stat().st_size:
            raise Failed(f"{name} is empty")
    return told
