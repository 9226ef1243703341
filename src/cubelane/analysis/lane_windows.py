"""Which cells of global memory each lane writes and reads, as integer sets (issue: lane windows; spec/passes.md 4.4).

The two lanes run unordered. Where both write a cell, or one reads what the other writes, the result depends on chance;
where neither writes what the full-width program wrote, rows are missing. Windows follow loops and run-time bases; what
is not affine makes a window too large (`reasons` say why), never too small. So the lanes are proven apart even with
such windows when the enlarged ones do not meet; a conflict is only reported where both windows are exact.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.affine_text import COMPUTED, LANE, AffineText
from cubelane.analysis.lane_access import Access, lane_access
from cubelane.analysis.lane_share import axis_word, name_of
from cubelane.analysis.lane_values import values_by_lane
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.analysis.valid_extents import LaneExtent, ValidExtents
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.types import TileType
from cubelane.ir.walk import ops_in

MANY = 4096
"""Accesses of one tensor beyond which nothing is proven: the sets would cost more than the rest of the compiler."""


@dataclass(frozen=True, eq=False)
class Window:
    """One access of the lanes: its tensor, and its cells as a set with the lane left open.

    `reasons` say what keeps the set from being exact; `differs` tells a write whose value may differ between the lanes.
    """

    op: Operation
    position: int
    tensor: SSAValue
    text: str
    reasons: tuple[str, ...]
    writes: bool
    atomic: bool
    differs: bool

    @property
    def exact(self) -> bool:
        """Whether the set holds just the cells that are touched."""
        return not self.reasons

    @property
    def by_lane(self) -> bool:
        """Whether the window depends on the lane."""
        return LANE in self.text

    def cells(self, lane: int) -> "isl.Set":
        """The cells that one lane touches."""
        return _parsed(self.text.replace(LANE, str(lane)))


@lru_cache(maxsize=2 * MANY)
def _parsed(text: str) -> "isl.Set":
    return isl.Set(text)


Span = tuple[float, float]
Spans = dict[tuple[Window, int], list[Span]]
"""For each window and lane, smallest and largest index per axis; infinite where a parameter decides."""


def _spans(window: Window, lane: int) -> list[Span]:
    cells = window.cells(lane)
    if cells.is_empty():
        return [(float("inf"), float("-inf"))] * cells.dim(isl.dim_type.set)
    return [(_float(cells.dim_min_val(a)), _float(cells.dim_max_val(a))) for a in range(cells.dim(isl.dim_type.set))]


def _float(value: "isl.Val") -> float:
    if value.is_int():
        return value.to_python()
    return float("-inf") if value.is_neginfty() else float("inf")


def _meeting_spans(windows: list[Window]) -> Iterator[tuple[Window, Window]]:
    """Pairs of a write on one lane and a window on the other whose spans overlap, by a sweep along one axis."""
    spans: Spans = {(w, lane): _spans(w, lane) for w in windows for lane in (0, 1)}
    axes = len(next(iter(spans.values())))
    axis = max(range(axes), key=lambda a: len({s[a] for s in spans.values()}))
    for lane in (0, 1):
        yield from _sweep(windows, spans, axis, lane)


def _sweep(windows: list[Window], spans: Spans, axis: int, lane: int) -> Iterator[tuple[Window, Window]]:
    """The pairs whose write is done by `lane`."""
    starts = [(spans[w, lane][axis][0], 0, i) for i, w in enumerate(windows) if w.writes]
    starts += [(spans[w, 1 - lane][axis][0], 1, i) for i, w in enumerate(windows)]
    active: tuple[list[Window], list[Window]] = ([], [])
    for start, side, index in sorted(starts):
        window = windows[index]
        own, facing = (lane, 1 - lane) if side == 0 else (1 - lane, lane)
        active[1 - side][:] = [w for w in active[1 - side] if spans[w, facing][axis][1] >= start]
        for met in active[1 - side]:
            if all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(spans[window, own], spans[met, facing], strict=True)):
                yield (window, met) if side == 0 else (met, window)
        active[side].append(window)


@dataclass(frozen=True)
class TensorVerdict:
    """What is known about the lanes on one tensor: proven apart, or why not. A conflict is a finding of its own."""

    tensor: str
    accesses: int
    reason: str = ""

    @property
    def proven(self) -> bool:
        """Whether no lane disturbs the other on this tensor, whatever the order."""
        return not self.reason

    def __str__(self) -> str:
        word = "accesses" if self.accesses != 1 else "access"
        return "lanes apart" + f" ({self.accesses} {word})" if self.proven else f"not proven: {self.reason}"


class LaneWindows:
    """The windows of a function's vector work, tensor by tensor."""

    def __init__(self, function: FuncOp):
        self.function = function
        handles, extents = TensorHandles(function.body.block), ValidExtents(function)
        by_lane = values_by_lane(function)
        symbols: dict[SSAValue, str] = {}
        self.by_tensor: dict[SSAValue, list[Window]] = {}
        self.too_many: dict[SSAValue, int] = {}
        found: dict[SSAValue, list[tuple[Operation, int, Access]]] = {}
        for position, op in enumerate(ops_in(function.body)):
            access = lane_access(op)
            root = None if access is None else handles[access.tensor]
            if access is not None and root is not None:
                found.setdefault(root, []).append((op, position, access))
        for root, group in found.items():
            if len(group) > MANY:
                self.too_many[root] = len(group)
                continue
            self.by_tensor[root] = [
                _window(op, position, root, access, _Space(extents, symbols, by_lane)) for op, position, access in group
            ]

    def conflicts(self) -> Iterator[Diagnostic]:
        """Cells that one lane writes while the other writes or reads them."""
        for windows in self.by_tensor.values():
            for write, other in self._meeting(windows):
                if write.exact and other.exact:
                    yield from _overlap(write, other)

    def verdicts(self) -> Iterator[TensorVerdict]:
        """For every tensor that a lane writes, whether the lanes are proven to stay apart on it."""
        for root, count in self.too_many.items():
            yield TensorVerdict(name_of(root), count, f"more than {MANY} accesses")
        for root, windows in self.by_tensor.items():
            if any(w.writes for w in windows):
                yield TensorVerdict(name_of(root), len(windows), self._doubt(windows))

    def _doubt(self, windows: list[Window]) -> str:
        for write, other in self._meeting(windows):
            blurred = next((w for w in (write, other) if not w.exact), None)
            if blurred is not None and _common(write, other) is not None:
                return f"{blurred.op.name} at {Location.of(blurred.op)}: {blurred.reasons[0]}"
        return ""

    @staticmethod
    def _meeting(windows: list[Window]) -> Iterator[tuple[Window, Window]]:
        """Pairs that might disturb each other, in program order."""
        if any(w.writes for w in windows):
            pairs = {pair for pair in _meeting_spans(windows) if _may_meet(*pair)}
            yield from sorted(pairs, key=lambda pair: (pair[1].position, pair[0].position))

    @property
    def written(self) -> dict[str, list[Window]]:
        """The windows of the tensors that the function writes, by the tensor's name."""
        return {name_of(t): windows for t, windows in self.by_tensor.items() if any(w.writes for w in windows)}

    def missing(self, full_width: "LaneWindows") -> Iterator[Diagnostic]:
        """Cells that the full-width program writes and no lane does."""
        ours = self.written
        for name, wanted in full_width.written.items():
            if not incomparable(wanted, ours.get(name, [])):
                yield from _uncovered(name, wanted, ours.get(name, []))


def incomparable(wanted: list[Window], windows: list[Window]) -> str:
    """Why what two programs write to a tensor cannot be compared; empty where it can."""
    for window in (*wanted, *windows):
        if window.writes and not window.exact:
            return f"{window.op.name} at {Location.of(window.op)}: {window.reasons[0]}"
        if window.writes and COMPUTED in window.text:
            return f"{window.op.name} at {Location.of(window.op)}: its window depends on a value computed at run time"
    return ""


def _may_meet(write: Window, other: Window) -> bool:
    """Whether the lanes could disturb each other by this pair.

    One write that both lanes do with the same value to the same cells is one write done twice; two different ones can
    end in the wrong order for a reader, and a read that comes before the write of the other lane sees either.
    """
    if write.atomic and other.atomic:
        return False
    if other.writes and other.position < write.position:
        return False
    if write.by_lane or other.by_lane or write.differs or other.differs:
        return True
    if other.writes:
        return other is not write
    return other.position < write.position or other.op.parent is not _body(write.tensor)


def _body(tensor: SSAValue) -> Block:
    owner = tensor.owner
    assert isinstance(owner, Block)
    return owner


def _uncovered(tensor: str, wanted: list[Window], windows: list[Window]) -> Iterator[Diagnostic]:
    covered = [w.cells(lane) for w in windows if w.writes for lane in (0, 1)]
    for window in wanted:
        left = window.cells(0)
        for cells in covered if window.writes else ():
            left = left.subtract(cells)
        if window.writes and not left.is_empty():
            yield refuse(
                window.op,
                f"no lane writes {_rows(left)} of '{tensor}', which the full-width program writes",
                code="lane-gap",
            )


def lane_conflicts(function: FuncOp) -> list[Diagnostic]:
    """The conflicts between the two lanes of a function that tells them apart."""
    return list(LaneWindows(function).conflicts())


def _common(one: Window, two: Window) -> "tuple[int, isl.Set] | None":
    """A lane, and the cells that it touches by `one` and the other lane by `two`."""
    for lane in (0, 1):
        common = one.cells(lane).intersect(two.cells(1 - lane))
        if not common.is_empty():
            return lane, common
    return None


def _overlap(one: Window, two: Window) -> Iterator[Diagnostic]:
    met = _common(one, two)
    if met is None:
        return
    lane, common = met
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


@dataclass(frozen=True)
class _Space:
    """What windows of one function are written in."""

    extents: ValidExtents
    symbols: dict[SSAValue, str]
    by_lane: set[SSAValue]


def _window(op: Operation, position: int, root: SSAValue, access: Access, space: _Space) -> Window:
    text = AffineText(space.symbols)
    bounds: list[str] = []
    tile = access.moved
    rank = len(tile.type.shape) if tile is not None and isinstance(tile.type, TileType) else 0
    shift = len(access.offsets) - rank
    for axis, offset in enumerate(access.offsets):
        start = text.text(offset)
        length = "1" if tile is None or axis < shift else _length(tile, axis - shift, space.extents, text)
        bounds.append(f"{start} <= x{axis} and x{axis} < {start} + {length}")
    text.conditions_of(op)
    names = [f"x{axis}" for axis in range(len(access.offsets))]
    cells, reasons = _set_text(text, names, bounds), tuple(text.reasons)
    differs = access.stored in space.by_lane
    return Window(op, position, root, cells, reasons, access.writes, access.atomic, differs)


def _length(tile: SSAValue, axis: int, extents: ValidExtents, space: AffineText) -> str:
    assert isinstance(tile.type, TileType)
    box = tile.type.shape[axis]
    extent = extents.lane_extent(tile, axis)
    if extent is None:
        space.reasons.append(f"how much of '{name_of(tile)}' is valid on axis {axis} is not stated")
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
