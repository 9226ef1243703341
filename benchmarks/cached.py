"""Flash attention from the compile cache: in one process, and from the folder in a process that knows nothing."""

import os
import tempfile

from xdsl.dialects.builtin import ModuleOp

from benchmarks.startup import EXAMPLE
from benchmarks.timing import processor_seconds
from cubelane import language
from cubelane.check import compile_once
from cubelane.check.compiled import compile_program
from cubelane.ir import stored

ROUNDS = 20


def main() -> dict[str, float]:
    """Prints the times and gives them as shares of the compile itself."""
    program = language.loads(EXAMPLE)
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("CUBELANE_CACHE")
        os.environ["CUBELANE_CACHE"] = folder
        try:
            compile_once.cached_compile(program)
            costs = dict.fromkeys(("compile", "same process", "from the folder"), float("inf"))
            for _ in range(ROUNDS):
                for name, action in (
                    ("compile", lambda: compile_program(program)),
                    ("same process", lambda: compile_once.cached_compile(program)),
                    ("from the folder", lambda: read_anew(program)),
                ):
                    costs[name] = min(costs[name], processor_seconds(action))
        finally:
            os.environ.pop("CUBELANE_CACHE")
            if before is not None:
                os.environ["CUBELANE_CACHE"] = before
    for name, cost in costs.items():
        print(f"  {name:16s} {cost * 1e3:6.2f} ms")
    return {name: cost / costs["compile"] for name, cost in costs.items() if name != "compile"}


def read_anew(program: ModuleOp) -> None:
    """A hit of a process that has compiled nothing."""
    compile_once.forget()
    stored.forget()
    compile_once.cached_compile(program)
