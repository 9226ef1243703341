"""Ops that make or read bit masks: one bit a cell, eight cells a byte (spec/front.md 2.3)."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from cubelane.ir.surface import Bound, Kind, Parameter, a_scalar, a_value, keyword
from cubelane.ir.tile.base import TileOp, broadcast_result, same_as, wrong
from cubelane.ir.tile.elementwise import vector_traits
from cubelane.ir.traits import Broadcasts, Split
from cubelane.ir.types import DTYPES, DYNAMIC, MemorySpace, TileType, in_words

VEC = MemorySpace.VEC
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


WIDEST = "({lhs_valid} if np.shape({lhs}) == {shape} else {rhs_valid} if np.shape({rhs}) == {shape} else {shape})"
"""The valid extent of the operand that has the shape of the result."""


def _mask_type(tile: TileType) -> TileType:
    def bytes_for(cells: int) -> int:
        return DYNAMIC if cells == DYNAMIC else (cells + 7) // 8

    columns = (bytes_for(tile.shape[-1]) + 31) // 32 * 32
    valid = (*tile.valid[:-1], bytes_for(tile.valid[-1]))
    return TileType.make((*tile.shape[:-1], columns), DTYPES["UINT8"], VEC, valid)


def _need_mask(op: type[TileOp], mask: TileType, tile: TileType) -> None:
    """Refuses what is no bit mask for a tile: bytes, eight columns each."""
    if mask.dtype != DTYPES["UINT8"] or mask.shape[:-1] != tile.shape[:-1] or 8 * mask.shape[-1] < tile.shape[-1]:
        raise wrong(
            f"`{op.SPELLING}` needs a bit mask for {list(tile.shape)}, one bit a cell in UINT8, not {in_words(mask)}",
            instead="compare first: pl.tile.cmp(a, b, cmp_type=4)",
            code="wrong-mask",
        )


@irdl_op_definition
class CompareOp(TileOp):
    """Compares two tiles cell by cell into a bit mask of UINT8, eight columns a byte (spec/front.md 2.3)."""

    name = "tile.cmp"
    SPELLING: ClassVar[str] = "cmp"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    cmp_type = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"), keyword("cmp_type", Kind.INT, 0))
    traits = traits_def(
        *vector_traits(
            Split.ELEMENTWISE,
            "pack_bits(compare({lhs}, {rhs}, {cmp_type}), {shape})",
            "pto.tcmp",
            tiles=("lhs", "rhs"),
            row_major=True,
            valid="({lhs_valid}[0], ({lhs_valid}[1] + 7) // 8)",
            packed=("result",),
            facts=(("cmp_type", "cmpMode"),),
        ),
        Broadcasts(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return _mask_type(broadcast_result(call))


@irdl_op_definition
class CompareScalarOp(TileOp):
    """Compares every cell with a scalar into a bit mask."""

    name = "tile.cmps"
    SPELLING: ClassVar[str] = "cmps"
    tile = operand_def(TileType)
    scalar = operand_def()
    cmp_type = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        a_scalar("scalar"),
        keyword("cmp_type", Kind.INT, 0),
    )
    traits = traits_def(
        *vector_traits(
            Split.ELEMENTWISE,
            "pack_bits(compare({tile}, {scalar}, {cmp_type}), {shape})",
            "pto.tcmps",
            tiles=("tile",),
            row_major=True,
            valid="({tile_valid}[0], ({tile_valid}[1] + 7) // 8)",
            packed=("result",),
            facts=(("cmp_type", "cmpMode"),),
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return _mask_type(call.tile("tile"))


@irdl_op_definition
class SelectOp(TileOp):
    """Takes the cell of `lhs` where the mask bit is set, else that of `rhs`; `tmp` is scratch."""

    name = "tile.sel"
    SPELLING: ClassVar[str] = "sel"
    mask = operand_def(TileType)
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    tmp = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("mask"), a_value("lhs"), a_value("rhs"), a_value("tmp"))
    traits = traits_def(
        *vector_traits(
            Split.ELEMENTWISE,
            "np.where(unpack_bits({mask}, {shape}), {lhs}, {rhs})",
            "pto.tsel",
            tiles=("mask", "lhs", "rhs", "tmp"),
            row_major=True,
            scratch=("tmp",),
            valid=WIDEST,
            packed=("mask",),
        ),
        Broadcasts(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        result = broadcast_result(call)
        _need_mask(cls, call.tile("mask"), result)
        return result


@irdl_op_definition
class SelectScalarOp(TileOp):
    """Takes the cell of `tile` where the mask bit is set, else the scalar; `tmp` is scratch."""

    name = "tile.sels"
    SPELLING: ClassVar[str] = "sels"
    mask = operand_def(TileType)
    tile = operand_def(TileType)
    tmp = operand_def(TileType)
    scalar = operand_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("mask"),
        a_value("tile"),
        a_value("tmp"),
        a_scalar("scalar"),
    )
    traits = traits_def(
        *vector_traits(
            Split.ELEMENTWISE,
            "np.where(unpack_bits({mask}, {shape}), {tile}, {scalar})",
            "pto.tsels",
            tiles=("mask", "tile", "tmp"),
            row_major=True,
            scratch=("tmp",),
            valid="{tile_valid}",
            packed=("mask",),
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        _need_mask(cls, call.tile("mask"), call.tile("tile"))
        return same_as(call.tile("tile"))


MASK_OPS: tuple[type[TileOp], ...] = (CompareOp, CompareScalarOp, SelectOp, SelectScalarOp)
