"""Runs benchmarks and compares what they read with what is stored: `python -m benchmarks [NAME ...]`.

Exit codes: 0 nothing is worse than stored beyond the tolerance, 1 something is, 2 the command line is wrong.
"""

import argparse
import contextlib
import importlib
import json
import sys
from collections.abc import Mapping, Sequence

from benchmarks.baseline import PATH, TOLERANCE, Baseline, Judgement, judged, machine

NAMES = {
    "startup": "process start to lowered flash attention, warm compile",
    "cached": "the same kernel from the compile cache",
    "language": "import of the language; parse and compile per operation against the length of a kernel",
    "chains": "parse and all passes against the length of a chain of vector ops",
    "split_pass": "LowerAutoVectorSplit alone against the number of ops",
    "simulator": "the simulated core group against block-wise NumPy",
    "pto": "PTO IR: read, sections, split against the number of ops",
    "micro_machine": "the micro-op machine against NumPy, tracing per op",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command."""
    given = arguments().parse_args(argv)
    if given.list:
        width = max(map(len, NAMES))
        print("\n".join(f"{name.ljust(width)}  {about}" for name, about in NAMES.items()))
        return 0
    names = given.names or list(NAMES)
    stored = Baseline.read()
    with contextlib.redirect_stdout(sys.stderr if given.json else sys.stdout):
        ratios = run(names)
        verdicts = judged(stored.ratios, ratios, given.tolerance)
        if any(v.worse for v in verdicts) and not given.save:
            print("read again what is worse: other work on the machine may have been in the way", flush=True)
            again = run(sorted({v.benchmark for v in verdicts if v.worse}))
            ratios |= {name: min(value, ratios[name]) for name, value in again.items()}
            verdicts = judged(stored.ratios, ratios, given.tolerance)
    if given.save:
        Baseline.now(stored.ratios | ratios).write()
    if given.json:
        facts = {"machine": machine(), "ratios": ratios, "worse": [v.name for v in verdicts if v.worse]}
        print(json.dumps(facts, indent=1))
    else:
        show(verdicts, stored, given.tolerance)
    return 0 if given.save or not any(v.worse for v in verdicts) else 1


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*NAMES, []], help="which benchmarks (all)")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and run none")
    parser.add_argument("--json", action="store_true", help="print the ratios as JSON, the tables to standard error")
    parser.add_argument("--save", action="store_true", help=f"store the ratios in benchmarks/{PATH.name}")
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help="how much larger a ratio may be than stored (%(default)s)"
    )
    return parser


def run(names: Sequence[str]) -> dict[str, float]:
    """What the benchmarks read, as `BENCHMARK: FIGURE`; each prints its own table."""
    result: dict[str, float] = {}
    for name in names:
        print(name, flush=True)
        ratios: Mapping[str, float] = importlib.import_module(f"benchmarks.{name}").main()
        result |= {f"{name}: {figure}": round(value, 3) for figure, value in ratios.items()}
    return result


def show(verdicts: Sequence[Judgement], stored: Baseline, tolerance: float) -> None:
    """A line for each ratio."""
    print(f"\nratios, stored on {stored.date} ({stored.machine}); worse is more than {tolerance:.0%} above")
    width = max((len(v.name) for v in verdicts), default=0)
    for verdict in verdicts:
        before = "-" if verdict.stored is None else f"{verdict.stored:.2f}"
        print(f"  {verdict.name.ljust(width)}  {verdict.read:8.2f}  {before:>8}  {verdict.word}")


if __name__ == "__main__":
    raise SystemExit(main())
