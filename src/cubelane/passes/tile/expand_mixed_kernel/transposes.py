"""A transpose of a tile that the lanes share out would hand each lane the wrong half (spec/passes.md 5.3 step 1)."""

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.analysis.affinity import classify
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import REGION_VALIDATED, flag, split_of
from cubelane.ir.surface import python_value
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import SplitMode, TileType
from cubelane.ir.walk import ops_in


def refuse_transposes(function: FuncOp) -> None:
    """Refuses the first vector transpose that moves the split axis of a kernel with a split mode."""
    mode = split_of(function)
    if mode is SplitMode.NONE or flag(function, REGION_VALIDATED):
        return
    for op in ops_in(function):
        if _moves_axis(op, mode.axis):
            raise _refusal(function, op, mode)


def _moves_axis(op: Operation, axis: int) -> bool:
    trait = trait_of(op, Splits)
    if trait is None or trait.behaviour is not Split.TRANSPOSES or classify(op) is not Affinity.VECTOR:
        return False
    tile = op.operands[0].type
    if not isinstance(tile, TileType) or axis >= len(tile.shape) or tile.shape[axis] == 1:
        return False
    axes = [python_value(op.properties.get(name)) for name in ("axis0", "axis1")]
    return None in axes or axis in [a % len(tile.shape) for a in axes]


def _refusal(function: FuncOp, op: Operation, mode: SplitMode) -> Diagnostic:
    name = op.results[0].name_hint or "the result"
    word = "rows" if mode is SplitMode.UP_DOWN else "columns"
    return refuse(
        op,
        f"the transpose `{name}` in `{function.sym_name.data}` moves the axis that the two lanes share out",
        f"the split is {mode.name} (axis {mode.axis}): each lane holds half of the {word}, and would get half of the "
        "wrong axis",
        instead="drop the split: pl.split(pl.SplitMode.NONE), or replace the transpose by a column slice",
        code="transpose-on-split-axis",
    )
