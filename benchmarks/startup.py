"""Process start to lowered flash attention, and a warm compile of it in one process."""

import subprocess
import sys
from pathlib import Path

from benchmarks.timing import medians, yardstick
from cubelane import language
from cubelane.check.compiled import compile_program

EXAMPLE = Path(__file__).parents[1] / "examples" / "flash_attention.py"


def main() -> dict[str, float]:
    """Prints whole-process and warm medians, and their ratio to an empty interpreter."""
    command = [sys.executable, "-m", "cubelane.cli.main", "lower", str(EXAMPLE), "--target", "a2a3"]
    text = EXAMPLE.read_text(encoding="utf-8")

    def warm() -> None:
        compile_program(language.parse(text, str(EXAMPLE)), "a2a3")

    result = medians(
        {
            "process start to lowered": lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
            "empty interpreter": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
            "warm parse and all passes": warm,
        }
    )
    for name, cost in result.items():
        print(f"  {name:28s} {cost * 1e3:8.1f} ms")
    start, empty, again = result.values()
    print(f"  start / empty interpreter    {start / empty:8.1f}")
    return {"start to lowered / empty interpreter": start / empty, "warm compile / yardstick": again / yardstick()}
