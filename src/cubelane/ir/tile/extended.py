"""The less frequent ops of the lanes: scratch, masks, three operands, sine and cosine (spec/front.md 2.3, 2.4).

A row of a table is an op, as in `elementwise`; the shapes of calls that no table there has come first.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from cubelane.ir.surface import Bound, Parameter, a_scalar, a_value
from cubelane.ir.tile.angles import COSINE, SINE
from cubelane.ir.tile.base import broadcast_result, need_dtype, same_as, wrong
from cubelane.ir.tile.elementwise import TableOp, UnaryOp, need_room, vector_traits
from cubelane.ir.traits import Broadcasts, Composite, CostClass, Split, Step
from cubelane.ir.types import DTYPES, MemorySpace, TileType, dtype_name, in_words

VEC = MemorySpace.VEC
_SLOW = CostClass.VECTOR_SLOW


def _need_one_shape(op: type[TableOp], call: Bound, names: Sequence[str]) -> None:
    first = call.tile(names[0])
    for name in names[1:]:
        tile = call.tile(name)
        if tile.shape != first.shape or tile.dtype != first.dtype:
            raise wrong(
                f"`{op.SPELLING}` needs tiles of one shape and element type: `{names[0]}` is {list(first.shape)} "
                f"{dtype_name(first.dtype)}, `{name}` is {in_words(tile)}",
                code="wrong-shape",
            )


class ScratchBinaryOp(TableOp):
    """A function of two cells that needs a scratch tile `tmp` of the element type of `lhs`."""

    BROADCASTS: ClassVar[bool] = True
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    tmp = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"), a_value("tmp"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        lhs = call.tile("lhs")
        cls.check_integers(call, "lhs", "rhs")
        need_dtype(call.tile("tmp"), lhs.dtype, "tmp")
        return broadcast_result(call)


class ScratchScalarOp(TableOp):
    """A function of every cell and a scalar that needs a scratch tile `tmp`."""

    tile = operand_def(TileType)
    scalar = operand_def()
    tmp = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_scalar("scalar"), a_value("tmp"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        cls.check_integers(call, "tile")
        need_dtype(call.tile("tmp"), tile.dtype, "tmp")
        return same_as(tile)


class RemainderScalarOp(TableOp):
    """The remainder of every cell by a scalar, with the sign of the scalar."""

    tile = operand_def(TileType)
    scalar = operand_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_scalar("scalar"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        return same_as(call.tile("tile"))


class LeakyOp(RemainderScalarOp):
    """A cell that is positive as it is, any other one times the scalar."""


class PartOp(TableOp):
    """A function of two cells where both are valid; where only that of `lhs` is, that one."""

    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        _need_one_shape(cls, call, ("lhs", "rhs"))
        return same_as(call.tile("lhs"))


class ParametricOp(TableOp):
    """A cell that is positive as it is, any other one times the cell of `slope`; `tmp` is scratch."""

    tile = operand_def(TileType)
    slope = operand_def(TileType)
    tmp = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("slope"), a_value("tmp"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        _need_one_shape(cls, call, ("tile", "slope"))
        return same_as(call.tile("tile"))


class ThreeTilesOp(TableOp):
    """A function of three cells."""

    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    addend = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"), a_value("addend"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        _need_one_shape(cls, call, ("lhs", "rhs", "addend"))
        return same_as(call.tile("lhs"))


class ScalarBetweenOp(TableOp):
    """A function of two cells and a scalar."""

    lhs = operand_def(TileType)
    scalar = operand_def()
    addend = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_scalar("scalar"), a_value("addend"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        _need_one_shape(cls, call, ("lhs", "addend"))
        return same_as(call.tile("lhs"))


class AngleOp(UnaryOp):
    """A function of an angle in radians; FP32 only. Made of simpler ops by LowerCompositeOps."""

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        if tile.dtype != DTYPES["FP32"]:
            raise wrong(
                f"`{cls.SPELLING}` works on FP32, the tile holds {dtype_name(tile.dtype)}",
                instead="cast to FP32 first",
                code="wrong-dtype",
            )
        return same_as(tile)


class ColumnIndexOp(TableOp):
    """Where the largest or smallest cell of every column is, as INT32 [1, N]; `tmp` is scratch, at least as large."""

    tile = operand_def(TileType)
    tmp = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("tmp"))
    INDEX_RESULT: ClassVar[bool] = True

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        need_room(call.tile("tmp"), tile)
        return TileType.make((1, *tile.shape[1:]), DTYPES["INT32"], VEC, (1, *tile.valid[1:]))


class Row(NamedTuple):
    """One op: DSL spelling, NumPy meaning, PTO spelling."""

    spelling: str
    meaning: str
    pto: str | None
    cost: CostClass = CostClass.VECTOR
    row_major: bool = True
    integer_only: bool = False
    steps: tuple[Step, ...] = ()


def _part(word: str, expression: str) -> Row:
    meaning = f"np.where(inside({{shape}}, {{rhs_valid}}), {expression}, {{lhs}})"
    return Row(f"part_{word}", meaning, f"pto.tpart{word}")


_TABLES: tuple[tuple[type[TableOp], tuple[Row, ...]], ...] = (
    (
        ScratchBinaryOp,
        (
            Row("rem", "np.mod({lhs}, {rhs})", "pto.trem", _SLOW),
            Row("xor", "{lhs} ^ {rhs}", "pto.txor", integer_only=True),
        ),
    ),
    (ScratchScalarOp, (Row("xors", "{tile} ^ {scalar}", "pto.txors", integer_only=True),)),
    (RemainderScalarOp, (Row("rems", "np.mod({tile}, {scalar})", "pto.trems", _SLOW, row_major=False),)),
    (LeakyOp, (Row("lrelu", "np.where({tile} > 0, {tile}, {tile} * {scalar})", "pto.tlrelu"),)),
    (
        PartOp,
        (
            _part("add", "{lhs} + {rhs}"),
            _part("mul", "{lhs} * {rhs}"),
            _part("max", "np.maximum({lhs}, {rhs})"),
            _part("min", "np.minimum({lhs}, {rhs})"),
        ),
    ),
    (ParametricOp, (Row("prelu", "np.where({tile} > 0, {tile}, {tile} * {slope})", "pto.tprelu"),)),
    (
        ThreeTilesOp,
        (
            Row("addc", "{lhs} + {rhs} + {addend}", "pto.taddc", row_major=False),
            Row("subc", "{lhs} - {rhs} + {addend}", "pto.tsubc", row_major=False),
        ),
    ),
    (
        ScalarBetweenOp,
        (
            Row("addsc", "{lhs} + {scalar} + {addend}", "pto.taddsc"),
            Row("subsc", "{lhs} - {scalar} + {addend}", "pto.tsubsc"),
        ),
    ),
    (
        AngleOp,
        (
            Row("sin", "np.sin({tile})", None, _SLOW, steps=SINE),
            Row("cos", "np.cos({tile})", None, _SLOW, steps=COSINE),
        ),
    ),
)

_COLUMN_INDICES = (
    Row("col_argmax", "np.argmax({tile}, axis=0, keepdims=True).astype(np.int32)", "pto.tcolargmax"),
    Row("col_argmin", "np.argmin({tile}, axis=0, keepdims=True).astype(np.int32)", "pto.tcolargmin"),
)


def _declare(base: type[TableOp], row: Row, axis: int | None = None) -> type[TableOp]:
    tiles = [p.name for p in base.PARAMETERS if p.kind.name == "VALUE"]
    traits = vector_traits(
        Split.ELEMENTWISE if axis is None else Split.REDUCES,
        row.meaning,
        row.pto,
        tiles=tiles,
        cost=row.cost if axis is None else CostClass.REDUCTION,
        row_major=row.row_major and axis is None,
        axis=axis,
        scratch=("tmp",) if "tmp" in tiles else (),
    )
    if base.BROADCASTS:
        traits.append(Broadcasts())
    if row.steps:
        traits.append(Composite(row.steps))
    body: dict[str, Any] = {
        "__doc__": base.__doc__,
        "__module__": __name__,
        "name": f"tile.{row.spelling}",
        "traits": traits_def(*traits),
    }
    words = (word.title() for word in row.spelling.split("_"))
    op = cast(type[TableOp], irdl_op_definition(type("".join(words) + "Op", (base,), body)))
    op.SPELLING = row.spelling
    op.INTEGER_ONLY = row.integer_only
    return op


EXTENDED_TABLE: dict[str, type[TableOp]] = {
    op.name: op
    for op in (
        *(_declare(base, row) for base, rows in _TABLES for row in rows),
        *(_declare(ColumnIndexOp, row, axis=0) for row in _COLUMN_INDICES),
    )
}
"""The classes made from the tables, by IR name."""

EXTENDED_OPS: tuple[type[TableOp], ...] = tuple(EXTENDED_TABLE.values())
