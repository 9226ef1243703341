"""Puts the body of every tileop helper into the one section it belongs to (spec/pto.md 5.2)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.passes import ModulePass

from cubelane.analysis.pto_helpers import argument_effects, helper_kind
from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.attrs import TILEOP_EFFECTS, TILEOP_HELPER, TILEOP_KIND
from cubelane.ir.pto.regions import SECTION_OF


class PTOMaterializeTileOpSections(ModulePass):
    """A helper with pure cube or pure vector work becomes one section; its kind and effects are recorded.

    All helpers are judged before any is rewritten.
    """

    name = "pto-materialize-tileop-sections"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        helpers = [f for f in op.walk() if isinstance(f, FuncOp) and TILEOP_HELPER in f.attributes]
        open_helpers = [f for f in helpers if not f.is_declaration and TILEOP_KIND not in f.attributes]
        for helper, kind in [(f, helper_kind(f)) for f in open_helpers]:
            _materialize(helper, kind)


def _materialize(helper: FuncOp, kind: Affinity) -> None:
    effects = [StringAttr(effect) for effect in argument_effects(helper)]
    block = helper.body.block
    ops = [op for op in block.ops if not isinstance(op, ReturnOp)]
    for op in ops:
        op.detach()
    section = SECTION_OF[kind].around(ops)
    section.location = helper.location
    if block.last_op is None:
        block.add_op(section)
    else:
        block.insert_op_before(section, block.last_op)
    helper.attributes[TILEOP_KIND] = StringAttr(kind.value)
    helper.attributes[TILEOP_EFFECTS] = ArrayAttr(effects)
