"""Inlines tileop helpers into their callers (spec/pto.md 8.2)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.pto_evidence import Functions
from cubelane.ir.pto.attrs import TILEOP_HELPER


class PTOInlineBackendHelpers(ModulePass):
    """Replaces every call of a `pto.tileop.helper` by the body of the helper; private helpers nobody calls vanish.

    Requires helpers with one block, which pto-materialize-tileop-sections checks.
    """

    name = "pto-inline-backend-helpers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = Functions(op)
        for call in [op for op in op.walk() if isinstance(op, CallOp)]:
            helper = functions.callee(call)
            if helper is not None and not helper.is_declaration and TILEOP_HELPER in helper.attributes:
                _inline(call, helper.body.block)
        called = {call.callee.string_value() for call in op.walk() if isinstance(call, CallOp)}
        for function in [f for f in op.walk() if isinstance(f, FuncOp)]:
            is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
            if TILEOP_HELPER in function.attributes and is_private and function.sym_name.data not in called:
                function.detach()
                function.erase()


def _inline(call: CallOp, body: Block) -> None:
    block = call.parent
    assert block is not None
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, call.arguments, strict=True))
    for op in body.ops:
        if isinstance(op, ReturnOp):
            for result, value in zip(call.results, op.arguments, strict=True):
                result.replace_all_uses_with(values.get(value, value))
        else:
            block.insert_op_before(op.clone(values), call)
    call.detach()
    call.erase()
