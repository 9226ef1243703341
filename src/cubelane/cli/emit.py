"""`cubelane emit`: the programs of the cores as text."""

from cubelane import language
from cubelane.check.kernel_file import read_program
from cubelane.cli import micro
from cubelane.cli.boundary import CommandLineError, add_format, parser
from cubelane.cli.options import add_mode, add_target, prepared, show_text
from cubelane.emit.numpy_program import print_numpy
from cubelane.passes import pipeline


def main(argv: list[str]) -> int:
    """Runs the command."""
    arguments = parser("emit", "Print the programs of the cores.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    arguments.add_argument(
        "--as", dest="form", choices=("numpy", "pl", "mlir", "pto", "vpto"), default="numpy", help="the text to print"
    )
    add_target(arguments)
    add_mode(arguments)
    add_format(arguments)
    given = arguments.parse_args(argv)
    if micro.handles(given.file):
        return micro.run("emit", given)
    if given.form in ("pto", "vpto"):
        raise CommandLineError(f"--as {given.form} is for PTODSL files and PTO texts")
    module = pipeline.run(prepared(read_program(given.file), given))
    texts = {"numpy": print_numpy, "pl": language.print_program, "mlir": str}
    show_text(texts[given.form](module), given)
    return 0
