"""Tile ops that cut, join, reshape and view tiles (spec/front.md 2.2)."""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from cubelane.ir.surface import (
    Bound,
    Kind,
    Parameter,
    a_value,
    constant_of,
    extents,
    extents_of,
    indices,
    keyword,
    shape,
)
from cubelane.ir.tile.base import TileOp, cut_extent, need_rank, wrong
from cubelane.ir.tile.movement import Layouts, clip
from cubelane.ir.traits import (
    ByFirstTile,
    ByResultMemory,
    Cost,
    CostClass,
    InPlace,
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
    TileType,
    bit_width,
    dtype_name,
    implicit_layout,
    in_words,
)

VEC, MAT, ACC = MemorySpace.VEC, MemorySpace.MAT, MemorySpace.ACC


def _window_type(call: Bound, tile: TileType, box: tuple[int, ...]) -> TileType:
    offsets = [constant_of(o) for o in call["offsets"]]
    if len(box) != len(tile.shape) or len(offsets) != len(tile.shape):
        raise wrong(f"a window {list(box)} at {len(offsets)} offsets does not fit a tile {list(tile.shape)}")
    for axis, (offset, extent, limit) in enumerate(zip(offsets, box, tile.shape, strict=True)):
        if extent <= 0 or extent > limit or (offset is not None and offset + extent > limit):
            raise wrong(
                f"the window takes {extent} cells at {offset} on axis {axis} of a tile with {limit}",
                instead=f"an offset up to {limit - extent}" if 0 < extent <= limit else None,
                code="out-of-bounds",
            )
    if stated := extents_of(call.get("valid", [])):
        valid = clip(stated, box)
    elif tile.fully_valid:
        valid = box
    else:
        valid = tuple(cut_extent(v, o, b) for v, o, b in zip(tile.valid, offsets, box, strict=True))
    return TileType.make(box, tile.dtype, tile.memory, valid, **_carried_layout(tile))


def _carried_layout(tile: TileType) -> Layouts:
    d = tile.data
    if (d.blayout, d.slayout) == implicit_layout(tile.shape, tile.memory)[:2]:
        return {}
    return {"blayout": d.blayout, "slayout": d.slayout}


@irdl_op_definition
class SliceOp(TileOp):
    """The window of a tile at `offsets` (elements of the source)."""

    name = "tile.slice"
    SPELLING: ClassVar[str] = "slice"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    tile = operand_def(TileType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        shape("shape"),
        indices("offsets"),
        extents("valid"),
    )
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.SLICES),
        Meaning("cut({tile}, {offsets}, {shape})", valid="cut_valid({tile_valid}, {offsets}, {shape}, {valid})"),
        PtoSpelling("pto.subview"),
        Cost(CostClass.FREE),
        Spaces(),
        InPlace("tile"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return _window_type(call, call.tile("tile"), tuple(call["shape"]))


@irdl_op_definition
class ExtractOp(TileOp):
    """Copies a window of a tile into another memory space."""

    name = "tile.extract"
    SPELLING: ClassVar[str] = "extract"
    tile = operand_def(TileType)
    row = operand_def(IndexType)
    column = operand_def(IndexType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        Parameter("row", Kind.INDEX),
        Parameter("column", Kind.INDEX),
        shape("shape"),
        keyword("target_memory", Kind.SPACE),
    )
    traits = traits_def(
        Pure(),
        ByResultMemory(),
        Splits(Split.SLICES),
        Meaning(
            "cut({tile}, ({row}, {column}), {shape})", valid="cut_valid({tile_valid}, ({row}, {column}), {shape}, None)"
        ),
        PtoSpelling("pto.textract"),
        Cost(CostClass.TRANSFER),
        Spaces(None, {"tile": (MAT, ACC, VEC)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, memory = call.tile("tile"), call["target_memory"]
        window = Bound({**call.values, "offsets": [call["row"], call["column"]]})
        cut = _window_type(window, tile, tuple(call["shape"]))
        layouts: Layouts = {}
        if memory in (MemorySpace.LEFT, MemorySpace.RIGHT):
            inner = Layout.ROW_MAJOR if memory is MemorySpace.LEFT else Layout.COL_MAJOR
            layouts = {"blayout": Layout.ROW_MAJOR, "slayout": inner}
        return TileType.make(cut.shape, cut.dtype, memory, cut.valid, **layouts)


@irdl_op_definition
class AssembleOp(TileOp):
    """The target tile with the source written into the window at `offsets`."""

    name = "tile.assemble"
    SPELLING: ClassVar[str] = "assemble"
    target = operand_def(TileType)
    source = operand_def(TileType)
    offsets = var_operand_def(IndexType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("target"), a_value("source"), indices("offsets"))
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.PASTES),
        Meaning("paste({target}, {source}, {offsets})"),
        Overwrites("target"),
        PtoSpelling("pto.tmov"),
        Cost(CostClass.VECTOR),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        target, source = call.tile("target"), call.tile("source")
        offsets = [constant_of(o) for o in call["offsets"]]
        for axis, (offset, extent, limit) in enumerate(zip(offsets, source.shape, target.shape, strict=True)):
            if extent > limit or (offset is not None and offset + extent > limit):
                raise wrong(
                    f"the source has {extent} cells at {offset} on axis {axis} of a target with {limit}",
                    instead=f"an offset up to {limit - extent}" if extent <= limit else None,
                    code="out-of-bounds",
                )
        if target.dtype != source.dtype:
            raise wrong(
                f"the source holds {dtype_name(source.dtype)}, the target {dtype_name(target.dtype)}",
                code="wrong-dtype",
            )
        return target


@irdl_op_definition
class ReshapeOp(TileOp):
    """The same elements in row-major order under another shape."""

    name = "tile.reshape"
    SPELLING: ClassVar[str] = "reshape"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), shape("shape"))
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.RESHAPES),
        Meaning("{tile}.reshape({shape})", valid="reshaped_valid({tile_valid}, {tile}, {shape})"),
        PtoSpelling("pto.treshape"),
        Cost(CostClass.FREE),
        Spaces(),
        InPlace("tile"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, box = call.tile("tile"), tuple(call["shape"])
        if prod(box) != prod(tile.shape):
            raise wrong(
                f"{list(tile.shape)} has {prod(tile.shape)} elements, {list(box)} has {prod(box)}", code="wrong-shape"
            )
        return TileType.make(box, tile.dtype, tile.memory, reshaped_extents(tile, box))


def reshaped_extents(tile: TileType, box: tuple[int, ...]) -> tuple[int, ...]:
    """Valid extents after a reshape: kept where rows of one width survive, or a vector turns; else refused."""
    if tile.fully_valid:
        return box
    if box == tile.shape:
        return tile.valid
    if len(box) == 2 == len(tile.shape) and 1 in box and 1 in tile.shape and max(box) == max(tile.shape):
        return tile.valid[::-1]
    raise wrong(
        f"a partly valid tile {list(tile.shape)} (valid {list(tile.valid)}) cannot be reshaped to {list(box)}",
        "the valid cells would no longer be a rectangle at the origin",
        code="wrong-shape",
    )


@irdl_op_definition
class TransposeOp(TileOp):
    """Copies a tile with two axes swapped; `tmp` is scratch."""

    name = "tile.transpose"
    SPELLING: ClassVar[str] = "transpose"
    tile = operand_def(TileType)
    axis0 = prop_def()
    axis1 = prop_def()
    tmp = opt_operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        Parameter("axis0", Kind.INT),
        Parameter("axis1", Kind.INT),
        Parameter("tmp", Kind.VALUE, None),
    )
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.TRANSPOSES, scratch=("tmp",)),
        Meaning("np.swapaxes({tile}, {axis0}, {axis1}).copy()", valid="swapped_valid({tile_valid}, {axis0}, {axis1})"),
        PtoSpelling("pto.ttrans"),
        Cost(CostClass.VECTOR_SLOW),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        box, valid = list(tile.shape), list(tile.valid)
        a, b = call["axis0"], call["axis1"]
        box[a], box[b] = box[b], box[a]
        valid[a], valid[b] = valid[b], valid[a]
        return TileType.make(box, tile.dtype, tile.memory, valid)


@irdl_op_definition
class TransposeViewOp(TileOp):
    """A tile seen with its last two axes swapped, without a copy."""

    name = "tile.transpose_view"
    SPELLING: ClassVar[str] = "transpose_view"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"),)
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.TRANSPOSES),
        Meaning("{tile}.swapaxes(-1, -2)", valid="swapped_valid({tile_valid}, -1, -2)"),
        PtoSpelling("pto.treshape"),
        Cost(CostClass.FREE),
        Spaces(),
        InPlace("tile"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        box = (*tile.shape[:-2], tile.shape[-1], tile.shape[-2])
        valid = (*tile.valid[:-2], tile.valid[-1], tile.valid[-2])
        swap = {Layout.ROW_MAJOR: Layout.COL_MAJOR, Layout.COL_MAJOR: Layout.ROW_MAJOR}
        d = tile.data
        if d.slayout is Layout.NONE_BOX:
            return TileType.make(box, d.dtype, d.memory, valid, blayout=swap[d.blayout], slayout=d.slayout)
        return TileType.make(box, d.dtype, d.memory, valid, blayout=d.slayout, slayout=d.blayout, fractal=d.fractal)


@irdl_op_definition
class ReinterpretViewOp(TileOp):
    """The same bytes under another element type; without `shape` the contiguous axis scales."""

    name = "tile.reinterpret_view"
    SPELLING: ClassVar[str] = "reinterpret_view"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("dtype", Kind.DTYPE, None),
        keyword("shape", Kind.SHAPE, None),
    )
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.REINTERPRETS),
        Meaning("reinterpret({tile}, {dtype}, {shape})", valid="reinterpreted_valid({tile_valid}, {tile}, {shape})"),
        PtoSpelling("pto.treshape"),
        Cost(CostClass.FREE),
        Spaces(),
        InPlace("tile"),
    )

    @staticmethod
    def natural_shape(tile: TileType, width: int) -> tuple[int, ...]:
        """The shape when the contiguous axis takes the change of element width (bits)."""
        axis = 0 if tile.data.blayout is Layout.COL_MAJOR and tile.data.slayout is Layout.NONE_BOX else -1
        box = list(tile.shape)
        bits = box[axis] * bit_width(tile.dtype)
        if bits % width:
            raise wrong(f"{box[axis]} elements of {dtype_name(tile.dtype)} are no whole number of the new elements")
        box[axis] = bits // width
        return tuple(box)

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        return cls.view_type(tile, call.get("dtype", tile.dtype), call.get("shape"))

    @classmethod
    def view_type(cls, tile: TileType, dtype: Attribute, shape: Sequence[int] | None) -> TileType:
        """The type of the view; refuses a view of another size in bytes."""
        natural = cls.natural_shape(tile, bit_width(dtype))
        box = natural if shape is None else tuple(shape)
        if prod(box) * bit_width(dtype) != prod(tile.shape) * bit_width(tile.dtype):
            raise wrong(f"the view {list(box)} has another size in bytes", code="wrong-shape")
        valid = box
        if not tile.fully_valid:
            valid = tuple(
                v if n == s else (DYNAMIC if v == DYNAMIC else v * n // s)
                for v, n, s in zip(tile.valid, natural, tile.shape, strict=True)
            )
        return TileType.make(box, dtype, tile.memory, valid)


@irdl_op_definition
class SetValidShapeOp(TileOp):
    """States how many rows and columns of a tile are valid."""

    name = "tile.set_validshape"
    SPELLING: ClassVar[str] = "set_validshape"
    tile = operand_def(TileType)
    rows = operand_def(IndexType)
    columns = operand_def(IndexType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        Parameter("rows", Kind.INDEX),
        Parameter("columns", Kind.INDEX),
    )
    traits = traits_def(
        Pure(),
        ByFirstTile(),
        Splits(Split.SETS_VALID),
        Meaning("{tile}", valid="({rows}, {columns})"),
        PtoSpelling("pto.set_validshape"),
        Cost(CostClass.FREE),
        Spaces(),
        InPlace("tile"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        need_rank(tile, 2, "tile")
        valid = extents_of([call["rows"], call["columns"]])
        if any(v != DYNAMIC and not 0 <= v <= b for v, b in zip(valid, tile.shape, strict=True)):
            fitting = [min(max(v, 0), b) for v, b in zip(valid, tile.shape, strict=True)]
            raise wrong(
                f"the valid extent {list(valid)} does not fit the tile {list(tile.shape)}",
                instead=", ".join(map(str, fitting)) if DYNAMIC not in valid else None,
            )
        return tile.replaced(valid=valid)


@irdl_op_definition
class ConcatOp(TileOp):
    """Two tiles of the same rows side by side."""

    name = "tile.concat"
    SPELLING: ClassVar[str] = "concat"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.CONCATENATES, axis=1),
        Meaning("np.concatenate(({lhs}, {rhs}), axis=1)", valid="{shape}"),
        PtoSpelling("pto.tconcat"),
        Cost(CostClass.VECTOR),
        Spaces(VEC, {"lhs": (VEC,), "rhs": (VEC,)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        lhs, rhs = call.tile("lhs"), call.tile("rhs")
        if lhs.shape[0] != rhs.shape[0] or lhs.dtype != rhs.dtype:
            raise wrong(
                f"`concat` joins tiles of the same rows and element type, not {in_words(lhs)} and {in_words(rhs)}",
                code="wrong-shape",
            )
        return TileType.make((lhs.shape[0], lhs.shape[1] + rhs.shape[1]), lhs.dtype, VEC)


SHAPING_OPS: tuple[type[TileOp], ...] = (
    SliceOp,
    ExtractOp,
    AssembleOp,
    ReshapeOp,
    TransposeOp,
    TransposeViewOp,
    ReinterpretViewOp,
    SetValidShapeOp,
    ConcatOp,
)
