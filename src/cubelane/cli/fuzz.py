"""`cubelane fuzz`: random kernels, every pass validated, failing ones made small and written as kernel files."""

import argparse
import json
from pathlib import Path
from typing import Any

from cubelane.check.fuzz import coverage
from cubelane.check.fuzz.campaign import Campaign, State, judge_file
from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import CommandLineError, add_format, parser
from cubelane.cli.progress import Progress
from cubelane.report.console import show_table
from cubelane.targets import TARGETS


def main(argv: list[str]) -> int:
    """Runs the command; 1 when there is a finding."""
    arguments = parser("fuzz", "Judge random kernels, or the named kernel files, after every pass on every machine.")
    arguments.add_argument("files", nargs="*", metavar="FILE", help="kernel files to judge instead of random kernels")
    arguments.add_argument("--time", type=float, metavar="SECONDS", help="stop after this time (60 without --count)")
    arguments.add_argument("--count", type=int, metavar="N", help="stop after so many programs")
    arguments.add_argument("--seed", type=int, default=0, help="which programs; a run goes on behind the last one")
    arguments.add_argument("--jobs", type=int, default=1, help="worker processes")
    arguments.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler to run on instead")
    arguments.add_argument("--target", choices=sorted(TARGETS), action="append", help="only this machine (all)")
    arguments.add_argument("-o", dest="folder", default=".cubelane/fuzz", metavar="DIR", help="state and findings")
    arguments.add_argument("--restart", action="store_true", help="forget what the folder knows about the seed")
    add_format(arguments)
    given = arguments.parse_args(argv)
    targets = tuple(given.target or TARGETS)
    if given.files:
        return judge_files([Path(f) for f in given.files], targets, given.format)
    if not (given.count is None or given.count > 0) or not (given.time is None or given.time > 0) or given.jobs < 1:
        raise CommandLineError("--time, --count and --jobs take numbers above 0")
    with Progress(enabled=given.format == "text") as progress:
        state = campaign(given, targets, progress)
    if given.format == "json":
        print(json.dumps(as_json(state), indent=1))
    else:
        show(state)
    return 1 if state.findings else 0


def campaign(given: argparse.Namespace, targets: tuple[str, ...], progress: Progress) -> State:
    """Runs the random kernels."""
    seconds = 60.0 if given.time is None and given.count is None else given.time
    folder, jobs, scheduler = Path(given.folder), given.jobs, given.scheduler
    run = Campaign(
        folder, given.seed, write_text, seconds, given.count, jobs, scheduler, targets=targets, progress=progress
    )
    if given.restart:
        run.state = State(given.seed)
    try:
        return run.run()
    except ImportError:
        raise CommandLineError("--scheduler needs Dask: pip install 'cubelane[cluster]'") from None


def judge_files(files: list[Path], targets: tuple[str, ...], form: str) -> int:
    """The verdict on each kernel file."""
    outcomes = [(path, judge_file(path, targets)) for path in files]
    if form == "json":
        facts = [
            {"file": str(path), "verdicts": o.verdicts, "rejected": o.rejected, "findings": [*map(str, o.findings)]}
            for path, o in outcomes
        ]
        print(json.dumps(facts, indent=1))
    else:
        for path, outcome in outcomes:
            words = [f"{target}: {word}" for target, word in outcome.verdicts.items()]
            words += [f"refused as written: {outcome.rejected}"] if outcome.rejected else []
            print(f"{path}: {'; '.join([*words, *map(str, outcome.findings)])}")
    return 1 if any(outcome.findings for _, outcome in outcomes) else 0


def show(state: State) -> None:
    """The tables of a run."""
    families = sorted({key.partition("|")[0] for key in state.tallies})
    words = ("equal", "refused", "rejected", "finding")
    lines = [(f, *(str(state.tallies.get(f"{f}|{w}", 0)) for w in words)) for f in families]
    lines.append(("all", *(str(state.count(word)) for word in words)))
    print(f"seed {state.seed}: {state.programs} programs in {state.seconds:.0f} s, the next is number {state.next}\n")
    show_table(("programs", *words), lines)
    if state.refusals:
        print()
        often = sorted(state.refusals.items(), key=lambda item: (-item[1], item[0]))
        show_table(("refused", "code", "programs"), [(*key.split("|"), str(n)) for key, n in often])
    print("\nprograms in which an op stood in a situation, summed over the ops of a behaviour:")
    show_table(coverage.HEADER, coverage.rows(state.coverage))
    missing = coverage.never_met(state.coverage)
    if missing:
        print(f"\nnever met: {', '.join(missing)}")
    for key, count in sorted(state.signatures.items()) if state.findings else ():
        print(f"\n{count} times: {key}")
    for path, words_ in state.findings.items():
        print(f"\n{words_}\n    cubelane fuzz {path}")
    print(f"\n{len(state.findings)} open findings")


def as_json(state: State) -> dict[str, Any]:
    """The same facts for tools."""
    facts = json.loads(state.as_text())
    kinds = coverage.behaviours()
    by_op: dict[str, Any] = {}
    for key, count in sorted(state.coverage.items()):
        name, _, situation = key.partition("|")
        entry = by_op.setdefault(name, {"behaviour": kinds.get(name, ""), "situations": {}})
        entry["situations"][situation] = count
    facts["coverage"] = by_op
    facts["never_met"] = coverage.never_met(state.coverage)
    return facts
