"""UnrollLoops: the trips of `pl.unroll` are written one after the other (spec/front.md 3.1).

Requires constant bounds, which the language asks for. A scope in the body becomes one kernel a trip.
"""

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.scalar_folding import constant
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import LOOP, LoopAttr, LoopFlavour, functions_of
from cubelane.ir.surface import constant_of
from cubelane.ir.walk import ops_in, ops_of
from cubelane.passes.tile.placement import insert, replace

MAX_OPS = 100_000
"""How many ops one loop may become."""
UNROLL = LoopAttr(LoopFlavour.UNROLL)


def unroll(loop: scf.ForOp) -> None:
    """Writes the trips of one loop in its place."""
    bounds = [constant_of(v) for v in (loop.lb, loop.ub, loop.step)]
    if None in bounds or bounds[2] == 0:
        raise refuse(
            loop, "pl.unroll needs constant bounds", instead="for i in pl.range(...)", code="unroll-at-run-time"
        )
    numbers = range(*(b for b in bounds if b is not None))
    block = loop.body.block
    size = len(ops_in(block))
    if size * len(numbers) > MAX_OPS:
        raise refuse(
            loop,
            f"pl.unroll would write {len(numbers)} trips of {size} operations one after the other",
            f"a kernel may grow by {MAX_OPS} operations",
            instead="for i in pl.range(...)",
            code="unroll-too-large",
        )
    end = block.last_op
    assert end is not None
    carried = list(loop.iter_args)
    for number in numbers:
        variable = insert(constant(number, block.args[0].type), loop).results[0]
        copies: dict[SSAValue, SSAValue] = dict(zip(block.args, (variable, *carried), strict=True))
        for op in block.ops:
            if op is not end:
                copy = op.clone(copies)
                assert loop.parent is not None
                loop.parent.insert_op_before(copy, loop)
        carried = [copies.get(v, v) for v in end.operands]
    replace(loop, *carried)


def unrolled_loops(function: FuncOp) -> list[scf.ForOp]:
    """The loops of a function that are to be unrolled, inner ones first."""
    return [loop for loop in reversed(ops_of(function, scf.ForOp)) if loop.attributes.get(LOOP) == UNROLL]


class UnrollLoops(ModulePass):
    """Every `pl.unroll` of all functions."""

    name = "unroll-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            for loop in unrolled_loops(function):
                unroll(loop)
