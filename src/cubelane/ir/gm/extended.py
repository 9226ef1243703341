"""The less frequent ops on tensors: the tile form of each without its scratch (spec/front.md 2.3, 2.4, 3.5)."""

from typing import Any, ClassVar, cast

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from cubelane.ir.gm.base import TensorOp, tensor, tensor_traits, wrong
from cubelane.ir.gm.elementwise import ReduceTensorOp
from cubelane.ir.surface import Bound, Kind, Parameter, keyword
from cubelane.ir.tile.elementwise import TableOp
from cubelane.ir.tile.extended import EXTENDED_TABLE, AngleOp
from cubelane.ir.tile.shaping import ReinterpretViewOp as TileReinterpretViewOp
from cubelane.ir.traits import Cost, Meaning, Split, Splits, trait_of_class
from cubelane.ir.types import DTYPES, TensorType, TileType, in_words


class TableTensorOp(TensorOp):
    """A function of the elements of tensors of one shape."""

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        tensors = [p.name for p in cls.PARAMETERS if p.kind is Kind.VALUE]
        cls.check_integers(call, *tensors)
        first = tensor(call, tensors[0])
        for name in tensors[1:]:
            other = tensor(call, name)
            if (other.shape, other.dtype) != (first.shape, first.dtype):
                raise wrong(
                    f"`{cls.SPELLING}` needs tensors of one shape and element type: `{tensors[0]}` is "
                    f"{in_words(first)}, `{name}` is {in_words(other)}",
                    code="wrong-shape",
                )
        return TensorType.make(first.shape, first.dtype, valid=first.data.valid)


class AngleTensorOp(TableTensorOp):
    """A function of an angle in radians; FP32 only."""

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        if tensor(call, "tile").dtype != DTYPES["FP32"]:
            raise wrong(f"`{cls.SPELLING}` works on FP32", instead="cast to FP32 first", code="wrong-dtype")
        return super().result_type(call)


def _declare(tile_op: type[TableOp]) -> type[TensorOp]:
    """The tensor form of a tile op."""
    splits, meaning, cost = (
        trait_of_class(tile_op, Splits),
        trait_of_class(tile_op, Meaning),
        trait_of_class(tile_op, Cost),
    )
    assert splits is not None and meaning is not None and cost is not None
    reduces = splits.behaviour is Split.REDUCES
    traits = tensor_traits(splits.behaviour, meaning.value, axis=splits.axis, tile_form=tile_op.name, cost=cost.cost)
    parameters = tuple(p for p in tile_op.PARAMETERS if p.name not in splits.scratch)
    base: type[TensorOp] = (
        ReduceTensorOp if reduces else AngleTensorOp if issubclass(tile_op, AngleOp) else TableTensorOp
    )
    body: dict[str, Any] = {
        "__doc__": tile_op.__doc__,
        "__module__": __name__,
        "name": f"gm.{tile_op.SPELLING}",
        "traits": traits_def(*traits),
    }
    if not reduces:
        kinds = {Kind.VALUE: lambda: operand_def(TensorType), Kind.SCALAR: operand_def}
        body |= {p.name: kinds[p.kind]() for p in parameters}
        body["result"] = result_def(TensorType)
    op = irdl_op_definition(cast(type[TensorOp], type(tile_op.__name__, (base,), body)))
    op.SPELLING, op.PARAMETERS = tile_op.SPELLING, parameters
    op.INTEGER_ONLY = tile_op.INTEGER_ONLY
    if issubclass(op, ReduceTensorOp):
        assert splits.axis is not None
        op.AXIS, op.INDEX_RESULT = splits.axis, True
    return op


@irdl_op_definition
class ReinterpretViewOp(TensorOp):
    """The same bytes under another element type; without `shape` the last axis scales."""

    name = "gm.reinterpret_view"
    SPELLING: ClassVar[str] = "reinterpret_view"
    tile = operand_def(TensorType)
    result = result_def(TensorType)
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        Parameter("tile", Kind.VALUE),
        keyword("dtype", Kind.DTYPE, None),
        keyword("shape", Kind.SHAPE, None),
    )
    traits = traits_def(
        *tensor_traits(Split.REINTERPRETS, "reinterpret({tile}, {dtype}, {shape})", tile_form="tile.reinterpret_view")
    )

    @classmethod
    def result_type(cls, call: Bound) -> TensorType:
        source = tensor(call, "tile")
        if any(isinstance(d, str) for d in source.shape) or source.data.valid:
            raise wrong("`reinterpret_view` needs a tensor of constant shape, all of it valid", code="wrong-shape")
        # the rule of the tile: the bytes are the same wherever they lie
        as_tile = TileType.make(source.static_shape, source.dtype)
        seen = TileReinterpretViewOp.view_type(as_tile, call.get("dtype", source.dtype), call.get("shape"))
        return TensorType.make(seen.shape, seen.dtype)


EXTENDED_OPS: tuple[type[TensorOp], ...] = (*map(_declare, EXTENDED_TABLE.values()), ReinterpretViewOp)
