"""The whole-function path: a mixed body with a split mode becomes the explicit form (spec/passes.md 4.2)."""

from xdsl.dialects.func import FuncOp

from cubelane.analysis.affinity import roll_up
from cubelane.analysis.rebalance import rebalanced_stride
from cubelane.analysis.split_axis import SplitAxes
from cubelane.analysis.valid_extents import ValidExtents
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.kernel import (
    DUAL_DISPATCH,
    SPLIT,
    SPLIT_AIV,
    FunctionKind,
    ScopeOp,
    SplitAttr,
    flag,
    kind_of,
    set_flag,
    split_of,
)
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.types import DTYPES, SplitMode
from cubelane.ir.walk import ops_in, ops_of
from cubelane.passes.tile.lower_auto_vector_split.halving import Halver
from cubelane.passes.tile.lower_auto_vector_split.naming import assigned_names, fresh_name
from cubelane.passes.tile.lower_auto_vector_split.regions import place_once


def applies_to(function: FuncOp) -> bool:
    """InCore, with a mode, not yet explicit, and really mixed; a pure vector or pure cube body passes through."""
    return (
        kind_of(function) is FunctionKind.INCORE
        and split_of(function) is not SplitMode.NONE
        and not flag(function, SPLIT_AIV)
        and roll_up(function.body) is Affinity.MIXED
    )


def lower(function: FuncOp) -> None:
    """Shares the vector part of the body out between the lanes, in place."""
    _refuse_scopes(function)
    mode, block = split_of(function), function.body.block
    axes = SplitAxes.of(function, mode)
    stride = rebalanced_stride(axes, block)
    if stride is not None:
        axes = SplitAxes.of(function, mode, stride)
    extents = ValidExtents(function)
    lane = SubblockIdxOp.create(result_types=[DTYPES["INDEX"]])
    lane.location = Location.of(function).as_attribute()
    lane.results[0].name_hint = fresh_name(assigned_names(function))
    Halver(axes, lane.results[0], extents).run(block)
    first = block.first_op
    assert first is not None
    block.insert_op_before(lane, first)
    place_once(ops_in(block), "aic")
    stamp(function, mode)


def _refuse_scopes(function: FuncOp) -> None:
    for op in ops_of(function.body, ScopeOp):
        raise refuse(
            op,
            f"the body of '{function.sym_name.data}' still holds a scope, and the automatic split "
            f"({split_of(function).name}) cannot reach through it",
            "an InCore function is not outlined, so the scope stays in its body",
            instead="declare the enclosing function plain, or put the split on the scope",
            code="scope-in-split-body",
        )


def stamp(function: FuncOp, mode: SplitMode) -> None:
    """Marks a function as explicit: `split` and `split_aiv`, in this order."""
    for name in (SPLIT, SPLIT_AIV, DUAL_DISPATCH):
        function.attributes.pop(name, None)
    function.attributes[SPLIT] = SplitAttr.of(mode)
    set_flag(function, SPLIT_AIV)
