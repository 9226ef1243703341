"""Split rules of the ops that move, cut, regroup or join tiles (spec/passes.md 4.3 to 4.5, 11.1; see split_rules)."""

from math import prod
from typing import cast

from xdsl.ir import Operation, SSAValue

from cubelane.analysis.lane_share import (
    REPLICATED,
    WHOLE,
    Replicated,
    Split,
    axis_word,
    name_of,
    shape_text,
)
from cubelane.analysis.split_leaf import Leaf, full_width
from cubelane.ir.affinity import Affinity
from cubelane.ir.surface import constant_of
from cubelane.ir.tile.shaping import ReinterpretViewOp
from cubelane.ir.types import TileType, bit_width


def stores(leaf: Leaf) -> None:
    """Each lane stores its part at its own offset. The result is the tensor, nobody's share."""


def slices(leaf: Leaf) -> None:
    """A window of a halved tile must span the split axis; a window of a replicated one is cut per lane (no. 17)."""
    source, result = leaf.values()[0], leaf.result_type
    assert result is not None
    share = leaf.share(source)
    if isinstance(share, Split):
        offset = constant_of(_offsets(leaf.op)[share.axis])
        _spans(leaf, source, share, result.shape[share.axis], offset, "takes")
        return leaf.keep(share, source)
    if not isinstance(share, Replicated):
        raise leaf.refuse(
            f"{leaf.op.name} reads the cube tile {shape_text(source)} on the vector side",
            instead="move the tile to the vector side first: pl.tile.move(.., target_memory=pl.Mem.Vec)",
            code="not-crossed",
        )
    if leaf.singleton(result):
        return leaf.keep(REPLICATED)
    leaf.keep(leaf.own(result.shape[leaf.axes.axis]))


def _offsets(op: Operation) -> list[SSAValue]:
    """The window offsets of a slice: a list, or a row and a column."""
    offsets = getattr(op, "offsets", None)
    return list(offsets) if offsets is not None else [getattr(op, "row"), getattr(op, "column")]  # noqa: B009


def _spans(leaf: Leaf, value: SSAValue, share: Split, extent: int, offset: int | None, verb: str) -> None:
    """A window of a halved tile must cover the whole split axis."""
    if offset == 0 and extent == share.extent:
        return
    at = "a run-time offset" if offset is None else str(offset)
    raise leaf.refuse(
        f"{leaf.op.name} {verb} {extent} of {share.extent} {axis_word(share.axis)} at {at} on the split axis of "
        f"{shape_text(value)} ({leaf.axes.mode.name}, axis {share.axis}): the window may lie on the other lane",
        leaf.axes.story(value),
        instead=leaf.swap_mode() + ", or take the window before the tile is shared out",
        code="window-on-split-axis",
    )


def pastes(leaf: Leaf) -> None:
    """Both tiles must span the split axis; then each lane pastes its own part."""
    target, source = leaf.operand("target"), leaf.operand("source")
    result = leaf.result_type
    assert result is not None
    shares = [leaf.share(v) for v in (target, source)]
    share = next((s for s in shares if isinstance(s, Split)), None)
    if share is None:
        if leaf.singleton(result):
            return leaf.keep(REPLICATED)
        share = leaf.own(result.shape[leaf.axes.axis])
    source_type = source.type
    assert isinstance(source_type, TileType)
    offset = constant_of(_offsets(leaf.op)[share.axis])
    _spans(leaf, target, share, source_type.shape[share.axis], offset, "writes")
    leaf.need(target, share)
    leaf.need(source, share)
    leaf.keep(share, target if isinstance(shares[0], Split) else source)


def reshapes(leaf: Leaf) -> None:
    """The partition is followed to the axis where a lane's elements stay together; a full source is cut after it."""
    source, result = leaf.values()[0], leaf.result_type
    assert result is not None
    share = leaf.share(source)
    if not isinstance(share, Split):
        return _lifted(leaf, result)
    moved = _migrated(share, source.type, result)
    type_ = source.type
    assert isinstance(type_, TileType)
    if moved is None:
        raise leaf.refuse(
            f"{leaf.op.name} moves the split axis: the lane boundary of {shape_text(source)} ({leaf.axes.mode.name}, "
            f"axis {share.axis}) falls into the middle of a row of '{name_of(leaf.result)}' {list(result.shape)}",
            leaf.axes.story(source),
            instead="pad the extent so that half of it fills whole rows of the new shape, or reshape before the split",
            code="reshape-regroups",
        )
    ragged = not share.even or type_.valid[share.axis] != type_.shape[share.axis]
    turned = 1 in type_.shape and 1 in result.shape and max(type_.shape) == max(result.shape)
    if ragged and type_.shape != result.shape and not turned:
        raise leaf.refuse(
            f"{leaf.op.name} regroups {shape_text(source)}, of which lane 1 holds fewer than {share.box} valid "
            f"{axis_word(share.axis)} on the split axis",
            leaf.axes.story(source),
            instead="pad the extent to an even number and set the valid extent after the reshape",
            code="reshape-ragged",
        )
    leaf.keep(moved, source)


def _migrated(share: Split, source: object, result: TileType) -> Split | None:
    """Where the partition goes in the row-major order of another shape (spec 4.5), None where it cannot be followed."""
    assert isinstance(source, TileType)
    before = prod(source.shape[: share.axis])
    inner = prod(source.shape[share.axis + 1 :])
    for axis, extent in enumerate(result.shape):
        inner_now = prod(result.shape[axis + 1 :])
        if prod(result.shape[:axis]) != before or extent * inner_now != share.extent * inner:
            continue
        if share.stride * inner % inner_now == 0 and share.box * inner % inner_now == 0:
            return Split(axis, extent, share.box * inner // inner_now, share.stride * inner // inner_now)
    return None


def _lifted(leaf: Leaf, result: TileType) -> None:
    """A view of a full source stays full; the lane's part is cut from it (4.4 "lift")."""
    if leaf.singleton(result):
        return leaf.keep(REPLICATED)
    leaf.keep(leaf.own(result.shape[leaf.axes.axis]))


def reinterprets(leaf: Leaf) -> None:
    """Only the contiguous axis scales; an explicit shape that regroups has no place for the split axis."""
    source, result = leaf.values()[0], leaf.result_type
    type_ = source.type
    assert result is not None and isinstance(type_, TileType)
    natural = ReinterpretViewOp.natural_shape(type_, bit_width(result.dtype))
    if natural != result.shape:
        raise leaf.refuse(
            f"the shape {list(result.shape)} of {leaf.op.name} must match its auto-inferred shape {list(natural)} "
            f"while the lanes share out an axis ({leaf.axes.mode.name}, axis {leaf.axes.axis})",
            *([leaf.axes.story(source)] if isinstance(leaf.share(source), Split) else []),
            instead="leave `shape` out and reshape before the tile is shared out",
            code="reinterpret-regroups",
        )
    share = leaf.share(source)
    if not isinstance(share, Split):
        return _lifted(leaf, result)
    had, has = bit_width(type_.dtype), bit_width(result.dtype)
    if result.shape[share.axis] == type_.shape[share.axis]:
        return leaf.keep(share, source)
    if share.stride * had % has or share.box * had % has:
        raise leaf.refuse(
            f"{leaf.op.name} joins cells of both lanes: {share.stride} {axis_word(share.axis)} of a lane are no whole "
            f"number of the new elements on the split axis",
            leaf.axes.story(source),
            instead=leaf.swap_mode(),
            code="reinterpret-regroups",
        )
    scaled = Split(share.axis, result.shape[share.axis], share.box * had // has, share.stride * had // has)
    leaf.keep(scaled, source)


def follows(leaf: Leaf) -> None:
    """The result is shared out like the operand, cell by cell (padding, layout changes, valid extents)."""
    source, result = leaf.values()[0], leaf.result_type
    assert result is not None
    share = leaf.share(source)
    if not isinstance(share, Split):
        if leaf.singleton(result):
            return leaf.keep(REPLICATED)
        share = leaf.own(result.shape[leaf.axes.axis])
        leaf.need(source, share)
        return leaf.keep(share)
    leaf.keep(share, source)


def transposes(leaf: Leaf) -> None:
    """Swapping the split axis away would need rows of the other lane's columns (11.1 no. 6, 29)."""
    source = leaf.values()[0]
    share, type_ = leaf.share(source), source.type
    assert isinstance(type_, TileType) and leaf.result_type is not None
    if not isinstance(share, Split):
        return leaf.keep(REPLICATED)
    rank = len(type_.shape)
    bound = getattr(leaf.op, "bound")().values  # noqa: B009
    swapped = {bound.get("axis0", -1) % rank, bound.get("axis1", -2) % rank}
    if share.axis in swapped:
        raise leaf.refuse(
            f"'{name_of(leaf.result)}' = {leaf.op.name}({name_of(source)}) swaps the split axis: the lanes share out "
            f"axis {share.axis} ({leaf.axes.mode.name}) of {shape_text(source)}",
            leaf.axes.story(source),
            instead="transpose on the cube side, or load the transposed window",
            code="transpose-of-split-axis",
        )
    leaf.keep(share, source)


def concatenates(leaf: Leaf) -> None:
    """Joining along the split axis would interleave the lanes; along another axis it is lane-local."""
    result = leaf.result_type
    assert result is not None and leaf.splits.axis is not None
    joined = leaf.splits.axis % len(result.shape)
    halved = leaf.halved()
    if not halved:
        if leaf.singleton(result) or joined == leaf.axes.axis:
            return leaf.keep(REPLICATED)
        cause, share = None, leaf.own(result.shape[leaf.axes.axis])
    else:
        cause = halved[0]
        share = leaf.share(cause)
        assert isinstance(share, Split)
        if share.axis == joined:
            raise leaf.refuse(
                f"{leaf.op.name} joins along the split axis: the lanes share out the {axis_word(joined)} of "
                f"{shape_text(cause)} ({leaf.axes.mode.name}, axis {joined}), so a lane would hold a slice of each "
                f"tile and not one slice of the joined tile '{name_of(leaf.result)}'",
                leaf.axes.story(cause),
                instead="store the two tiles side by side, or " + leaf.swap_mode(),
                code="concat-on-split-axis",
            )
    for value in leaf.values():
        leaf.need(value, share)
    leaf.keep(share, cause)


def cell_of_part(leaf: Leaf) -> None:
    """One cell lies on one lane only; both would have to know it (reads) or must not touch it (writes)."""
    for source in leaf.halved():
        share = leaf.share(source)
        assert isinstance(share, Split)
        raise leaf.refuse(
            f"{leaf.op.name} touches one cell of {shape_text(source)}, which the lanes share out on axis {share.axis} "
            f"({leaf.axes.mode.name}): the cell lies on one lane only",
            leaf.axes.story(source),
            instead="keep the value in a tensor and read it with pl.tensor.read",
            code="cell-of-halved-tile",
        )
    if leaf.result_type is not None:
        leaf.keep(REPLICATED)


def gathers_rows(leaf: Leaf) -> None:
    """The window copied into a halved tile must span the split axis."""
    target = leaf.operand("target")
    share = leaf.share(target)
    if not isinstance(share, Split):
        return leaf.keep(REPLICATED)
    sizes, reads = cast(list[SSAValue], getattr(leaf.op, "sizes")), getattr(leaf.op, "source_offsets")  # noqa: B009
    size, offset = constant_of(sizes[share.axis]), constant_of(_offsets(leaf.op)[share.axis])
    if size != share.extent or offset != 0 or not share.even or len(sizes) != len(reads):
        raise leaf.refuse(
            f"{leaf.op.name} fills only some {axis_word(share.axis)} of {shape_text(target)}, which the lanes "
            f"share out on the split axis ({leaf.axes.mode.name}, axis {share.axis}): they may lie on the other lane",
            leaf.axes.story(target),
            instead="gather in a pl.split_aiv region with the lane index in the source offset",
            code="window-on-split-axis",
        )
    leaf.keep(share, target)


def moves(leaf: Leaf) -> None:
    """A move keeps the share on its side; between the cores it is where halves begin and end (spec 4.3)."""
    source, result = leaf.values()[0], leaf.result_type
    assert result is not None
    if leaf.affinity is Affinity.CUBE:
        return full_width(leaf)
    if leaf.affinity is not Affinity.MIXED:
        return follows(leaf)
    if result.memory is not None and result.memory.is_cube:
        _to_cube(leaf, source, result)
        return leaf.keep(WHOLE)
    if leaf.singleton(result):
        return leaf.keep(REPLICATED)
    if len(result.shape) != 2:
        raise leaf.refuse(
            f"'{name_of(leaf.result)}' = {leaf.op.name}({name_of(source)}) crosses with {len(result.shape)} axes "
            f"{list(result.shape)}; only tiles with two axes cross between the cores",
            instead="reshape it to two axes on the cube side",
            code="crossing-rank",
        )
    leaf.keep(leaf.own(result.shape[leaf.axes.axis]))


def _to_cube(leaf: Leaf, source: SSAValue, result: TileType) -> None:
    share = leaf.share(source)
    if not isinstance(share, Split):
        raise leaf.refuse(
            f"the V->C boundary {leaf.op.name} carries a full-width vector operand '{name_of(source)}' "
            f"{list(result.shape)}: tile.aic_gather joins the halves of the two lanes ({leaf.axes.mode.name}, axis "
            f"{leaf.axes.axis}), and this value has no half",
            instead="load or slice the value inside the split function and move that, or keep it on the vector side",
            code="full-width-gather",
        )
    if len(result.shape) != 2:
        raise leaf.refuse(
            f"{leaf.op.name} takes '{name_of(source)}' {list(result.shape)} to the cube, which is shared out on axis "
            f"{share.axis} of {len(result.shape)}; only tiles with two axes can be joined",
            leaf.axes.story(source),
            instead="cross before the op that moved the axis",
            code="gather-axis",
        )
    if not share.even:
        raise leaf.refuse(
            f"'{name_of(source)}' {list(result.shape)} cannot be joined for the cube: the lanes hold "
            f"{' and '.join(map(str, share.lanes(share.extent)))} of {share.extent} {axis_word(share.axis)} on the "
            f"split axis, and the halves must be equal",
            leaf.axes.story(source),
            instead=f"pad the extent to {share.extent + 1}",
            code="odd-gather",
        )
