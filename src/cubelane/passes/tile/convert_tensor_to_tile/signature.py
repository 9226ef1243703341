"""Results of a function: tensors made inside become Out parameters that the callers provide (spec/front.md 3.5)."""

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, SSAValue

from cubelane.analysis.tensor_handles import TensorHandles, directions, return_of
from cubelane.ir import gm
from cubelane.ir.calls import KernelCallOp
from cubelane.ir.kernel import Direction, argument_attributes, direction_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.movement import StoreOp
from cubelane.ir.types import TensorType, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import Constants, build, insert, replace

_RANK = {Direction.IN: 0, Direction.OUT: 1, Direction.INOUT: 2}


def add_output(function: FuncOp, index: int, tensor: TensorType) -> BlockArgument:
    """A trailing Out parameter for returned value `index`."""
    block = function.body.block
    known = [direction_of(function, i) for i in range(len(block.args))]
    parameter = block.insert_arg(tensor, len(block.args))
    parameter.name_hint = f"ret{index}__out"
    function.arg_attrs = argument_attributes([*known, Direction.OUT])
    return parameter


def promote_made_tensors(function: FuncOp) -> list[TensorType]:
    """A returned tensor that the function makes and fills becomes an Out parameter; the types of the new ones."""
    end = return_of(function)
    added: list[TensorType] = []
    made: dict[SSAValue, gm.CreateOp] = {op.result: op for op in ops_in(function) if is_one(op, gm.CreateOp)}
    if not made:
        return added
    handles = TensorHandles(function.body.block, made=list(made))
    for index, value in enumerate(end.arguments):
        origin = handles[value]
        if origin is None or origin not in made or not isinstance(origin.type, TensorType):
            continue
        parameter = add_output(function, index, origin.type)
        added.append(origin.type)
        end.operands[index] = parameter
        replace(made.pop(origin), parameter)
    return added


def store_results(function: FuncOp, constants: Constants) -> list[TensorType]:
    """Returned tiles are stored to new Out parameters; the types of the new ones."""
    end = return_of(function)
    added: list[TensorType] = []
    for index, value in enumerate(end.arguments):
        tile = value.type
        if not isinstance(tile, TileType):
            continue
        declared = function.function_type.outputs.data[index]
        tensor = declared if isinstance(declared, TensorType) else TensorType.make(tile.shape, tile.dtype)
        tensor = tensor.replaced(valid=())
        parameter = add_output(function, index, tensor)
        added.append(tensor)
        arguments = {"tile": value, "offsets": constants.all([0] * len(tile.shape)), "target": parameter}
        end.operands[index] = build(StoreOp, end, f"ret{index}__store", arguments)
    return added


def update_signature(function: FuncOp) -> None:
    """Brings the function type and the directions in line with the body; directions are only raised."""
    block = function.body.block
    results = [value.type for value in return_of(function).arguments]
    function.function_type = FunctionType.from_lists(list(block.arg_types), results)
    found = directions(function)
    stated = [direction_of(function, i) for i in range(len(block.args))]
    raised = [max(pair, key=_RANK.__getitem__) for pair in zip(stated, found, strict=True)]
    function.arg_attrs = argument_attributes(raised)


def provide_outputs(program: ModuleOp, added: dict[str, list[TensorType]]) -> None:
    """Callers make the tensors that functions now write their results to."""
    calls = [op for op in ops_in(program) if is_one(op, CallOp) and op.callee.string_value() in added]
    for call in calls:
        outputs: list[SSAValue] = []
        for index, tensor in enumerate(added[call.callee.string_value()]):
            arguments = {"shape": tensor.shape, "dtype": tensor.dtype, "layout": tensor.data.layout}
            outputs.append(build(gm.CreateOp, call, f"ret{index}__out", arguments))
        new = KernelCallOp(call.callee, [*call.arguments, *outputs], [result.type for result in call.results])
        new.attributes.update(call.attributes)
        insert(new, call)
        for old, result in zip(call.results, new.results, strict=True):
            result.name_hint = old.name_hint
        replace(call, *new.results)
