"""Tile ops that make tiles from nothing (spec/front.md 2.2)."""

from math import prod
from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from cubelane.ir.surface import (
    Bound,
    Kind,
    Parameter,
    a_scalar,
    keyword,
    shape,
)
from cubelane.ir.tile.base import TileOp, wrong
from cubelane.ir.traits import (
    Cost,
    CostClass,
    Meaning,
    OnBoth,
    OnVector,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)
from cubelane.ir.types import (
    Layout,
    MemorySpace,
    TileType,
)

VEC, MAT, ACC = MemorySpace.VEC, MemorySpace.MAT, MemorySpace.ACC


@irdl_op_definition
class CreateOp(TileOp):
    """A tile whose cells are undefined until something writes them."""

    name = "tile.create"
    SPELLING: ClassVar[str] = "create"
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("target_memory", Kind.SPACE, VEC),
    )
    traits = traits_def(
        Pure(),
        OnBoth,
        Splits(Split.GENERATES),
        Meaning("poison({shape}, {dtype})"),
        PtoSpelling(None),
        Cost(CostClass.FREE),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return TileType.make(call["shape"], call["dtype"], call.get("target_memory", VEC))


@irdl_op_definition
class FullOp(TileOp):
    """A tile in the vector buffer with the same value in every cell."""

    name = "tile.full"
    SPELLING: ClassVar[str] = "full"
    value = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("value", Kind.NUMBER),
    )
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.GENERATES),
        Meaning("np.full({shape}, {value}, {dtype})"),
        PtoSpelling("pto.texpands"),
        Cost(CostClass.VECTOR),
        Spaces(VEC),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return TileType.make(call["shape"], call["dtype"], VEC, blayout=Layout.ROW_MAJOR)


@irdl_op_definition
class SequenceOp(TileOp):
    """Counts from `start` along the row-major cells of the tile (upwards, or downwards with `descending`)."""

    name = "tile.ci"
    SPELLING: ClassVar[str] = "ci"
    start = operand_def()
    descending = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_scalar("start"),
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("descending", Kind.BOOL, False),
    )
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.POSITIONAL),
        Meaning("sequence({shape}, {start}, {descending}, {dtype})"),
        PtoSpelling("pto.tci", facts=(("descending", "descending"),)),
        Cost(CostClass.VECTOR),
        Spaces(VEC),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        box = tuple(call["shape"])
        if prod(box[:-1]) != 1 or box[-1] == 1:
            raise wrong(f"`ci` fills one row: leading axes of 1 and more than one column, not {list(box)}")
        return TileType.make(box, call["dtype"], VEC)


@irdl_op_definition
class RandomOp(TileOp):
    """Pseudo-random words from a two-word key and a four-word counter; every cell has its own."""

    name = "tile.random"
    SPELLING: ClassVar[str] = "random"
    key0 = operand_def()
    key1 = operand_def()
    counter0 = operand_def()
    counter1 = operand_def()
    counter2 = operand_def()
    counter3 = operand_def()
    rounds = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        *(a_scalar(name) for name in ("key0", "key1", "counter0", "counter1", "counter2", "counter3")),
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("rounds", Kind.INT, None),
    )
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.POSITIONAL),
        Meaning(
            "random({shape}, ({key0}, {key1}), ({counter0}, {counter1}, {counter2}, {counter3}), {dtype}, {rounds})"
        ),
        PtoSpelling(None),
        Cost(CostClass.VECTOR_SLOW),
        Spaces(VEC),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return TileType.make(call["shape"], call["dtype"], VEC, blayout=Layout.ROW_MAJOR)


@irdl_op_definition
class TriangleOp(TileOp):
    """Ones on one side of the diagonal `col - row == diagonal`, zeros on the other."""

    name = "tile.tri"
    SPELLING: ClassVar[str] = "tri"
    diagonal = operand_def()
    upper_or_lower = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_scalar("diagonal"),
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("upper_or_lower", Kind.INT, 0),
    )
    traits = traits_def(
        Pure(),
        OnVector,
        Splits(Split.POSITIONAL),
        Meaning("triangle({shape}, {diagonal}, {upper_or_lower}, {dtype})"),
        PtoSpelling("pto.ttri", facts=(("upper_or_lower", "upperOrLower"),)),
        Cost(CostClass.VECTOR),
        Spaces(VEC),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return TileType.make(call["shape"], call["dtype"], VEC, blayout=Layout.ROW_MAJOR)


MAKING_OPS: tuple[type[TileOp], ...] = (
    CreateOp,
    FullOp,
    SequenceOp,
    RandomOp,
    TriangleOp,
)
