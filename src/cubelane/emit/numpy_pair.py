"""Which vector programs can run on both lanes side by side: the same statements on tiles with a lane axis in front.

Such a program does the same on both lanes but for the windows of global memory it touches. Its tiles are whole, and
every op treats the lane axis as one more axis to go over: it works cell by cell, along the last axis, or on the lane's
own end of a ring.
"""

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Pure

from cubelane.ir.kernel import FunctionKind, kind_of
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import Meaning, Split, Splits
from cubelane.ir.types import TensorType, TileType

LANES = 2

_GOES_OVER_LANES = frozenset({Split.ELEMENTWISE, Split.RESHAPES, Split.GENERATES, Split.MOVES, Split.STORES})
_OFFSETS = "offsets"
"""What every op calls the place of its window."""
_CONTROL = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp, ReturnOp)
_OF_LANE = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
"""Arithmetic on indices that NumPy does for an array of lanes as Python does for one."""


def runs_side_by_side(function: FuncOp) -> bool:
    """Whether both lanes can execute a function together."""
    if function.is_declaration or kind_of(function) is FunctionKind.AIC:
        return False
    return all(_is_plain(a) for a in function.body.block.args) and all(
        op is function or _fits(op) for op in function.walk()
    )


def goes_over_lanes(splits: Splits | None, meaning: Meaning | None) -> bool:
    """Whether an op does to each lane what it does to the tiles of one, if they are stacked along a first axis."""
    if splits is None or meaning is None:
        return False
    if splits.behaviour in (Split.LOADS, Split.CHANNEL):
        return True
    if "valid}" in meaning.value:
        return False
    if splits.behaviour is Split.REDUCES:
        return splits.axis is not None and splits.axis < 0
    return splits.behaviour in _GOES_OVER_LANES


def _fits(op: Operation) -> bool:
    if isinstance(op, SubblockIdxOp):
        return _only_places(op.results[0])
    if isinstance(op, SurfaceOp):
        return _works(op) and all(map(_is_whole, (*op.operands, *op.results)))
    return isinstance(op, _CONTROL) or op.name.startswith("arith.")


def _works(op: SurfaceOp) -> bool:
    splits = op.get_trait(Splits)
    stores = splits is not None and splits.behaviour is Split.STORES
    if not stores and any(isinstance(r.type, TensorType) for r in op.results):
        return False
    if splits is not None and splits.behaviour is Split.NONE:
        return op.has_trait(Pure)
    return goes_over_lanes(splits, op.get_trait(Meaning))


def _is_plain(value: SSAValue) -> bool:
    """Whether a parameter is no tile: those have no lane axis."""
    return not isinstance(value.type, TileType)


def _is_whole(value: SSAValue) -> bool:
    type_ = value.type
    return not isinstance(type_, TileType) or (type_.fully_valid and len(type_.shape) == 2)


def _only_places(lane: SSAValue) -> bool:
    """Whether the lane's number only says where windows of global memory lie."""
    for use in lane.uses:
        user = use.operation
        if isinstance(user, _OF_LANE):
            if not _only_places(user.results[0]):
                return False
        elif not (isinstance(user, SurfaceOp) and _is_offset(user, lane)):
            return False
    return True


def _is_offset(op: SurfaceOp, value: SSAValue) -> bool:
    """Whether a value is nothing but an offset of a window that the op reads or writes."""
    splits = op.get_trait(Splits)
    if splits is None or splits.behaviour not in (Split.LOADS, Split.STORES):
        return False
    offsets: Sequence[SSAValue] = getattr(op, _OFFSETS)
    return sum(o is value for o in op.operands) == sum(o is value for o in offsets)
