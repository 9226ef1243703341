"""Runs the benchmarks named on the command line, or all of them."""

import importlib
import sys

NAMES = ("startup", "chains", "split_pass", "simulator", "pto", "micro_machine")


def main() -> None:
    """Runs each benchmark module's `main`."""
    for name in sys.argv[1:] or NAMES:
        print(name, flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
