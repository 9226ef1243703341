"""`cubelane emit`: the programs of the cores as text."""

from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

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
    if given.form == "vpto":
        raise CommandLineError("--as vpto is for PTODSL files and PTO texts; print the kernel with --as pto first")
    module = pipeline.run(prepared(read_program(given.file), given))
    texts = {"numpy": print_numpy, "pl": language.print_program, "mlir": str, "pto": pto_text}
    show_text(texts[given.form](module), given)
    return 0


def pto_text(module: ModuleOp) -> str:
    """The PTO IR of all groups of cores, one module behind the other."""
    program = import_module("cubelane.emit.pto_program")  # the PTO dialect is large, and the other texts do without
    return "".join(program.pto_texts(module).values()).rstrip("\n")
