"""OutlineIncoreScopes: every `pl.at` scope becomes a function of its own (spec/front.md 3.4)."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.arith import Arith, ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.tensor_handles import Functions, TensorHandles, directions
from cubelane.ir.calls import KernelCallOp
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import (
    KIND,
    SLOT_NUM,
    SPLIT,
    SPLIT_AIV,
    FunctionKind,
    KindAttr,
    ScopeOp,
    SplitAttr,
    SplitRegionOp,
    argument_attributes,
    functions_of,
    kind_of,
)
from cubelane.ir.narrowing import is_one
from cubelane.ir.types import SplitMode
from cubelane.ir.walk import ops_in, ops_of
from cubelane.passes.tile.dead_code import drop_unused_outputs, remove_unused
from cubelane.passes.tile.placement import insert


def live_ins(body: Block) -> tuple[list[SSAValue], list[ConstantOp]]:
    """Values read in a body and defined outside, in the order of their first use; constants apart."""
    inside = set[SSAValue](body.args)
    outside: dict[SSAValue, None] = {}
    constants: dict[ConstantOp, None] = {}

    def read(op: Operation) -> None:
        for operand in op.operands:
            owner = operand.owner
            if operand in inside:
                if is_one(owner, Operation) and is_part_of_expression(owner):
                    read(owner)
            elif is_one(owner, ConstantOp):
                constants[owner] = None
            else:
                outside[operand] = None

    for op in ops_in(body):
        if not is_part_of_expression(op):
            read(op)
        inside.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                inside.update(block.args)
    return list(outside), list(constants)


def is_part_of_expression(op: Operation) -> bool:
    """Whether an op is a scalar computed in the middle of a statement; its operands are read where its result is."""
    return op.dialect_name() == Arith.name and not is_one(op, ConstantOp) and op.results[0].name_hint is None


def scope_attributes(scope: ScopeOp) -> dict[str, Attribute]:
    """The attributes of the function that a scope becomes; refuses a split of the scope beside split regions."""
    regions = ops_of(scope, SplitRegionOp)
    if regions and scope.split is not None:
        raise refuse(
            scope,
            f"this scope is split as a whole ({scope.split.mode.name}) and holds a `pl.split_aiv` region",
            "a region says itself how its lanes share the work, so the rest of the scope is not split",
            instead="with pl.at(level=pl.Level.CORE_GROUP):",
            code="split-scope-with-regions",
        )
    attributes: dict[str, Attribute] = {KIND: KindAttr(FunctionKind.INCORE)}
    if scope.split is not None and scope.split.mode is not SplitMode.NONE:
        attributes[SPLIT] = scope.split
    if scope.slot_num is not None:
        attributes[SLOT_NUM] = IntegerAttr(scope.slot_num.value.data, i64)
    if regions:
        attributes[SPLIT_AIV] = UnitAttr()
    modes = {region.mode.mode for region in regions}
    if len(modes) == 1 and (mode := modes.pop()) is not SplitMode.NONE:
        attributes[SPLIT] = SplitAttr.of(mode)
    return attributes


@dataclass
class Names:
    """Names of outlined functions: hints where they are free, `<parent>_incore_<n>` otherwise."""

    taken: set[str]
    hints: dict[str, str] = field(default_factory=dict[str, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, scope: ScopeOp, parent: str) -> str:
        """The name of the function for a scope in `parent`."""
        if scope.name_hint is None:
            number = self.counts.get(parent, 0)
            self.counts[parent] = number + 1
            name = f"{parent}_incore_{number}"
        else:
            name = scope.name_hint.data
            if self.hints.setdefault(name, parent) != parent:
                name = f"{parent}_{name}"
        free, number = name, 0
        while free in self.taken:
            free, number = f"{name}_{number}", number + 1
        self.taken.add(free)
        return free


def _enter(body: Block, values: list[SSAValue], constants: list[ConstantOp]) -> None:
    """Makes `values` arguments of the body and copies the constants into it."""
    replacement: dict[SSAValue, SSAValue] = {}
    for index, value in enumerate(values):
        argument = body.insert_arg(value.type, index)
        argument.name_hint = value.name_hint
        replacement[value] = argument
    first = body.first_op
    for constant in constants:
        copy = constant.clone()
        assert first is not None
        body.insert_op_before(copy, first)
        copy.location = constant.location
        copy.result.name_hint = constant.result.name_hint
        replacement[constant.result] = copy.result
    for op in ops_in(body):
        for index, operand in enumerate(op.operands):
            if operand in replacement:
                op.operands[index] = replacement[operand]


def outline(scope: ScopeOp, name: str, functions: Functions) -> FuncOp:
    """Moves a scope into a new function and calls it in its place; the function is not yet in the program."""
    attributes = scope_attributes(scope)
    values, constants = live_ins(scope.body.block)
    used = [i for i, result in enumerate(scope.results) if result.first_use is not None]
    region = scope.detach_region(scope.body)
    body = region.block
    _enter(body, values, constants)

    handles = TensorHandles(body, functions)
    end = body.last_op
    assert end is not None
    yielded = [end.operands[i] for i in used]
    results = [handles[value] or value for value in yielded]
    insert(ReturnOp(*results), end)
    body.erase_op(end)
    for inner in reversed(ops_in(body)):
        if is_one(inner, SplitRegionOp):
            drop_unused_outputs(inner)

    types = [value.type for value in results]
    function = FuncOp(name, (list(body.arg_types), types), region)
    function.location = scope.location
    function.attributes.update(attributes)
    function.arg_attrs = argument_attributes(directions(function, functions))

    call = insert(KernelCallOp(name, values, types), scope)
    for index, result in zip(used, call.results, strict=True):
        result.name_hint = scope.results[index].name_hint
        scope.results[index].replace_all_uses_with(result)
    assert scope.parent is not None
    scope.parent.erase_op(scope)
    return function


class OutlineIncoreScopes(ModulePass):
    """Scopes of Opaque and Orchestration functions become InCore functions, called where the scopes stood."""

    name = "outline-incore-scopes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in functions_of(op)}
        names = Names(set(functions))
        for parent in list(functions.values()):
            if kind_of(parent) in (FunctionKind.OPAQUE, FunctionKind.ORCHESTRATION):
                self._outline_all(op, parent, names, functions)

    def _outline_all(self, program: ModuleOp, parent: FuncOp, names: Names, functions: dict[str, FuncOp]) -> None:
        scopes = ops_of(parent, ScopeOp)
        for scope in scopes:
            outer = scope.parent_op()
            while outer is not None:
                if is_one(outer, ScopeOp):
                    raise refuse(
                        scope,
                        "a `pl.at` scope cannot stand inside another one",
                        "the outer scope is one function on one core group already",
                        instead="leave the inner `with pl.at(...)` out",
                        code="nested-scope",
                    )
                outer = outer.parent_op()
        for scope in scopes:
            function = outline(scope, names.of(scope, parent.sym_name.data), functions)
            functions[function.sym_name.data] = function
            program.body.block.insert_op_before(function, parent)
        remove_unused(parent.body.block)
        if scopes and kind_of(parent) is FunctionKind.OPAQUE:
            parent.attributes[KIND] = KindAttr(FunctionKind.ORCHESTRATION)
