"""Carries changed valid extents through everything that derives from a tile, across loops and branches.

Types state extents as numbers where they are known; when a tile's extent becomes per-lane, what is computed from it
does too. Every op says by its own type rule what becomes of its operands' extents (docs/architecture.md).
"""

from collections import deque

from xdsl.ir import Operation, SSAValue

from cubelane.analysis.lane_share import name_of
from cubelane.analysis.split_axis import flows
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.retyping import retyped
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.types import DYNAMIC, TileType


def revalidate(changed: list[SSAValue]) -> None:
    """Re-derives the valid extents of all tiles that follow from the changed ones, in place."""
    pending = deque(changed)
    compounds: set[Operation] = set()
    while pending:
        value = pending.popleft()
        for use in list(value.uses):
            op = use.operation
            found = _across(op, value)
            if found:
                compounds.add(op if op.regions else op.parent_op() or op)
            pending.extend(found)
            if is_one(op, SurfaceOp):
                pending.extend(_derived(op))
    for compound in compounds:
        _check_carries(compound)


def _check_carries(compound: Operation) -> None:
    """A carry has one type: what enters a loop and what it hands on must have the same extents."""
    ends = [region.block.last_op for region in compound.regions if region.blocks]
    for op in (compound, *(end for end in ends if end is not None)):
        for source, target in flows(op):
            if source.type != target.type:
                raise refuse(
                    op,
                    f"'{name_of(source)}' has a per-lane extent on one way into '{name_of(target)}' and another on the "
                    f"other",
                    instead="state the extent of both with pl.tile.set_validshape",
                    code="carried-extent",
                )


def _across(op: Operation, value: SSAValue) -> list[SSAValue]:
    """Carries, arguments and results that take over the extents of a value."""
    found: list[SSAValue] = []
    for source, target in flows(op):
        if source is not value or not isinstance(source.type, TileType) or not isinstance(target.type, TileType):
            continue
        joined = tuple(a if a == b else DYNAMIC for a, b in zip(source.type.valid, target.type.valid, strict=True))
        if joined != target.type.valid:
            found.append(retyped(target, target.type.replaced(valid=joined)))
    return found


def _derived(op: SurfaceOp) -> list[SSAValue]:
    if not op.results or not isinstance(op.results[0].type, TileType):
        return []
    result = op.results[0].type
    try:
        inferred = op.result_type(op.bound())
    except Diagnostic as problem:
        raise refuse(op, problem.message, *problem.notes, instead=problem.instead, code=problem.code) from problem
    if not isinstance(inferred, TileType) or inferred.valid == result.valid:
        return []
    return [retyped(op.results[0], result.replaced(valid=inferred.valid))]
