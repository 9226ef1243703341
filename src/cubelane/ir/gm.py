"""The tensor level: operations on tensors in global memory, as users write them inside `pl.at` (spec/front.md 2).

Elementwise ops come from the tables of the tile level, so a formula is written once. What an op becomes on chip is
its `TileForm`, or a pattern of the pass that lowers tensors to tiles where more than a rename is needed.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.surface import (
    Bound,
    Kind,
    Parameter,
    SurfaceOp,
    a_scalar,
    a_value,
    constant_of,
    extents,
    extents_of,
    indices,
    keyword,
    shape,
)
from cubelane.ir.tile import elementwise as tables
from cubelane.ir.traits import (
    Cost,
    CostClass,
    Crosses,
    Meaning,
    OnBoth,
    OnCube,
    OnVector,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
    TileForm,
)
from cubelane.ir.types import DTYPES, DYNAMIC, MemorySpace, Pad, TensorLayout, TensorType, is_float, promote

DDR = MemorySpace.DDR
Dim = int | str


class TensorOp(SurfaceOp):
    """An op of the DSL namespace `pl.tensor`."""

    NAMESPACE: ClassVar[str] = "tensor"


def wrong(message: str, *notes: str, instead: str | None = None, code: str = "wrong-type") -> Diagnostic:
    """A type error; the caller that knows the place adds it."""
    return Diagnostic(message, notes=notes, instead=instead, code=code)


def tensor(call: Bound, name: str) -> TensorType:
    """The type of a tensor operand."""
    type_ = call.type(name)
    if not isinstance(type_, TensorType):
        raise wrong(f"`{name}` must be a tensor")
    return type_


def broadcast(lhs: Sequence[Dim], rhs: Sequence[Dim]) -> tuple[Dim, ...]:
    """NumPy broadcasting; a symbol fits itself and 1."""
    rank = max(len(lhs), len(rhs))
    a, b = (1,) * (rank - len(lhs)) + tuple(lhs), (1,) * (rank - len(rhs)) + tuple(rhs)
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise wrong(f"the shapes {list(lhs)} and {list(rhs)} do not fit together", code="wrong-shape")
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def tensor_traits(
    behaviour: Split,
    meaning: str,
    core: OpTrait = OnVector,
    *,
    axis: int | None = None,
    tile_form: str | None = None,
    cost: CostClass = CostClass.VECTOR,
    valid: str | None = None,
) -> list[OpTrait]:
    """The traits of an op on tensors."""
    traits: list[OpTrait] = [
        Pure(),
        core,
        Splits(behaviour, axis),
        Meaning(meaning, valid),
        PtoSpelling(None),
        Cost(cost),
        Spaces(DDR),
    ]
    return [*traits, TileForm(tile_form)] if tile_form else traits


class UnaryTensorOp(TensorOp):
    """A function of every element."""

    tile = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"),)

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
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
    op.SPELLING = row.spelling
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
            raise wrong(f"the tensor holds {t.dtype} already", instead="remove the cast", code="wrong-dtype")
        return TensorType.make(t.shape, call["target_type"], valid=t.data.valid)


@irdl_op_definition
class MatmulOp(TensorOp):
    """The product of [M, K] and [K, N], or of their transposes; accumulates in FP32 (INT32 for integers)."""

    name = "gm.matmul"
    SPELLING: ClassVar[str] = "matmul"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    a_trans = opt_prop_def()
    b_trans = opt_prop_def()
    c_matrix_nz = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("lhs"),
        a_value("rhs"),
        keyword("out_dtype", Kind.DTYPE, None),
        keyword("a_trans", Kind.BOOL, False),
        keyword("b_trans", Kind.BOOL, False),
        keyword("c_matrix_nz", Kind.BOOL, False),
    )
    traits = traits_def(
        *tensor_traits(
            Split.CUBE,
            "tensor_matmul({lhs}, {rhs}, {a_trans}, {b_trans}, {dtype})",
            OnCube,
            cost=CostClass.MATMUL,
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        lhs, rhs = tensor(call, "lhs"), tensor(call, "rhs")
        return TensorType.make(product_shape(call, lhs, rhs), call.get("out_dtype", promote(lhs.dtype, rhs.dtype)))


def product_shape(call: Bound, lhs: TensorType, rhs: TensorType) -> tuple[Dim, ...]:
    """The shape of a product, operands transposed as the call says; refuses extents or types that do not fit."""
    if lhs.dtype != rhs.dtype:
        raise wrong(
            f"the operands of `matmul` hold {lhs.dtype} and {rhs.dtype}",
            instead="cast one of them to the element type of the other",
            code="wrong-dtype",
        )
    if len(lhs.shape) < 2 or len(rhs.shape) < 2:
        raise wrong("`matmul` needs operands of two axes", code="wrong-shape")
    a = (lhs.shape[-1], lhs.shape[-2]) if call.get("a_trans") else lhs.shape[-2:]
    b = (rhs.shape[-1], rhs.shape[-2]) if call.get("b_trans") else rhs.shape[-2:]
    if a[1] != b[0]:
        raise wrong(
            f"[{a[0]}, {a[1]}] times [{b[0]}, {b[1]}]: the inner extents {a[1]} and {b[0]} differ",
            instead="b_trans=True, if the right operand is stored transposed" if a[1] == b[1] else None,
            code="wrong-shape",
        )
    return (*broadcast(lhs.shape[:-2], rhs.shape[:-2]), a[0], b[1])


@irdl_op_definition
class MatmulAccOp(TensorOp):
    """Adds a product to an accumulator of FP32 (floats) or INT32 (integers)."""

    name = "gm.matmul_acc"
    SPELLING: ClassVar[str] = "matmul_acc"
    acc = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    a_trans = opt_prop_def()
    b_trans = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("acc"),
        a_value("lhs"),
        a_value("rhs"),
        keyword("a_trans", Kind.BOOL, False),
        keyword("b_trans", Kind.BOOL, False),
    )
    traits = traits_def(
        *tensor_traits(
            Split.CUBE,
            "{acc} + tensor_matmul({lhs}, {rhs}, {a_trans}, {b_trans}, {dtype})",
            OnCube,
            cost=CostClass.MATMUL,
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        acc, lhs, rhs = tensor(call, "acc"), tensor(call, "lhs"), tensor(call, "rhs")
        box = product_shape(call, lhs, rhs)
        wanted = DTYPES["FP32" if is_float(lhs.dtype) else "INT32"]
        if acc.shape != box or acc.dtype != wanted:
            raise wrong(
                f"the accumulator must be {list(box)} {wanted}, it is {list(acc.shape)} {acc.dtype}",
                code="wrong-shape",
            )
        return TensorType.make(box, wanted)


@irdl_op_definition
class CreateOp(TensorOp):
    """A tensor whose elements are undefined until something writes them."""

    name = "gm.create"
    SPELLING: ClassVar[str] = "create"
    manual_dep = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("layout", Kind.LAYOUT, TensorLayout.ND),
        keyword("manual_dep", Kind.BOOL, None),
    )
    traits = traits_def(
        *tensor_traits(
            Split.GENERATES, "poison({shape}, {dtype})", OnBoth, cost=CostClass.FREE, tile_form="tile.create"
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        return TensorType.make(call["shape"], call["dtype"], call.get("layout", TensorLayout.ND))


@irdl_op_definition
class FullOp(TensorOp):
    """A tensor with the same value everywhere."""

    name = "gm.full"
    SPELLING: ClassVar[str] = "full"
    value = prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("value", Kind.NUMBER),
    )
    traits = traits_def(*tensor_traits(Split.GENERATES, "np.full({shape}, {value}, {dtype})", tile_form="tile.full"))

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        return TensorType.make(call["shape"], call["dtype"])


@irdl_op_definition
class SequenceOp(TensorOp):
    """Counts from `start` along the last axis."""

    name = "gm.ci"
    SPELLING: ClassVar[str] = "ci"
    start = operand_def()
    descending = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_scalar("start"),
        shape("shape"),
        keyword("dtype", Kind.DTYPE),
        keyword("descending", Kind.BOOL, False),
    )
    traits = traits_def(
        *tensor_traits(Split.POSITIONAL, "sequence({shape}, {start}, {descending}, {dtype})", tile_form="tile.ci")
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        return TensorType.make(call["shape"], call["dtype"])


@irdl_op_definition
class SliceOp(TensorOp):
    """The window of a tensor at `offsets`; `drop_dims` lists unit axes that disappear."""

    name = "gm.slice"
    SPELLING: ClassVar[str] = "slice"
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    valid = var_operand_def(IndexType)
    window = prop_def()
    drop_dims = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("source"),
        Parameter("window", Kind.INTS),
        indices("offsets"),
        extents("valid"),
        Parameter("drop_dims", Kind.INTS, None),
    )
    traits = traits_def(
        *tensor_traits(
            Split.SLICES,
            "window({source}, {offsets}, {window}, {valid}).reshape({shape})",
            OnBoth,
            cost=CostClass.FREE,
            valid="{valid}",
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        source, box = tensor(call, "source"), tuple(call["window"])
        offsets = [constant_of(o) for o in call["offsets"]]
        if len(box) != len(source.shape) or len(offsets) != len(source.shape):
            raise wrong(f"a window {list(box)} at {len(offsets)} offsets of a tensor {list(source.shape)}")
        for axis, (offset, extent, limit) in enumerate(zip(offsets, box, source.static_shape, strict=True)):
            if limit != DYNAMIC and not call.get("valid") and (extent > limit or (offset or 0) + extent > limit):
                raise wrong(
                    f"the window takes {extent} elements at {offset} on axis {axis} of a tensor with {limit}",
                    code="out-of-bounds",
                )
        dropped = call.get("drop_dims", ())
        valid = extents_of(call.get("valid", [])) or box
        keep = [a for a in range(len(box)) if a not in dropped]
        return TensorType.make([box[a] for a in keep], source.dtype, valid=[valid[a] for a in keep])


@irdl_op_definition
class AssembleOp(TensorOp):
    """The target with the source written to the window at `offsets`; on an Out parameter this is the write."""

    name = "gm.assemble"
    SPELLING: ClassVar[str] = "assemble"
    target = operand_def(TensorType)
    source = operand_def(TensorType)
    offsets = var_operand_def(IndexType)
    atomic = opt_prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("target"),
        a_value("source"),
        indices("offsets"),
        keyword("atomic", Kind.INT, None),
    )
    traits = traits_def(
        MemoryWriteEffect(),
        OnBoth,
        Splits(Split.PASTES),
        Meaning("put({target}, {offsets}, {source}, None, {atomic})"),
        PtoSpelling(None),
        Cost(CostClass.TRANSFER),
        Spaces(DDR),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        target, source = tensor(call, "target"), tensor(call, "source")
        offsets = [constant_of(o) for o in call["offsets"]]
        if len(offsets) != len(target.shape):
            raise wrong(f"{len(offsets)} offsets for a tensor of {len(target.shape)} axes", code="wrong-shape")
        box = (1,) * (len(target.shape) - len(source.shape)) + source.static_shape
        for axis, (offset, extent, limit) in enumerate(zip(offsets, box, target.static_shape, strict=True)):
            if limit != DYNAMIC and extent != DYNAMIC and (offset or 0) + extent > limit and not source.data.valid:
                raise wrong(
                    f"the source has {extent} elements at {offset} on axis {axis} of a target with {limit}",
                    code="out-of-bounds",
                )
        return target


@irdl_op_definition
class ReadOp(TensorOp):
    """One element of a tensor as a scalar."""

    name = "gm.read"
    SPELLING: ClassVar[str] = "read"
    source = operand_def(TensorType)
    position = var_operand_def(IndexType)
    result = result_def()
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("source"), indices("position"))
    traits = traits_def(
        MemoryReadEffect(),
        OnBoth,
        Splits(Split.NONE),
        Meaning("read({source}, {position})"),
        PtoSpelling("pto.load_scalar"),
        Cost(CostClass.SCALAR),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> Attribute:
        return tensor(call, "source").dtype


@irdl_op_definition
class WriteOp(TensorOp):
    """Writes a scalar to one element of a tensor; the result names the same tensor afterwards."""

    name = "gm.write"
    SPELLING: ClassVar[str] = "write"
    target = operand_def(TensorType)
    position = var_operand_def(IndexType)
    scalar = operand_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("target"), indices("position"), a_scalar("scalar"))
    traits = traits_def(
        MemoryWriteEffect(),
        OnBoth,
        Splits(Split.NONE),
        Meaning("write({target}, {position}, {scalar})"),
        PtoSpelling("pto.store_scalar"),
        Cost(CostClass.SCALAR),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        return tensor(call, "target")


@irdl_op_definition
class DimOp(TensorOp):
    """The extent of one axis of a tensor, in elements."""

    name = "gm.dim"
    SPELLING: ClassVar[str] = "dim"
    source = operand_def(TensorType)
    axis = prop_def()
    result = result_def(IndexType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("source"), Parameter("axis", Kind.INT))
    traits = traits_def(
        Pure(),
        OnBoth,
        Splits(Split.NONE),
        Meaning("np.shape({source})[{axis}]"),
        PtoSpelling(None),
        Cost(CostClass.FREE),
        Spaces(),
    )

    @classmethod
    def result_type(cls, call: Bound) -> Attribute:
        return DTYPES["INDEX"]


@irdl_op_definition
class ReshapeOp(TensorOp):
    """The same elements in row-major order under another shape."""

    name = "gm.reshape"
    SPELLING: ClassVar[str] = "reshape"
    tile = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), shape("shape"))
    traits = traits_def(
        *tensor_traits(Split.RESHAPES, "{tile}.reshape({shape})", OnBoth, tile_form="tile.reshape", cost=CostClass.FREE)
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t, box = tensor(call, "tile"), tuple(call["shape"])
        old = t.static_shape
        if DYNAMIC not in old and all(isinstance(d, int) for d in box) and prod(box) != prod(old):
            raise wrong(f"{list(t.shape)} and {list(box)} have different numbers of elements", code="wrong-shape")
        return TensorType.make(box, t.dtype)


@irdl_op_definition
class TransposeOp(TensorOp):
    """A tensor with two axes swapped."""

    name = "gm.transpose"
    SPELLING: ClassVar[str] = "transpose"
    tile = operand_def(TensorType)
    axis0 = prop_def()
    axis1 = prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        Parameter("axis0", Kind.INT),
        Parameter("axis1", Kind.INT),
    )
    traits = traits_def(
        *tensor_traits(Split.TRANSPOSES, "np.swapaxes({tile}, {axis0}, {axis1}).copy()", tile_form="tile.transpose")
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t = tensor(call, "tile")
        box = list(t.shape)
        a, b = call["axis0"], call["axis1"]
        box[a], box[b] = box[b], box[a]
        return TensorType.make(box, t.dtype)


@irdl_op_definition
class ConcatOp(TensorOp):
    """Two tensors of the same rows side by side."""

    name = "gm.concat"
    SPELLING: ClassVar[str] = "concat"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("lhs"), a_value("rhs"))
    traits = traits_def(
        *tensor_traits(Split.CONCATENATES, "np.concatenate(({lhs}, {rhs}), axis=1)", axis=1, tile_form="tile.concat")
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        lhs, rhs = tensor(call, "lhs"), tensor(call, "rhs")
        a, b = lhs.static_shape, rhs.static_shape
        if lhs.shape[0] != rhs.shape[0] or lhs.dtype != rhs.dtype or DYNAMIC in (a[1], b[1]):
            raise wrong("`concat` joins tensors of the same rows and element type", code="wrong-shape")
        return TensorType.make((lhs.shape[0], a[1] + b[1]), lhs.dtype)


@irdl_op_definition
class FillPadOp(TensorOp):
    """Fills the elements outside the valid extent."""

    name = "gm.fillpad"
    SPELLING: ClassVar[str] = "fillpad"
    tile = operand_def(TensorType)
    pad_value = prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), keyword("pad_value", Kind.PAD_TEXT, Pad.ZERO))
    traits = traits_def(
        *tensor_traits(
            Split.PADS, "fill_pad({tile}, {tile_valid}, {pad_value})", tile_form="tile.fillpad", valid="{shape}"
        )
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t = tensor(call, "tile")
        return TensorType.make(t.shape, t.dtype)


@irdl_op_definition
class SetValidShapeOp(TensorOp):
    """States how many rows and columns of a tensor are valid."""

    name = "gm.set_validshape"
    SPELLING: ClassVar[str] = "set_validshape"
    tile = operand_def(TensorType)
    rows = operand_def(IndexType)
    columns = operand_def(IndexType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        a_value("tile"),
        Parameter("rows", Kind.INDEX),
        Parameter("columns", Kind.INDEX),
    )
    traits = traits_def(
        *tensor_traits(Split.SETS_VALID, "{tile}", OnBoth, tile_form="tile.set_validshape", valid="({rows}, {columns})")
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t = tensor(call, "tile")
        return t.replaced(valid=extents_of([call["rows"], call["columns"]]))


class BoundaryTensorOp(TensorOp):
    """A crossing written at tensor level, inside a `pl.split_aiv` region only."""

    tile = operand_def(TensorType)
    split = prop_def()
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (a_value("tile"), keyword("split", Kind.INT))
    SHARDS: ClassVar[bool]

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        t, split = tensor(call, "tile"), call["split"]
        if split == 0:
            return t
        if len(t.shape) != 2 or DYNAMIC in t.static_shape:
            raise wrong("a tensor that crosses between the cores has two constant axes", code="wrong-shape")
        box = list(t.static_shape)
        box[split - 1] = (box[split - 1] + 1) // 2 if cls.SHARDS else box[split - 1] * 2
        return TensorType.make(box, t.dtype)


def _boundary(spelling: str, meaning: str, shards: bool) -> type[TensorOp]:
    traits = tensor_traits(Split.BOUNDARY, meaning, Crosses, tile_form=f"tile.{spelling}", cost=CostClass.CHANNEL)
    body = {
        "__doc__": BoundaryTensorOp.__doc__,
        "__module__": __name__,
        "name": f"gm.{spelling}",
        "traits": traits_def(*traits),
    }
    op = irdl_op_definition(type(spelling.title().replace("_", "") + "Op", (BoundaryTensorOp,), body))
    op.SPELLING, op.SHARDS = spelling, shards
    return op


ShardOp = _boundary("aiv_shard", "shard({tile}, {split}, None)", True)
GatherOp = _boundary("aic_gather", "gather({tile}, {split})", False)

GM_OPS: tuple[type[TensorOp], ...] = (
    *TABLE_OPS.values(),
    CastOp,
    MatmulOp,
    MatmulAccOp,
    CreateOp,
    FullOp,
    SequenceOp,
    SliceOp,
    AssembleOp,
    ReadOp,
    WriteOp,
    DimOp,
    ReshapeOp,
    TransposeOp,
    ConcatOp,
    FillPadOp,
    SetValidShapeOp,
    ShardOp,
    GatherOp,
)

Gm = Dialect("gm", list(GM_OPS), [TensorType])
