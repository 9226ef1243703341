"""Small kernels for the tests of the language."""

from textwrap import indent

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from cubelane.analysis.equality import structurally_equal
from cubelane.ir import kernel
from cubelane.language import parse, print_program

TILES = """x: pl.Tensor[[32, 64], pl.FP32], y: pl.Tensor[[32, 64], pl.FP32], n: pl.Scalar[pl.INDEX],
    w: pl.Scalar[pl.INT32], u: pl.Scalar[pl.UINT32], f: pl.Scalar[pl.FP32], b: pl.Scalar[pl.BOOL],
    out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]"""


def in_core(body: str, parameters: str = TILES, head: str = "", returns: str = "") -> str:
    """A program with one in-core function `k`."""
    decorator = "@pl.function(type=pl.FunctionType.InCore)"
    return _program(body, parameters, head, returns, decorator)


def opaque(body: str, parameters: str = TILES, head: str = "", returns: str = "") -> str:
    """A program with one opaque function `k`."""
    return _program(body, parameters, head, returns, "@pl.function")


def _program(body: str, parameters: str, head: str, returns: str, decorator: str) -> str:
    lines = [
        "import pypto.language as pl",
        head,
        "@pl.program",
        "class P:",
        f"    {decorator}",
        f"    def k(self, {parameters}){returns}:",
        indent(body.strip("\n"), "        "),
    ]
    return "\n".join(lines) + "\n"


def ops(module: ModuleOp, name: str) -> list[Operation]:
    """All ops of a name."""
    return [op for op in module.walk() if op.name == name]


def statements(module: ModuleOp) -> list[str]:
    """Names of the ops of the first function's body, constants left out."""
    function = kernel.functions_of(module)[0]
    return [op.name for op in function.body.block.ops if op.name != "arith.constant"]


def printed(body: str) -> list[str]:
    """The printed statements of an in-core body."""
    lines = print_program(parse(in_core(body))).splitlines()
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def k("))
    return [line[8:] for line in lines[start + 1 :]]


def round_trip(text: str) -> ModuleOp:
    """Parses, verifies, prints and parses again; the two programs must be equal."""
    module = parse(text)
    module.verify()
    again = parse(print_program(module), "printed.py")
    again.verify()
    difference = structurally_equal(module, again)
    assert difference is None, f"{difference}\n{print_program(module)}"
    assert print_program(again) == print_program(module)
    return module
