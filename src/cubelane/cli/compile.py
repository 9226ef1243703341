"""`cubelane compile`: lower, check, simulate against the reference meaning, write artifacts."""

import argparse
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from cubelane import language
from cubelane.analysis.pipeline_stages import left_alone
from cubelane.check.compile_once import cached_compile
from cubelane.check.compiled import CompiledKernel, Verdict, compile_program
from cubelane.check.kernel_file import Judge, read_judge, read_program, split_name
from cubelane.check.summary import HEADER, Summary, summarize
from cubelane.check.timing import timed, unsplit_cycles
from cubelane.cli import micro
from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import add_format, parser, report
from cubelane.cli.options import add_mode, add_target
from cubelane.cli.progress import Progress
from cubelane.emit.numpy_program import emit_module
from cubelane.report.console import show_table
from cubelane.report.terminal import render_json
from cubelane.report.timing import show_timing, timing_json
from cubelane.sim.timeline import Timeline


def main(argv: list[str]) -> int:
    """Runs the command; 0 when the kernel is equal to its references, 1 when it is not."""
    arguments = parser("compile", "Lower a kernel, run it on the simulated core group and compare it with its meaning.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    add_target(arguments)
    add_mode(arguments)
    arguments.add_argument("--golden", metavar="FILE", help="a file that defines inputs() and golden(inputs)")
    arguments.add_argument("--rtol", type=float, help="relative tolerance")
    arguments.add_argument("--atol", type=float, help="absolute tolerance")
    arguments.add_argument("--seed", type=int, default=0, help="seed of the inputs where the file defines none")
    arguments.add_argument(
        "--validate",
        choices=("each", "end", "off"),
        default="end",
        help="run the program after every pass, after the last one, or not at all",
    )
    arguments.add_argument("-o", dest="folder", metavar="DIR", help="write IR, programs and summary here")
    arguments.add_argument("--report", metavar="HTML", help="write the explorer: one page about this compile")
    arguments.add_argument("--trace", metavar="JSON", help="write the timeline for Perfetto or chrome://tracing")
    arguments.add_argument("--no-timing", action="store_true", help="leave the figures of the timing model out")
    arguments.add_argument("--no-cache", action="store_true", help="compile anew, and keep nothing for the next time")
    add_format(arguments)
    given = arguments.parse_args(argv)
    if micro.handles(given.file):
        return micro.run("compile", given)
    with Progress(enabled=given.format == "text") as progress:
        program, judge = read_program(given.file), judge_of(given)
        keep = bool(given.folder or given.report) or given.validate == "each"
        if keep or given.no_cache:
            compiled = compile_program(program, given.target, given.mode, keep_stages=keep, progress=progress)
        else:
            compiled = cached_compile(program, given.target, given.mode, progress=progress)
        progress("simulate")
        verdict = judged(compiled, judge, given)
        summary = summarize(compiled, verdict)
        if given.folder:
            write_artifacts(Path(given.folder), compiled, verdict, summary)
        progress("time")
        timing = timing_of(compiled, judge, given) if verdict.run is not None and not verdict.findings else None
        if given.report:
            page = import_module("cubelane.report.page")  # heavy, and seldom asked for
            html = page.render_compiled(compiled, verdict, judge, str(split_name(given.file)[0]), given.seed)
            write_text(Path(given.report), html)
    show(summary, verdict, given.format, timing, [*verdict.notes, *map(str, left_alone(compiled.module))])
    return 0 if verdict.equal else 1


def judged(compiled: CompiledKernel, judge: Judge, given: argparse.Namespace) -> Verdict:
    """The verdict that `--validate` asks for."""
    if given.validate == "off":
        return Verdict((), {}, None)
    if given.validate == "each":
        return compiled.judge_each(judge, seed=given.seed)
    return compiled.judge(judge, seed=given.seed)


def judge_of(given: argparse.Namespace) -> Judge:
    """Inputs, golden and tolerances: from the kernel file or the golden file, options first."""
    path = Path(given.golden) if given.golden else split_name(given.file)[0]
    judge = read_judge(path)
    rtol = judge.rtol if given.rtol is None else given.rtol
    atol = judge.atol if given.atol is None else given.atol
    return Judge(judge.inputs, judge.golden, rtol, atol)


Timing = tuple[Timeline, int | None]
"""A timeline, and the cycles of the same kernel without a split."""


def timing_of(compiled: CompiledKernel, judge: Judge, given: argparse.Namespace) -> Timing | None:
    """The figures of the timing model, and the trace file where one is asked for."""
    if given.no_timing and not given.trace:
        return None
    timeline = timed(compiled, judge, seed=given.seed).timeline()
    if timeline is None or not timeline.events:
        return None
    if given.trace:
        write_text(Path(given.trace), json.dumps(timeline.chrome_trace(), indent=None, separators=(",", ":")) + "\n")
    return None if given.no_timing else (timeline, unsplit_cycles(compiled, judge, seed=given.seed))


def show(
    summary: Summary, verdict: Verdict, form: str, timing: Timing | None = None, notes: Sequence[str] = ()
) -> None:
    """Prints the table row, every finding and difference, notes, and what the timing model says."""
    if form == "json":
        facts: dict[str, Any] = summary.as_json()
        facts["findings"] = json.loads(render_json(verdict.findings))
        facts["differences"] = {name: str(c) for name, c in verdict.comparisons.items() if not c.equal}
        facts["notes"] = list(notes)
        if timing:
            facts["timing"] = timing_json(*timing)
        print(json.dumps(facts, indent=1))
        return
    if timing:
        show_timing(*timing)
        print()
    show_table(HEADER, [summary.row()])
    for finding in verdict.findings:
        report(finding)
    for name, comparison in verdict.comparisons.items():
        if not comparison.equal:
            print(f"differs from the {name}: {comparison}")
    for note in notes:
        print(note)


def write_artifacts(folder: Path, compiled: CompiledKernel, verdict: Verdict, summary: Summary) -> None:
    """The IR after each pass, the programs of the cores, their PTO IR, a summary; nothing if one has no PTO form."""
    pto = import_module("cubelane.emit.pto_program").pto_texts(compiled.module)
    for name, text in pto.items():
        write_text(folder / "kernels" / f"{name}.pto", text)
    write_text(folder / "00_source.py", language.print_program(compiled.source))
    for number, stage in enumerate(compiled.stages, start=1):
        write_text(folder / f"{number:02d}_after_{stage.name}.py", language.print_program(stage.module))
    write_text(folder / "final.mlir", mlir(compiled.module))
    for name, emitted in emit_module(compiled.module).items():
        write_text(folder / f"{name}_numpy.py", emitted.text)
    facts = summary.as_json()
    facts["findings"] = json.loads(render_json(verdict.findings))
    write_text(folder / "summary.json", json.dumps(facts, indent=1) + "\n")


def mlir(module: ModuleOp) -> str:
    """The module as MLIR text."""
    return f"{module}\n"
