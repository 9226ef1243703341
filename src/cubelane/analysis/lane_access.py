"""Which tensors the vector lanes load from and store to, and whether the two lanes could meet there at all."""

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.ir.affinity import Affinity
from cubelane.ir.surface import constant_of
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import TileType


def lane_access(op: Operation) -> tuple[SSAValue, bool] | None:
    """The tensor that a vector load or store touches, and whether it writes."""
    splits = op.get_trait(Splits)
    if splits is None or classify(op) is not Affinity.VECTOR:
        return None
    if splits.behaviour is Split.LOADS:
        return op.operands[0], False
    if splits.behaviour is Split.STORES:
        target: SSAValue = getattr(op, "target")  # noqa: B009
        return target, True
    return None


def may_conflict(function: FuncOp, by_hand: bool) -> bool:
    """Whether the lanes could get in each other's way at all: a store in a loop, or beside another access.

    `by_hand`: the author placed the lanes' windows, so one store is enough unless it steps over its own box.
    """
    handles = TensorHandles(function.body.block)
    stored: set[SSAValue] = set()
    touched: set[SSAValue] = set()
    for op in function.body.walk():
        access = lane_access(op)
        root = None if access is None else handles[access[0]]
        if access is None or root is None:
            continue
        if access[1]:
            if by_hand and not _steps_over_its_box(op):
                return True
            if op.parent is not function.body.block or root in touched:
                return True
            stored.add(root)
        elif root in stored:
            return True
        touched.add(root)
    return False


def _steps_over_its_box(op: Operation) -> bool:
    """Whether a store adds `lane * c` to an offset with c at least the box there: its two windows cannot meet."""
    tile = op.operands[0].type
    offsets: list[SSAValue] = list(getattr(op, "offsets"))  # noqa: B009
    if not isinstance(tile, TileType) or len(offsets) != len(tile.shape):
        return False
    return any((_lane_step(offset) or 0) >= box for offset, box in zip(offsets, tile.shape, strict=True))


def _lane_step(value: SSAValue) -> int | None:
    """The factor of the lane index in `lane * c` or in a sum with it."""
    match value.owner:
        case arith.MuliOp(lhs=SSAValue(owner=SubblockIdxOp()), rhs=factor):
            return constant_of(factor)
        case arith.AddiOp(lhs=left, rhs=right):
            return _lane_step(left) or _lane_step(right)
        case _:
            return None
