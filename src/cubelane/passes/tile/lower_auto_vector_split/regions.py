"""The region path: every `pl.split_aiv` region is lowered in place and its wrapper goes (spec/passes.md 4.7, 4.8).

Three bodies: full width (shared out like a whole function, by the region's own mode), with explicit boundary ops
(already half width: checked and localized), and task parallel (mode NONE: both lanes run it as it is).
"""

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from cubelane.analysis.affinity import classify
from cubelane.analysis.lane_share import Split, name_of
from cubelane.analysis.split_axis import SplitAxes
from cubelane.analysis.valid_extents import ValidExtents
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.kernel import (
    PLACEMENT,
    REGION_VALIDATED,
    SPLIT_AIV,
    FunctionKind,
    ScopeOp,
    SplitRegionOp,
    kind_of,
    set_flag,
)
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import RunsOnce, Splits, has_trait, trait_of
from cubelane.ir.traits import Split as Behaviour
from cubelane.ir.types import DTYPES, SplitMode
from cubelane.ir.walk import ops_in, ops_of
from cubelane.passes.tile.lower_auto_vector_split import explicit_body
from cubelane.passes.tile.lower_auto_vector_split.halving import Halver
from cubelane.passes.tile.lower_auto_vector_split.naming import all_names, fresh_name


def regions_of(function: FuncOp) -> list[SplitRegionOp]:
    """The split regions of a function, outermost first."""
    return ops_of(function.body, SplitRegionOp)


def applies_to(function: FuncOp) -> bool:
    """An InCore function that holds a region anywhere, even behind a scope."""
    return kind_of(function) is FunctionKind.INCORE and bool(regions_of(function))


def lower(function: FuncOp) -> None:
    """Lowers every region in place, each by its own mode, and marks the function as explicit."""
    regions = regions_of(function)
    for region in regions:
        _refuse_nesting(region)
    for op in ops_in(function.body):
        if is_one(op, ScopeOp):
            raise refuse(
                op,
                f"'{function.sym_name.data}' holds pl.split_aiv regions and a scope; a scope cannot be lowered here",
                instead="declare the function plain, so that the scope becomes a function of its own",
                code="scope-in-region-function",
            )
    taken = all_names(function)
    for region in regions:
        mode, place = region.mode.mode, Location.of(region)
        try:
            _lower_region(function, region, taken)
        except Diagnostic as problem:
            share = f"{mode.name}, axis {mode.axis}" if mode is not SplitMode.NONE else mode.name
            problem.notes = (*problem.notes, f"the region of mode {share} starts at {place}")
            raise
    for name in (SPLIT_AIV, REGION_VALIDATED):
        function.attributes.pop(name, None)
        set_flag(function, name)


def _refuse_nesting(region: SplitRegionOp) -> None:
    parent = region.parent_op()
    while parent is not None and not is_one(parent, FuncOp):
        if is_one(parent, (ScopeOp, SplitRegionOp)):
            what = "a scope" if is_one(parent, ScopeOp) else "another split region"
            raise refuse(
                region,
                f"this pl.split_aiv region stands inside {what}; a region must be free of scopes to be lowered",
                "an InCore function is not outlined, so its scopes stay in its body",
                instead="declare the function plain (no type=pl.FunctionType.InCore), or move the region out",
                code="region-behind-scope",
            )
        parent = parent.parent_op()


def _lower_region(function: FuncOp, region: SplitRegionOp, taken: set[str]) -> None:
    mode, block = region.mode.mode, region.body.block
    ops = ops_in(block)
    boundaries = [op for op in ops if _is_boundary(op)]
    if mode is SplitMode.NONE:
        _refuse_boundaries(boundaries)
        _inline(region)
    elif boundaries:
        explicit_body.check(block, mode)
        _inline(region)
        explicit_body.localize(function, ops, mode)
    else:
        _share_out(function, region, taken)
        _inline(region)
    place_once(ops, "aiv" if mode is SplitMode.NONE or boundaries else "aic")


def _is_boundary(op: Operation) -> bool:
    splits = trait_of(op, Splits)
    return splits is not None and splits.behaviour is Behaviour.BOUNDARY


def _refuse_boundaries(boundaries: list[Operation]) -> None:
    for op in boundaries:
        raise refuse(
            op,
            f"'{name_of(op.results[0])}' = {op.name}(..) stands in a region of mode NONE: there is no split axis, so "
            f"there is nothing to share out",
            "both lanes run a NONE region in full; the lane index tells them apart",
            instead="give the region a mode: pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN)",
            code="boundary-without-axis",
        )


def _share_out(function: FuncOp, region: SplitRegionOp, taken: set[str]) -> None:
    """A full-width body is halved like a whole function, never with a rebalanced stride."""
    mode, block = region.mode.mode, region.body.block
    _refuse_lane_use(block, mode)
    axes = SplitAxes.of_block(block, mode)
    for value in region.yielded.arguments:
        if isinstance(axes[value], Split):
            raise refuse(
                region,
                f"'{name_of(value)}' is used outside the region, but each lane holds only its part of it there",
                axes.story(value),
                instead="store it inside the region, or move it to the cube there: pl.tile.move(.., target_memory=..)",
                code="halved-value-leaves-region",
            )
    lane = SubblockIdxOp.create(result_types=[DTYPES["INDEX"]])
    lane.location = region.location
    lane.results[0].name_hint = fresh_name(taken)
    Halver(axes, lane.results[0], ValidExtents(function)).run(block)
    first = block.first_op
    assert first is not None
    block.insert_op_before(lane, first)


def _refuse_lane_use(block: Block, mode: SplitMode) -> None:
    """A body that is shared out automatically is written full width; a lane index in it would count twice."""
    for op in ops_in(block):
        if not is_one(op, SubblockIdxOp):
            continue
        for use in op.results[0].uses:
            raise refuse(
                use.operation,
                f"the lane index '{name_of(op.results[0])}' is used in a region that is shared out automatically "
                f"({mode.name}): its tiles are halved already, so a lane address would be applied twice",
                instead="leave the lane index out, or use pl.SplitMode.NONE and share the work out by hand",
                code="lane-index-in-auto-region",
            )


def _inline(region: SplitRegionOp) -> None:
    """Puts the body in the place of the region."""
    block = region.body.block
    end = region.yielded
    for result, value in zip(region.results, end.arguments, strict=True):
        result.replace_all_uses_with(value)
    end.detach()
    end.erase()
    parent = region.parent
    assert parent is not None
    for op in list(block.ops):
        op.detach()
        parent.insert_op_before(op, region)
    region.detach()
    region.erase()


def place_once(ops: Iterable[Operation], core: str) -> None:
    """Pins ops that must run once to a core (4.9).

    Where the author wrote what each lane does, that is the lanes. In a body that is shared out automatically both
    lanes run everything, so it is the cube, which waits until the data of both lanes is there.
    """
    for op in ops:
        if has_trait(op, RunsOnce) and classify(op) is Affinity.SHARED and PLACEMENT not in op.attributes:
            op.attributes[PLACEMENT] = StringAttr(core)
