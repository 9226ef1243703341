"""Elementwise, broadcasting and reducing ops on the vector lanes: one table each (spec/front.md 2.3, 2.4).

A row is an op; `_declare` makes its class. Adding an op is adding a row.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import OpTrait, Pure

from cubelane.ir.surface import Bound, Kind, Parameter, a_scalar, a_value, keyword
from cubelane.ir.tile.base import TileOp, broadcast_result, need_dtype, need_integers, same_as, wrong
from cubelane.ir.traits import (
    Broadcasts,
    Cost,
    CostClass,
    Meaning,
    NeedsRowMajor,
    OnVector,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)
from cubelane.ir.types import DTYPES, Layout, MemorySpace, TileType, dtype_name, in_words

VEC = MemorySpace.VEC
PRECISION = (("high_precision", "highPrecision"),)
"""How the variants with higher precision are told apart in PTO IR."""


def vector_traits(
    behaviour: Split,
    meaning: str,
    pto: str | None,
    *,
    tiles: Sequence[str],
    cost: CostClass = CostClass.VECTOR,
    row_major: bool = False,
    axis: int | None = None,
    scratch: tuple[str, ...] = (),
    valid: str | None = None,
    packed: tuple[str, ...] = (),
    ins: tuple[str, ...] | None = None,
    facts: tuple[tuple[str, str], ...] = (),
) -> list[OpTrait]:
    """The traits of an op that runs on the lanes, from vector buffer to vector buffer."""
    traits: list[OpTrait] = [
        Pure(),
        OnVector,
        Splits(behaviour, axis, scratch, packed),
        Meaning(meaning, valid),
        PtoSpelling(pto, ins, facts),
        Cost(cost),
        Spaces(VEC, dict.fromkeys(tiles, (VEC,))),
    ]
    return [*traits, NeedsRowMajor()] if row_major else traits


OPTIONAL_TMP = Parameter("tmp", Kind.VALUE, None)
"""A scratch tile that a call may leave out."""


class TableOp(TileOp):
    """An op made from a row of a table."""

    INTEGER_ONLY: ClassVar[bool] = False
    INDEX_RESULT: ClassVar[bool] = False
    BROADCASTS: ClassVar[bool] = False

    @classmethod
    def check_integers(cls, call: Bound, *names: str) -> None:
        """Refuses operands of floats where the op works on bits."""
        for name in names if cls.INTEGER_ONLY else ():
            need_integers(cls.SPELLING, call.tile(name).dtype, name)


class UnaryOp(TableOp):
    """A function of every cell; shape, element type, valid extent and layout are those of the operand."""

    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"),)

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        cls.check_integers(call, "tile")
        return same_as(call.tile("tile"))


class BinaryOp(TableOp):
    """A function of two cells; extent-1 axes broadcast, layout and valid extent follow the first operand."""

    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        cls.check_integers(call, "lhs", "rhs")
        return broadcast_result(call)


class ScalarOp(TableOp):
    """A function of every cell and one scalar; the element type stays that of the tile."""

    tile = operand_def(TileType)
    scalar = operand_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_scalar("scalar"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        cls.check_integers(call, "tile")
        return same_as(call.tile("tile"))


def turned(spelling: str, tile: TileType, vector: TileType) -> str | None:
    """The op for the other kind of vector, where the operand is one."""
    word, other, wanted = (
        ("row", "col", (1, tile.shape[-1]))
        if spelling.startswith("row")
        else (
            "col",
            "row",
            (*tile.shape[:-1], 1),
        )
    )
    return f"pl.{spelling.replace(word, other, 1)}" if vector.shape == wanted else None


class RowExpandOp(TableOp):
    """A function of every cell and of the cell of its row in a column vector [M, 1]."""

    tile = operand_def(TileType)
    row_vector = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("row_vector"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, vector = call.tile("tile"), call.tile("row_vector")
        if vector.shape[-1] != 1 or vector.shape[:-1] != tile.shape[:-1]:
            raise wrong(
                f"`{cls.SPELLING}` needs one value per row: a vector of shape {[*tile.shape[:-1], 1]} for a "
                f"tile {list(tile.shape)}, not {list(vector.shape)}",
                instead=turned(cls.SPELLING, tile, vector),
                code="wrong-shape",
            )
        return broadcast_result(call, "tile", "row_vector")


class ColExpandOp(TableOp):
    """A function of every cell and of the cell of its column in a row vector [1, N]."""

    tile = operand_def(TileType)
    col_vector = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("col_vector"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, vector = call.tile("tile"), call.tile("col_vector")
        if vector.shape[-1] != tile.shape[-1] or vector.shape[-2] != 1:
            raise wrong(
                f"`{cls.SPELLING}` needs one value per column: a vector [1, {tile.shape[-1]}] for a tile "
                f"{list(tile.shape)}, not {list(vector.shape)}",
                instead=turned(cls.SPELLING, tile, vector),
                code="wrong-shape",
            )
        return broadcast_result(call, "tile", "col_vector")


def need_room(tmp: TileType, tile: TileType) -> None:
    """Refuses a scratch tile that is smaller than the tile, or of another element type."""
    need_dtype(tmp, tile.dtype, "tmp")
    if len(tmp.shape) != len(tile.shape) or any(a < b for a, b in zip(tmp.shape, tile.shape, strict=True)):
        raise wrong(
            f"the scratch tile {list(tmp.shape)} is smaller than the tile {list(tile.shape)}",
            code="wrong-shape",
        )


class ScratchReduceOp(TableOp):
    """Folds the last axis; `tmp` is scratch memory of the same element type, at least as large."""

    tile = operand_def(TileType)
    tmp = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("tmp"))

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, tmp = call.tile("tile"), call.tile("tmp")
        need_room(tmp, tile)
        dtype = DTYPES["INT32"] if cls.INDEX_RESULT else tile.dtype
        layout = Layout.COL_MAJOR if tile.shape[-2] > 1 else None
        return TileType.make((*tile.shape[:-1], 1), dtype, VEC, (*tile.valid[:-1], 1), blayout=layout)


class ColumnReduceOp(TableOp):
    """Folds axis 0; the result is one row."""

    tile = operand_def(TileType)
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"),)

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile = call.tile("tile")
        return TileType.make((1, *tile.shape[1:]), tile.dtype, VEC, (1, *tile.valid[1:]))


class Row(NamedTuple):
    """One op of a table: DSL spelling, NumPy meaning, PTO spelling."""

    spelling: str
    meaning: str
    pto: str
    row_major: bool = True
    cost: CostClass = CostClass.VECTOR
    integer_only: bool = False
    index_result: bool = False
    ins: tuple[str, ...] | None = None
    optional_tmp: bool = False
    """Whether a call may name a scratch tile `tmp` last."""
    broadcasts: Broadcasts | None = None
    """How a row or a column beside a tile is spread."""


_SLOW = CostClass.VECTOR_SLOW

UNARY = (
    Row("neg", "-{tile}", "pto.tneg", row_major=False),
    Row("exp", "np.exp({tile})", "pto.texp", cost=_SLOW),
    Row("sqrt", "np.sqrt({tile})", "pto.tsqrt", cost=_SLOW),
    Row("abs", "np.abs({tile})", "pto.tabs"),
    Row("relu", "np.maximum({tile}, 0)", "pto.trelu"),
    Row("not_", "np.invert({tile})", "pto.tnot", integer_only=True),
)

BINARY = (
    Row("add", "{lhs} + {rhs}", "pto.tadd", broadcasts=Broadcasts(expands="add", commutes=True)),
    Row("sub", "{lhs} - {rhs}", "pto.tsub", broadcasts=Broadcasts(expands="sub")),
    Row("mul", "{lhs} * {rhs}", "pto.tmul", broadcasts=Broadcasts(expands="mul", commutes=True)),
    Row("maximum", "np.maximum({lhs}, {rhs})", "pto.tmax", broadcasts=Broadcasts(expands="max", commutes=True)),
    Row("minimum", "np.minimum({lhs}, {rhs})", "pto.tmin", broadcasts=Broadcasts(expands="min", commutes=True)),
    Row("fmod", "np.fmod({lhs}, {rhs})", "pto.tfmod", cost=_SLOW, broadcasts=Broadcasts()),
    Row("and_", "{lhs} & {rhs}", "pto.tand", integer_only=True, broadcasts=Broadcasts()),
    Row("or_", "{lhs} | {rhs}", "pto.tor", integer_only=True, broadcasts=Broadcasts()),
    Row("shl", "{lhs} << {rhs}", "pto.tshl", integer_only=True, broadcasts=Broadcasts()),
    Row("shr", "{lhs} >> {rhs}", "pto.tshr", integer_only=True, broadcasts=Broadcasts()),
)

SCALAR = (
    Row("adds", "{tile} + {scalar}", "pto.tadds"),
    Row("subs", "{tile} - {scalar}", "pto.tsubs"),
    Row("muls", "{tile} * {scalar}", "pto.tmuls"),
    Row("divs", "divide({tile}, {scalar})", "pto.tdivs"),
    Row("maximums", "np.maximum({tile}, {scalar})", "pto.tmaxs"),
    Row("minimums", "np.minimum({tile}, {scalar})", "pto.tmins", row_major=False),
    Row("fmods", "np.fmod({tile}, {scalar})", "pto.tfmods", cost=_SLOW),
    Row("expands", "np.full_like({tile}, {scalar})", "pto.texpands", row_major=False, ins=("scalar",)),
    Row("ands", "{tile} & {scalar}", "pto.tands", row_major=False, integer_only=True),
    Row("ors", "{tile} | {scalar}", "pto.tors", row_major=False, integer_only=True),
    Row("shls", "{tile} << {scalar}", "pto.tshls", row_major=False, integer_only=True),
    Row("shrs", "{tile} >> {scalar}", "pto.tshrs", row_major=False, integer_only=True),
)

ROW_EXPAND = (
    Row(
        "row_expand",
        "np.broadcast_to({row_vector}, np.shape({tile})).copy()",
        "pto.trowexpand",
        False,
        ins=("row_vector",),
    ),
    Row("row_expand_add", "{tile} + {row_vector}", "pto.trowexpandadd", False, optional_tmp=True),
    Row("row_expand_sub", "{tile} - {row_vector}", "pto.trowexpandsub", False),
    Row("row_expand_mul", "{tile} * {row_vector}", "pto.trowexpandmul", False),
    Row("row_expand_div", "divide({tile}, {row_vector})", "pto.trowexpanddiv", False),
    Row("row_expand_max", "np.maximum({tile}, {row_vector})", "pto.trowexpandmax", False),
    Row("row_expand_min", "np.minimum({tile}, {row_vector})", "pto.trowexpandmin", False),
    Row("row_expand_expdif", "np.exp({tile} - {row_vector})", "pto.trowexpandexpdif", False, _SLOW),
)

COL_EXPAND = (
    Row(
        "col_expand",
        "np.broadcast_to({col_vector}, np.shape({tile})).copy()",
        "pto.tcolexpand",
        False,
        ins=("col_vector",),
    ),
    Row("col_expand_add", "{tile} + {col_vector}", "pto.tcolexpandadd", False),
    Row("col_expand_sub", "{tile} - {col_vector}", "pto.tcolexpandsub", False),
    Row("col_expand_mul", "{tile} * {col_vector}", "pto.tcolexpandmul", False),
    Row("col_expand_div", "divide({tile}, {col_vector})", "pto.tcolexpanddiv", False),
    Row("col_expand_max", "np.maximum({tile}, {col_vector})", "pto.tcolexpandmax", False),
    Row("col_expand_min", "np.minimum({tile}, {col_vector})", "pto.tcolexpandmin", False),
    Row("col_expand_expdif", "np.exp({tile} - {col_vector})", "pto.tcolexpandexpdif", False, _SLOW),
)

_SUM, _PROD = (
    "np.add.reduce({tile}, axis=%d, keepdims=True, dtype={dtype})",
    "np.multiply.reduce({tile}, axis=%d, keepdims=True, dtype={dtype})",
)
_MAX, _MIN = (
    "np.maximum.reduce({tile}, axis=%d, keepdims=True)",
    "np.minimum.reduce({tile}, axis=%d, keepdims=True)",
)
_ARGMAX, _ARGMIN = (
    "np.argmax({tile}, axis=%d, keepdims=True).astype(np.int32)",
    "np.argmin({tile}, axis=%d, keepdims=True).astype(np.int32)",
)

ROW_REDUCE = (
    Row("row_sum", _SUM % -1, "pto.trowsum"),
    Row("row_max", _MAX % -1, "pto.trowmax"),
    Row("row_min", _MIN % -1, "pto.trowmin"),
    Row("row_prod", _PROD % -1, "pto.trowprod"),
    Row("row_argmax", _ARGMAX % -1, "pto.trowargmax", index_result=True),
    Row("row_argmin", _ARGMIN % -1, "pto.trowargmin", index_result=True),
)

COLUMN_REDUCE = (
    Row("col_sum", _SUM % 0, "pto.tcolsum", optional_tmp=True),
    Row("col_max", _MAX % 0, "pto.tcolmax"),
    Row("col_min", _MIN % 0, "pto.tcolmin"),
    Row("col_prod", _PROD % 0, "pto.tcolprod"),
)


def _with_tmp(base: type[TileOp]) -> dict[str, Any]:
    """The operands of a base class and a scratch tile behind them: a class lists its own before those of its base."""
    return {**{p.name: vars(base)[p.name] for p in base.PARAMETERS}, "tmp": opt_operand_def(TileType)}


def _declare(
    base: type[TileOp], row: Row, behaviour: Split, tiles: Sequence[str], axis: int | None = None
) -> type[TileOp]:
    ir_name = row.spelling.rstrip("_")
    reduces = behaviour is Split.REDUCES
    traits = vector_traits(
        behaviour,
        row.meaning,
        row.pto,
        tiles=tiles,
        cost=CostClass.REDUCTION if reduces else row.cost,
        row_major=row.row_major and not reduces,
        axis=axis,
        scratch=("tmp",) if "tmp" in tiles or row.optional_tmp else (),
        ins=row.ins,
    )
    if row.broadcasts is not None:
        traits.append(row.broadcasts)
    body: dict[str, Any] = {"__doc__": base.__doc__, "__module__": __name__, "name": f"tile.{ir_name}"}
    body["traits"] = traits_def(*traits)
    if row.optional_tmp:
        body |= _with_tmp(base)
    words = (word.title() for word in ir_name.split("_"))
    op = cast(type[TableOp], irdl_op_definition(type("".join(words) + "Op", (base,), body)))
    op.SPELLING = row.spelling
    if row.optional_tmp:
        op.PARAMETERS = (*base.PARAMETERS, OPTIONAL_TMP)
    op.INTEGER_ONLY = row.integer_only
    op.INDEX_RESULT = row.index_result
    return op


_TABLES: tuple[tuple[type[TableOp], Sequence[Row], Split, Sequence[str], int | None], ...] = (
    (UnaryOp, UNARY, Split.ELEMENTWISE, ("tile",), None),
    (BinaryOp, BINARY, Split.ELEMENTWISE, ("lhs", "rhs"), None),
    (ScalarOp, SCALAR, Split.ELEMENTWISE, ("tile",), None),
    (RowExpandOp, ROW_EXPAND, Split.ELEMENTWISE, ("tile", "row_vector"), None),
    (ColExpandOp, COL_EXPAND, Split.ELEMENTWISE, ("tile", "col_vector"), None),
    (ScratchReduceOp, ROW_REDUCE, Split.REDUCES, ("tile", "tmp"), -1),
    (ColumnReduceOp, COLUMN_REDUCE, Split.REDUCES, ("tile",), 0),
)

TABLE_OPS: dict[str, type[TileOp]] = {
    (op := _declare(base, row, behaviour, tiles, axis)).name: op
    for base, rows, behaviour, tiles, axis in _TABLES
    for row in rows
}
"""The classes made from the tables, by IR name."""


def _division_by(lhs: TileType, rhs: TileType) -> str | None:
    """The division by a row or a column, where the divisor is one."""
    if rhs.shape == (1, lhs.shape[-1]):
        return "pl.col_expand_div"
    return "pl.row_expand_div" if rhs.shape == (*lhs.shape[:-1], 1) else None


@irdl_op_definition
class DivOp(TileOp):
    """Divides two tiles of the same shape, valid extent and element type (I16, I32, FP16 or FP32)."""

    name = "tile.div"
    SPELLING: ClassVar[str] = "div"
    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    high_precision = opt_prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("lhs"),
        a_value("rhs"),
        keyword("high_precision", Kind.BOOL, None),
    )
    traits = traits_def(
        *vector_traits(
            Split.ELEMENTWISE,
            "divide({lhs}, {rhs})",
            "pto.tdiv",
            tiles=("lhs", "rhs"),
            cost=_SLOW,
            row_major=True,
            facts=PRECISION,
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        lhs, rhs = call.tile("lhs"), call.tile("rhs")
        if lhs.shape != rhs.shape or lhs.dtype != rhs.dtype:
            raise wrong(
                f"`div` needs two tiles of one shape and element type, not {in_words(lhs)} and {in_words(rhs)}",
                instead=_division_by(lhs, rhs),
                code="wrong-shape",
            )
        if lhs.dtype not in [DTYPES[n] for n in ("INT16", "INT32", "FP16", "FP32")]:
            raise wrong(
                f"`div` does not divide {dtype_name(lhs.dtype)}", instead="cast to FP32 first", code="wrong-dtype"
            )
        return same_as(lhs)


def _precise(spelling: str, meaning: str, pto: str, *, tmp: bool = False) -> type[TileOp]:
    scratch = ("tmp",) if tmp else ()
    traits = vector_traits(
        Split.ELEMENTWISE,
        meaning,
        pto,
        tiles=("tile",),
        cost=_SLOW,
        row_major=True,
        scratch=scratch,
        facts=PRECISION,
    )
    body: dict[str, Any] = {
        "__doc__": UnaryOp.__doc__,
        "__module__": __name__,
        "name": f"tile.{spelling}",
        "high_precision": opt_prop_def(),
        "traits": traits_def(*traits),
    }
    if tmp:
        body |= _with_tmp(UnaryOp)
    op = cast(type[UnaryOp], irdl_op_definition(type(spelling.title() + "Op", (UnaryOp,), body)))
    op.SPELLING = spelling
    optional = (OPTIONAL_TMP,) if tmp else ()
    op.PARAMETERS = (a_value("tile"), *optional, keyword("high_precision", Kind.BOOL, None))
    return op


PRECISE_OPS: dict[str, type[TileOp]] = {
    op.name: op
    for op in (
        _precise("log", "np.log({tile})", "pto.tlog"),
        _precise("recip", "divide(1, {tile})", "pto.trecip"),
        _precise("rsqrt", "divide(1, np.sqrt({tile}))", "pto.trsqrt", tmp=True),
    )
}
"""Unary ops with a high-precision variant, by IR name."""


@irdl_op_definition
class CastOp(TileOp):
    """Converts every cell to another element type; `mode` says how it rounds (spec/front.md 2.3)."""

    name = "tile.cast"
    SPELLING: ClassVar[str] = "cast"
    tile = operand_def(TileType)
    mode = prop_def()
    result = result_def(TileType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("target_type", Kind.DTYPE),
        keyword("mode", Kind.ROUND, "round"),
    )
    traits = traits_def(
        *vector_traits(
            Split.ELEMENTWISE,
            "cast({tile}, {dtype}, {mode})",
            "pto.tcvt",
            tiles=("tile",),
            row_major=True,
            facts=(("mode", "rmode"),),
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TileType:
        tile, dtype = call.tile("tile"), call["target_type"]
        if tile.dtype == dtype:
            raise wrong(f"the tile holds {dtype_name(dtype)} already", instead="remove the cast", code="wrong-dtype")
        return same_as(tile, dtype=dtype)


ELEMENTWISE_OPS: tuple[type[TileOp], ...] = (
    *TABLE_OPS.values(),
    DivOp,
    *PRECISE_OPS.values(),
    CastOp,
)
