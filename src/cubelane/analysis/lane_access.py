"""Which tensors the vector lanes load from and store to, and whether the two lanes could meet there at all."""

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.ir.affinity import Affinity
from cubelane.ir.traits import Split, Splits


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


def may_conflict(function: FuncOp) -> bool:
    """Whether the lanes could get in each other's way at all: a store in a loop, or beside another access."""
    handles = TensorHandles(function.body.block)
    stored: set[SSAValue] = set()
    touched: set[SSAValue] = set()
    for op in function.body.walk():
        access = lane_access(op)
        root = None if access is None else handles[access[0]]
        if access is None or root is None:
            continue
        if access[1]:
            if op.parent is not function.body.block or root in touched:
                return True
            stored.add(root)
        elif root in stored:
            return True
        touched.add(root)
    return False
