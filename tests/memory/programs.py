"""Programs of one core as MLIR text, for the tests of this folder."""

from textwrap import indent

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from cubelane.ir.context import shared_context
from cubelane.ir.kernel import functions_of
from cubelane.ir.types import MemorySpace, TileType
from cubelane.targets import A5, Target

T = "!tile.tile<8x16xf32, vec>"
"""A tile of 512 bytes."""
HALF = "!tile.tile<8x16xf16, vec>"
"""A tile of 256 bytes."""


def core(body: str, kind: str = "aiv", target: str = "a5", arguments: str = "") -> ModuleOp:
    """A module with one function of that kind. `%c0`, `%c1`, `%c3` are index constants."""
    head = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 3))
    text = (
        f'builtin.module attributes {{kernel.target = "{target}"}} {{\n'
        f"  func.func @f({arguments}) attributes {{kernel.kind = #kernel.kind<{kind}>}} {{\n"
        f"{indent(head + chr(10) + body.strip(), '    ')}\n    func.return\n  }}\n}}\n"
    )
    module = Parser(shared_context(), text).parse_module()
    module.verify()
    return module


def function(module: ModuleOp) -> FuncOp:
    """The function of the module."""
    return functions_of(module)[0]


def full(name: str, kind: str = T) -> str:
    """A tile with ones."""
    return f'%{name} = "tile.full"() <{{value = 1.0 : f64}}> : () -> {kind}\n'


def unary(name: str, source: str, word: str = "neg", kind: str = T) -> str:
    """A tile made cell by cell from another."""
    return f'%{name} = "tile.{word}"(%{source}) : ({kind}) -> {kind}\n'


def binary(name: str, a: str, b: str, kind: str = T) -> str:
    """A sum."""
    return f'%{name} = "tile.add"(%{a}, %{b}) : ({kind}, {kind}) -> {kind}\n'


def to_half(name: str, source: str) -> str:
    """A tile of another element type: it cannot take the place of its operand."""
    return f'%{name} = "tile.cast"(%{source}) <{{mode = "rint"}}> : ({T}) -> {HALF}\n'


def addresses(module: ModuleOp) -> dict[str, int | None]:
    """The address of every tile by name."""
    found: dict[str, int | None] = {}
    for op in module.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if isinstance(value.type, TileType):
                found[value.name_hint or ""] = value.type.address
    return found


def small(**bytes_of: int) -> Target:
    """The machine with less memory, e.g. `vec=1024`."""
    return A5._replace(capacity={**A5.capacity, **{MemorySpace(k): v for k, v in bytes_of.items()}})
