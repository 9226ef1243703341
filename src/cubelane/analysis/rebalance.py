"""When the lanes may share a ragged tile out by a smaller stride than the box (spec/passes.md 3.6, 11.1 no. 3, 15).

A crossing tile of 16 rows of which 12 are valid leaves 8 and 4 rows to the lanes, which no transport code can place.
If everything the lanes work on comes from that one tile, they can share it out by 6 instead.
"""

from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.lane_share import Replicated, Split
from cubelane.analysis.split_axis import SplitAxes, flows
from cubelane.analysis.split_leaf import splits_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.traits import Split as Behaviour
from cubelane.ir.types import DYNAMIC, TileType
from cubelane.ir.walk import ops_in


def is_crossing(op: Operation) -> bool:
    """Whether an op is a move between the cores."""
    splits = splits_of(op)
    return splits is not None and splits.behaviour is Behaviour.MOVES and classify(op) is Affinity.MIXED


def to_cube(op: Operation) -> bool:
    """Whether a crossing move goes from the lanes to the cube."""
    result = op.results[0].type
    return isinstance(result, TileType) and result.memory is not None and result.memory.is_cube


def rebalanced_stride(axes: SplitAxes, block: Block) -> int | None:
    """The stride of 3.6, None where the box partition stays: every halved tile must be the crossing tile's share."""
    crossing = _only_crossing(axes, block)
    if crossing is None:
        return None
    box, valid = crossing
    stride = (valid + 1) // 2
    if stride <= 0 or valid >= box or stride == (box + 1) // 2:
        return None
    return stride if all(_derived(axes, value, share, box, valid) for value, share in axes.splits()) else None


def _only_crossing(axes: SplitAxes, block: Block) -> tuple[int, int] | None:
    """Box and valid extent that all crossings to the lanes share; None where they differ or the cube gets one back."""
    found: set[tuple[int, int]] = set()
    for op in ops_in(block):
        if any(_cut(axes, op, index) for index in axes.needs.get(op, ())):
            return None
        if any(isinstance(axes[s], Replicated) and isinstance(axes[t], Split) for s, t in flows(op)):
            return None
        if not is_crossing(op):
            continue
        source = op.operands[0].type
        assert isinstance(source, TileType)
        if to_cube(op) or len(source.shape) != 2 or source.valid[1 - axes.axis] != source.shape[1 - axes.axis]:
            return None
        if axes.axis == 1 and source.valid[1] != source.shape[1]:
            return None  # a column extent has no carrier between the cores, so the whole box travels
        found.add((source.shape[axes.axis], source.valid[axes.axis]))
    if len(found) != 1:
        return None
    box, valid = found.pop()
    return None if valid == DYNAMIC else (box, valid)


def _cut(axes: SplitAxes, op: Operation, index: int) -> bool:
    return isinstance(axes[op.operands[index]], Replicated)


def _derived(axes: SplitAxes, value: SSAValue, share: Split, box: int, valid: int) -> bool:
    type_, owner = value.type, value.owner
    assert isinstance(type_, TileType)
    if share.axis != axes.axis or share.extent != box or share.pack > 1 or type_.valid[share.axis] != valid:
        return False
    if not isinstance(owner, Operation) or owner.regions or is_crossing(owner):
        return True
    return any(isinstance(axes[operand], Split) for operand in owner.operands)
