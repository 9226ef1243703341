"""Where the tiles of a converted op come from: entry loads, loads at the use, loads to L1 (spec/front.md 3.5)."""

from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue, Use

from cubelane.analysis.tensor_handles import TensorHandles, written_slot
from cubelane.analysis.value_flow import arrives_at
from cubelane.ir import gm
from cubelane.ir.diagnostic import refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Kind
from cubelane.ir.tile.base import TileOp
from cubelane.ir.tile.movement import LoadOp, MoveOp
from cubelane.ir.tile.shaping import TransposeViewOp
from cubelane.ir.types import DYNAMIC, MemorySpace, TensorType, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import Constants, base_name, build

SELF_LOADING = (gm.SliceOp, gm.ReadOp, gm.WriteOp, gm.DimOp, gm.AssembleOp, CallOp, ReturnOp, TileOp)
"""Ops that take a tensor in global memory as it is."""


def is_matmul_operand(use: Use) -> bool:
    """Whether a value is used as a factor of a product."""
    op = use.operation
    if is_one(op, gm.MatmulOp):
        return True
    return is_one(op, gm.MatmulAccOp) and use.index > 0


def keeps_matrix(op: Operation) -> bool:
    """Whether the result can stay in L1 with the operand: a window, a view of the same rows, a turned matrix."""
    if is_one(op, gm.ReshapeOp):
        old, new = op.operands[0].type, op.result.type
        return isinstance(old, TensorType) and old.shape[-1] == new.shape[-1]
    if is_one(op, gm.TransposeOp):
        rank = len(op.result.type.shape)
        call = op.bound()
        return {call["axis0"] % rank, call["axis1"] % rank} == {rank - 2, rank - 1}
    return is_one(op, (gm.SliceOp, gm.SetValidShapeOp))


def wanted_by(value: SSAValue) -> tuple[bool, bool]:
    """Whether a value is wanted by a product (in L1), and whether by anything else (in the vector buffer).

    Looks through what `keeps_matrix`, and through control flow.
    """
    by_product = by_other = False
    pending, seen = [value], {value}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            onward = arrives_at(use)
            if use.index == 0 and keeps_matrix(op):
                onward = tuple(op.results)
            if is_matmul_operand(use):
                by_product = True
            elif not onward and not is_one(op, gm.DimOp):
                by_other = True
            for target in onward:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
    return by_product, by_other


def static_box(op: Operation, value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor that is loaded as a whole; refuses one with run-time extents."""
    tensor = value.type
    assert isinstance(tensor, TensorType)
    box = tensor.static_shape
    if DYNAMIC in box:
        name = value.name_hint or "the tensor"
        axis = box.index(DYNAMIC)
        raise refuse(
            op,
            f"`{name}` has the run-time extent {tensor.shape[axis]} on axis {axis} and cannot become one tile",
            "a tile has a constant shape",
            instead=f"take tiles of it in a loop: pl.slice({name}, [rows, columns], [row, column], valid_shape=[...])",
            code="dynamic-tile",
        )
    return box


class Operands:
    """Gives tiles for the operands of one function's ops."""

    def __init__(self, body: Block, handles: TensorHandles, constants: Constants):
        self._constants = constants
        self._handles = handles
        self._written: dict[SSAValue, Operation] = {}
        for op in ops_in(body):
            slot = written_slot(op)
            root = None if slot is None else handles[op.operands[slot]]
            if root is not None:
                self._write(op, root)
        self._entry: dict[SSAValue, SSAValue] = {}
        self._load_at_entry(body)

    def _write(self, op: Operation, root: SSAValue) -> None:
        """Notes a write; refuses a tensor that is written both cell by cell and by windows."""
        first = self._written.setdefault(root, op)
        if is_one(first, gm.WriteOp) is not is_one(op, gm.WriteOp):
            name = root.name_hint or "the tensor"
            raise refuse(
                op,
                f"`{name}` is written cell by cell and by windows in one kernel",
                "the two ways to global memory are not ordered with each other",
                instead=f"write the cell of a tile, then store the tile: t = pl.write(t, [row, column], value), "
                f"{name} = pl.assemble({name}, t, [0, 0])",
                code="mixed-writes",
            )

    def _load_at_entry(self, body: Block) -> None:
        first = body.first_op
        assert first is not None
        for parameter in body.args:
            if not isinstance(parameter.type, TensorType) or parameter in self._written:
                continue
            readers = [use.operation for use in parameter.uses if self._reads_whole(use)]
            if readers:
                static_box(readers[-1], parameter)
                self._entry[parameter] = self.load(parameter, first, f"{base_name(parameter)}__tile")

    @staticmethod
    def _reads_whole(use: Use) -> bool:
        op = use.operation
        if is_matmul_operand(use) or arrives_at(use) or isinstance(op, (*SELF_LOADING, gm.ReshapeOp)):
            return False
        return is_one(op, gm.TensorOp)

    def is_written(self, value: SSAValue) -> bool:
        """Whether the function writes this parameter."""
        return value in self._written

    def names_memory(self, value: SSAValue) -> bool:
        """Whether a tensor value names the memory of a parameter."""
        return self._handles[value] is not None

    def load(self, value: SSAValue, anchor: Operation, name: str, memory: MemorySpace = MemorySpace.VEC) -> SSAValue:
        """Loads a whole tensor before `anchor`."""
        box = static_box(anchor, value)
        zeros = self._constants.all([0] * len(box))
        arguments = {"source": value, "offsets": zeros, "shapes": box, "target_memory": memory}
        return build(LoadOp, anchor, name, arguments)

    def tile(self, value: SSAValue, anchor: Operation) -> SSAValue:
        """The value as a tile: itself, the tile loaded at entry, or a load right here if the function writes it."""
        if not is_one(value.type, TensorType):
            return value
        entry = self._entry.get(value)
        return entry if entry is not None else self.load(value, anchor, f"{base_name(value)}__tile")

    def factor(self, value: SSAValue, anchor: Operation, transposed: bool) -> SSAValue:
        """An operand of a product: a tensor is loaded to L1; a transposed one is seen through a transpose view."""
        name = value.name_hint or "t"
        if isinstance(value.type, TensorType):
            name = f"{name}_mat"
            value = self.load(value, anchor, name, MemorySpace.MAT)
        if not transposed:
            return value
        tile = value.type
        assert isinstance(tile, TileType)
        if tile.memory is not MemorySpace.MAT:
            name = f"{name}_mat"
            value = build(MoveOp, anchor, name, {"tile": value, "target_memory": MemorySpace.MAT})
        return build(TransposeViewOp, anchor, f"{name}_t", {"tile": value})

    def arguments(self, op: gm.TensorOp) -> dict[str, object]:
        """The arguments of a call with every tensor operand as a tile."""
        values = op.bound().values
        for parameter in op.PARAMETERS:
            if parameter.kind is Kind.VALUE and values[parameter.name] is not None:
                values[parameter.name] = self.tile(values[parameter.name], op)
        return values
