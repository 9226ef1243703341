"""Operations whose results nobody uses and that have no other effect go, where a pass left them behind.

Outlining and conversion clean what they made. Kernels written at tile level are left as their authors wrote them, also
where they compute something in vain: what is wrong with it must still be said.
"""

from xdsl.ir import Block, Operation
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from cubelane.ir.kernel import SplitRegionOp, YieldOp
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import Split, Splits, has_trait, trait_of
from cubelane.passes.tile.placement import insert


def drop_unused_outputs(region: SplitRegionOp) -> SplitRegionOp:
    """The region without the results that nobody uses; an op of its own if there were any."""
    used = [i for i, result in enumerate(region.results) if result.first_use is not None]
    if len(used) == len(region.results):
        return region
    end = region.yielded
    arguments = [end.arguments[i] for i in used]
    insert(YieldOp(*arguments), end)
    region.body.block.erase_op(end)
    results = [region.results[i] for i in used]
    body = region.detach_region(region.body)
    new = SplitRegionOp(body, region.mode.mode, [result.type for result in results])
    new.attributes.update(region.attributes)
    insert(new, region)
    for old, result in zip(results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    assert region.parent is not None
    region.parent.erase_op(region)
    return new


def removable(op: Operation) -> bool:
    """Whether an op can go once its results are not used: it computes, or it only reads memory.

    The lane index stays: a split region begins with it. So do the boundary ops: by them one sees that the body of a
    region is written for one lane.
    """
    splits = trait_of(op, Splits)
    if (
        op.regions
        or not op.results
        or is_one(op, SubblockIdxOp)
        or (splits is not None and splits.behaviour is Split.BOUNDARY)
        or any(result.first_use is not None for result in op.results)
    ):
        return False
    return has_trait(op, Pure) or _only_reads(op)


def _only_reads(op: Operation) -> bool:
    return has_trait(op, MemoryReadEffect) and not has_trait(op, MemoryWriteEffect)


def remove_unused(block: Block) -> None:
    """Removes dead ops from the end of a block to its start, so that what they alone used goes too."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        if is_one(op, SplitRegionOp):
            op = drop_unused_outputs(op)
        for region in op.regions:
            for inner in region.blocks:
                remove_unused(inner)
        if removable(op):
            block.erase_op(op)
        op = before
