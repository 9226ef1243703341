"""`cubelane demo`: every example, on both targets, in every legal split mode."""

import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_judge, read_program
from cubelane.check.summary import HEADER, summarize
from cubelane.cli.boundary import CommandLineError, add_format, parser
from cubelane.cli.progress import Bar
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes.tile.choose_split_mode import MODES
from cubelane.report.console import show_table
from cubelane.report.terminal import render
from cubelane.targets import TARGETS


@dataclass(frozen=True)
class Outcome:
    """What became of one kernel on one target in one mode: a row, or a refusal."""

    row: tuple[str, ...] | None = None
    good: bool = False
    refusal: str = ""
    label: str = ""


def main(argv: list[str]) -> int:
    """Runs the command; 0 when every legal combination is equal to its references."""
    arguments = parser("demo", "Compile every kernel of a folder on both targets in every legal split mode.")
    arguments.add_argument("folder", nargs="?", help="the folder with the kernel files (the examples)")
    arguments.add_argument("--jobs", type=int, default=2, help="how many kernels to compile at once")
    arguments.add_argument("--refusals", action="store_true", help="print each refusal in full")
    add_format(arguments)
    given = arguments.parse_args(argv)
    folder = Path(given.folder) if given.folder else examples()
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    if not files:
        raise CommandLineError(f"no kernel files in {folder}")
    start = time.perf_counter()
    outcomes: list[Outcome] = []
    with Bar(len(files), given.format == "text") as bar, ProcessPoolExecutor(max_workers=given.jobs) as workers:
        for done, (file, part) in enumerate(zip(files, workers.map(compile_everywhere, files), strict=True), start=1):
            outcomes += part
            bar(done, file.stem)
    seconds = time.perf_counter() - start
    if given.format == "json":
        print(json.dumps(as_json(outcomes, seconds), indent=1))
    else:
        show(outcomes, given.refusals, seconds)
    return 0 if all(outcome.good for outcome in outcomes if outcome.row) else 1


def examples() -> Path:
    """The examples here, else those that came with the package."""
    here, installed = Path("examples"), Path(__file__).parents[1] / "examples"
    return installed if not here.is_dir() and installed.is_dir() else here


def compile_everywhere(path: Path) -> list[Outcome]:
    """One kernel file on all targets in all modes."""
    try:
        program, judge = read_program(str(path)), read_judge(path)
    except Diagnostic as problem:
        return [Outcome((path.stem, "-", "-", "-", "-", "-", "-", problem.code), refusal=render(problem))]
    outcomes: list[Outcome] = []
    for target in TARGETS:
        for mode in MODES:
            label = f"{path.stem} {target} {mode}"
            try:
                compiled = compile_program(program, target, mode)
            except Diagnostic as problem:
                outcomes.append(Outcome(refusal=render(problem), label=label))
                continue
            verdict = compiled.judge(judge)
            outcomes.append(Outcome(summarize(compiled, verdict).row(), verdict.equal, label=label))
    return outcomes


def show(outcomes: list[Outcome], in_full: bool, seconds: float) -> None:
    """The table, the refused combinations, and a last line with the counts."""
    rows = [outcome.row for outcome in outcomes if outcome.row]
    refused = [outcome for outcome in outcomes if not outcome.row]
    show_table(HEADER, rows)
    if refused:
        print("\nrefused, because the lanes cannot share the kernel out that way:")
        for outcome in refused:
            reason = outcome.refusal if in_full else outcome.refusal.splitlines()[0]
            print(f"  {outcome.label}: {reason}")
    good = sum(outcome.good for outcome in outcomes)
    print(f"\n{good} of {len(rows)} equal, {len(refused)} refused, {seconds:.1f} s")


def as_json(outcomes: list[Outcome], seconds: float) -> dict[str, Any]:
    """The same for tools."""
    return {
        "rows": [dict(zip(HEADER, o.row, strict=True)) for o in outcomes if o.row],
        "refused": [{"what": o.label, "reason": o.refusal.splitlines()[0]} for o in outcomes if not o.row],
        "equal": sum(o.good for o in outcomes),
        "seconds": round(seconds, 1),
    }
