"""Drops ops without effect whose results nobody uses (the clean-up of spec/pto.md 8.2)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from cubelane.analysis.pto_evidence import effect_of, is_trivial_cast
from cubelane.ir.pto.decl import Effect
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.traits import has_trait


class PTODropDeadOps(ModulePass):
    """A pointer into the memory of the other core, a constant or an address that nobody uses is dropped.

    So is a cast to the type a value has already.
    """

    name = "pto-drop-dead-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for nested in list(op.walk(reverse=True, region_first=True)):
            if nested.regions or not nested.results or has_trait(nested, IsTerminator):
                continue
            if is_trivial_cast(nested):
                nested.results[0].replace_all_uses_with(nested.operands[0])
            is_address = not isinstance(nested, PtoOp) or not nested.decl.pipe
            unused = all(result.first_use is None for result in nested.results)
            if unused and is_address and effect_of(nested) is Effect.NONE:
                nested.detach()
                nested.erase()
