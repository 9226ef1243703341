"""`cubelane lower`: the program after a pass, or what each pass changed, in the DSL or as MLIR."""

import argparse
from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from cubelane import language
from cubelane.check.kernel_file import read_program
from cubelane.cli.boundary import add_format, parser
from cubelane.cli.options import add_mode, add_target, prepared, show_text
from cubelane.passes import pipeline


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
        import_module("cubelane.cli.lower_diff").show_differences(module, given, text_of)
        return 0
    if given.to != "none":
        module = pipeline.run(module, until=given.to)
    show_text(text_of(module, given), given, after=given.to)
    return 0


def text_of(module: ModuleOp, given: argparse.Namespace) -> str:
    """The program in the form that was asked for."""
    return language.print_program(module) if given.form == "pl" else str(module)
