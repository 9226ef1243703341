"""Elementwise and reducing ops on tensors, made from the tables of the tile level (spec/front.md 2.3, 2.4)."""

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)

from cubelane.ir.gm.base import TensorOp, broadcast, tensor, tensor_traits, wrong
from cubelane.ir.surface import (
    Bound,
    Kind,
    Parameter,
    a_scalar,
    a_value,
    keyword,
)
from cubelane.ir.tile import elementwise as tables
from cubelane.ir.traits import (
    CostClass,
    Split,
)
from cubelane.ir.types import DTYPES, TensorType, dtype_name, promote


class UnaryTensorOp(TensorOp):
    """A function of every element."""

    tile = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"),)

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        cls.check_integers(call, "tile")
        t = tensor(call, "tile")
        return TensorType.make(t.shape, t.dtype, valid=t.data.valid)


class BinaryTensorOp(TensorOp):
    """A function of two elements, with NumPy broadcasting."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        cls.check_integers(call, "lhs", "rhs")
        lhs, rhs = tensor(call, "lhs"), tensor(call, "rhs")
        return TensorType.make(broadcast(lhs.shape, rhs.shape), promote(lhs.dtype, rhs.dtype))


class ScalarTensorOp(TensorOp):
    """A function of every element and one scalar."""

    tile = operand_def(TensorType)
    scalar = operand_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_scalar("scalar"))

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        cls.check_integers(call, "tile")
        t = tensor(call, "tile")
        return TensorType.make(t.shape, t.dtype, valid=t.data.valid)


class ExpandTensorOp(TensorOp):
    """A function of every element and of one value per row or per column."""

    VECTOR: ClassVar[str]
    PER_ROW: ClassVar[bool]

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        tile, vector = tensor(call, "tile"), tensor(call, cls.VECTOR)
        wanted = (*tile.shape[:-1], 1) if cls.PER_ROW else (1, tile.shape[-1])
        if vector.shape != wanted:
            per = "row" if cls.PER_ROW else "column"
            raise wrong(
                f"`{cls.SPELLING}` needs one value per {per}: a tensor {list(wanted)}, not {list(vector.shape)}",
                code="wrong-shape",
            )
        return TensorType.make(tile.shape, promote(tile.dtype, vector.dtype))


class RowExpandTensorOp(ExpandTensorOp):
    """A function of every element and of the element of its row in a tensor [M, 1]."""

    tile = operand_def(TensorType)
    row_vector = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("row_vector"))
    VECTOR: ClassVar[str] = "row_vector"
    PER_ROW: ClassVar[bool] = True


class ColExpandTensorOp(ExpandTensorOp):
    """A function of every element and of the element of its column in a tensor [1, N]."""

    tile = operand_def(TensorType)
    col_vector = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), a_value("col_vector"))
    VECTOR: ClassVar[str] = "col_vector"
    PER_ROW: ClassVar[bool] = False


class ReduceTensorOp(TensorOp):
    """Folds one axis to extent 1."""

    tile = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"),)
    AXIS: ClassVar[int]
    INDEX_RESULT: ClassVar[bool] = False

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t = tensor(call, "tile")
        box = list(t.shape)
        box[cls.AXIS] = 1
        return TensorType.make(box, DTYPES["INT32"] if cls.INDEX_RESULT else t.dtype)


def _declare(base: type[TensorOp], row: tables.Row, behaviour: Split, axis: int | None) -> type[TensorOp]:
    ir_name = row.spelling.rstrip("_")
    traits = tensor_traits(
        behaviour,
        row.meaning,
        axis=axis,
        tile_form=f"tile.{ir_name}",
        cost=CostClass.REDUCTION if axis is not None else row.cost,
    )
    body = {"__doc__": base.__doc__, "__module__": __name__, "name": f"gm.{ir_name}", "traits": traits_def(*traits)}
    op = irdl_op_definition(type(ir_name.title().replace("_", "") + "Op", (base,), body))
    op.SPELLING, op.INTEGER_ONLY = row.spelling, row.integer_only
    if issubclass(op, ReduceTensorOp):
        assert axis is not None
        op.AXIS, op.INDEX_RESULT = axis, row.index_result
    return op


_PRECISE = (
    tables.Row("log", "np.log({tile})", "pto.tlog"),
    tables.Row("recip", "divide(1, {tile})", "pto.trecip"),
    tables.Row("rsqrt", "divide(1, np.sqrt({tile}))", "pto.trsqrt"),
)


_DIVIDE = (tables.Row("div", "divide({lhs}, {rhs})", "pto.tdiv"),)


TABLE_OPS: dict[str, type[TensorOp]] = {
    (op := _declare(base, row, behaviour, axis)).name: op
    for base, rows, behaviour, axis in (
        (UnaryTensorOp, tables.UNARY, Split.ELEMENTWISE, None),
        (UnaryTensorOp, _PRECISE, Split.ELEMENTWISE, None),
        (BinaryTensorOp, tables.BINARY, Split.ELEMENTWISE, None),
        (BinaryTensorOp, _DIVIDE, Split.ELEMENTWISE, None),
        (ScalarTensorOp, tables.SCALAR, Split.ELEMENTWISE, None),
        (RowExpandTensorOp, tables.ROW_EXPAND, Split.ELEMENTWISE, None),
        (ColExpandTensorOp, tables.COL_EXPAND, Split.ELEMENTWISE, None),
        (ReduceTensorOp, tables.ROW_REDUCE, Split.REDUCES, -1),
        (ReduceTensorOp, tables.COLUMN_REDUCE, Split.REDUCES, 0),
    )
    for row in rows
}
"""The classes made from the tables, by IR name."""


@irdl_op_definition
class CastOp(TensorOp):
    """Converts every element to another type; `mode` says how it rounds."""

    name = "gm.cast"
    SPELLING: ClassVar[str] = "cast"
    tile = operand_def(TensorType)
    mode = prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        keyword("target_type", Kind.DTYPE),
        keyword("mode", Kind.ROUND, "round"),
    )
    traits = traits_def(*tensor_traits(Split.ELEMENTWISE, "cast({tile}, {dtype}, {mode})", tile_form="tile.cast"))

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t = tensor(call, "tile")
        if t.dtype == call["target_type"]:
            raise wrong(
                f"the tensor holds {dtype_name(t.dtype)} already", instead="remove the cast", code="wrong-dtype"
            )
        return TensorType.make(t.shape, call["target_type"], valid=t.data.valid)
