"""`cubelane tune`: all split modes, ring depths and pipeline stages of a kernel, ranked by the timing model."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cubelane.check.kernel_file import read_program, split_name
from cubelane.check.tune import DEPTHS, Cache, Outcome, Task, evaluate, ranked, variants
from cubelane.check.workers import run_all
from cubelane.cli import micro
from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import CommandLineError, add_format, parser
from cubelane.cli.options import add_target
from cubelane.cli.progress import Bar
from cubelane.report.console import show_table

HEADER = ("rank", "mode", "ring depth", "stages", "cycles", "us", "overlap", "behind the best", "verdict")


def main(argv: list[str]) -> int:
    """Runs the command; 1 when no variant is right."""
    arguments = parser("tune", "Compile a kernel in every legal way, judge each by execution, rank them by the model.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    add_target(arguments)
    arguments.add_argument("--depths", default=",".join(map(str, DEPTHS)), help="ring depths to try")
    arguments.add_argument("--jobs", type=int, default=2, help="worker processes")
    arguments.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler to run on instead")
    arguments.add_argument("--seed", type=int, default=0, help="seed of the inputs where the file defines none")
    arguments.add_argument("--cache", metavar="FILE", help="where outcomes are kept (.cubelane/tune-KERNEL.json)")
    arguments.add_argument("--no-cache", action="store_true", help="neither read nor keep outcomes")
    add_format(arguments)
    given = arguments.parse_args(argv)
    if micro.handles(given.file):
        raise CommandLineError("only kernels of the pl language have split modes and rings to try")
    depths = _depths(given.depths)
    path, program = split_name(given.file)[0], read_program(given.file)
    place = None if given.no_cache else Path(given.cache or f".cubelane/tune-{path.stem}.json")
    cache, text = Cache(place, write_text), path.read_text(encoding="utf-8")
    tasks = [Task(given.file, given.target, given.seed, v) for v in variants(program, depths)]
    outcomes = _all(tasks, cache, text, given)
    best_first = ranked(outcomes)
    if given.format == "json":
        print(json.dumps(_as_json(best_first), indent=1))
    else:
        _show(best_first)
    return 0 if best_first and best_first[0].good else 1


def _depths(text: str) -> list[int]:
    try:
        depths = [int(word) for word in text.split(",")]
    except ValueError:
        raise CommandLineError(f"--depths takes numbers with commas between them, not {text!r}") from None
    if not depths or min(depths) < 1:
        raise CommandLineError("a ring has one slot or more")
    return list(dict.fromkeys(depths))


def _all(tasks: Sequence[Task], cache: Cache, text: str, given: Any) -> list[Outcome]:
    """The outcomes of all tasks: remembered ones first, the rest as they end; each is kept at once."""
    found = {task: outcome for task in tasks if (outcome := cache.get(cache.key(task, text))) is not None}
    missing = [task for task in tasks if task not in found]
    with Bar(len(tasks), enabled=given.format == "text") as bar:
        bar(len(found))
        try:
            for task, outcome in run_all(evaluate, missing, given.jobs, given.scheduler):
                found[task] = outcome
                cache.put(cache.key(task, text), outcome)
                bar(len(found), task.variant.label)
        except ImportError:
            raise CommandLineError("--scheduler needs Dask: pip install 'cubelane[cluster]'") from None
    return [found[task] for task in tasks]


def _show(outcomes: Sequence[Outcome]) -> None:
    good = [o for o in outcomes if o.good]
    best = good[0].cycles or 1 if good else 1
    print("ranked by the timing model, an estimate and not a measurement")
    show_table(HEADER, [_row(rank, o, best) for rank, o in enumerate(good, start=1)])
    bad = [o for o in outcomes if not o.good]
    if bad:
        print("\nout of question:")
        for outcome in _grouped(bad):
            print(f"  {outcome}")
    if good:
        print(f"\nbest: {_choice(good[0])}, {good[0].cycles:,} cycles{_margin(good)}")
    else:
        print("\nno way to compile this kernel is right")


def _row(rank: int, outcome: Outcome, best: int) -> tuple[str, ...]:
    assert outcome.cycles is not None
    behind = f"{100 * (outcome.cycles / best - 1):.1f}%"
    stages = str(outcome.stages or "-")
    overlap = f"{100 * (outcome.overlap or 0):.0f}%"
    head = (str(rank), outcome.mode, str(outcome.depth), stages)
    return (*head, f"{outcome.cycles:,}", f"{outcome.microseconds}", overlap, behind, outcome.verdict)


def _grouped(outcomes: Sequence[Outcome]) -> list[str]:
    """One line for all variants that fail for one reason."""
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.mode, outcome.verdict, outcome.reason), []).append(outcome)
    lines: list[str] = []
    for (mode, verdict, reason), members in groups.items():
        depths = ", ".join(str(d) for d in dict.fromkeys(o.depth for o in members))
        lines.append(f"{mode}, ring depth {depths}: {verdict}: {reason}")
    return lines


def _choice(outcome: Outcome) -> str:
    stages = f", {outcome.stages} stages" if outcome.stages else ""
    return f"{outcome.mode}, ring depth {outcome.depth}{stages}"


def _margin(good: Sequence[Outcome]) -> str:
    """How far the next different result is behind."""
    best = good[0]
    others = [o for o in good if o.cycles != best.cycles]
    if not others or not best.cycles or not others[0].cycles:
        return "; no variant differs"
    same = sum(1 for o in good if o.cycles == best.cycles) - 1
    alike = f"; {same} more take as long" if same else ""
    return f"{alike}; the next, {_choice(others[0])}, is {100 * (others[0].cycles / best.cycles - 1):.1f} % behind"


def _as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    good = [o for o in outcomes if o.good]
    return {
        "model": True,
        "best": asdict(good[0]) if good else None,
        "ranked": [asdict(o) for o in good],
        "refused": [asdict(o) for o in outcomes if not o.good],
    }
