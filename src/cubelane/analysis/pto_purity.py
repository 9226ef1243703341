"""Whether work lies on the core it belongs to: under a stated kind, in a section (spec/pto.md 6.2, 7.2)."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from cubelane.analysis.pto_evidence import effect_of, open_ops, proof_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.pto.attrs import kind_of
from cubelane.ir.pto.decl import Effect, Role
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import SectionOp, role_of, sections_below
from cubelane.ir.traits import has_trait


def foreign_work(root: Operation, kind: Affinity) -> Iterator[Operation]:
    """The ops below `root` that need another core than `kind`: sections, marked functions, single ops."""
    for op in root.walk():
        if isinstance(op, SectionOp):
            found = op.kind
        elif isinstance(op, FuncOp):
            found = kind_of(op.attributes)
        else:
            found = proof_of(op) if role_of(op) is not Role.NEUTRAL else None
        if found is not None and found is not kind:
            yield op


def check_stated_kind(module: ModuleOp) -> None:
    """Refuses work of the other core in a module whose author stated a kind."""
    kind = kind_of(module.attributes)
    if kind is None:
        return
    for op in foreign_work(module, kind):
        raise conflict(op, module, kind)


def conflict(op: Operation, module: ModuleOp, kind: Affinity) -> Diagnostic:
    """The refusal of an op that contradicts the kind of its module."""
    other = Affinity.CUBE if kind is Affinity.VECTOR else Affinity.VECTOR
    return refuse(
        op,
        f"'{op.name}' conflicts with explicit pto.kernel_kind on its module",
        f"the module at {Location.of(module)} is marked {kind.value}; this op needs the {other.value} core",
        instead=f"remove pto.kernel_kind from the module and put {other.value} work into pto.section.{other.value}",
        code="kind-conflict",
    )


def check_function_kind(function: FuncOp) -> None:
    """Refuses work of the other core in a function whose author stated a kind."""
    kind = kind_of(function.attributes)
    if kind is None:
        return
    for op in foreign_work(function, kind):
        raise refuse(
            op,
            f"'{op.name}' conflicts with explicit pto.kernel_kind on its function",
            f"function '{function.sym_name.data}' is marked {kind.value}",
            instead="remove pto.kernel_kind from the function, so that sections can be inferred",
            code="kind-conflict",
        )


def runs_twice(program: ModuleOp) -> Iterator[Operation]:
    """Ops with an effect outside all sections of a function that the author split himself: both cores run them."""
    for function in program.walk():
        if not isinstance(function, FuncOp) or kind_of(function.attributes) is not None:
            continue
        if len({section.kind for section in sections_below(function)}) < 2:
            continue
        for op in open_ops(function):
            is_leaf = not op.regions and not has_trait(op, IsTerminator) and not isinstance(op, CallOp)
            is_barrier = isinstance(op, PtoOp) and "pipe_sync" in op.decl.tags
            if is_leaf and not is_barrier and effect_of(op) is Effect.WRITE:
                yield op


def check_covered(function: FuncOp) -> None:
    """Refuses work that lies in no section, in a function that is to be split."""
    if kind_of(function.attributes) is not None:
        return
    for op in open_ops(function):
        if role_of(op) is not Role.NEUTRAL:
            raise refuse(
                op,
                f"'{op.name}' lies outside every section, so the split cannot tell its core",
                instead="run pto-normalize-uncovered-tile-sections first, or wrap it in pto.section.cube / "
                "pto.section.vector",
                code="uncovered-op",
            )
