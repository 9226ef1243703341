"""Short kernels as MLIR text for the tests of the front passes."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from cubelane.ir.context import new_context
from cubelane.ir.kernel import functions_of
from cubelane.passes import run
from cubelane.passes.pipeline import TILE_STAGE, Pass

ALIASES = """
!col = !gm.tensor<32x1xf32>
!row = !gm.tensor<1x64xf32>
!mat = !gm.tensor<32x64xf32>
!lhs = !gm.tensor<32x64xf16>
!rhs = !gm.tensor<64x64xf16>
"""


def program(parameters: str, body: str, returns: str = "") -> ModuleOp:
    """A program with one InCore function `k`; `returns` is `values : types`."""
    result = returns.split(":")[1].strip() if returns else ""
    arrow = f"-> ({result})" if result else ""
    text = f"""{ALIASES}
    builtin.module attributes {{kernel.target = "a2a3"}} {{
      func.func @k({parameters}) {arrow} attributes {{kernel.kind = #kernel.kind<incore>}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        {body}
        func.return {returns}
      }}
    }}"""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def verified(_: Pass, module: ModuleOp) -> None:
    """Checks the program a pass left."""
    module.verify()


def lower(module: ModuleOp, until: str = TILE_STAGE) -> FuncOp:
    """Runs the passes, checking the IR after each; the first function."""
    run(module, until, verified)
    return functions_of(module)[0]


def ops(function: FuncOp, name: str) -> list[Operation]:
    """The ops of a name, in program order."""
    return list(_ops(function, name))


def _ops(function: FuncOp, name: str) -> Iterator[Operation]:
    return (op for op in function.walk() if op.name == name)


def names(function: FuncOp) -> list[str]:
    """The names of the tile ops, in program order, without the dialect."""
    return [op.name.removeprefix("tile.") for op in function.walk() if op.name.startswith("tile.")]
