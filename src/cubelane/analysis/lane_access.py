"""Which tensors the lanes read and write, and whether the two lanes could meet there at all."""

from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from cubelane.analysis.affinity import classify
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.ir.affinity import Affinity
from cubelane.ir.narrowing import is_value
from cubelane.ir.surface import constant_of, python_value
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import RunsOnce, Split, Splits, has_trait, trait_of
from cubelane.ir.types import TensorType, TileType
from cubelane.ir.walk import ops_in


class Access(NamedTuple):
    """One access of the lanes to global memory: the tensor, where its window starts, the tile that moves.

    `moved` is the tile that is stored or loaded; a scalar access has none, its window is one element. `stored` is
    the value that is written, `atomic` tells a write that adds to what is there.
    """

    tensor: SSAValue
    offsets: tuple[SSAValue, ...]
    moved: SSAValue | None
    stored: SSAValue | None
    atomic: bool = False

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return self.stored is not None


def lane_access(op: Operation) -> Access | None:
    """What an op of the lanes touches in global memory; None for one that touches nothing, or runs on the cube."""
    splits = trait_of(op, Splits)
    if splits is None or has_trait(op, RunsOnce):
        return None  # a side effect is no access of this device's memory
    offsets = tuple(cast("list[SSAValue]", getattr(op, "offsets", None) or getattr(op, "position", None) or ()))
    if splits.behaviour is Split.LOADS and classify(op) is Affinity.VECTOR:
        return Access(op.operands[0], offsets, op.results[0], None)
    if splits.behaviour is Split.STORES and classify(op) is Affinity.VECTOR:
        atomic = bool(python_value(op.properties.get("atomic")))
        return Access(cast(SSAValue, getattr(op, "target")), offsets, op.operands[0], op.operands[0], atomic)  # noqa: B009
    return _of_scalar(op, offsets) if splits.behaviour is Split.NONE else None


def _of_scalar(op: Operation, offsets: tuple[SSAValue, ...]) -> Access | None:
    """A read or write of one element; every lane that needs it does it."""
    target, source = _tensor(op, "target"), _tensor(op, "source")
    if target is not None and has_trait(op, MemoryWriteEffect):
        return Access(target, offsets, None, cast(SSAValue, getattr(op, "scalar")))  # noqa: B009
    if source is not None and has_trait(op, MemoryReadEffect):
        return Access(source, offsets, None, None)
    return None


def _tensor(op: Operation, name: str) -> SSAValue | None:
    value = getattr(op, name, None)
    return value if is_value(value) and isinstance(value.type, TensorType) else None


def may_conflict(function: FuncOp, by_hand: bool) -> bool:
    """Whether the lanes could get in each other's way at all: a store in a loop, or beside another access.

    `by_hand`: the author placed the lanes' windows, so one store is enough unless it steps over its own box.
    """
    handles = TensorHandles(function.body.block)
    stored: set[SSAValue] = set()
    touched: set[SSAValue] = set()
    for op in ops_in(function.body):
        access = lane_access(op)
        root = None if access is None else handles[access.tensor]
        if access is None or root is None:
            continue
        if access.writes:
            if by_hand and not _steps_over_its_box(access):
                return True
            if op.parent is not function.body.block or root in touched:
                return True
            stored.add(root)
        elif root in stored:
            return True
        touched.add(root)
    return False


def _steps_over_its_box(access: Access) -> bool:
    """Whether a store adds `lane * c` to an offset with c at least the box there: its two windows cannot meet."""
    tile = access.moved.type if access.moved is not None else None
    if not isinstance(tile, TileType) or len(access.offsets) != len(tile.shape):
        return False
    return any((_lane_step(offset) or 0) >= box for offset, box in zip(access.offsets, tile.shape, strict=True))


def _lane_step(value: SSAValue) -> int | None:
    """The factor of the lane index in `lane * c` or in a sum with it."""
    match value.owner:
        case arith.MuliOp(lhs=SSAValue(owner=SubblockIdxOp()), rhs=factor):
            return constant_of(factor)
        case arith.AddiOp(lhs=left, rhs=right):
            return _lane_step(left) or _lane_step(right)
        case _:
            return None
