"""Tensor-level ops that make, cut, write, reshape and cross (spec/front.md 2.2, 2.6)."""

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from cubelane.ir.gm.base import DDR, TensorOp, tensor, tensor_traits, wrong
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
from cubelane.ir.traits import (
    Cost,
    CostClass,
    Crosses,
    Meaning,
    OnBoth,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)
from cubelane.ir.types import DTYPES, DYNAMIC, Pad, TensorLayout, TensorType


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
            if not 0 < extent < 2**40:
                raise wrong(f"the window takes {extent} elements on axis {axis}", code="wrong-shape")
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
