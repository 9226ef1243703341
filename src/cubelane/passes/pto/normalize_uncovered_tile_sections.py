"""Gives work that no section covers its section, or its module a kind (spec/pto.md 5.3, 5.6)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from cubelane.analysis.pto_evidence import Functions, enclosing
from cubelane.analysis.pto_sections import Plan, Run, ambiguous, plan
from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.attrs import KERNEL_KIND, SIMT_ENTRY, KernelKindAttr, kind_of
from cubelane.ir.pto.regions import SECTION_OF, SectionOp, sections_below


class PTONormalizeUncoveredTileSections(ModulePass):
    """Wraps runs of cube and vector work into sections; a module that needs one core only is marked with its kind.

    Requires verified PTO IR. Guarantees that every op that needs a core has one: by section, by the kind of its
    module, or by that of its function. A refused module is left as it was: everything is planned before anything
    is rewritten. Functions whose author stated a kind are not touched.
    """

    name = "pto-normalize-uncovered-tile-sections"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = Functions(op)
        plans = {f: plan(f, functions) for f in _open_functions(op)}
        whole = _single_kind_modules(op, plans)
        for function, found in plans.items():
            if enclosing(function, ModuleOp) in whole:
                continue
            if not found.covered and not found.wrappable:
                raise ambiguous(
                    _first_op(function),
                    "lies in a body with branches, and other functions of its module need another core",
                )
        for module, kind in whole.items():
            module.attributes[KERNEL_KIND] = KernelKindAttr.of(kind)
        for function, found in plans.items():
            if enclosing(function, ModuleOp) not in whole:
                for run in found.runs:
                    wrap(run)


def _open_functions(program: ModuleOp) -> list[FuncOp]:
    """The functions with a body and without a kind, own or of the enclosing module."""
    found: list[FuncOp] = []
    for op in program.walk():
        if isinstance(op, FuncOp) and not op.is_declaration:
            module = enclosing(op, ModuleOp)
            stated = kind_of(op.attributes) or (kind_of(module.attributes) if module is not None else None)
            if stated is None and SIMT_ENTRY not in op.attributes:
                found.append(op)
    return found


def _first_op(function: FuncOp) -> Operation:
    return next(iter(function.body.blocks[0].ops), function)


def _single_kind_modules(program: ModuleOp, plans: dict[FuncOp, Plan]) -> dict[ModuleOp, Affinity]:
    """The modules without a kind and without sections whose functions together need exactly one core."""
    found: dict[ModuleOp, Affinity] = {}
    for module in program.walk():
        if not isinstance(module, ModuleOp) or kind_of(module.attributes) is not None:
            continue
        direct = [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]
        if not direct or any(f not in plans and SIMT_ENTRY not in f.attributes for f in direct):
            continue
        planned = [f for f in direct if f in plans]
        kinds = frozenset(kind for f in planned for kind in plans[f].kinds)
        if len(kinds) == 1 and not any(next(sections_below(f), None) for f in direct):
            found[module] = next(iter(kinds))
    return found


def wrap(run: Run) -> SectionOp:
    """Moves the ops of a run into a new section at the place of its last op."""
    last = run.ops[-1]
    block, following = last.parent, last.next_op
    assert block is not None
    for op in run.ops:
        op.detach()
    section = SECTION_OF[run.kind].around(run.ops)
    if following is None:
        block.add_op(section)
    else:
        block.insert_op_before(section, following)
    return section
