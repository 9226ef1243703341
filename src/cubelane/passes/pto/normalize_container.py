"""Gives the output its shape: a container whose children are the kernels of one kind each (spec/pto.md 6.3)."""

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from cubelane.ir.diagnostic import refuse
from cubelane.ir.pto.attrs import KERNEL_KIND, kind_of

CONTAINER = "expected VPTO input to be a kernel submodule with 'pto.kernel_kind' or a container of kernel submodules"
ADVICE = 'state the kind: @pto.jit(kernel_kind="vector") in Python, pto.kernel_kind on the module in PTO IR'


class VPTONormalizeContainer(ModulePass):
    """A module with a kind is put into a container; a container must hold nothing but modules with a kind."""

    name = "vpto-normalize-container"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if kind_of(op.attributes) is not None:
            _put_into_container(op)
            return
        ops = list(op.body.block.ops)
        if not ops:
            raise refuse(op, CONTAINER, code="empty-container")
        for child in ops:
            if not isinstance(child, ModuleOp):
                message = "expected VPTO container top level to contain only kernel submodules"
                raise refuse(_work(child), message, _reason(child), instead=ADVICE, code="kindless-function")
            if kind_of(child.attributes) is None:
                message = "expected VPTO kernel submodule to carry 'pto.kernel_kind'"
                raise refuse(_work(child), message, _reason(child), instead=ADVICE, code="kindless-module")


def _functions(child: Operation) -> list[FuncOp]:
    return [op for op in child.walk() if isinstance(op, FuncOp) and not op.is_declaration]


def _work(child: Operation) -> Operation:
    """The first work that would need a place; else a function; else the module itself."""
    functions = _functions(child)
    work = (op for f in functions for op in f.walk() if op is not f and not isinstance(op, ReturnOp | ConstantOp))
    return next(work, functions[0] if functions else child)


def _reason(child: Operation) -> str:
    what = ", ".join(f"@{f.sym_name.data}" for f in _functions(child)) or "this module"
    return f"nothing in {what} needs the cube or the vector core, so none could be inferred, and none is guessed"


def _put_into_container(module: ModuleOp) -> None:
    """The module becomes the container; a new child takes its ops and its kind."""
    ops = list(module.body.block.ops)
    for op in ops:
        op.detach()
    child = ModuleOp(ops, attributes=dict(module.attributes))
    child.location = module.location
    del module.attributes[KERNEL_KIND]
    module.body.block.add_op(child)
