"""Wheel and sdist, and what must be in them."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Built(NamedTuple):
    """The two files of a release."""

    wheel: Path
    sdist: Path


def build(folder: Path) -> Built:
    """Builds both into an empty folder, with the build backend that is installed."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t", "sdist", "-t", "wheel"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


def contents(path: Path) -> set[str]:
    """The files in a wheel, or in a sdist without the folder that holds them all."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    with tarfile.open(path) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}


def wanted_in_wheel() -> set[str]:
    """Every file of the package, and the examples beside it."""
    package = {str(path.relative_to(ROOT / "src")) for path in _files(ROOT / "src" / "cubelane")}
    return package | {f"cubelane/{path.relative_to(ROOT)}" for path in _files(ROOT / "examples")}


def wanted_in_sdist() -> set[str]:
    """What it takes to build and to test."""
    folders = ("src", "tests", "examples", "docs", "benchmarks", "release")
    files = {str(path.relative_to(ROOT)) for folder in folders for path in _files(ROOT / folder)}
    return files | {"pyproject.toml", "Makefile", "README.md", "README.zh-CN.md", "CHANGELOG.md", "LICENSE"}


def _files(folder: Path) -> list[Path]:
    skipped = ("__pycache__", "Output")
    return [p for p in folder.rglob("*") if p.is_file() and not any(part in skipped for part in p.parts)]
