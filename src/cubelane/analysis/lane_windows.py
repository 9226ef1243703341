"""Which cells of global memory each lane writes and reads, as integer sets (issue: lane windows; spec/passes.md 4.4).

The two lanes run unordered. Where both write a cell, or one reads what the other writes, the result depends on chance;
where neither writes what the full-width program wrote, rows are missing. Windows follow loops and run-time bases; what
is not affine makes an answer open (`exact` is False), never wrong.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce

import islpy as isl
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.affine_text import COMPUTED, LANE, AffineText
from cubelane.analysis.lane_access import lane_access
from cubelane.analysis.lane_share import axis_word, name_of
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.analysis.valid_extents import LaneExtent, ValidExtents
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.types import TileType

MANY = 64
"""Accesses of one tensor beyond which nothing is proven; the pairs would cost more than the lowering."""


@dataclass(frozen=True)
class Window:
    """One access of the lanes: its tensor, the cells as a set with the lane left open, whether it is exact."""

    op: Operation
    position: int
    tensor: SSAValue
    text: str
    exact: bool
    writes: bool

    @property
    def by_lane(self) -> bool:
        """Whether the window depends on the lane."""
        return LANE in self.text

    def cells(self, lane: int) -> "isl.Set":
        """The cells that one lane touches."""
        return _parsed(self.text.replace(LANE, str(lane)))


@lru_cache(maxsize=4 * MANY)
def _parsed(text: str) -> "isl.Set":
    return isl.Set(text)


def _all_cells(windows: list[Window], lane: int) -> "isl.Set":
    """The cells that a lane touches by any of the windows."""
    first, *others = (window.cells(lane) for window in windows)
    return reduce(lambda one, two: one.union(two), others, first)


class LaneWindows:
    """The windows of a function's vector work, tensor by tensor."""

    def __init__(self, function: FuncOp):
        handles, extents = TensorHandles(function.body.block), ValidExtents(function)
        symbols: dict[SSAValue, str] = {}
        self.by_tensor: dict[SSAValue, list[Window]] = {}
        found: dict[SSAValue, list[tuple[Operation, int]]] = {}
        for position, op in enumerate(function.body.walk()):
            access = lane_access(op)
            root = None if access is None else handles[access[0]]
            if root is not None:
                found.setdefault(root, []).append((op, position))
        for root, ops in found.items():
            if len(ops) <= MANY:
                windows = [_window(op, position, root, extents, symbols) for op, position in ops]
                self.by_tensor[root] = [w for w in windows if w is not None]

    def conflicts(self) -> Iterator[Diagnostic]:
        """Cells that one lane writes while the other writes or reads them."""
        for windows in self.by_tensor.values():
            exact = [w for w in windows if w.exact]
            writes = [w for w in exact if w.writes]
            if not writes or _apart(writes, exact):
                continue
            for other in exact:
                for write in writes:
                    if _may_meet(write, other):
                        yield from _overlap(write, other)

    def missing(self, full_width: "LaneWindows") -> Iterator[Diagnostic]:
        """Cells that the full-width program writes and no lane does."""
        ours = {name_of(tensor): windows for tensor, windows in self.by_tensor.items()}
        for tensor, wanted in full_width.by_tensor.items():
            windows = ours.get(name_of(tensor), [])
            if all(w.exact and COMPUTED not in w.text for w in (*wanted, *windows)):
                yield from _uncovered(tensor, wanted, windows)


def _apart(writes: list[Window], windows: list[Window]) -> bool:
    """Whether no lane writes a cell that the other touches: one test for all pairs."""
    return all(_all_cells(writes, lane).intersect(_all_cells(windows, 1 - lane)).is_empty() for lane in (0, 1))


def _may_meet(write: Window, other: Window) -> bool:
    """Whether the lanes could disturb each other by this pair; one store by both lanes writes the same twice."""
    if other.writes and other.position < write.position:
        return False
    if write.by_lane or other.by_lane:
        return True
    return not other.writes and (other.position < write.position or other.op.parent is not write.tensor.owner)


def _uncovered(tensor: SSAValue, wanted: list[Window], windows: list[Window]) -> Iterator[Diagnostic]:
    covered = [w.cells(lane) for w in windows if w.writes for lane in (0, 1)]
    for window in wanted:
        left = window.cells(0)
        for cells in covered if window.writes else ():
            left = left.subtract(cells)
        if window.writes and not left.is_empty():
            yield refuse(
                window.op,
                f"no lane writes {_rows(left)} of '{name_of(tensor)}', which the full-width program writes",
                code="lane-gap",
            )


def lane_conflicts(function: FuncOp) -> list[Diagnostic]:
    """The conflicts between the two lanes of a function that tells them apart."""
    return list(LaneWindows(function).conflicts())


def _overlap(one: Window, two: Window) -> Iterator[Diagnostic]:
    for lane in (0, 1):
        common = one.cells(lane).intersect(two.cells(1 - lane))
        if common.is_empty():
            continue
        what = f"{_rows(common)} of '{name_of(one.tensor)}'"
        if two.writes:
            message = f"lane 0 and lane 1 both write {what}; the two lanes run unordered"
        else:
            message = f"lane {1 - lane} reads {what}, which lane {lane} writes; the two lanes run unordered"
        notes = () if one.op is two.op else (f"the other access is at {Location.of(two.op)}",)
        yield refuse(
            one.op,
            message,
            *notes,
            instead="let both accesses use the same rows for the same lane, or go through another tensor",
            code="lane-conflict",
        )
        return


def _rows(cells: "isl.Set") -> str:
    """The rows (or columns) of a set in words, for one value of its symbols."""
    point = cells.sample_point()
    for position in range(cells.dim(isl.dim_type.param)):
        value = point.get_coordinate_val(isl.dim_type.param, position)
        cells = cells.fix_val(isl.dim_type.param, position, value)
    words: list[str] = []
    for axis in range(cells.dim(isl.dim_type.set)):
        low, high = cells.dim_min_val(axis).to_python(), cells.dim_max_val(axis).to_python()
        words.append(f"{axis_word(axis)} {low}..{high}" if low != high else f"{axis_word(axis)} {low}")
    return ", ".join(words)


def _window(
    op: Operation, position: int, root: SSAValue, extents: ValidExtents, symbols: dict[SSAValue, str]
) -> Window | None:
    access = lane_access(op)
    assert access is not None
    writes = access[1]
    tile = op.operands[0] if writes else op.results[0]
    offsets: list[SSAValue] = list(getattr(op, "offsets"))  # noqa: B009
    if not isinstance(tile.type, TileType):
        return None
    space = AffineText(symbols)
    bounds: list[str] = []
    shift = len(offsets) - len(tile.type.shape)
    for axis, offset in enumerate(offsets):
        start = space.text(offset)
        length = "1" if axis < shift else _length(tile, axis - shift, extents, space)
        bounds.append(f"{start} <= x{axis} and x{axis} < {start} + {length}")
    space.conditions_of(op)
    names = [f"x{axis}" for axis in range(len(offsets))]
    return Window(op, position, root, _set_text(space, names, bounds), space.exact, writes)


def _length(tile: SSAValue, axis: int, extents: ValidExtents, space: AffineText) -> str:
    assert isinstance(tile.type, TileType)
    box = tile.type.shape[axis]
    extent = extents.lane_extent(tile, axis)
    if extent is None:
        space.exact = False
        return str(box)
    if not isinstance(extent, LaneExtent):
        return space.text(extent) if isinstance(extent, int) else f"min({space.text(extent)}, {box})"
    total, start = space.text(extent.total), f"({extent.stride} * {LANE})"
    return f"min(max({total}, {start}) - {start}, {extent.stride})"


def _set_text(space: AffineText, names: Iterable[str], bounds: list[str]) -> str:
    variables = list(space.variables.values())
    exists = f"exists {', '.join(variables)} : " if variables else ""
    body = " and ".join([*space.constraints, *bounds])
    return f"[{', '.join(space.symbols.values())}] -> {{ [{', '.join(names)}] : {exists}{body} }}"
