"""Simplify: scalars are computed as far as they are known; the control flow they decide goes (spec/front.md 3.3).

Constants are folded, also where they are extents in types; rules (`rules.py`) remove what changes nothing; ranges
(`analysis/scalar_ranges.py`) prove branches and trips; scalars that nobody uses go. What works on tiles and tensors
stays as its author wrote it, also where it is computed in vain: what is wrong with it must still be said. Requires
SSA, keeps it.
"""

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from cubelane.ir.kernel import functions_of
from cubelane.ir.narrowing import is_one
from cubelane.passes.tile.simplify.control import decided, never_entered
from cubelane.passes.tile.simplify.scalars import SCALAR_OPS, Scalars


def simplify_block(block: Block, scalars: Scalars) -> None:
    """Simplifies the ops of a block in order, and those in their regions."""
    op = block.first_op
    while op is not None:
        following = op.next_op
        if type(op) in SCALAR_OPS:
            scalars.simplify(op)
        elif op.regions:
            following = _simplify_compound(op, scalars) or following
        op = following


def _simplify_compound(op: Operation, scalars: Scalars) -> Operation | None:
    """Simplifies an op with regions; the op that follows if it was control flow and is decided."""
    makers = [v.owner for v in op.operands if isinstance(v.owner, Operation)]
    going_on = decided(op, scalars.ranges)
    if going_on is None:
        for region in op.regions:
            for inner in region.blocks:
                simplify_block(inner, scalars)
        going_on = never_entered(op) if is_one(op, scf.WhileOp) else None
    if going_on is not None:
        for maker in makers:
            scalars.remove(maker)
    return going_on


class Simplify(ModulePass):
    """Scalars, branches and loops of all functions."""

    name = "simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            scalars = Scalars()
            for block in function.body.blocks:
                simplify_block(block, scalars)
