"""Who calls a mixed function, and what the calls become (spec/passes.md 5.12, 5.13; gap 26)."""

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.ir.calls import KernelCallOp
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import DUAL_DISPATCH, EXTERNAL, FunctionKind, flag, functions_of, kind_of, set_flag, split_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.channel import FreeOp, ImportPeerBufferOp, PopOp, PushOp, transport_code
from cubelane.ir.types import SplitMode
from cubelane.ir.walk import ops_in, ops_of
from cubelane.passes.tile.expand_mixed_kernel.programs import Programs, copied_parameters, like
from cubelane.targets import Target


def calls_in(function: FuncOp) -> list[CallOp]:
    """All calls of a function, in loops and branches too."""
    return ops_of(function, CallOp)


def callee_of(call: CallOp) -> str:
    """The name of the called function."""
    return call.callee.string_value()


def callers_by_kind(module: ModuleOp) -> tuple[set[str], set[str]]:
    """Names that Group functions call, and names that other functions call."""
    groups, others = set[str](), set[str]()
    for function in functions_of(module):
        names = groups if kind_of(function) is FunctionKind.GROUP else others
        names.update(callee_of(call) for call in calls_in(function))
    return groups, others


def rewrite_group_calls(module: ModuleOp, expanded: dict[str, Programs]) -> None:
    """A Group that called the mixed function now starts both programs itself."""
    own = {id(programs.group) for programs in expanded.values()}
    for function in functions_of(module):
        if kind_of(function) is not FunctionKind.GROUP or id(function) in own:
            continue
        for call in calls_in(function):
            programs = expanded.get(callee_of(call))
            if programs is not None:
                _split_call(call, programs)


def _split_call(call: CallOp, programs: Programs) -> None:
    block = call.parent_block()
    assert block is not None
    args = list(call.arguments)
    cube = KernelCallOp(programs.cube.sym_name.data, args, [])
    lanes = KernelCallOp(programs.lanes.sym_name.data, args, [r.type for r in call.results])
    for new in (cube, lanes):
        new.attributes, new.location = dict(call.attributes), call.location
        block.insert_op_before(new, call)
    for old, new in zip(call.results, lanes.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    block.erase_op(call)


class HandWrittenGroups:
    """Gives the members of a hand-written Group its parameters, and both lanes where the target runs both."""

    def __init__(self, module: ModuleOp, target: Target | None):
        self.module, self.target = module, target
        self.functions = {f.sym_name.data: f for f in functions_of(module)}
        self.counts: dict[str, int] = {}
        for function in functions_of(module):
            for call in calls_in(function):
                self.counts[callee_of(call)] = self.counts.get(callee_of(call), 0) + 1

    def run(self) -> None:
        """Visits every Group with a cube and a vector member."""
        for group in functions_of(self.module):
            if kind_of(group) is FunctionKind.GROUP:
                cube, lanes = self._member(group, FunctionKind.AIC), self._member(group, FunctionKind.AIV)
                if cube is not None and lanes is not None:
                    self._normalize(group, cube, lanes)

    def _member(self, group: FuncOp, kind: FunctionKind) -> CallOp | None:
        for call in calls_in(group):
            callee = self.functions.get(callee_of(call))
            if callee is not None and kind_of(callee) is kind:
                return call
        return None

    def _normalize(self, group: FuncOp, cube: CallOp, lanes: CallOp) -> None:
        parameters, handles = list(group.body.block.args), TensorHandles(group.body.block, self.functions)
        passed = {call: [handles[a] or a for a in call.arguments] for call in (cube, lanes)}
        other_abi = any(arguments != parameters for arguments in passed.values())
        dual = self._wants_both_lanes(self.functions[callee_of(lanes)])
        if not other_abi and not dual:
            return
        alone = all(self.counts[callee_of(call)] == 1 for call in (cube, lanes))
        names = {
            callee_of(call): callee_of(call) if alone else self._fresh(f"{group.sym_name.data}_{suffix}_adapter")
            for call, suffix in ((cube, "aic"), (lanes, "aiv"))
        }
        for call in (cube, lanes):
            new = self._rebuilt(group, call, passed[call], names)
            if call is lanes and dual:
                set_flag(new, DUAL_DISPATCH)
            call.operands = list(group.body.block.args)
            call.callee = type(call.callee)(new.sym_name.data)

    def _wants_both_lanes(self, function: FuncOp) -> bool:
        if self.target is None or not self.target.replays_on_lane_1:
            return False
        if EXTERNAL in function.attributes or flag(function, DUAL_DISPATCH) or split_of(function) is not SplitMode.NONE:
            return False
        codes = [transport_code(op) for op in ops_of(function, (PushOp, PopOp, FreeOp))]
        return bool(codes) and not any(codes)

    def _fresh(self, name: str) -> str:
        number, fresh = 0, name
        while fresh in self.functions:
            number += 1
            fresh = f"{name}_{number}"
        return fresh

    def _rebuilt(self, group: FuncOp, call: CallOp, passed: list[SSAValue], names: dict[str, str]) -> FuncOp:
        """The member with the Group's parameters; its own ones become what the call passed for them."""
        member = self.functions[callee_of(call)]
        if EXTERNAL in member.attributes:
            raise refuse(
                call,
                f"`{callee_of(call)}` is written elsewhere, so its parameters cannot become those of the group "
                f"`{group.sym_name.data}`",
                "all members of a group are started with the parameters of the group",
                instead=f"give `{callee_of(call)}` the parameters of `{group.sym_name.data}`, in the same order",
                code="group-abi",
            )
        if len(call.arguments) != len(member.body.block.args):
            raise refuse(
                call,
                f"`{callee_of(call)}` takes {len(member.body.block.args)} arguments, the call passes "
                f"{len(call.arguments)}",
                instead=f"pass one value for every parameter of `{callee_of(call)}`",
                code="call-arguments",
            )
        mapping: dict[SSAValue, SSAValue] = {}
        block = copied_parameters(group, mapping)
        values: dict[SSAValue, SSAValue] = {}
        for parameter, value in zip(member.body.block.args, passed, strict=True):
            values[parameter] = self._passed(call, value, mapping, block)
        for op in member.body.block.ops:
            block.add_op(op.clone(values))
        name = names[member.sym_name.data]
        new = like(group, name, block, list(member.function_type.outputs.data))
        new.attributes, new.location = dict(member.attributes), member.location
        for op in ops_in(new):
            if is_one(op, ImportPeerBufferOp) and isinstance(op.peer_func, StringAttr):
                op.peer_func = StringAttr(names.get(op.peer_func.data, op.peer_func.data))
        parent = self.module.body.block
        if name == member.sym_name.data:
            parent.insert_op_before(new, member)
            parent.erase_op(member)
        else:
            first = parent.first_op
            assert first is not None
            parent.insert_op_before(new, first)
        self.functions[name] = new
        return new

    @staticmethod
    def _passed(call: Operation, value: SSAValue, mapping: dict[SSAValue, SSAValue], block: Block) -> SSAValue:
        if is_one(value, BlockArgument) and value in mapping:
            return mapping[value]
        if is_one(value.owner, ConstantOp):
            copy = value.owner.clone()
            block.add_op(copy)
            return copy.results[0]
        raise refuse(
            call,
            "a member of a group gets a value that is computed between the calls",
            "both members run at the same time with the parameters of the group",
            instead="compute the value inside the member, or make it a parameter of the group",
            code="group-argument",
        )
