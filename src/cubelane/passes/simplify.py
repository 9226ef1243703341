"""Simplify: operations whose results nobody uses and that have no other effect go (spec/front.md 3.3)."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from cubelane.ir.kernel import functions_of


def removable(op: Operation) -> bool:
    """Whether an op can go once its results are not used: it computes, or it only reads memory."""
    if op.regions or not op.results or any(result.first_use is not None for result in op.results):
        return False
    return op.has_trait(Pure) or _only_reads(op)


def _only_reads(op: Operation) -> bool:
    return op.has_trait(MemoryReadEffect) and not op.has_trait(MemoryWriteEffect)


def remove_unused(block: Block) -> None:
    """Removes dead ops from the end of a block to its start, so that what they alone used goes too."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        for region in op.regions:
            for inner in region.blocks:
                remove_unused(inner)
        if removable(op):
            block.erase_op(op)
        op = before


@dataclass(frozen=True)
class Simplify(ModulePass):
    """Removes dead ops from all functions."""

    name = "simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            for block in function.body.blocks:
                remove_unused(block)
