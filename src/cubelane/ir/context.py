"""The xDSL context that knows all dialects of the kernel, tensor and tile level."""

from functools import cache

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.scf import Scf

from cubelane.ir.calls import KernelFunc
from cubelane.ir.gm import Gm
from cubelane.ir.kernel import Kernel
from cubelane.ir.tile import System, Tile

DIALECTS = (Builtin, KernelFunc, Scf, Arith, Kernel, Gm, Tile, System)


@cache
def shared_context() -> Context:
    """One context for all passes of the process; nobody may load more into it."""
    return new_context()


def new_context() -> Context:
    """A context with builtin, func, scf, arith, kernel, gm, tile and system."""
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    return context
