"""`cubelane emit`: the programs of the cores as text."""

from cubelane import language
from cubelane.check.kernel_file import read_program
from cubelane.cli.boundary import parser
from cubelane.cli.options import add_mode, add_target, prepared
from cubelane.emit.numpy_program import print_numpy
from cubelane.passes import pipeline


def main(argv: list[str]) -> int:
    """Runs the command."""
    arguments = parser("emit", "Print the programs of the cores.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    arguments.add_argument(
        "--as", dest="form", choices=("numpy", "pl", "mlir"), default="numpy", help="the text to print"
    )
    add_target(arguments)
    add_mode(arguments)
    given = arguments.parse_args(argv)
    module = pipeline.run(prepared(read_program(given.file), given))
    if given.form == "numpy":
        print(print_numpy(module))
    else:
        print(language.print_program(module) if given.form == "pl" else module)
    return 0
