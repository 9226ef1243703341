"""Splits a module into one child per kind of core (spec/pto.md 6.1, 6.2)."""

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from cubelane.analysis.pto_purity import check_covered, check_function_kind, check_stated_kind
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import refuse
from cubelane.ir.pto.attrs import BACKEND, ENTRY_MARKERS, KERNEL_KIND, SIMT_ENTRY, KernelKindAttr, kind_of
from cubelane.ir.pto.regions import SectionOp, SimtLaunchOp, section_around, sections_below
from cubelane.passes.pto.project import functions_in, inline_body, project_module
from cubelane.passes.pto.validate_physical_section_boundaries import check_boundaries

ORDER = (Affinity.VECTOR, Affinity.CUBE)
SYMBOL = "sym_name"


class VPTOSplitCVModule(ModulePass):
    """One child module per kind of core, vector first; each keeps the shared ops that it needs.

    Requires that every op that needs a core has one (pto-normalize-uncovered-tile-sections) and that no value
    leaves its section; both are checked. Guarantees that no section is left and that every module with a kind
    holds work of that kind only.
    """

    name = "vpto-split-cv-module"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _check(op)
        flatten(op)
        if kind_of(op.attributes) is not None:
            inline_sections(op)
            return
        for child in _children(op):
            if kind_of(child.attributes) is not None:
                inline_sections(child)
            elif _needs_split(child):
                _replace_by_kinds(op, child)
        if _needs_split(op):
            _split_in_place(op)


def _check(program: ModuleOp) -> None:
    """All that can be wrong is found before anything is changed."""
    for op in program.walk():
        if isinstance(op, SectionOp) and section_around(op) is not None:
            raise refuse(
                op,
                "nested pto.section.cube/vector is not allowed",
                instead="close the outer section before this one",
                code="nested-section",
            )
        if isinstance(op, SectionOp) and not isinstance(op.parent_op(), FuncOp | scf.ForOp | scf.IfOp | scf.WhileOp):
            parent = op.parent_op()
            raise refuse(
                op,
                f"a section inside '{parent.name if parent is not None else 'nothing'}' cannot be split",
                instead="put the section directly into the function, or into scf.for, scf.if or scf.while",
                code="section-place",
            )
        if isinstance(op, ModuleOp):
            check_stated_kind(op)
            if kind_of(op.attributes) is None and _needs_split(op):
                _check_candidates(op)
    check_boundaries(program)


def _check_candidates(module: ModuleOp) -> None:
    for function in functions_in(module):
        check_function_kind(function)
        is_entry = any(marker in function.attributes for marker in ENTRY_MARKERS)
        if is_entry and not _kinds_in(function):
            raise refuse(
                function,
                "must contain pto.section.cube or pto.section.vector in section input split by vpto-split-cv-module",
                f"function '{function.sym_name.data}' is an entry",
                instead="wrap its body in the section of its core",
                code="entry-without-section",
            )
        if SIMT_ENTRY not in function.attributes:
            check_covered(function)


def _children(module: ModuleOp) -> list[ModuleOp]:
    return [op for op in module.body.block.ops if isinstance(op, ModuleOp)]


def _kinds_in(function: FuncOp) -> frozenset[Affinity]:
    """The cores of a function's sections, or the one it is marked with."""
    stated = kind_of(function.attributes)
    if stated is not None:
        return frozenset({stated})
    return frozenset(section.kind for section in sections_below(function))


def _needs_split(module: ModuleOp) -> bool:
    """Whether functions directly in the module name their cores."""
    return any(_kinds_in(function) for function in functions_in(module))


def flatten(module: ModuleOp) -> None:
    """Hoists the only child of a container when it is a kindless vpto module with sections (spec/pto.md 6.1 step 1)."""
    while (child := _hoistable(module)) is not None:
        child.detach()
        ops = list(child.body.block.ops)
        for op in ops:
            op.detach()
        module.body.block.add_ops(ops)
        module.attributes |= child.attributes
        child.erase()


def _hoistable(module: ModuleOp) -> ModuleOp | None:
    ops = list(module.body.block.ops)
    child = ops[0] if len(ops) == 1 else None
    if not isinstance(child, ModuleOp) or kind_of(child.attributes) is not None:
        return None
    is_vpto = child.attributes.get(BACKEND, module.attributes.get(BACKEND)) == StringAttr("vpto")
    clash = any(module.attributes.get(name, value) != value for name, value in child.attributes.items())
    return child if is_vpto and not clash and (_needs_split(child) or _children(child)) else None


def split_by_kind(module: ModuleOp) -> list[ModuleOp]:
    """The children of a kindless module, vector first. `module` itself is used up."""
    kinds_of = {f.sym_name.data: kinds for f in functions_in(module) if (kinds := _kinds_in(f))}
    order = [kind for kind in ORDER if any(kind in kinds for kinds in kinds_of.values())]
    children = [project_module(module, kind, kinds_of) for kind in order]
    module.erase()
    for kind, child in zip(order, children, strict=True):
        child.attributes[KERNEL_KIND] = KernelKindAttr.of(kind)
        _drop_unused_simt(child)
    return children


def _split_in_place(module: ModuleOp) -> None:
    """Turns a kindless module into the container of its own children; its symbol stays with the container."""
    inner = ModuleOp([], attributes=dict(module.attributes))
    inner.location = module.location
    ops = [op for op in module.body.block.ops if not isinstance(op, ModuleOp)]
    for op in ops:
        op.detach()
    inner.body.block.add_ops(ops)
    module.body.block.add_ops(split_by_kind(inner))


def _replace_by_kinds(container: ModuleOp, child: ModuleOp) -> None:
    place = child.next_op
    child.detach()
    name = child.sym_name
    for part in split_by_kind(child):
        kind = kind_of(part.attributes)
        if name is not None and kind is not None:
            part.properties[SYMBOL] = StringAttr(f"{name.data}_{kind.value}")
        if place is None:
            container.body.block.add_op(part)
        else:
            container.body.block.insert_op_before(part, place)


def inline_sections(module: ModuleOp) -> None:
    """Puts the bodies of all sections of a child in their place."""
    for op in list(module.walk()):
        if isinstance(op, SectionOp):
            inline_body(op)


def _drop_unused_simt(module: ModuleOp) -> None:
    used = {_callee(op) for op in module.walk()}
    for function in functions_in(module):
        if SIMT_ENTRY in function.attributes and function.sym_name.data not in used:
            function.detach()
            function.erase()


def _callee(op: Operation) -> str | None:
    if isinstance(op, CallOp):
        return op.callee.string_value()
    return op.callee if isinstance(op, SimtLaunchOp) else None
