"""`cubelane lower`: the program after a pass, in the DSL or as MLIR."""

from cubelane import language
from cubelane.check.kernel_file import read_program
from cubelane.cli.boundary import parser
from cubelane.cli.options import add_mode, add_target, prepared
from cubelane.passes import pipeline


def main(argv: list[str]) -> int:
    """Runs the command."""
    arguments = parser("lower", "Print the program after a pass.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    arguments.add_argument("--to", metavar="PASS", help="the last pass to run; all of them without it")
    arguments.add_argument("--as", dest="form", choices=("pl", "mlir"), default="pl", help="the text to print")
    add_target(arguments)
    add_mode(arguments)
    given = arguments.parse_args(argv)
    names = list(pipeline.BY_NAME)
    if given.to not in (None, "none", *names):
        arguments.error(f"no pass named {given.to}; passes: {', '.join(names)}")
    module = prepared(read_program(given.file), given)
    if given.to != "none":
        module = pipeline.run(module, until=given.to)
    print(language.print_program(module) if given.form == "pl" else module)
    return 0
