"""Gives the output its shape: a container whose children are the kernels of one kind each (spec/pto.md 6.3)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.ir.diagnostic import refuse
from cubelane.ir.pto.attrs import KERNEL_KIND, kind_of

CONTAINER = "expected VPTO input to be a kernel submodule with 'pto.kernel_kind' or a container of kernel submodules"


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
                raise refuse(
                    child,
                    "expected VPTO container top level to contain only kernel submodules",
                    "nothing in this module needs the cube or the vector core, so it has no kind",
                    instead="state pto.kernel_kind on the module, or remove it",
                    code="kindless-function",
                )
            if kind_of(child.attributes) is None:
                raise refuse(
                    child,
                    "expected VPTO kernel submodule to carry 'pto.kernel_kind'",
                    "nothing in this module needs the cube or the vector core, so none could be inferred",
                    instead="state pto.kernel_kind on the module, or remove it",
                    code="kindless-module",
                )


def _put_into_container(module: ModuleOp) -> None:
    """The module becomes the container; a new child takes its ops and its kind."""
    ops = list(module.body.block.ops)
    for op in ops:
        op.detach()
    child = ModuleOp(ops, attributes=dict(module.attributes))
    child.location = module.location
    del module.attributes[KERNEL_KIND]
    module.body.block.add_op(child)
