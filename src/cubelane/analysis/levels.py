"""Which level a function is written at: tensors in global memory, or tiles on chip (docs/architecture.md)."""

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.traits import CoreAffinity, Split, Splits, trait_of
from cubelane.ir.types import TensorType
from cubelane.ir.walk import ops_in


def tensor_work(function: FuncOp) -> Operation | None:
    """The first op that computes on tensors, which passes of the tile level do not know; None if there is none."""
    return next((op for op in ops_in(function.body) if _computes_tensor(op)), None)


def _computes_tensor(op: Operation) -> bool:
    affinity, splits = trait_of(op, CoreAffinity), trait_of(op, Splits)
    if affinity is None or splits is None or splits.behaviour is Split.STORES:
        return False
    return any(is_one(r.type, TensorType) for r in op.results) and affinity.of(op) is not Affinity.SHARED


def refuse_tensors(function: FuncOp) -> None:
    """Refuses a function that still works on tensors."""
    op = tensor_work(function)
    if op is not None:
        raise tensors_left(op)


def tensors_left(op: Operation) -> Diagnostic:
    """The refusal of an op on tensors where tiles are expected."""
    return refuse(
        op,
        f"`{op.name.replace('gm.', 'tensor.')}` works on tensors; the two cores are told apart when a kernel works on "
        "tiles",
        instead="run convert-tensor-to-tile first: passes.convert_tensor_to_tile()(program)",
        code="tensors-left",
    )
