"""Ops that sort and pick: what top-k kernels are made of (spec/front.md 2.7, records of spec/pto.md 11.9).

A sorted tile holds records of two FP32 cells: a score, and the bits of a UINT32 index. Records are in descending order
of their scores, equal ones in the order in which they came.
"""

from typing import ClassVar

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)

from cubelane.ir.surface import Bound, Kind, Parameter, a_value, keyword
from cubelane.ir.tile.base import TileOp, need_dtype, need_rank, wrong
from cubelane.ir.tile.elementwise import OPTIONAL_TMP, vector_traits
from cubelane.ir.traits import CostClass, Split
from cubelane.ir.types import DTYPES, MemorySpace, TileType, bit_width, dtype_name, in_words

VEC = MemorySpace.VEC
BLOCK = 32
"""Records that one `sort32` puts in order."""
RECORD = 2
"""FP32 cells of a record."""
RUNS = 4
"""Runs that one merge makes into one."""


def _need_scores(op: type[TileOp], tile: TileType, name: str) -> None:
    """Refuses a tile whose cells are no FP32 scores, or are not all there."""
    need_rank(tile, 2, name)
    if tile.dtype != DTYPES["FP32"]:
        raise wrong(
            f"`{op.SPELLING}` sorts FP32, `{name}` holds {dtype_name(tile.dtype)}",
            instead="pl.cast(..., target_type=pl.FP32)",
            code="wrong-dtype",
        )
    if tile.valid[1] != tile.shape[1]:
        raise wrong(
            f"all columns of `{name}` {list(tile.shape)} must be valid, it is valid for {list(tile.valid)}",
            "undefined cells would be sorted among the others",
            instead="fill the other cells with what sorts last: pl.fillpad(..., pad_value=pl.PadValue.min)",
            code="wrong-shape",
        )


@irdl_op_definition
class SortBlocksOp(TileOp):
    """Sorts every 32 cells of a row, with the indices that `idx` gives them, into records (descending, stable)."""

    name = "tile.sort32"
    SPELLING: ClassVar[str] = "sort32"
    src = operand_def(TileType)
    idx = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("src"), a_value("idx"))
    traits = traits_def(
        *vector_traits(
            Split.ALONG_ROWS,
            "sort_blocks({src}, {idx})",
            "pto.tsort32",
            tiles=("src", "idx"),
            cost=CostClass.VECTOR_SLOW,
            row_major=True,
            axis=-1,
            valid="({src_valid}[0], {shape}[1])",
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        src, idx = call.tile("src"), call.tile("idx")
        _need_scores(cls, src, "src")
        need_dtype(idx, DTYPES["UINT32"], "idx")
        rows, columns = src.shape
        if columns % BLOCK:
            raise wrong(f"`sort32` sorts {BLOCK} cells at a time, a row has {columns}", code="wrong-shape")
        if idx.shape not in ((rows, columns), (1, columns)):
            raise wrong(f"`idx` must be {list(src.shape)} or {[1, columns]}, not {in_words(idx)}", code="wrong-shape")
        return TileType.make((rows, RECORD * columns), src.dtype, VEC, (src.valid[0], RECORD * columns))


@irdl_op_definition
class MergeRunsOp(TileOp):
    """Merges every four sorted runs of `block_len` cells (two a record) of a row into one run."""

    name = "tile.mrgsort_format1"
    SPELLING: ClassVar[str] = "mrgsort_format1"
    src = operand_def(TileType)
    block_len = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("src"), keyword("block_len", Kind.INT))
    traits = traits_def(
        *vector_traits(
            Split.ALONG_ROWS,
            "merge_runs({src}, {block_len})",
            "pto.tmrgsort",
            tiles=("src",),
            cost=CostClass.VECTOR_SLOW,
            row_major=True,
            axis=-1,
            facts=(("block_len", "blockLen"),),
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        src, length = call.tile("src"), call["block_len"]
        _need_scores(cls, src, "src")
        if length <= 0 or length % (RECORD * BLOCK):
            raise wrong(f"`block_len` is a multiple of {RECORD * BLOCK} cells, not {length}", code="wrong-shape")
        if src.shape[1] % (RUNS * length):
            raise wrong(
                f"a row of {src.shape[1]} cells is no whole number of {RUNS} runs of {length}",
                instead="pl.tile.mrgsort_format2 of two to four tiles",
                code="wrong-shape",
            )
        return TileType.make(src.shape, src.dtype, VEC, src.valid)


@irdl_op_definition
class MergeListsOp(TileOp):
    """Merges two to four sorted tiles, row by row, into one."""

    name = "tile.mrgsort_format2"
    SPELLING: ClassVar[str] = "mrgsort_format2"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    src0 = operand_def(TileType)
    src1 = operand_def(TileType)
    src2 = opt_operand_def(TileType)
    src3 = opt_operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("src0"),
        a_value("src1"),
        Parameter("src2", Kind.VALUE, None),
        Parameter("src3", Kind.VALUE, None),
    )
    traits = traits_def(
        *vector_traits(
            Split.ALONG_ROWS,
            "merge_lists(({src0}, {src1}, {src2}, {src3}))",
            "pto.tmrgsort",
            tiles=("src0", "src1", "src2", "src3"),
            cost=CostClass.VECTOR_SLOW,
            row_major=True,
            axis=-1,
            valid="({src0_valid}[0], {shape}[1])",
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        names = [name for name in ("src0", "src1", "src2", "src3") if call.get(name) is not None]
        tiles = [call.tile(name) for name in names]
        for name, tile in zip(names, tiles, strict=True):
            _need_scores(cls, tile, name)
            if tile.shape[0] != tiles[0].shape[0]:
                raise wrong(f"`src0` has {tiles[0].shape[0]} rows, `{name}` {tile.shape[0]}", code="wrong-shape")
        columns = sum(tile.shape[1] for tile in tiles)
        return TileType.make((tiles[0].shape[0], columns), tiles[0].dtype, VEC, (tiles[0].valid[0], columns))


PATTERNS: dict[int, tuple[int, int]] = {1: (0, 2), 2: (1, 2), 3: (0, 4), 4: (1, 4), 5: (2, 4), 6: (3, 4), 7: (0, 1)}
"""First column and step of the patterns P0101, P1010, P0001, P0010, P0100, P1000, P1111."""


@irdl_op_definition
class GatherMaskOp(TileOp):
    """Every second or fourth column, from the first or a later one; `output_dtype` reads their bits anew.

    `mask_pattern`: 1 P0101 (columns 0, 2, ..), 2 P1010, 3 P0001, 4 P0010, 5 P0100, 6 P1000, 7 P1111.
    """

    name = "tile.gather_mask"
    SPELLING: ClassVar[str] = "gather_mask"
    src = operand_def(TileType)
    mask_pattern = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("src"),
        keyword("mask_pattern", Kind.INT),
        keyword("output_dtype", Kind.DTYPE, None),
    )
    traits = traits_def(
        *vector_traits(
            Split.ALONG_ROWS,
            "reinterpret(every({src}, {mask_pattern}), {dtype}, {shape})",
            "pto.tgather",
            tiles=("src",),
            row_major=True,
            axis=-1,
            facts=(("mask_pattern", "maskPattern"),),
            valid="({src_valid}[0], {shape}[1])",
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        src, pattern = call.tile("src"), call["mask_pattern"]
        dtype = call.get("output_dtype", src.dtype)
        need_rank(src, 2, "src")
        if pattern not in PATTERNS:
            raise wrong(f"there is no mask pattern {pattern}", instead="1 for P0101, 2 for P1010, ... 7 for P1111")
        if bit_width(dtype) != bit_width(src.dtype):
            raise wrong(
                f"`output_dtype` {dtype_name(dtype)} has another width than {dtype_name(src.dtype)}", code="wrong-dtype"
            )
        step = PATTERNS[pattern][1]
        if src.shape[1] % step or src.valid[1] != src.shape[1]:
            raise wrong(f"`src` needs all of a multiple of {step} columns, it is {in_words(src)}", code="wrong-shape")
        columns = src.shape[1] // step
        return TileType.make((src.shape[0], columns), dtype, VEC, (src.valid[0], columns))


@irdl_op_definition
class GatherOp(TileOp):
    """The cells of `src` at `indices`, which count its cells row by row; `tmp` is scratch."""

    name = "tile.gather"
    SPELLING: ClassVar[str] = "gather"
    src = operand_def(TileType)
    indices = operand_def(TileType)
    tmp = opt_operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("src"), a_value("indices"), OPTIONAL_TMP)
    traits = traits_def(
        *vector_traits(
            Split.GATHERS,
            "pick({src}, {indices}, {indices_valid})",
            "pto.tgather",
            tiles=("src", "indices"),
            cost=CostClass.VECTOR_SLOW,
            scratch=("tmp",),
            row_major=True,
            valid="{indices_valid}",
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        src, indices = call.tile("src"), call.tile("indices")
        need_rank(src, 2, "src")
        if indices.dtype not in (DTYPES["INT32"], DTYPES["UINT32"]):
            raise wrong(
                f"`indices` are INT32 or UINT32, not {dtype_name(indices.dtype)}",
                instead="pl.cast(..., target_type=pl.INT32)",
                code="wrong-dtype",
            )
        return TileType.make(indices.shape, src.dtype, VEC, indices.valid)


SORTING_OPS: tuple[type[TileOp], ...] = (SortBlocksOp, MergeRunsOp, MergeListsOp, GatherMaskOp, GatherOp)
