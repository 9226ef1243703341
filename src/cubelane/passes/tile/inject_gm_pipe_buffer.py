"""The workspace in global memory through which the rings of an a2a3 travel (spec/passes.md 6)."""

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from cubelane.ir.gm import CreateOp
from cubelane.ir.kernel import (
    Direction,
    FunctionKind,
    argument_attributes,
    direction_of,
    functions_of,
    kind_of,
    target_name,
)
from cubelane.ir.surface import Bound
from cubelane.ir.tile.channel import InitializePipeOp
from cubelane.ir.types import DTYPES, TensorLayout, TensorType
from cubelane.ir.walk import ops_of
from cubelane.targets import TARGETS

BUFFER = "__gm_pipe_buffer"


def placeholder() -> TensorType:
    """The type of the parameter; the run time replaces it by a buffer of the real size."""
    return TensorType.make([1], DTYPES["FP32"])


def has_buffer(function: FuncOp) -> bool:
    """Whether the function takes the workspace already."""
    return any(a.name_hint == BUFFER for a in function.body.block.args)


class InjectGMPipeBuffer(ModulePass):
    """Functions that open a pipe, and all that call them, take one more parameter; each call from an Orchestration
    function makes its own buffer. Nothing happens on a target whose rings stay on chip."""

    name = "inject-gm-pipe-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        if target is None or not target.ring_in_global_memory:
            return
        functions = functions_of(op)
        calls = {f.sym_name.data: ops_of(f, CallOp) for f in functions}
        takers = _takers(functions, calls)
        for function in functions:
            if function.sym_name.data in takers:
                _add_parameter(function)
        for function in functions:
            if kind_of(function) is FunctionKind.ORCHESTRATION:
                _make_buffers(calls[function.sym_name.data], takers)
            elif function.sym_name.data in takers:
                own = function.body.block.args[-1]
                for call in calls[function.sym_name.data]:
                    if call.callee.string_value() in takers:
                        call.operands = [*call.operands, own]


def _takers(functions: list[FuncOp], calls: dict[str, list[CallOp]]) -> set[str]:
    """Who gets the parameter: who opens a pipe, and the callers of those up to Orchestration functions."""
    callers: dict[str, list[FuncOp]] = {}
    for function in functions:
        for call in calls[function.sym_name.data]:
            callers.setdefault(call.callee.string_value(), []).append(function)
    todo = [f for f in functions if not has_buffer(f) and bool(ops_of(f, InitializePipeOp))]
    takers = {f.sym_name.data for f in todo}
    while todo:
        for caller in callers.get(todo.pop().sym_name.data, ()):
            name = caller.sym_name.data
            if name not in takers and kind_of(caller) is not FunctionKind.ORCHESTRATION and not has_buffer(caller):
                takers.add(name)
                todo.append(caller)
    return takers


def _add_parameter(function: FuncOp) -> None:
    block = function.body.block
    kept = [direction_of(function, i) for i in range(len(block.args))]
    block.insert_arg(placeholder(), len(block.args)).name_hint = BUFFER
    kind = function.function_type
    function.function_type = FunctionType.from_lists([*kind.inputs.data, placeholder()], list(kind.outputs.data))
    function.arg_attrs = argument_attributes([*kept, Direction.OUT])


def _make_buffers(calls: list[CallOp], takers: set[str]) -> None:
    number = 0
    for call in calls:
        if call.callee.string_value() not in takers:
            continue
        create = CreateOp.from_call(Bound({"manual_dep": True}), placeholder().replaced(layout=TensorLayout.ND))
        create.location = call.location
        buffer: SSAValue = create.results[0]
        buffer.name_hint = f"gm_pipe_buffer_{number}"
        number += 1
        block = call.parent_block()
        assert block is not None
        block.insert_op_before(create, call)
        call.operands = [*call.operands, buffer]
