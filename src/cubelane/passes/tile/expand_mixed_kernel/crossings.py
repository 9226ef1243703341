"""What a crossing becomes on each core: the push, the pop, and what must stand beside them (spec/passes.md 5.6)."""

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.arith import ConstantOp, MaxSIOp, MinSIOp, MuliOp, SubiOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.boundaries import Boundary, gather_code, lane_extents, shard_code
from cubelane.analysis.projection import Leaf, Projector
from cubelane.analysis.valid_extents import ValidExtents
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import Bound
from cubelane.ir.tile.channel import PopFromCubeOp, PopFromLanesOp, PushToCubeOp, PushToLanesOp, SubblockIdxOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.tile.shaping import SetValidShapeOp
from cubelane.ir.types import DYNAMIC, Layout, MemorySpace, SplitMode, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import place
from cubelane.targets import Target

MAT, VEC = MemorySpace.MAT, MemorySpace.VEC
Extent = int | SSAValue


def nz_layout(tile: TileType, memory: MemorySpace) -> TileType:
    """The tile as it travels to the cube: NZ blocks (col-major blocks of row-major rows) in `memory`."""
    return tile.replaced(memory=memory, blayout=Layout.COL_MAJOR, slayout=Layout.ROW_MAJOR)


def staging_move(projector: Projector, tile: SSAValue, travels: TileType, like: Operation) -> SSAValue:
    """Lays a vector tile out in the order in which the cube expects it (a5 only)."""
    source = tile.type
    assert isinstance(source, TileType)
    d = travels.data
    kind = source.replaced(
        memory=VEC, blayout=d.blayout, slayout=d.slayout, fractal=d.fractal, pad=d.pad, valid=d.valid
    )
    move = MoveOp.from_call(Bound({"tile": tile}), kind)
    suffix = "nz" if d.blayout is Layout.COL_MAJOR else "zn"
    move.results[0].name_hint = f"{tile.name_hint or 'tile'}_{suffix}"
    projector.add(move, like)
    return move.results[0]


class IndexMath:
    """Builds index expressions the way the DSL writes them: nothing is folded, nothing is shared."""

    def __init__(self, projector: Projector, like: Operation):
        self.projector, self.like = projector, like

    def constant(self, number: int) -> SSAValue:
        """A number."""
        return self._add(ConstantOp(IntegerAttr(number, IndexType())))

    def known(self, extent: Extent) -> SSAValue:
        """An extent of the original body, as this core sees it."""
        return self.constant(extent) if isinstance(extent, int) else self.projector.value(extent)

    def _add(self, op: Operation) -> SSAValue:
        return self.projector.add(op, self.like).results[0]

    def lane_valid(self, valid: Extent, stride: int, lane: SSAValue) -> SSAValue:
        """`min(max(V, idx*S) - idx*S, S)`: the cells of V that fall into the lane's band (spec 3.4)."""
        whole = self.known(valid)
        top = self._add(MaxSIOp(whole, self._add(MuliOp(lane, self.constant(stride)))))
        rest = self._add(SubiOp(top, self._add(MuliOp(lane, self.constant(stride)))))
        return self._add(MinSIOp(rest, self.constant(stride)))


class Crossing(NamedTuple):
    """A boundary with its transport code and the run-time extents that its pop must state.

    `widened`: how many cells are valid on the split axis is known at run time only, so no code would be right for
    every value. The cube then pushes the whole box, which is always placeable, and each lane cuts its own part.
    """

    boundary: Boundary
    code: int
    extents: tuple[Extent | None, ...]
    """Per axis of the result: the full-width extent where the pop must state one, None where its type does."""
    lane: SSAValue | None
    widened: bool

    @staticmethod
    def of(boundary: Boundary, valid: ValidExtents, lanes: "Lanes") -> "Crossing":
        """Chooses the code; a Diagnostic where none fits."""
        mode = boundary.mode if boundary.authored else SplitMode.NONE
        source, result = boundary.source_type, boundary.result_type
        if boundary.to_lanes:
            code = shard_code(boundary, mode, source, boundary.lane_stride)
            _check_parts(boundary, mode)
        else:
            _check_parts(boundary, mode)
            code = gather_code(boundary, mode, result)
        widened = boundary.to_lanes and mode is not SplitMode.NONE and source.valid[mode.axis] == DYNAMIC
        if widened:
            code = shard_code(boundary, mode, source.replaced(valid=source.shape), boundary.lane_stride)
        extents: list[Extent | None] = [None] * len(result.shape)
        read = boundary.source if boundary.to_lanes or not boundary.authored else boundary.result
        for axis, extent in enumerate(result.valid):
            if extent == DYNAMIC:
                extents[axis] = valid.of(read, axis)
                if extents[axis] is None:
                    raise _unstated(boundary, axis)
        lane = lanes.at(boundary.op) if boundary.to_lanes and mode is not SplitMode.NONE else None
        needs_lane = lane is not None and extents[mode.axis] is not None
        return Crossing(boundary, code, tuple(extents), lane if needs_lane else None, widened)

    @property
    def stride(self) -> int:
        """Cells from one lane's band to the next on the split axis."""
        axis = self.boundary.mode.axis
        return self.boundary.lane_stride or (self.boundary.source_type.shape[axis] + 1) // 2

    def leaf(self, core: Affinity) -> Leaf:
        """What this crossing takes and gives on one core."""
        if core is self.boundary.producer:
            return Leaf(takes=(self.boundary.source,))
        takes = [e for e in self.extents if is_value(e)]
        return Leaf(tuple(takes if self.lane is None else [*takes, self.lane]), gives=True)


def _check_parts(boundary: Boundary, mode: SplitMode) -> None:
    """Both lanes run one program: an extent that its types state as a number is the same on both (11.1 no. 28)."""
    if mode is SplitMode.NONE:
        return
    axis = mode.axis
    part, whole = boundary.source_type, boundary.result_type
    if boundary.to_lanes:
        part, whole = whole, part
        extents = lane_extents(whole, axis, boundary.lane_stride)
        good = extents is None or (part.valid[axis] in (DYNAMIC, extents[0]) and extents[0] == extents[1])
    else:
        good = part.valid[axis] in (DYNAMIC, part.shape[axis])
    if not good and part.valid[axis] != DYNAMIC:
        raise refuse(
            boundary.op,
            f"`{boundary.result.name_hint or 'tile'}` = {boundary.op.name}(..): the part of a lane is typed with "
            f"{part.valid[axis]} of {part.shape[axis]} {('rows', 'columns')[axis]} ({boundary.mode.name}, axis {axis}) "
            f"on both lanes, but the lanes do not hold the same amount of {whole.valid[axis]}",
            "hand-written lanes state themselves what each of them holds; in a region the compiler does it",
            instead=f"for lane in pl.split_aiv(2, mode=pl.SplitMode.{boundary.mode.name}): with the crossing in it",
            code="lane-extent",
        )


def _unstated(boundary: Boundary, axis: int) -> Diagnostic:
    name = boundary.source.name_hint or "the tile"
    word = ("rows", "columns")[axis] if axis < 2 else f"cells of axis {axis}"
    return refuse(
        boundary.op,
        f"how many {word} of `{name}` are valid is not one value that the receiving core could compute",
        "no op states it, or different paths state different numbers",
        instead="state it right before the crossing: pl.tile.set_validshape(tile, rows, columns)",
        code="unstated-extent",
    )


class Lanes:
    """Which lane index of the body is in scope at an op."""

    def __init__(self, function: FuncOp):
        self.positions: dict[Operation, int] = {}
        self.indices: list[Operation] = []
        for position, op in enumerate(ops_in(function.body)):
            self.positions[op] = position
            if is_one(op, SubblockIdxOp):
                self.indices.append(op)

    def at(self, op: Operation) -> SSAValue | None:
        """The lane index that dominates `op`, the nearest one; None where the body has none."""
        blocks = {op.parent_block()}
        parent = op.parent_op()
        while parent is not None:
            blocks.add(parent.parent_block())
            parent = parent.parent_op()
        here = self.positions[op]
        for index in reversed(self.indices):
            if self.positions[index] < here and index.parent_block() in blocks:
                return index.results[0]
        return None


class CrossingWriter:
    """Writes the ends of crossings for one core."""

    def __init__(self, crossings: dict[Operation, Crossing], core: Affinity, target: Target, pipe_of: "PipeOf"):
        self.crossings, self.core, self.target, self.pipe_of = crossings, core, target, pipe_of

    def __call__(self, op: Operation, projector: Projector) -> None:
        crossing = self.crossings[op]
        if crossing.boundary.producer is self.core:
            self._push(crossing, projector)
        else:
            self._pop(crossing, projector)

    def _push(self, crossing: Crossing, projector: Projector) -> None:
        boundary = crossing.boundary
        tile = projector.value(boundary.source)
        if crossing.widened:
            tile = self._whole(crossing, tile, projector)
        if boundary.to_lanes:
            call = Bound({"tile": tile, "split": crossing.code, "lane_stride": boundary.lane_stride})
            self._add_push(PushToLanesOp, call, boundary.source_type, projector, boundary.op)
            return
        if self.target.stages_nz_before_push:
            shown = boundary.source_type if boundary.authored else boundary.result_type
            travels = nz_layout(shown, MAT)
            if not boundary.authored:
                travels = travels.replaced(valid=boundary.source_type.valid)
            tile = staging_move(projector, tile, travels, boundary.op)
        full = boundary.result_type if boundary.authored else boundary.source_type
        self._add_push(PushToCubeOp, Bound({"tile": tile, "split": crossing.code}), full, projector, boundary.op)

    def _add_push(
        self,
        kind: type[PushToLanesOp] | type[PushToCubeOp],
        call: Bound,
        full: TileType,
        projector: Projector,
        like: Operation,
    ) -> None:
        call.values["id"] = self.pipe_of(full)
        projector.add(kind.from_call(call), like)

    def _whole(self, crossing: Crossing, tile: SSAValue, projector: Projector) -> SSAValue:
        """The same tile with its whole box valid on the split axis."""
        source = crossing.boundary.source_type
        valid = list(source.valid)
        valid[crossing.boundary.mode.axis] = source.shape[crossing.boundary.mode.axis]
        return self._with_valid(crossing, tile, source.replaced(valid=tuple(valid)), list(valid), projector)

    def _with_valid(
        self, crossing: Crossing, tile: SSAValue, kind: TileType, extents: Sequence[Extent], projector: Projector
    ) -> SSAValue:
        """`set_validshape` to extents that are numbers or values of this core."""
        math = IndexMath(projector, crossing.boundary.op)
        rows, columns = (math.constant(e) if isinstance(e, int) else e for e in extents)
        cut = SetValidShapeOp.from_call(Bound({"tile": tile, "rows": rows, "columns": columns}), kind)
        cut.results[0].name_hint = tile.name_hint
        projector.add(cut, crossing.boundary.op)
        return cut.results[0]

    def _pop(self, crossing: Crossing, projector: Projector) -> None:
        boundary = crossing.boundary
        popped_type, final = self._pop_types(boundary)
        stated = self._own_extents(crossing, projector)
        name = boundary.result.name_hint or "popped"
        if crossing.widened:
            shown = [own or known for own, known in zip(stated, boundary.result_type.valid, strict=True)]
            popped_type, band = self._whole_band(crossing, popped_type, projector)
            value = self._add_pop(crossing, popped_type, band, projector, name)
            value = self._with_valid(crossing, value, boundary.result_type, shown, projector)
        else:
            popped_name = name if final is None else f"{name}_{'vec' if boundary.to_lanes else 'mat'}"
            value = self._add_pop(crossing, popped_type, [e for e in stated if e is not None], projector, popped_name)
        if final is not None:
            move = MoveOp.from_call(Bound({"tile": value}), final)
            move.results[0].name_hint = name
            value = projector.add(move, boundary.op).results[0]
            value = place(value, boundary.result_type.address)
        projector.map[boundary.result] = value

    def _add_pop(
        self, crossing: Crossing, kind: TileType, valid: list[SSAValue], projector: Projector, name: str
    ) -> SSAValue:
        boundary = crossing.boundary
        full = boundary.result_type if boundary.authored and not boundary.to_lanes else boundary.source_type
        call = Bound(
            {
                "split": crossing.code,
                "lane_stride": boundary.lane_stride if boundary.to_lanes else None,
                "valid": valid,
                "id": self.pipe_of(full),
            }
        )
        pop = (PopFromCubeOp if boundary.to_lanes else PopFromLanesOp).from_call(call, kind)
        pop.results[0].name_hint = name
        return projector.add(pop, boundary.op).results[0]

    def _own_extents(self, crossing: Crossing, projector: Projector) -> list[SSAValue | None]:
        """Run-time extents of this core's part as values; on the split axis of a crossing to the lanes, the lane's."""
        math = IndexMath(projector, crossing.boundary.op)
        shared_out = self._shared_out_axis(crossing)
        own: list[SSAValue | None] = []
        for axis, extent in enumerate(crossing.extents):
            if extent is None:
                own.append(None)
            elif axis == shared_out:
                own.append(math.lane_valid(extent, crossing.stride, self._lane(crossing, projector)))
            else:
                own.append(math.known(extent))
        return own

    @staticmethod
    def _shared_out_axis(crossing: Crossing) -> int | None:
        boundary = crossing.boundary
        if not boundary.to_lanes or not boundary.authored or boundary.mode is SplitMode.NONE:
            return None
        return boundary.mode.axis

    def _lane(self, crossing: Crossing, projector: Projector) -> SSAValue:
        if crossing.lane is not None:
            return projector.value(crossing.lane)
        index = SubblockIdxOp(result_types=[IndexType()])
        index.results[0].name_hint = "subblock_idx"
        projector.add(index, crossing.boundary.op)
        return index.results[0]

    def _whole_band(
        self, crossing: Crossing, popped: TileType, projector: Projector
    ) -> tuple[TileType, list[SSAValue]]:
        """The lane's band of the whole box: its full box, or one cell fewer on lane 1 when the box is odd."""
        boundary = crossing.boundary
        axis, source = boundary.mode.axis, boundary.source_type
        valid = list(popped.valid)
        extents = lane_extents(source.replaced(valid=source.shape), axis, boundary.lane_stride)
        if extents is not None and extents[0] == extents[1]:
            valid[axis] = extents[0]
            return popped.replaced(valid=tuple(valid)), []
        valid[axis] = DYNAMIC
        math = IndexMath(projector, boundary.op)
        part = math.lane_valid(source.shape[axis], crossing.stride, self._lane(crossing, projector))
        return popped.replaced(valid=tuple(valid)), [part]

    @staticmethod
    def _pop_types(boundary: Boundary) -> tuple[TileType, TileType | None]:
        """Type of the popped tile, and of the move behind it where the author wanted another space."""
        wanted = boundary.result_type
        side = VEC if boundary.to_lanes else MAT
        if boundary.authored:
            if boundary.to_lanes:
                return wanted.replaced(memory=VEC), None
            plain = TileType.make(wanted.shape, wanted.dtype, side, wanted.valid, pad=wanted.data.pad)
            return nz_layout(plain, MAT), None
        if boundary.to_lanes:
            return wanted, None
        if wanted.memory not in (MAT, MemorySpace.LEFT, MemorySpace.RIGHT):
            raise refuse(
                boundary.op,
                f"{boundary.op.name} cannot take the vector tile `{boundary.source.name_hint or 'tile'}` into "
                f"{wanted.memory.dsl if wanted.memory else 'an undecided space'}",
                "the cube takes tiles from the lanes in L1 (Mat) only",
                instead="move it to pl.Mem.Mat first, then on from there",
                code="crossing-space",
            )
        return nz_layout(wanted, MAT), None if wanted.memory is MAT else wanted


class PipeOf:
    """The pipe id that tiles of one size travel through; without ids (the default) one pipe carries all."""

    def __init__(self, sizes: Sequence[int] = ()):
        self.ids = {size: index for index, size in enumerate(sizes)}

    def __call__(self, tile: TileType) -> int | None:
        return self.ids.get(tile.size_in_bytes)
