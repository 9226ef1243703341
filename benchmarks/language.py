"""Start-up of the language, and what parsing and compiling cost per operation, against the length of the kernel."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.chains import chain_kernel
from benchmarks.timing import growth_exponent
from cubelane import language
from cubelane.check.compiled import compile_program

SIZES = (100, 1000, 10_000)
IMPORT = "import cubelane.language"


def processor_seconds(action: Callable[[], object]) -> float:
    """Processor time of one call, and of the processes that it waited for."""
    before = os.times()
    action()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def start_up(code: str, runs: int = 20) -> float:
    """Smallest processor time of an interpreter that runs a line; os.times ticks, so several runs are read at once."""
    command = [sys.executable, "-c", code]

    def several() -> None:
        for _ in range(5):
            subprocess.run(command, check=True)

    return min(processor_seconds(several) for _ in range(runs // 5)) / 5


def cost(action: Callable[[], object], rounds: int) -> float:
    """Smallest processor time of a call in this process."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def of_size(size: int) -> tuple[float, float]:
    """Seconds to parse and to compile a kernel of `size` operations."""
    text, rounds = chain_kernel(size), 1 if size > 1000 else 5
    program = language.parse(text)
    return cost(lambda: language.parse(text), rounds), cost(lambda: compile_program(program, "a2a3"), rounds)


def main() -> dict[str, float]:
    """Prints the start-up, the cost per length for parsing and for all passes, and the growth exponents."""
    start, empty = start_up(IMPORT), start_up("")
    print(f"  {IMPORT}  {start * 1e3:6.0f} ms, an empty interpreter {empty * 1e3:.0f} ms")
    of_size(10)
    costs = [of_size(size) for size in SIZES]
    for size, pair in zip(SIZES, costs, strict=True):
        parse, compiled = (f"{c * 1e3:7.1f} ms, {c / size * 1e6:4.0f} us per op" for c in pair)
        print(f"  {size:6d} ops  parse {parse}  compile {compiled}")
    ratios = {"import / empty interpreter": start / empty}
    for name, times in zip(("parse", "compile"), zip(*costs, strict=True), strict=True):
        ratios[f"growth exponent of {name}"] = growth_exponent(SIZES, times)
        print(f"  growth exponent of {name} {ratios[f'growth exponent of {name}']:.2f}")
    return ratios
