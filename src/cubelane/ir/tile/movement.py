"""Tile ops that move data: load, store, move, cells, rows (spec/front.md 2.2)."""

from typing import ClassVar, TypedDict

from xdsl.dialects.builtin import IndexType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from cubelane.ir.surface import (
    Bound,
    Kind,
    Parameter,
    a_scalar,
    a_value,
    constant_of,
    extents,
    extents_of,
    indices,
    keyword,
    shape,
)
from cubelane.ir.tile.base import TileOp, cut_extent, same_as, wrong
from cubelane.ir.traits import (
    ByFirstTile,
    ByMove,
    ByResultMemory,
    Cost,
    CostClass,
    Meaning,
    OnVector,
    Overwrites,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)
from cubelane.ir.types import (
    DYNAMIC,
    Layout,
    MemorySpace,
    TensorLayout,
    TensorType,
    TileType,
    implicit_layout,
)

VEC, MAT, ACC = MemorySpace.VEC, MemorySpace.MAT, MemorySpace.ACC


class Layouts(TypedDict, total=False):
    """Layout arguments of `TileType.make`."""

    blayout: Layout
    slayout: Layout


def clip(requested: tuple[int, ...], box: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(r if r == DYNAMIC else min(r, b) for r, b in zip(requested, box, strict=True))


@irdl_op_definition
class LoadOp(TileOp):
    """Copies a window of a tensor in global memory to a tile in the vector buffer or in L1.

    `offsets` and the window are in elements; cells of the window outside `valid` are undefined.
    """

    name = "tile.load"
    SPELLING: ClassVar[str] = "load"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    clamp = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("source"),
        indices("offsets"),
        shape("shapes"),
        extents("valid"),
        keyword("target_memory", Kind.SPACE, VEC),
        keyword("clamp", Kind.BOOL, None),
    )
    traits = traits_def(
        MemoryReadEffect(),
        ByResultMemory(),
        Splits(Split.LOADS),
        Meaning("window({source}, {offsets}, {shape}, {valid})", valid="{valid}"),
        PtoSpelling("pto.tload"),
        Cost(CostClass.TRANSFER),
        Spaces(None, {"source": (MemorySpace.DDR,)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        source, box = call.type("source"), tuple(call["shapes"])
        if not isinstance(source, TensorType):
            raise wrong("`load` reads from a tensor in global memory", instead="use move for a tile")
        memory = call.get("target_memory", VEC)
        if memory not in (VEC, MAT):
            raise wrong(f"`load` can only target Vec or Mat, not {memory.dsl}", instead="load to Mat, then move")
        requested = extents_of(call.get("valid", [])) or box
        if any(v != DYNAMIC and v > b for v, b in zip(requested, box, strict=True)):
            fitting = [min(v, b) for v, b in zip(requested, box, strict=True)]
            raise wrong(
                f"the valid extent {list(requested)} exceeds the window {list(box)}",
                instead=str(fitting),
                code="wrong-shape",
            )
        cls._check_bounds(call, source, requested)
        source_valid = source.data.valid
        valid = requested
        if source_valid and len(source_valid) == len(box):
            offsets = [constant_of(o) for o in call["offsets"]]
            limits = [cut_extent(v, o, b) for v, o, b in zip(source_valid, offsets, box, strict=True)]
            valid = tuple(DYNAMIC if DYNAMIC in (r, c) else min(r, c) for r, c in zip(requested, limits, strict=True))
        return TileType.make(box, source.dtype, memory, valid, **cls._layout(source, box, memory))

    @staticmethod
    def _check_bounds(call: Bound, source: TensorType, requested: tuple[int, ...]) -> None:
        offsets = [constant_of(o) for o in call["offsets"]]
        if len(offsets) != len(source.shape):
            raise wrong(f"{len(offsets)} offsets for a tensor of {len(source.shape)} axes", code="wrong-shape")
        if call.get("clamp") or len(requested) != len(offsets):
            return
        for axis, (offset, extent, limit) in enumerate(zip(offsets, requested, source.static_shape, strict=True)):
            if offset is not None and extent != DYNAMIC and limit != DYNAMIC and offset + extent > limit:
                raise wrong(
                    f"the window reads {extent} elements at {offset} on axis {axis} of a tensor with {limit}",
                    instead=f"an offset up to {limit - extent}, or clamp=True" if extent <= limit else "clamp=True",
                    code="out-of-bounds",
                )

    @staticmethod
    def _layout(source: TensorType, box: tuple[int, ...], memory: MemorySpace) -> Layouts:
        if memory is MAT:
            if len(box) == 2 and box[0] == 1:
                return {"blayout": Layout.ROW_MAJOR, "slayout": Layout.NONE_BOX}
            if source.data.layout is TensorLayout.DN:
                return {"blayout": Layout.ROW_MAJOR, "slayout": Layout.COL_MAJOR}
        elif box[-1] == 1 and len(box) > 1:
            return {"blayout": Layout.COL_MAJOR}
        return {}


@irdl_op_definition
class StoreOp(TileOp):
    """Writes the valid part of a tile to a window of a tensor; the result names the same tensor afterwards.

    `atomic` 1 adds to what is there. `shapes` (optional) is the window of a tensor of higher rank.
    """

    name = "tile.store"
    SPELLING: ClassVar[str] = "store"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    tile = operand_def(TileType)
    offsets = var_operand_def(IndexType)
    target = operand_def(TensorType)
    shapes = var_operand_def(IndexType)
    atomic = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        indices("offsets"),
        a_value("target"),
        extents("shapes"),
        keyword("atomic", Kind.INT, None),
    )
    traits = traits_def(
        MemoryWriteEffect(),
        ByFirstTile(),
        Splits(Split.STORES),
        Meaning("put({target}, {offsets}, {tile}, {shapes}, {atomic})"),
        PtoSpelling("pto.tstore"),
        Cost(CostClass.TRANSFER),
        Spaces(MemorySpace.DDR, {"tile": (VEC, ACC)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        tile, target = call.tile("tile"), call.type("target")
        if not isinstance(target, TensorType):
            raise wrong("`store` writes to a tensor in global memory")
        offsets = [constant_of(o) for o in call["offsets"]]
        if len(offsets) != len(target.shape):
            raise wrong(f"{len(offsets)} offsets for a tensor of {len(target.shape)} axes", code="wrong-shape")
        if len(tile.shape) == len(offsets):
            for axis, (offset, extent, limit) in enumerate(zip(offsets, tile.valid, target.static_shape, strict=True)):
                if offset is not None and DYNAMIC not in (extent, limit) and offset + extent > limit:
                    raise wrong(
                        f"the store writes {extent} elements at {offset} on axis {axis} of a tensor with {limit}",
                        instead=f"an offset up to {limit - extent}" if extent <= limit else None,
                        code="out-of-bounds",
                    )
        return target


@irdl_op_definition
class MoveOp(TileOp):
    """Copies a tile to another memory space or layout; between the cores it is a boundary."""

    name = "tile.move"
    SPELLING: ClassVar[str] = "move"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("target_memory", Kind.SPACE),
        keyword("blayout", Kind.BLAYOUT, None),
        keyword("slayout", Kind.SLAYOUT, None),
    )
    traits = traits_def(
        Pure(),
        ByMove(),
        Splits(Split.MOVES),
        Meaning("{tile}"),
        PtoSpelling("pto.tmov"),
        Cost(CostClass.TRANSFER),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, memory = call.tile("tile"), call["target_memory"]
        blayout, slayout, fractal = implicit_layout(tile.shape, memory)
        if memory in (VEC, MemorySpace.BIAS):
            blayout, slayout, fractal = tile.data.blayout, tile.data.slayout, 512
        elif memory is MemorySpace.RIGHT:
            blayout = Layout.ROW_MAJOR
        return TileType.make(
            tile.shape,
            tile.dtype,
            memory,
            tile.valid,
            blayout=call.get("blayout", blayout),
            slayout=call.get("slayout", slayout),
            fractal=fractal,
            pad=tile.data.pad,
        )


@irdl_op_definition
class ReadOp(TileOp):
    """One cell of a tile as a scalar."""

    name = "tile.read"
    SPELLING: ClassVar[str] = "read"
    tile = operand_def(TileType)
    position = var_operand_def(IndexType)
    result = result_def()
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), indices("position"))
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.READS_CELL),
        Meaning("cell({tile}, {position})"),
        PtoSpelling("pto.tgetval"),
        Cost(CostClass.SCALAR),
        Spaces(None, {"tile": (VEC,)}),
    )

    @classmethod
    def result_type(cls, call: Bound):
        return call.tile("tile").dtype


@irdl_op_definition
class WriteOp(TileOp):
    """The tile with one cell replaced by a scalar."""

    name = "tile.write"
    SPELLING: ClassVar[str] = "write"
    tile = operand_def(TileType)
    position = var_operand_def(IndexType)
    scalar = operand_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), indices("position"), a_scalar("scalar"))
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.WRITES_CELL),
        Meaning("with_cell({tile}, {position}, {scalar})"),
        PtoSpelling("pto.tsetval"),
        Overwrites("tile"),
        Cost(CostClass.SCALAR),
        Spaces(VEC, {"tile": (VEC,)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return same_as(call.tile("tile"))


@irdl_op_definition
class GatherRowOp(TileOp):
    """The target tile with a window of a tensor, at `source_offsets`, copied to its cells at `offsets`."""

    name = "tile.gather_row"
    SPELLING: ClassVar[str] = "gather_row"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    target = operand_def(TileType)
    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    source_offsets = var_operand_def(IndexType)
    sizes = var_operand_def(IndexType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("target"),
        a_value("source"),
        indices("offsets"),
        indices("source_offsets"),
        indices("sizes"),
    )
    traits = traits_def(
        MemoryReadEffect(),
        ByFirstTile(),
        Splits(Split.GATHERS_ROWS),
        Meaning("gather_rows({target}, {source}, {offsets}, {source_offsets}, {sizes})"),
        Overwrites("target"),
        PtoSpelling("pto.tload"),
        Cost(CostClass.TRANSFER),
        Spaces(None, {"source": (MemorySpace.DDR,)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return call.tile("target")


MOVEMENT_OPS: tuple[type[TileOp], ...] = (
    LoadOp,
    StoreOp,
    MoveOp,
    ReadOp,
    WriteOp,
    GatherRowOp,
)
