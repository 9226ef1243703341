"""Rules of the emission verifier (spec/pto.md 7.2): each answers what is wrong with an op, or None."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import Float8E4M3FNType, Float8E5M2Type, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.analysis.pto_evidence import is_trivial_cast
from cubelane.analysis.pto_purity import foreign_work
from cubelane.ir.pto.attrs import SIMT_ENTRY, TILEOP_HELPER, kind_of
from cubelane.ir.pto.decl import Role
from cubelane.ir.pto.evidence import touches_registers
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import ScopeOp, SectionOp, role_of, scope_around
from cubelane.ir.pto.types import MaskType, VregType, element_bits

NEEDS_SCOPE = (
    "requires enclosing scf.for with 'llvm.loop.aivector_scope' or dedicated pto.vecscope/pto.strict_vecscope "
    "because it consumes or produces !pto.vreg/!pto.mask/!pto.align"
)
SIMT_THREADS = "pto.simt_max_threads"
PACKING = ("PK", "MRG", "1PT")


@dataclass(frozen=True)
class Finding:
    """A broken rule at an op, with a stable code and what to do."""

    op: Operation
    message: str
    code: str
    instead: str


def findings(program: ModuleOp) -> Iterator[Finding]:
    """Everything in VPTO IR that the back end would reject or get wrong, in program order."""
    for op in program.walk():
        found = _structure(op) or _scope(op) or _width(op)
        if found is not None:
            yield found
        if isinstance(op, ModuleOp):
            kind = kind_of(op.attributes)
            for foreign in foreign_work(op, kind) if kind is not None else ():
                message = f"'{foreign.name}' lies in a {kind.value} module but needs the other core" if kind else ""
                yield Finding(foreign, message, "impure-module", "let the section inference place it")


def _structure(op: Operation) -> Finding | None:
    if isinstance(op, SectionOp):
        return Finding(op, f"{op.name} is left after the split", "section-left", "run vpto-split-cv-module")
    if isinstance(op, PtoOp) and "virtual" in op.decl.tags:
        message = f"'{op.name}' belongs to the virtual instruction layer, whose lowering is not built"
        return Finding(op, message, "virtual-op", "write the micro-ops it stands for")
    if is_trivial_cast(op):
        return Finding(op, f"'{op.name}' casts to the type it is given", "trivial-cast", "run pto-drop-dead-ops")
    if isinstance(op, ConstantOp) and isinstance(op.result.type, Float8E4M3FNType | Float8E5M2Type):
        message = f"a constant of type {op.result.type} cannot be emitted"
        return Finding(op, message, "small-constant", "make the constant in f32 and convert it with pto.vcvt")
    if not isinstance(op, FuncOp):
        return None
    if TILEOP_HELPER in op.attributes:
        return Finding(op, "a tileop helper is left", "helper-left", "run pto-inline-backend-helpers")
    if SIMT_ENTRY not in op.attributes and SIMT_THREADS in op.attributes:
        message = f"{SIMT_THREADS} is for SIMT functions, but '{op.sym_name.data}' is none"
        return Finding(op, message, "simt-attribute", f"mark the function {SIMT_ENTRY}, or drop the attribute")
    if any(isinstance(kind, MemRefType) for kind in op.function_type.inputs.data):
        return Finding(op, "memref arguments cannot be emitted", "memref-argument", "pass !pto.ptr arguments")
    return None


def _scope(op: Operation) -> Finding | None:
    around = scope_around(op)
    if isinstance(op, ScopeOp):
        if around is None:
            return None
        message = "does not allow nested dedicated pto.vecscope/pto.strict_vecscope"
        return Finding(op, f"'{op.name}' {message}", "nested-scope", "close the outer scope first")
    if isinstance(op, PtoOp) and around is None and touches_registers(op) and not _in_simt(op):
        return Finding(op, f"'{op.name}' {NEEDS_SCOPE}", "register-outside-scope", "wrap it in pto.vecscope")
    return None


def _in_simt(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent is not None and SIMT_ENTRY in parent.attributes


def _width(op: Operation) -> Finding | None:
    """A mask is as fine as the values it predicates; packing stores read it at the width before packing."""
    if not isinstance(op, PtoOp) or not touches_registers(op):
        return None
    distribution = op.attributes.get("dist", op.properties.get("dist"))
    if isinstance(distribution, StringAttr) and distribution.data.startswith(PACKING):
        return None
    masks = [o.type for o in op.operands if isinstance(o.type, MaskType)]
    values = [v.type for v in (*op.operands, *op.results) if isinstance(v.type, VregType)]
    widths = {element_bits(value.element) for value in values}
    if len(widths) != 1 or not masks:
        return None
    bits = next(iter(widths))
    wrong = next((mask for mask in masks if bits in (8, 16, 32) and mask.bits != bits), None)
    if wrong is None:
        return None
    message = f"'{op.name}' mask type {wrong} does not match value vector type {values[0]}"
    return Finding(op, f"{message}; expected !pto.mask<b{bits}>", "mask-width", f"make the mask with the _b{bits} form")


def unsupported_distributions(root: Operation) -> Iterator[Operation]:
    """Stores whose distribution current hardware does not have."""
    for op in root.walk():
        text = op.attributes.get("dist", op.properties.get("dist"))
        if isinstance(text, StringAttr) and text.data in ("MRG2CHN_B8", "MRG2CHN_B16", "MRG4CHN_B8"):
            yield op


def unexpanded_tile_ops(root: Operation) -> Iterator[Operation]:
    """High-level tile ops, which a later stage expands."""
    return (op for op in root.walk() if role_of(op) is Role.TILE)
