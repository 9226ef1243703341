"""From one mixed function to the programs of its two cores and the group around them (spec/passes.md 5.3, 5.12)."""

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ForOp, WhileOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from cubelane.analysis.boundaries import boundaries_of
from cubelane.analysis.gm_order import Fence, GmOrder
from cubelane.analysis.places import Places
from cubelane.analysis.projection import Needs, Projector
from cubelane.analysis.tensor_handles import TensorHandles, return_of
from cubelane.analysis.valid_extents import ValidExtents
from cubelane.ir.affinity import Affinity
from cubelane.ir.calls import KernelCallOp
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import (
    DUAL_DISPATCH,
    KIND,
    SLOT_NUM,
    BodyOp,
    FunctionKind,
    KindAttr,
    int_attribute,
    set_flag,
    split_of,
)
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.tile.channel import ImportPeerBufferOp, ReserveBufferOp
from cubelane.ir.types import SplitMode, TileType
from cubelane.ir.walk import ops_of
from cubelane.passes.tile.expand_mixed_kernel.crossings import Crossing, CrossingWriter, Lanes, PipeOf
from cubelane.passes.tile.expand_mixed_kernel.fences import FenceWriter
from cubelane.passes.tile.expand_mixed_kernel.frees import FreeInserter
from cubelane.passes.tile.expand_mixed_kernel.pipes import DEFAULT_SLOTS, set_up_pipes
from cubelane.targets import Target


class Programs(NamedTuple):
    """What one mixed function became."""

    cube: FuncOp
    lanes: FuncOp
    group: FuncOp


class Expansion:
    """The expansion of one mixed function."""

    def __init__(self, function: FuncOp, target: Target, pipe_per_size: bool):
        self.function, self.target = function, target
        self.name = function.sym_name.data
        self.slots = _slots(function)
        _refuse_scopes(function)
        boundaries = boundaries_of(function.body)
        valid, lanes = ValidExtents(function), Lanes(function)
        self.crossings = {op: Crossing.of(b, valid, lanes) for op, b in boundaries.items()}
        self.handles = TensorHandles(function.body.block)
        self.fences: list[Fence] = []
        self.places = Places(function)
        self.needs = {core: self._needs(core) for core in (Affinity.CUBE, Affinity.VECTOR)}
        runs_on = {core: needs.ops for core, needs in self.needs.items()}
        order = GmOrder(function, boundaries, runs_on, self.places, self.handles)
        self.fences = order.fences()
        if self.fences:
            self.needs = {core: self._needs(core) for core in self.needs}
        self.pipe_of = PipeOf(_sizes(self.crossings, self.fences) if pipe_per_size else ())

    def run(self) -> Programs:
        """All three functions."""
        cube, lanes = self._side(Affinity.CUBE), self._side(Affinity.VECTOR)
        if self.target.replays_on_lane_1 and split_of(self.function) is SplitMode.NONE:
            set_flag(lanes, DUAL_DISPATCH)
        set_up_pipes(self.name, cube, lanes, self.slots)
        return Programs(cube, lanes, self._group(cube, lanes))

    def _needs(self, core: Affinity) -> Needs:
        own = [fence for fence in self.fences if fence.producer is core]
        return Needs(
            self.function.body,
            core,
            {op: crossing.leaf(core) for op, crossing in self.crossings.items()},
            place=self.places,
            stand_in=self.handles.__getitem__,
            anchors=[fence.after if fence in own else fence.before for fence in self.fences],
            extra=[fence.tile for fence in own],
            returns=core is Affinity.VECTOR,
            passive=lambda op: is_one(op, (ReserveBufferOp, ImportPeerBufferOp)),
        )

    def _side(self, core: Affinity) -> FuncOp:
        function, vector = self.function, core is Affinity.VECTOR
        writer = FenceWriter(self.fences, core, self.target, self.pipe_of)
        emit = CrossingWriter(self.crossings, core, self.target, self.pipe_of)
        projector = Projector(self.needs[core], emit, writer.before, writer.after)
        block = copied_parameters(function, projector.map)
        projector.run(function.body.block, block)
        end = return_of(function)
        values = [projector.value(v) for v in end.operands] if vector else []
        new_return = ReturnOp(*values)
        new_return.location = end.location
        block.add_op(new_return)
        new = like(function, f"{self.name}_{'aiv' if vector else 'aic'}", block, [v.type for v in values])
        new.attributes[KIND] = KindAttr(FunctionKind.AIV if vector else FunctionKind.AIC)
        FreeInserter(self.slots).run(new)
        return new

    def _group(self, cube: FuncOp, lanes: FuncOp) -> FuncOp:
        function = self.function
        block = copied_parameters(function, {})
        args = list(block.args)
        results = list(function.function_type.outputs.data)
        calls = [KernelCallOp(cube.sym_name.data, args, []), KernelCallOp(lanes.sym_name.data, args, results)]
        returned: list[SSAValue] = list(calls[1].results)
        roots = [self.handles[value] for value in return_of(function).operands]
        parameters = [
            block.args[root.index]
            for root, value in zip(roots, return_of(function).operands, strict=True)
            if is_one(root, BlockArgument) and not _through_branch(value)
        ]
        if len(parameters) == len(roots):
            returned = list(parameters)
        for value, result in zip(return_of(function).operands, calls[1].results, strict=True):
            result.name_hint = value.name_hint
        for op in (*calls, ReturnOp(*returned)):
            op.location = function.location
            block.add_op(op)
        new = like(function, self.name, block, results)
        new.attributes[KIND] = KindAttr(FunctionKind.GROUP)
        return new


def _index(value: SSAValue) -> int:
    assert isinstance(value, OpResult)
    return value.index


def _through_branch(value: SSAValue) -> bool:
    """Whether a returned tensor comes out of an `if`; the group then hands on what the lanes return."""
    while not is_one(value, BlockArgument):
        op = value.owner
        if is_one(op, ForOp):
            value = op.iter_args[_index(value)]
        elif is_one(op, WhileOp):
            value = op.arguments[_index(value)]
        else:
            target = getattr(op, "target", None)
            if not is_value(target):
                return True
            value = target
    return False


def _slots(function: FuncOp) -> int:
    slots = int_attribute(function, SLOT_NUM)
    if slots is not None and slots <= 0:
        raise refuse(
            function,
            f"a ring of `{function.sym_name.data}` has at least one slot, not {slots}",
            instead="pl.cross_core_slot(slot_num=2)",
            code="slot-num",
        )
    return slots or DEFAULT_SLOTS


def _refuse_scopes(function: FuncOp) -> None:
    for op in ops_of(function, BodyOp):
        raise refuse(
            op,
            f"`{function.sym_name.data}` still holds a scope or a split region, which no core can run",
            "regions are lowered and scopes outlined before a mixed kernel is expanded",
            instead="declare the function without a type, so that its scopes become functions of their own",
            code="open-scope",
        )


def _sizes(crossings: dict[Operation, Crossing], fences: list[Fence]) -> list[int]:
    tiles: list[TileType] = []
    for crossing in crossings.values():
        boundary = crossing.boundary
        tiles.append(boundary.result_type if boundary.authored and not boundary.to_lanes else boundary.source_type)
    tiles += [fence.tile.type for fence in fences if isinstance(fence.tile.type, TileType)]
    return list(dict.fromkeys(tile.size_in_bytes for tile in tiles))


def copied_parameters(function: FuncOp, mapping: dict[SSAValue, SSAValue]) -> Block:
    """A block with the parameters of a function, recorded in `mapping`."""
    old = function.body.block.args
    block = Block(arg_types=[a.type for a in old])
    for source, argument in zip(old, block.args, strict=True):
        argument.name_hint, argument.location = source.name_hint, source.location
        mapping[source] = argument
    return block


def like(function: FuncOp, name: str, block: Block, outputs: Sequence[Attribute]) -> FuncOp:
    """A function with the parameters and facts of another one."""
    kind = FunctionType.from_lists([a.type for a in block.args], outputs)
    new = FuncOp(name, kind, Region(block), function.sym_visibility, arg_attrs=function.arg_attrs)
    new.attributes = dict(function.attributes)
    new.location = function.location
    return new
