"""What each tensor op becomes on chip where more than its `TileForm` is needed (spec/front.md 3.5)."""

from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.analysis.memory_spaces import STORED_FROM_ACC
from cubelane.analysis.value_flow import final_uses
from cubelane.ir import gm
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Kind, Parameter, SurfaceOp
from cubelane.ir.tile import Tile
from cubelane.ir.tile import elementwise as vector
from cubelane.ir.tile.making import CreateOp, FullOp
from cubelane.ir.tile.matrix import BatchMatmulAccOp, BatchMatmulOp, MatmulAccOp, MatmulOp
from cubelane.ir.tile.movement import LoadOp, ReadOp, StoreOp, WriteOp
from cubelane.ir.tile.padding import FillPadOp
from cubelane.ir.tile.shaping import AssembleOp, ReshapeOp, SliceOp
from cubelane.ir.traits import Split, Splits, TileForm, trait_of, trait_of_class
from cubelane.ir.types import MemorySpace, Pad, TensorType, TileType, promote
from cubelane.passes.tile.convert_tensor_to_tile.accumulators import Accumulators, is_zero
from cubelane.passes.tile.convert_tensor_to_tile.operands import Operands, is_matmul_operand, keeps_matrix, wanted_by
from cubelane.passes.tile.placement import Constants, base_name, build, replace

VEC, MAT, ACC = MemorySpace.VEC, MemorySpace.MAT, MemorySpace.ACC

TILE_OPS: dict[str, type[SurfaceOp]] = {op.name: op for op in Tile.operations if issubclass(op, SurfaceOp)}
"""The ops of the tile level by IR name."""

SCRATCH_COLUMNS = 128
"""Least width of the scratch tile of a row reduction."""


def _per_row(short: str) -> type[SurfaceOp]:
    return vector.TABLE_OPS[f"tile.row_expand_{short}"]


PER_ROW: dict[type[Operation], type[SurfaceOp]] = {
    gm.TABLE_OPS["gm.add"]: _per_row("add"),
    gm.TABLE_OPS["gm.sub"]: _per_row("sub"),
    gm.TABLE_OPS["gm.mul"]: _per_row("mul"),
    gm.TABLE_OPS["gm.div"]: _per_row("div"),
    gm.TABLE_OPS["gm.maximum"]: _per_row("max"),
    gm.TABLE_OPS["gm.minimum"]: _per_row("min"),
}
"""The form of a binary op whose right operand has one column."""

COMMUTES = (*(gm.TABLE_OPS[f"gm.{name}"] for name in ("add", "mul", "maximum", "minimum")),)
SUBTRACTS, DIVIDES = gm.TABLE_OPS["gm.sub"], gm.TABLE_OPS["gm.div"]
NEGATE = vector.TABLE_OPS["tile.neg"]
SPREAD_ROWS, SPREAD_COLUMNS = vector.TABLE_OPS["tile.row_expand"], vector.TABLE_OPS["tile.col_expand"]
DIVIDE_COLUMNS = vector.TABLE_OPS["tile.col_expand_div"]

Rule = Callable[["Rules", Any], None]


def tile_of(value: SSAValue) -> TileType:
    """The tile type of a value."""
    assert isinstance(value.type, TileType)
    return value.type


def tensor_of(value: SSAValue) -> TensorType:
    """The tensor type of a value."""
    assert isinstance(value.type, TensorType)
    return value.type


def is_batch(op: gm.MatmulOp | gm.MatmulAccOp) -> bool:
    """Whether an op multiplies batches of matrices."""
    return any(len(value.type.shape) > 2 for value in (op.lhs, op.rhs) if isinstance(value.type, TensorType | TileType))


def tile_name(op: Operation) -> str:
    """The name of the tile that an op's result becomes."""
    return f"{base_name(op.results[0])}__tile"


class Rules:
    """Converts the ops of one function, one at a time, in program order."""

    def __init__(self, operands: Operands, constants: Constants, accumulators: Accumulators):
        self.operands = operands
        self.constants = constants
        self.accumulators = accumulators

    def convert(self, op: Operation) -> None:
        """Puts the tile form of a tensor op in its place; ops that stay at tensor level stay."""
        rule = RULES.get(type(op))
        if rule is not None:
            rule(self, op)
        elif is_one(op, gm.BinaryTensorOp):
            self.binary(op)
        elif is_one(op, gm.TensorOp):
            self.rename(op)

    def rename(self, op: gm.TensorOp, **extra: Any) -> None:
        """The tile op of the same meaning and arguments, with scratch where it needs some."""
        form = trait_of(op, TileForm)
        kind = None if form is None else TILE_OPS.get(form.name)
        if kind is None:
            spelled = f"pl.{op.SPELLING}"
            raise refuse(op, f"`{spelled}` has no form on chip", code="no-tile-form")
        arguments = {**self.operands.arguments(op), **extra}
        splits = kind_splits(kind)
        for parameter in kind.PARAMETERS:
            if parameter.name in splits.scratch and parameter.name not in arguments and not optional(parameter):
                arguments[parameter.name] = self.scratch(op, arguments, splits)
        replace(op, build(kind, op, tile_name(op), arguments))

    def scratch(self, op: gm.TensorOp, arguments: dict[str, Any], splits: Splits) -> SSAValue:
        """A scratch tile: as large as the operand; at least 128 columns for a reduction."""
        tile = tile_of(arguments[op.PARAMETERS[0].name])
        box = list(tile.shape)
        if splits.behaviour is Split.REDUCES and not (is_one(op, gm.ReduceTensorOp) and op.INDEX_RESULT):
            box[-1] = max(SCRATCH_COLUMNS, box[-1])
        return build(CreateOp, op, "tmp_tile", {"shape": box, "dtype": tile.dtype, "target_memory": VEC})

    # -- making and reading tensors

    def create(self, op: gm.CreateOp) -> None:
        """An undefined tensor is an undefined tile."""
        box = self._constant_shape(op)
        arguments = {"shape": box, "dtype": tensor_of(op.result).dtype, "target_memory": VEC}
        replace(op, build(CreateOp, op, tile_name(op), arguments))

    def full(self, op: gm.FullOp) -> None:
        """A constant tensor is a constant tile; a column is a column like every other, in column layout."""
        box = self._constant_shape(op)
        dtype = tensor_of(op.result).dtype
        type_ = TileType.make(box, dtype, VEC)
        arguments = {"shape": box, "dtype": dtype, "value": op.bound()["value"]}
        replace(op, build(FullOp, op, tile_name(op), arguments, type_))

    def _constant_shape(self, op: gm.TensorOp) -> tuple[int, ...]:
        tensor = tensor_of(op.results[0])
        if any(isinstance(extent, str) for extent in tensor.shape):
            raise refuse(op, f"`pl.{op.SPELLING}` needs a constant shape on chip", code="dynamic-tile")
        return tensor.static_shape

    def dim(self, op: gm.DimOp) -> None:
        """The extent of a tile is a constant; that of a tensor in global memory stays a question."""
        if isinstance(op.source.type, TileType):
            replace(op, self.constants[op.source.type.shape[op.bound()["axis"]]])

    def read(self, op: gm.ReadOp) -> None:
        """One cell of a tile; global memory is read as it is."""
        if isinstance(op.source.type, TileType):
            replace(op, build(ReadOp, op, op.result.name_hint, {"tile": op.source, "position": list(op.position)}))

    def write(self, op: gm.WriteOp) -> None:
        """One cell of a tile is replaced; global memory is written as it is."""
        if isinstance(op.target.type, TileType):
            arguments = {"tile": op.target, "position": list(op.position), "scalar": op.scalar}
            replace(op, build(WriteOp, op, tile_name(op), arguments))

    # -- windows

    def slice(self, op: gm.SliceOp) -> None:
        """A window of global memory is loaded, to L1 for products; a window of a tile is cut."""
        call = op.bound()
        window, offsets, valid = tuple(call["window"]), list(op.offsets), list(op.valid)
        shape = tensor_of(op.result).static_shape
        if isinstance(op.source.type, TileType):
            arguments = {"tile": op.source, "shape": window, "offsets": offsets, "valid": valid}
            cut = build(SliceOp, op, tile_name(op), arguments)
            replace(op, self._reshaped(op, cut, shape))
            return
        by_product, by_other = wanted_by(op.result)

        def load(memory: MemorySpace, name: str) -> SSAValue:
            arguments = {
                "source": op.source,
                "offsets": offsets,
                "shapes": window,
                "valid": valid,
                "target_memory": memory,
            }
            return self._reshaped(op, build(LoadOp, op, name, arguments), shape)

        if by_product and by_other:
            self._serve_products(op, load(MAT, f"{base_name(op.result)}_mat"))
        replace(op, load(MAT if by_product and not by_other else VEC, tile_name(op)))

    def _serve_products(self, op: gm.SliceOp, in_l1: SSAValue) -> None:
        """Products that take the window directly take its copy in L1."""
        op.result.replace_uses_with_if(in_l1, is_matmul_operand)

    def _reshaped(self, op: Operation, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        if tile_of(value).shape == shape:
            return value
        return build(ReshapeOp, op, value.name_hint, {"tile": value, "shape": shape})

    def assemble(self, op: gm.AssembleOp) -> None:
        """A tile is stored to global memory, or written into a window of another tile."""
        source = self.operands.tile(op.source, op)
        offsets = list(op.offsets)
        dtype = op.target.type.dtype if isinstance(op.target.type, TensorType | TileType) else None
        narrows = tile_of(source).memory is ACC and dtype in STORED_FROM_ACC
        if tile_of(source).dtype != dtype and (isinstance(op.target.type, TileType) or not narrows):
            assert dtype is not None
            source = self._cast(op, source, dtype)
        if isinstance(op.target.type, TileType):
            box = (1,) * (len(op.target.type.shape) - len(tile_of(source).shape)) + tile_of(source).shape
            source = self._reshaped(op, source, box)
            arguments = {"target": op.target, "source": source, "offsets": offsets}
            replace(op, build(AssembleOp, op, tile_name(op), arguments))
            return
        box = tile_of(source).shape
        window = (1,) * (len(offsets) - len(box)) + box if len(box) < len(offsets) else ()
        arguments = {
            "tile": source,
            "offsets": offsets,
            "target": op.target,
            "shapes": self.constants.all(list(window)),
            "atomic": op.bound()["atomic"],
        }
        replace(op, build(StoreOp, op, tile_name(op), arguments))

    def _cast(self, op: Operation, value: SSAValue, dtype: Attribute, name: str | None = None) -> SSAValue:
        """Rounds to the nearest value of another element type."""
        arguments = {"tile": value, "target_type": dtype, "mode": "rint"}
        name = name or f"{base_name(value)}__tile"
        return build(vector.CastOp, op, name, arguments)

    def reshape(self, op: gm.ReshapeOp) -> None:
        """A tensor in global memory is only seen under another shape; a tile is reshaped."""
        source = op.tile
        if isinstance(source.type, TensorType) and not self.operands.is_written(source):
            return
        self.rename(op)

    def transpose(self, op: gm.TransposeOp) -> None:
        """A matrix that only products read is seen turned in L1; any other is turned on the lanes."""
        in_l1 = isinstance(op.tile.type, TileType) and op.tile.type.memory is MAT
        if keeps_matrix(op) and (
            in_l1 or (isinstance(op.tile.type, TensorType) and wanted_by(op.result) == (True, False))
        ):
            replace(op, self.operands.factor(op.tile, op, transposed=True))
        else:
            self.rename(op)

    def fill_pad(self, op: gm.FillPadOp) -> None:
        """Fills what is outside the valid extent; there may be nothing to fill."""
        tile = self.operands.tile(op.tile, op)
        if tile_of(tile).fully_valid:
            replace(op, tile)
            return
        arguments = {"tile": tile, "pad_value": Pad(op.bound()["pad_value"])}
        replace(op, build(FillPadOp, op, tile_name(op), arguments))

    # -- elementwise ops

    def cast(self, op: gm.CastOp) -> None:
        """A conversion; none is needed if the accumulator holds the wanted type anyway."""
        tile = self.operands.tile(op.tile, op)
        if tile_of(tile).dtype == tensor_of(op.result).dtype:
            replace(op, tile)
        else:
            self.rename(op)

    def binary(self, op: gm.BinaryTensorOp) -> None:
        """A function of two tiles; a column or a row beside a wide tile takes the form that spreads it."""
        lhs, rhs = self.operands.tile(op.lhs, op), self.operands.tile(op.rhs, op)
        if isinstance(op, DIVIDES):
            lhs, rhs = self._one_type(op, lhs, rhs)
        left, right = tile_of(lhs).shape, tile_of(rhs).shape
        box = tensor_of(op.result).static_shape
        left_narrow, right_narrow = _is_narrow(left, box), _is_narrow(right, box)
        per_row = PER_ROW.get(type(op))
        if left == box and right_narrow and per_row is not None:
            value = build(per_row, op, tile_name(op), {"tile": lhs, "row_vector": rhs})
        elif left_narrow and right == box:
            value = self._narrow_left(op, lhs, rhs, box)
        else:
            lhs = self._spread(op, lhs, box, SPREAD_ROWS) if left_narrow else lhs
            rhs = self._spread(op, rhs, box, SPREAD_ROWS) if right_narrow else rhs
            if isinstance(op, DIVIDES):
                value = self._divide(op, lhs, rhs, box)
            else:
                value = build(TILE_OPS[_form(op)], op, tile_name(op), {"lhs": lhs, "rhs": rhs})
        replace(op, value)

    def _narrow_left(self, op: gm.BinaryTensorOp, lhs: SSAValue, rhs: SSAValue, box: tuple[int, ...]) -> SSAValue:
        """A column on the left: swapped where the op commutes, negated for a difference, else spread first."""
        name = tile_name(op)
        if isinstance(op, COMMUTES):
            return build(PER_ROW[type(op)], op, name, {"tile": rhs, "row_vector": lhs})
        if isinstance(op, SUBTRACTS):
            difference = build(PER_ROW[type(op)], op, f"{base_name(op.result)}__neg", {"tile": rhs, "row_vector": lhs})
            return build(NEGATE, op, name, {"tile": difference})
        arguments = {"lhs": self._spread(op, lhs, box, SPREAD_ROWS), "rhs": rhs}
        return build(TILE_OPS[_form(op)], op, name, arguments)

    def _divide(self, op: gm.BinaryTensorOp, lhs: SSAValue, rhs: SSAValue, box: tuple[int, ...]) -> SSAValue:
        """A quotient with a row vector on one side; a plain one wants two tiles of one shape and extent."""
        if tile_of(lhs).shape != box:
            lhs = self._spread(op, lhs, box, SPREAD_COLUMNS)
        if tile_of(rhs).shape != box:
            return build(DIVIDE_COLUMNS, op, tile_name(op), {"tile": lhs, "col_vector": rhs})
        return build(vector.DivOp, op, tile_name(op), {"lhs": lhs, "rhs": rhs})

    def _spread(self, op: gm.BinaryTensorOp, narrow: SSAValue, box: tuple[int, ...], kind: type[SurfaceOp]) -> SSAValue:
        """The full tile that a column or a row stands for."""
        arguments = {"shape": box, "dtype": tile_of(narrow).dtype, "target_memory": VEC}
        wide = build(CreateOp, op, "tmp_tile", arguments)
        vector_name = kind.PARAMETERS[1].name
        return build(kind, op, f"{base_name(narrow)}__tile", {"tile": wide, vector_name: narrow})

    def _one_type(self, op: Operation, lhs: SSAValue, rhs: SSAValue) -> tuple[SSAValue, SSAValue]:
        dtype = promote(tile_of(lhs).dtype, tile_of(rhs).dtype)
        if tile_of(lhs).dtype != dtype:
            lhs = self._cast(op, lhs, dtype, "div_lhs_cast")
        if tile_of(rhs).dtype != dtype:
            rhs = self._cast(op, rhs, dtype, "div_rhs_cast")
        return lhs, rhs

    # -- products

    def matmul(self, op: gm.MatmulOp) -> None:
        """A product; its operands are loaded to L1 right before it."""
        lhs, rhs = self._factors(op)
        kind = BatchMatmulOp if is_batch(op) else MatmulOp
        product = build(kind, op, tile_name(op), {"lhs": lhs, "rhs": rhs})
        dtype = tensor_of(op.result).dtype
        if tile_of(product).dtype != dtype and not self._narrows_at_stores(op.result, dtype):
            product = self._cast(op, product, dtype)
        replace(op, product)

    def _factors(self, op: gm.MatmulOp | gm.MatmulAccOp) -> tuple[SSAValue, SSAValue]:
        call = op.bound()
        left = self.operands.factor(op.lhs, op, bool(call.get("a_trans")))
        right = self.operands.factor(op.rhs, op, bool(call.get("b_trans")))
        return left, right

    def _narrows_at_stores(self, product: SSAValue, dtype: Attribute) -> bool:
        """Whether every use of a product stores it as it is to a tensor of the same element type."""
        for use in final_uses(product):
            op = use.operation
            if not is_one(op, gm.AssembleOp) or use.index != 1 or not isinstance(op.target.type, TensorType):
                return False
            if op.target.type.dtype != dtype or not self.operands.names_memory(op.target):
                return False
        return True

    def matmul_acc(self, op: gm.MatmulAccOp) -> None:
        """A product added to an accumulator; to one of zeros it is the product itself."""
        lhs, rhs = self._factors(op)
        acc = self.operands.tile(op.acc, op)
        if is_zero(acc):
            replace(op, build(BatchMatmulOp if is_batch(op) else MatmulOp, op, tile_name(op), {"lhs": lhs, "rhs": rhs}))
            return
        first = self.accumulators.first_trip(op, acc)
        arguments = {"acc": op.acc if first else acc, "lhs": lhs, "rhs": rhs, "init_cond": first}
        replace(op, build(BatchMatmulAccOp if is_batch(op) else MatmulAccOp, op, tile_name(op), arguments))


def kind_splits(kind: type[SurfaceOp]) -> Splits:
    """The split behaviour that an op class declares."""
    splits = trait_of_class(kind, Splits)
    assert splits is not None
    return splits


def optional(parameter: Parameter) -> bool:
    """Whether a call may leave the parameter out."""
    return parameter.kind is Kind.VALUE and parameter.default is None


def _form(op: gm.TensorOp) -> str:
    form = trait_of(op, TileForm)
    if form is None:
        raise Diagnostic(f"`pl.{op.SPELLING}` has no form on chip", code="no-tile-form")
    return form.name


def _is_narrow(shape: tuple[int, ...], box: tuple[int, ...]) -> bool:
    """Whether a shape is one column of a wider box."""
    return len(shape) == len(box) > 1 and shape[-1] == 1 != box[-1] and shape[:-1] == box[:-1]


RULES: dict[type[Operation], Rule] = {
    gm.CreateOp: Rules.create,
    gm.FullOp: Rules.full,
    gm.DimOp: Rules.dim,
    gm.ReadOp: Rules.read,
    gm.WriteOp: Rules.write,
    gm.SliceOp: Rules.slice,
    gm.AssembleOp: Rules.assemble,
    gm.ReshapeOp: Rules.reshape,
    gm.TransposeOp: Rules.transpose,
    gm.FillPadOp: Rules.fill_pad,
    gm.CastOp: Rules.cast,
    gm.MatmulOp: Rules.matmul,
    gm.MatmulAccOp: Rules.matmul_acc,
}
"""Ops with a rule of their own, by class."""
