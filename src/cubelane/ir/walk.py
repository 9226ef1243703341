"""Walks over nested ops, as lists: a whole walk costs about what one step of xDSL's nested generators costs per op.

A list is taken when the walk starts, so the caller may insert and erase ops while going through it.
"""

from typing import TypeVar

from xdsl.ir import Block, Operation, Region

from cubelane.ir.narrowing import only

OpT = TypeVar("OpT", bound=Operation)


def ops_in(top: Operation | Region | Block) -> list[Operation]:
    """All ops of an op (itself first), region or block in program order, nested ones behind the op that holds them."""
    found: list[Operation] = []
    if isinstance(top, Region):
        _add_region(top, found)
    elif isinstance(top, Block):
        _add_block(top, found)
    else:
        found.append(top)
        for region in top.regions:
            _add_region(region, found)
    return found


def ops_of(top: Operation | Region | Block, kinds: type[OpT] | tuple[type[OpT], ...]) -> list[OpT]:
    """The ops of the given classes (or of classes made from them) in a walk, in its order."""
    return only(ops_in(top), kinds)


def _add_region(region: Region, found: list[Operation]) -> None:
    block = region.first_block
    while block is not None:
        _add_block(block, found)
        block = block.next_block


def _add_block(block: Block, found: list[Operation]) -> None:
    op = block.first_op
    while op is not None:
        found.append(op)
        if op.regions:
            for region in op.regions:
                _add_region(region, found)
        op = op._next_op  # pyright: ignore[reportPrivateUsage] (the property doubles the time of every walk)
