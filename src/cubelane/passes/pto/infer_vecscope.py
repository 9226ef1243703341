"""Puts vector work into vector scopes (spec/pto.md 7.1)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.pto_vecscope import Cluster, clusters, escapes, scopes_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.pto.attrs import SIMT_ENTRY, kind_of
from cubelane.ir.pto.regions import VecScopeOp
from cubelane.ir.pto.types import is_register


class PTOInferVPTOVecScope(ModulePass):
    """Moves every run of vector ops into a `pto.vecscope`; existing scopes stay.

    Works on the functions directly in a vector module. A register needed outside its scope is made again there
    when its op has no effect, and refused otherwise.
    """

    name = "pto-infer-vpto-vecscope"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for module in op.walk():
            if isinstance(module, ModuleOp) and kind_of(module.attributes) is Affinity.VECTOR:
                for function in module.body.block.ops:
                    if isinstance(function, FuncOp) and SIMT_ENTRY not in function.attributes:
                        _scope_function(function)


def _scope_function(function: FuncOp) -> None:
    blocks = [inner for block in function.body.blocks for inner in scopes_of(block)]
    for block in blocks:
        _remake_escaping(block)
    for block in blocks:
        for cluster in clusters(block):
            _wrap(cluster)


def _remake_escaping(block: Block) -> None:
    """Makes pure registers again next to their uses outside; one copy per value and user."""
    while found := escapes(block):
        for escape in found:
            if not escape.clonable:
                raise refuse(
                    escape.value.op,
                    "cannot infer resultless pto.vecscope because VPTO vector-scope data cannot have external users; "
                    f"escaping value type is '{escape.value.type}'",
                    f"the value is used by '{escape.user.name}' at {Location.of(escape.user)}",
                    instead="store the value to UB and load it again there, or write pto.vecscope around both",
                    code="escaping-register",
                )
        for escape in found:
            remade = _remake(escape.value, escape.user, {})
            escape.user.operands = [remade if o is escape.value else o for o in escape.user.operands]


def _remake(value: OpResult, user: Operation, made: dict[SSAValue, SSAValue]) -> SSAValue:
    for operand in value.op.operands:
        if is_register(operand.type) and operand not in made and isinstance(operand, OpResult):
            _remake(operand, user, made)
    copy = value.op.clone(made)
    block = user.parent
    assert block is not None
    block.insert_op_before(copy, user)
    return copy.results[value.index]


def _wrap(cluster: Cluster) -> None:
    inside = cluster.inside()
    last = inside[-1]
    following = last.next_op
    for op in inside:
        op.detach()
    scope = VecScopeOp.around(inside)
    if following is None:
        cluster.block.add_op(scope)
    else:
        cluster.block.insert_op_before(scope, following)
