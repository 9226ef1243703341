"""Ops that fill the cells outside the valid extent (spec/front.md 2.2)."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from cubelane.ir.surface import Bound, Kind, Parameter, a_value, keyword, shape
from cubelane.ir.tile.base import TileOp, wrong
from cubelane.ir.traits import Cost, CostClass, InPlace, Meaning, OnVector, PtoSpelling, Spaces, Split, Splits
from cubelane.ir.types import MemorySpace, Pad, TileType

VEC = MemorySpace.VEC


def filled_type(call: Bound) -> TileType:
    """The tile with all of its box valid."""
    tile = call.tile("tile")
    return tile.replaced(valid=tile.shape, fractal=512, pad=call.get("pad_value", Pad.ZERO))


@irdl_op_definition
class FillPadOp(TileOp):
    """Fills the cells outside the valid extent with zero, or the largest or smallest value."""

    name = "tile.fillpad"
    SPELLING: ClassVar[str] = "fillpad"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), keyword("pad_value", Kind.PAD, Pad.ZERO))
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.PADS),
        Meaning("fill_pad({tile}, {tile_valid}, {pad_value})", valid="{shape}"),
        PtoSpelling("pto.tfillpad"),
        Cost(CostClass.VECTOR),
        Spaces(VEC, {"tile": (VEC,)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return filled_type(call)


@irdl_op_definition
class FillPadInPlaceOp(TileOp):
    """Fills the cells outside the valid extent of a tile in its own buffer."""

    name = "tile.fillpad_inplace"
    SPELLING: ClassVar[str] = "fillpad_inplace"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), keyword("pad_value", Kind.PAD, Pad.ZERO))
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.PADS),
        Meaning("fill_pad({tile}, {tile_valid}, {pad_value})", valid="{shape}"),
        PtoSpelling("pto.tfillpad"),
        Cost(CostClass.VECTOR),
        Spaces(VEC, {"tile": (VEC,)}),
        InPlace("tile"),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return filled_type(call)


GROWN = "np.pad({tile}, np.subtract({shape}, np.shape({tile}))[:, None] * np.array([0, 1]))"


@irdl_op_definition
class FillPadExpandOp(TileOp):
    """A larger tile: the valid cells of the operand, the others filled."""

    name = "tile.fillpad_expand"
    SPELLING: ClassVar[str] = "fillpad_expand"
    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        shape("shape"),
        keyword("pad_value", Kind.PAD, Pad.ZERO),
    )
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.POSITIONAL),
        Meaning(f"fill_pad({GROWN}, {{tile_valid}}, {{pad_value}})", valid="{shape}"),
        PtoSpelling("pto.tfillpad_expand"),
        Cost(CostClass.VECTOR),
        Spaces(VEC, {"tile": (VEC,)}),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, box = call.tile("tile"), tuple(call["shape"])
        if len(box) != len(tile.shape) or any(new < old for new, old in zip(box, tile.shape, strict=True)):
            raise wrong(f"{list(box)} is no larger box than that of the tile, {list(tile.shape)}", code="wrong-shape")
        return TileType.make(box, tile.dtype, VEC, pad=call.get("pad_value", Pad.ZERO))


PADDING_OPS: tuple[type[TileOp], ...] = (FillPadOp, FillPadInPlaceOp, FillPadExpandOp)
