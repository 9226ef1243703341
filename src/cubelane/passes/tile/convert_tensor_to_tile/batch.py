"""A product of batches: one product of matrices each, written out (spec/front.md 3.5, 3.6).

The products are put together as the rows of one tile in the vector buffer.
"""

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.ir import SSAValue

from cubelane.ir import gm
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.matrix import MatmulOp
from cubelane.ir.tile.movement import LoadOp, MoveOp
from cubelane.ir.tile.shaping import AssembleOp, ReshapeOp, SliceOp
from cubelane.ir.types import Layout, MemorySpace, TensorType, TileType
from cubelane.passes.tile.convert_tensor_to_tile.operands import Operands, static_box
from cubelane.passes.tile.placement import Constants, base_name, build

VEC, MAT = MemorySpace.VEC, MemorySpace.MAT
ROW, NONE = Layout.ROW_MAJOR, Layout.NONE_BOX


def place(index: Sequence[int], leading: Sequence[int]) -> int:
    """The number of a matrix in a batch; an axis of extent 1 serves every index."""
    number = 0
    for i, extent in zip(index[len(index) - len(leading) :], leading, strict=True):
        number = number * extent + (0 if extent == 1 else i)
    return number


class Batch:
    """One batched product."""

    def __init__(self, op: gm.MatmulOp, operands: Operands, constants: Constants):
        self._op, self._operands, self._constants = op, operands, constants
        type_ = op.result.type
        assert isinstance(type_, TensorType)
        self._box = type_.static_shape
        self._dtype = type_.dtype

    def product(self, name: str) -> SSAValue:
        """All products, as one tile of the shape of the result."""
        rows, columns = self._box[-2:]
        height = prod(self._box[:-2]) * rows
        whole: SSAValue | None = None
        for number, index in enumerate(product(*(range(extent) for extent in self._box[:-2]))):
            acc = self._one(index, f"{name}_{number}" if number else name)
            if whole is None:
                assert isinstance(acc.type, TileType)
                arguments = {"shape": (height, columns), "dtype": acc.type.dtype, "target_memory": VEC}
                whole = build(CreateOp, self._op, name, arguments)
            arguments = {"tile": acc, "target_memory": VEC, "blayout": ROW, "slayout": NONE}
            moved = build(MoveOp, self._op, f"{name}_Vec", arguments)
            offsets = [self._constants[number * rows], self._constants[0]]
            whole = build(AssembleOp, self._op, name, {"target": whole, "source": moved, "offsets": offsets})
        assert whole is not None
        return build(ReshapeOp, self._op, name, {"tile": whole, "shape": self._box})

    def _one(self, index: Sequence[int], name: str) -> SSAValue:
        call = self._op.bound()
        lhs = self._matrix(self._op.lhs, index)
        rhs = self._matrix(self._op.rhs, index)
        left = self._operands.factor(lhs, self._op, bool(call.get("a_trans")))
        right = self._operands.factor(rhs, self._op, bool(call.get("b_trans")))
        return build(MatmulOp, self._op, name, {"lhs": left, "rhs": right})

    def _matrix(self, value: SSAValue, index: Sequence[int]) -> SSAValue:
        """One matrix of an operand: loaded to L1, or cut from the rows of a tile."""
        tensor = value.type
        assert isinstance(tensor, TensorType | TileType)
        box = static_box(self._op, value) if isinstance(tensor, TensorType) else tensor.shape
        *leading, rows, columns = box
        name = f"{base_name(value)}_mat"
        row = self._constants[place(index, leading) * rows]
        offsets, height = [row, self._constants[0]], prod(leading) * rows
        if isinstance(tensor, TensorType):
            if leading:
                view = {"tile": value, "shape": (height, columns)}
                value = build(gm.ReshapeOp, self._op, f"{base_name(value)}__view2d", view)
            arguments = {"source": value, "offsets": offsets, "shapes": (rows, columns), "target_memory": MAT}
            return build(LoadOp, self._op, name, arguments)
        if not leading:
            return value
        flat = build(ReshapeOp, self._op, value.name_hint, {"tile": value, "shape": (height, columns)})
        return build(SliceOp, self._op, name, {"tile": flat, "shape": (rows, columns), "offsets": offsets})
