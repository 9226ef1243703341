"""`cubelane report`: the explorer, one HTML file about one kernel."""

import argparse
import json
from pathlib import Path

from cubelane.check.compiled import Stage, compile_program
from cubelane.check.kernel_file import read_judge, read_program, split_name
from cubelane.cli import micro
from cubelane.cli.artifacts import write_text
from cubelane.cli.boundary import CommandLineError, add_format, parser, report
from cubelane.cli.options import add_mode, add_target, prepared
from cubelane.cli.progress import Progress
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes import pipeline
from cubelane.report.page import Subject, render, render_compiled


def main(argv: list[str]) -> int:
    """Runs the command; 1 when the kernel is refused or wrong (the page is written all the same)."""
    arguments = parser("report", "Write the explorer of a kernel: source, IR, lanes, timeline, memory, verdicts.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    arguments.add_argument("-o", dest="output", metavar="HTML", default="report.html", help="the page to write")
    arguments.add_argument("--seed", type=int, default=0, help="seed of the inputs where the file defines none")
    add_target(arguments)
    add_mode(arguments)
    add_format(arguments)
    given = arguments.parse_args(argv)
    if micro.handles(given.file):
        raise CommandLineError("the explorer shows kernels of the pl language; for PTO files use compile or check")
    path = split_name(given.file)[0]
    as_json = given.format == "json"
    with Progress(enabled=not as_json) as progress:
        program, judge = read_program(given.file), read_judge(path)
        try:
            compiled = compile_program(program, given.target, given.mode, keep_stages=True, progress=progress)
        except Diagnostic as problem:
            write_text(Path(given.output), render(refused(given, problem)))
            report(problem, as_json=as_json)
            if not as_json:
                print(f"wrote {given.output}, which shows how far the kernel came")
            return 1
        progress("simulate")
        verdict = compiled.judge(judge, seed=given.seed)
        progress("draw")
        write_text(Path(given.output), render_compiled(compiled, verdict, judge, str(path), given.seed))
    if as_json:
        print(json.dumps({"wrote": given.output, "kernel": compiled.name, "verdict": verdict.word}))
    else:
        print(f"wrote {given.output}: {compiled.name}, {verdict.word}")
    return 0 if verdict.equal else 1


def refused(given: argparse.Namespace, problem: Diagnostic) -> Subject:
    """What there is to see of a refused kernel: the program after each pass that ran."""
    source = prepared(read_program(given.file), given)
    stages: list[Stage] = []
    try:
        pipeline.run(source.clone(), after=lambda step, module: stages.append(Stage(step.name, module.clone())))
    except Diagnostic as again:
        problem = again
    return Subject(source, given.target, stages, str(split_name(given.file)[0]), refusal=problem)
