"""One transfer function per split behaviour: what a lane holds of an op's result (spec/passes.md 4.4, 4.5, 11.1).

A rule looks at the shares of the operands and states the share of the result (`keep`), the shares it needs of its
operands (`need`), or why the op cannot run on one lane's part (`refuse`). The `Splits` trait says which rule an op
follows.
"""

from collections.abc import Callable

from xdsl.ir import SSAValue

from cubelane.analysis.lane_share import (
    MASK_PACK,
    REPLICATED,
    WHOLE,
    Replicated,
    Split,
    axis_word,
    name_of,
    shape_text,
)
from cubelane.analysis.split_leaf import Leaf, full_width, splits_of
from cubelane.analysis.split_window_rules import (
    cell_of_part,
    concatenates,
    follows,
    gathers_rows,
    moves,
    pastes,
    reinterprets,
    reshapes,
    slices,
    stores,
    transposes,
)
from cubelane.ir.affinity import Affinity
from cubelane.ir.traits import Split as Behaviour
from cubelane.ir.types import TileType

Rule = Callable[[Leaf], None]


def on_lanes(rule: Rule) -> Rule:
    """A rule for ops of the vector lanes; on the cube the op stays full width and must not see a halved tile."""

    def checked(leaf: Leaf) -> None:
        if leaf.affinity is Affinity.CUBE:
            full_width(leaf)
        else:
            packed_only_elementwise(leaf)
            rule(leaf)

    return checked


def packed_only_elementwise(leaf: Leaf) -> None:
    """Bits packed along the split axis mean something only beside the cells they were made from."""
    if leaf.splits.behaviour is Behaviour.ELEMENTWISE:
        return
    for value in leaf.halved():
        share = leaf.share(value)
        if isinstance(share, Split) and share.pack > 1:
            raise leaf.refuse(
                f"{leaf.op.name} cannot work on the bit mask '{name_of(value)}': eight cells share a byte along the "
                f"split axis",
                leaf.axes.story(value),
                instead="use the mask in a select, or " + leaf.swap_mode(),
                code="mask-on-split-axis",
            )


def elementwise(leaf: Leaf) -> None:
    """Cell by cell: the result is shared out like its first halved operand, others are cut; extent 1 broadcasts."""
    result = leaf.result_type
    if result is None:
        return no_rule(leaf)
    found = [(v, _aligned(leaf, v, len(result.shape))) for v in leaf.halved()]
    if found:
        cause, share = found[0]
    elif leaf.singleton(result):
        return leaf.keep(REPLICATED)
    else:
        cause, share = None, leaf.own(_cells(leaf, result, leaf.axes.axis))
    for value in leaf.values():
        _need_aligned(leaf, value, share, len(result.shape))
    packed = share.axis == len(result.shape) - 1 and "result" in leaf.splits.packed
    leaf.keep(_packed(share) if packed else share, cause)


def _packed(share: Split) -> Split:
    return Split(share.axis, share.extent, share.box, share.stride, MASK_PACK)


def _cells(leaf: Leaf, result: TileType, axis: int) -> int:
    """The extent of an axis in cells; a bit mask counts the cells of what it was made from."""
    if "result" not in leaf.splits.packed:
        return result.shape[axis]
    tile = leaf.values()[0].type
    assert isinstance(tile, TileType)
    return tile.shape[axis]


def _is_packed(leaf: Leaf, value: SSAValue) -> bool:
    return any(getattr(leaf.op, name, None) is value for name in leaf.splits.packed if name != "result")


def _aligned(leaf: Leaf, value: SSAValue, rank: int) -> Split:
    """The share of an operand, in the axes of the result; a mask operand in cells."""
    share, type_ = leaf.share(value), value.type
    assert isinstance(share, Split) and isinstance(type_, TileType)
    aligned = share.along(share.axis + rank - len(type_.shape))
    if _is_packed(leaf, value):
        return Split(aligned.axis, aligned.extent, aligned.box, aligned.stride)
    return aligned


def _need_aligned(leaf: Leaf, value: SSAValue, share: Split, rank: int) -> None:
    """An operand must be shared out like the result, unless it broadcasts along the split axis."""
    type_ = value.type
    assert isinstance(type_, TileType)
    axis = share.axis - rank + len(type_.shape)
    broadcasts = axis < 0 or type_.shape[axis] == 1
    if broadcasts and not isinstance(leaf.share(value), Split):
        if not isinstance(leaf.share(value), Replicated):
            leaf.cuttable(value, share)
        return
    wanted = share.along(axis)
    if _is_packed(leaf, value) and axis == len(type_.shape) - 1:
        wanted = _packed(wanted)
    leaf.need(value, wanted)


def reduces(leaf: Leaf) -> None:
    """Folding the split axis would give each lane a partial result; folding another one is lane-local."""
    result, source = leaf.result_type, leaf.values()[0]
    type_, share = source.type, leaf.share(source)
    assert isinstance(type_, TileType) and result is not None and leaf.splits.axis is not None
    folded = leaf.splits.axis % len(type_.shape)
    if not isinstance(share, Split):
        if leaf.singleton(result):
            return leaf.keep(REPLICATED)
        share = leaf.own(result.shape[leaf.axes.axis])
        leaf.need(source, share)
        return leaf.keep(share)
    if share.axis == folded:
        raise leaf.refuse(
            f"{leaf.op.name} reduces over the split axis: the two lanes share out the {axis_word(folded)} of "
            f"{shape_text(source)} ({leaf.axes.mode.name}, axis {folded}), each would see only its own part",
            leaf.axes.story(source),
            instead=leaf.swap_mode(),
            code="reduce-on-split-axis",
        )
    leaf.keep(share, source)


def along_rows(leaf: Leaf) -> None:
    """What works along a row needs all of it; rows are shared out like those of any other op."""
    result = leaf.result_type
    assert result is not None and leaf.splits.axis is not None
    axis, halved = leaf.splits.axis % len(result.shape), leaf.halved()
    if not halved and leaf.singleton(result):
        return leaf.keep(REPLICATED)
    cause = halved[0] if halved else None
    share = leaf.own(result.shape[leaf.axes.axis]) if cause is None else leaf.share(cause)
    assert isinstance(share, Split)
    if share.axis == axis:
        value = leaf.values()[0] if cause is None else cause
        raise leaf.refuse(
            f"{leaf.op.name} works along the split axis: the two lanes share out the {axis_word(axis)} of "
            f"{shape_text(value)} ({leaf.axes.mode.name}, axis {axis}), each would see only its own part of a row",
            *([] if cause is None else [leaf.axes.story(cause)]),
            instead=leaf.swap_mode(),
            code="row-on-split-axis",
        )
    for value in leaf.values():
        _need_aligned(leaf, value, share, len(result.shape))
    leaf.keep(share, cause)


def gathers(leaf: Leaf) -> None:
    """Shared out like the indices; they count the cells of the whole source, so each lane needs all of it."""
    result, source, indices = leaf.result_type, leaf.operand("src"), leaf.operand("indices")
    assert result is not None
    if isinstance(leaf.share(source), Split):
        raise leaf.refuse(
            f"{leaf.op.name} takes cells of all of {shape_text(source)}, and each lane holds only its part of it",
            leaf.axes.story(source),
            instead="gather from a tile of one row, with " + leaf.swap_mode()
            if leaf.axes.axis == 1
            else "gather from a tile of one row, or in a function without split",
            code="gather-from-part",
        )
    share = leaf.share(indices)
    if not isinstance(share, Split):
        if leaf.singleton(result):
            return leaf.keep(REPLICATED)
        share = leaf.own(result.shape[leaf.axes.axis])
        leaf.need(indices, share)
    leaf.keep(share, indices)


def _only_gathered_from(value: SSAValue) -> bool:
    """Whether a tile is used for nothing but to gather cells from all of it."""
    uses = list(value.uses)
    for use in uses:
        splits = splits_of(use.operation)
        if splits is None or splits.behaviour is not Behaviour.GATHERS or use.index > 0:
            return False
    return bool(uses)


def loads(leaf: Leaf) -> None:
    """A load is shared out on the function's axis; a row or column vector of extent 1 there is read by both lanes.

    So is a tile from all of which cells are gathered.
    """
    result = leaf.result_type
    assert result is not None
    if len(result.shape) < 2 or leaf.singleton(result) or _only_gathered_from(leaf.result):
        return leaf.keep(REPLICATED)
    leaf.keep(leaf.own(result.shape[leaf.axes.axis]))


def generates(leaf: Leaf) -> None:
    """The same value everywhere: halved, unless all it does is lend memory to another op (11.1 no. 2)."""
    result = leaf.result_type
    assert result is not None
    if leaf.affinity is Affinity.SHARED and (result.memory is None or result.memory.is_cube):
        return leaf.keep(WHOLE)
    if leaf.singleton(result) or (leaf.affinity is Affinity.SHARED and _only_scratch(leaf.result)):
        return leaf.keep(REPLICATED)
    leaf.keep(leaf.own(result.shape[leaf.axes.axis]))


def _only_scratch(value: SSAValue) -> bool:
    for use in value.uses:
        splits = splits_of(use.operation)
        names = splits.scratch if splits is not None else ()
        if not any(getattr(use.operation, name, None) is value for name in names):
            return False
    return True


def positional(leaf: Leaf) -> None:
    """A value that depends on where its cell is cannot be halved by shape alone (11.1 no. 4)."""
    result = leaf.result_type
    assert result is not None
    if leaf.singleton(result):
        return leaf.keep(REPLICATED)
    raise leaf.refuse(
        f"{leaf.op.name} cannot take part in split-axis halving: its values depend on their position, and '"
        f"{name_of(leaf.result)}' {list(result.shape)} would be shared out by {axis_word(leaf.axes.axis)} "
        f"({leaf.axes.mode.name}, axis {leaf.axes.axis}); lane 1 would restart the pattern",
        instead="fill a tensor with it in a function without split, and load it here",
        code="positional-generator",
    )


def no_rule(leaf: Leaf) -> None:
    """An op that touches no tile of a lane needs no rule; one that does is refused by name."""
    for value in leaf.halved():
        raise leaf.refuse(
            f"{leaf.op.name} has no rule for a tile that the lanes share out: {shape_text(value)}",
            leaf.axes.story(value),
            instead="move this op out of the split function",
            code="no-split-rule",
        )


def boundary(leaf: Leaf) -> None:
    """An explicit boundary does not belong into a body that is shared out automatically (spec 11.1 no. 12)."""
    raise leaf.refuse(
        f"'{name_of(leaf.result)}' = {leaf.op.name}(..) stands in a body that the compiler shares out itself "
        f"({leaf.axes.mode.name})",
        instead="write the boundary inside `for lane in pl.split_aiv(2, mode=..)`, or cross with pl.tile.move",
        code="boundary-in-auto-body",
    )


def _moved(leaf: Leaf) -> str:
    """The tile that a transport op pushes, pops or frees."""
    return name_of(next(v for v in (*leaf.op.operands, *leaf.op.results) if isinstance(v.type, TileType)))


def channel(leaf: Leaf) -> None:
    """Hand-written transport cannot be combined with the automatic split."""
    raise leaf.refuse(
        f"{leaf.op.name} of '{_moved(leaf)}' is hand-written transport in a body that the compiler shares out "
        f"({leaf.axes.mode.name})",
        instead="write the two sides as an AIC and an AIV function, or cross with pl.tile.move",
        code="channel-in-auto-body",
    )


RULES: dict[Behaviour, Rule] = {
    Behaviour.ELEMENTWISE: on_lanes(elementwise),
    Behaviour.REDUCES: on_lanes(reduces),
    Behaviour.ALONG_ROWS: on_lanes(along_rows),
    Behaviour.GATHERS: on_lanes(gathers),
    Behaviour.LOADS: on_lanes(loads),
    Behaviour.STORES: on_lanes(stores),
    Behaviour.SLICES: on_lanes(slices),
    Behaviour.PASTES: on_lanes(pastes),
    Behaviour.RESHAPES: on_lanes(reshapes),
    Behaviour.REINTERPRETS: on_lanes(reinterprets),
    Behaviour.SETS_VALID: on_lanes(follows),
    Behaviour.PADS: on_lanes(follows),
    Behaviour.GENERATES: generates,
    Behaviour.POSITIONAL: on_lanes(positional),
    Behaviour.TRANSPOSES: on_lanes(transposes),
    Behaviour.CONCATENATES: on_lanes(concatenates),
    Behaviour.READS_CELL: on_lanes(cell_of_part),
    Behaviour.WRITES_CELL: on_lanes(cell_of_part),
    Behaviour.GATHERS_ROWS: on_lanes(gathers_rows),
    Behaviour.MOVES: moves,
    Behaviour.CUBE: full_width,
    Behaviour.CHANNEL: channel,
    Behaviour.BOUNDARY: boundary,
    Behaviour.NONE: no_rule,
}
