"""ConvertTensorToTileOps: what an InCore function computes on tensors becomes work on tiles (spec/front.md 3.5).

Parameters stay tensors: handles of global memory. Whatever is computed is a tile, also where it is carried by a loop
or chosen by an `if`. Unlike the reference, a parameter that is both read whole and written is read where it is used.
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.analysis.value_flow import Join, Slot
from cubelane.ir import gm
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.types import TensorType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.convert_tensor_to_tile.accumulators import Accumulators
from cubelane.passes.tile.convert_tensor_to_tile.operands import Operands
from cubelane.passes.tile.convert_tensor_to_tile.rules import Rules
from cubelane.passes.tile.convert_tensor_to_tile.signature import (
    promote_made_tensors,
    provide_outputs,
    store_results,
    update_signature,
)
from cubelane.passes.tile.dead_code import remove_unused
from cubelane.passes.tile.forward import ForwardRewrite
from cubelane.passes.tile.placement import base_name

STAYS = (gm.ReadOp, gm.WriteOp, gm.DimOp)
"""Tensor ops that work on global memory from within a core."""


class Conversion(ForwardRewrite):
    """Converts one function."""

    def __init__(self, function: FuncOp):
        body = function.body.block
        super().__init__(body)
        self._handles = TensorHandles(body)
        self._operands = Operands(body, self._handles, self.constants)
        self._rules = Rules(self._operands, self.constants, Accumulators(self.retype))

    def visit(self, op: Operation) -> None:
        """Converts a tensor op; a tile op only follows its operands."""
        if is_one(op, gm.TensorOp):
            self._rules.convert(op)
        else:
            self.follow(op)

    def prepare(self, join: Join, slot: Slot) -> None:
        """A tensor that meets computed values is loaded where it arrives."""
        value, target = slot.value, join.targets[0]
        if not isinstance(value.type, TensorType):
            return
        if isinstance(target.type, TensorType) and self._handles[target] is not None:
            return
        name = f"{base_name(value)}__tile"
        slot.op.operands[slot.index] = self._operands.load(value, slot.op, name)


def works_on_tensors(function: FuncOp) -> bool:
    """Whether a function holds tensor ops to convert."""
    return any(is_one(op, gm.TensorOp) and not isinstance(op, STAYS) for op in ops_in(function))


class ConvertTensorToTile(ModulePass):
    """Tensor ops of InCore functions become tile ops; callers provide the tensors for results."""

    name = "convert-tensor-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        added: dict[str, list[TensorType]] = {}
        for function in functions_of(op):
            if kind_of(function) is not FunctionKind.INCORE or not works_on_tensors(function):
                continue
            outputs = promote_made_tensors(function)
            conversion = Conversion(function)
            conversion.run(function.body.block)
            outputs += store_results(function, conversion.constants)
            update_signature(function)
            remove_unused(function.body.block)
            if outputs:
                added[function.sym_name.data] = outputs
        if added:
            provide_outputs(op, added)
