"""A kernel file as its author wrote it: the kernels in it, and how to judge them.

The kernels are read from the text, nothing is executed for that. `inputs()`, `golden(inputs)`, `RTOL` and `ATOL` are
Python, so they need the file (or the one named by `--golden`) to be run; only that run executes anything.
"""

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp

from cubelane import compat, language
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.text_file import read_text

Arrays = dict[str, Any]


class Judge(NamedTuple):
    """What a kernel file says about right results: its inputs, its golden, its tolerances."""

    inputs: Callable[[], Arrays] | None = None
    golden: Callable[[Arrays], Arrays] | None = None
    rtol: float | None = None
    atol: float | None = None

    @property
    def states_tolerance(self) -> bool:
        """Whether the author says what counts as equal."""
        return self.rtol is not None or self.atol is not None


def split_name(spec: str) -> tuple[Path, str | None]:
    """`FILE[:KERNEL]` as the path and the kernel's name."""
    head, colon, tail = spec.rpartition(":")
    if colon and tail.isidentifier() and not Path(spec).exists():
        return Path(head), tail
    return Path(spec), None


def read_program(spec: str) -> ModuleOp:
    """The program `FILE[:KERNEL]` names. Raises OSError for a file that cannot be read, else a Diagnostic."""
    path, wanted = split_name(spec)
    text = read_text(path)
    # what a kernel prints while it is read is no part of what a command prints
    with contextlib.redirect_stdout(sys.stderr):
        try:
            return language.parse(text, str(path), wanted)
        except language.NeedsArguments:
            inputs = read_judge(path).inputs
            if inputs is None:
                raise
            return language.parse(text, str(path), wanted, inputs())


def read_judge(path: Path) -> Judge:
    """Runs the file and takes what it defines of `inputs`, `golden`, `RTOL` and `ATOL`."""
    namespace = vars(run_file(path))
    return Judge(
        namespace.get("inputs"),
        namespace.get("golden"),
        namespace.get("RTOL"),
        namespace.get("ATOL"),
    )


def run_file(path: Path) -> ModuleType:
    """Imports a user's file. `pypto` resolves to cubelane unless a real one is installed."""
    compat.install()
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    name = f"cubelane_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Diagnostic("the file is no Python file", Location(str(path)), code="not-python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Diagnostic:
        raise
    except Exception as problem:
        raise user_error(problem, path) from problem
    finally:
        sys.path.remove(folder)
        sys.modules.pop(name, None)
    return module


def user_error(problem: Exception, path: Path) -> Diagnostic:
    """An exception of the user's own Python as a diagnostic at the line of their file that raised it."""
    if isinstance(problem, SyntaxError):
        return Diagnostic(
            str(problem.msg), Location(str(path), problem.lineno or 0, problem.offset or 1), code="syntax"
        )
    traceback = import_module("traceback")  # loaded for a failure only: commands must start quickly
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if f.filename == str(path)]
    line = (frames[-1].lineno or 0) if frames else 0
    column = ((frames[-1].colno or 0) + 1) if frames else 0
    return Diagnostic(f"{type(problem).__name__}: {problem}", Location(str(path), line, column), code="user-code")
