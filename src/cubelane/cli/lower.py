"""`cubelane lower`: the program after a pass, or what each pass changed, in the DSL or as MLIR."""

import argparse
import json

from xdsl.dialects.builtin import ModuleOp

from cubelane import language
from cubelane.check.kernel_file import read_program
from cubelane.cli.boundary import add_format, parser
from cubelane.cli.options import add_mode, add_target, prepared, show_text
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes import pipeline
from cubelane.report.console import show_lines
from cubelane.report.diff import Difference, difference, lines_of


def main(argv: list[str]) -> int:
    """Runs the command."""
    arguments = parser("lower", "Print the program after a pass, or what each pass changed.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    arguments.add_argument("--to", metavar="PASS", help="the last pass to run; all of them without it")
    arguments.add_argument("--as", dest="form", choices=("pl", "mlir"), default="pl", help="the text to print")
    arguments.add_argument("--diff", action="store_true", help="print what each pass changed, not the program")
    add_format(arguments)
    add_target(arguments)
    add_mode(arguments)
    given = arguments.parse_args(argv)
    names = list(pipeline.BY_NAME)
    if given.to not in (None, "none", *names):
        arguments.error(f"no pass named {given.to}; passes: {', '.join(names)}")
    module = prepared(read_program(given.file), given)
    if given.diff:
        show_differences(module, given)
        return 0
    if given.to != "none":
        module = pipeline.run(module, until=given.to)
    show_text(text_of(module, given), given, after=given.to)
    return 0


def text_of(module: ModuleOp, given: argparse.Namespace) -> str:
    """The program in the form that was asked for."""
    return language.print_program(module) if given.form == "pl" else str(module)


def show_differences(module: ModuleOp, given: argparse.Namespace) -> None:
    """Prints what each pass changed, also where a later pass refuses the program."""
    found: list[Difference] = []
    try:
        run_passes(module, given, found)
    except Diagnostic:
        if given.format == "text":
            show_lines(lines_of(found))
        raise
    if given.format == "json":
        print(json.dumps([d.as_json() for d in found], indent=1))
    else:
        show_lines(lines_of(found))


def run_passes(module: ModuleOp, given: argparse.Namespace, found: list[Difference]) -> None:
    """Runs the passes; adds what each one changed."""
    state = ["as written", text_of(module, given)]

    def after(step: pipeline.Pass, now: ModuleOp) -> None:
        text = text_of(now, given)
        found.append(difference(state[0], step.name, state[1], text))
        state[:] = [step.name, text]

    if given.to != "none":
        pipeline.run(module, until=given.to, after=after)
