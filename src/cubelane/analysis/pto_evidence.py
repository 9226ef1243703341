"""What each PTO op proves about its core, and what a whole statement proves (spec/pto.md 4.4 to 4.8, 5.6).

The core itself comes from the shared classification (`analysis.affinity`); here it is weighed: a carrier proves a
core, a sync op whose queue exists twice is *pending*, an effect must be placed on one core, a pure op serves anyone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from cubelane.analysis.affinity import classify
from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.attrs import SIMT_ENTRY, TILEOP_HELPER, TILEOP_KIND, kind_of
from cubelane.ir.pto.decl import Effect, Role
from cubelane.ir.pto.evidence import Placeable, Sync
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import ScopeOp, SectionOp, SimtLaunchOp, SimtSectionOp, role_of, sections_below
from cubelane.ir.pto.spaces import EITHER, Cores
from cubelane.ir.traits import CoreAffinity, has_trait, trait_of

PURE_DIALECTS = frozenset({"arith", "math"})
"""Host dialects whose ops have no effect, though not all of them say so."""
PURE_OPS = frozenset({"builtin.unrealized_conversion_cast"})


class Weight(IntEnum):
    """How strongly a statement asks for a core, weakest first."""

    FREE = 0
    READ = 1
    EFFECT = 2
    SYNC = 3
    CARRIER = 4
    WALL = 5
    """Holds explicit sections (or calls what does): it is placed already and ends a run."""


@dataclass
class Statement:
    """One op of a block with everything nested in it.

    `cores` are the cores that may run it; `kinds` the cores it proves (for a wall: those of its sections).
    `refused` is the first op inside that contradicts what came before it, with the reason.
    """

    op: Operation
    weight: Weight = Weight.FREE
    cores: Cores = EITHER
    kinds: Cores = frozenset()
    refused: tuple[Operation, str] | None = None
    first: dict[Affinity, Operation] = field(default_factory=dict[Affinity, Operation])
    flags: list[Operation] = field(default_factory=list[Operation])
    carrier: Operation | None = None

    @property
    def kind(self) -> Affinity | None:
        """The one core this statement proves."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else None


def effect_of(op: Operation) -> Effect:
    """What running an op without regions does, for ops of any dialect; unknown effects count as writes."""
    if isinstance(op, PtoOp):
        return op.decl.effect
    effects = get_effects(op)
    if effects is None:
        return Effect.NONE if op.dialect_name() in PURE_DIALECTS or op.name in PURE_OPS else Effect.WRITE
    if not effects:
        return Effect.NONE
    return Effect.READ if all(e.kind is MemoryEffectKind.READ for e in effects) else Effect.WRITE


def is_trivial_cast(op: Operation) -> bool:
    """Whether an op casts a value to the type that it has."""
    return isinstance(op, PtoOp) and "cast" in op.decl.tags and op.operands[0].type == op.results[0].type


def open_ops(root: Operation) -> Iterator[Operation]:
    """The op and all ops nested in it that no explicit section inside it covers; sections themselves included."""
    yield root
    if isinstance(root, SectionOp):
        return
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                yield from open_ops(op)


class Functions:
    """The functions of a program by name, and which cores each one needs."""

    def __init__(self, program: ModuleOp) -> None:
        self._by_name: dict[str, list[func.FuncOp]] = {}
        self._kinds: dict[func.FuncOp, Cores] = {}
        for op in program.walk():
            if isinstance(op, func.FuncOp):
                self._by_name.setdefault(op.sym_name.data, []).append(op)

    def callee(self, call: func.CallOp) -> func.FuncOp | None:
        """The function a call means: one of the same module if there is one, and one with a body before others."""
        candidates = self._by_name.get(call.callee.string_value(), [])
        module = enclosing(call, ModuleOp)
        near = [f for f in candidates if f.parent_op() is module] or candidates
        return next((f for f in near if not f.is_declaration), near[0] if near else None)

    def kinds(self, function: func.FuncOp) -> Cores:
        """The cores whose work the function holds, directly, in sections or through calls; a cycle adds nothing."""
        known = self._kinds.get(function)
        if known is not None:
            return known
        self._kinds[function] = frozenset()
        stated = stated_kind(function)
        found = frozenset({stated}) if stated is not None else self._gather(function)
        self._kinds[function] = found
        return found

    def _gather(self, function: func.FuncOp) -> Cores:
        found: set[Affinity] = set()
        for op in function.walk():
            if isinstance(op, SectionOp):
                found.add(op.kind)
            elif isinstance(op, func.CallOp):
                callee = self.callee(op)
                found |= self.kinds(callee) if callee is not None else set()
            elif role_of(op) is not Role.NEUTRAL and (kind := proof_of(op)) is not None:
                found.add(kind)
            if len(found) == 2:
                break
        return frozenset(found)


OpT = TypeVar("OpT", bound=Operation)


def enclosing(op: Operation, kind: type[OpT]) -> OpT | None:
    """The nearest enclosing op of a class."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent_op()
    return parent


def stated_kind(function: func.FuncOp) -> Affinity | None:
    """The kind a function is marked with: explicit, by section inference of a helper, or as a SIMT body."""
    if SIMT_ENTRY in function.attributes:
        return Affinity.VECTOR
    return kind_of(function.attributes) or _helper_kind(function)


def _helper_kind(function: func.FuncOp) -> Affinity | None:
    kind = function.attributes.get(TILEOP_KIND)
    return Affinity(str(kind).strip('"')) if kind is not None else None


def proof_of(op: Operation) -> Affinity | None:
    """The core a single op proves, not looking at what is nested in it; None when it proves none."""
    if isinstance(op, PtoOp | ScopeOp | SimtSectionOp | SimtLaunchOp):
        kind = classify(op)
    elif role_of(op) is Role.CARRIER:
        kind = Affinity.VECTOR
    else:
        return None
    return kind if kind in (Affinity.CUBE, Affinity.VECTOR) else None


def statement(root: Operation, functions: Functions) -> Statement:
    """Sums up an op with all that is nested in it."""
    summary = Statement(root)
    kinds_of_sections: set[Affinity] = set()
    for op in open_ops(root):
        if isinstance(op, SectionOp):
            kinds_of_sections.add(op.kind)
        elif isinstance(op, func.CallOp):
            _add_call(summary, op, functions, kinds_of_sections)
        else:
            _add(summary, op)
    if kinds_of_sections:
        return _walled(summary, frozenset(kinds_of_sections))
    if len(summary.first) == 1 and summary.refused is None:
        summary.kinds = frozenset(summary.first)
    return summary


def _walled(summary: Statement, kinds: Cores) -> Statement:
    if summary.carrier is not None and summary.refused is None:
        summary.refused = (
            summary.carrier,
            "lies beside explicit sections inside one statement; put it into one of them",
        )
    summary.weight = Weight.WALL
    summary.kinds = kinds
    return summary


def _add(summary: Statement, op: Operation) -> None:
    if has_trait(op, IsTerminator):
        return
    role = role_of(op)
    if role is Role.NEUTRAL:
        _add_neutral(summary, op)
        return
    kind = proof_of(op)
    trait = trait_of(op, CoreAffinity)
    if summary.carrier is None:
        summary.carrier = op
    if isinstance(trait, Sync):
        summary.flags.append(op)
    if kind is not None:
        _prove(summary, op, kind)
    elif isinstance(trait, Sync):
        _narrow(summary, op, trait.cores(op) & trait.peer_cores(op), Weight.SYNC)
    elif summary.refused is None:
        summary.weight = max(summary.weight, Weight.SYNC)
        summary.refused = (op, "does not show its core: none of its operands lies in a memory that one core owns")


def _add_neutral(summary: Statement, op: Operation) -> None:
    if op.regions:
        return
    effect = effect_of(op)
    if effect is Effect.NONE:
        return
    trait = trait_of(op, CoreAffinity)
    cores = trait.cores(op) if isinstance(trait, Placeable | Sync) else EITHER
    _narrow(summary, op, cores, Weight.READ if effect is Effect.READ else Weight.EFFECT)


def _add_call(summary: Statement, call: func.CallOp, functions: Functions, walls: set[Affinity]) -> None:
    callee = functions.callee(call)
    kinds = frozenset[Affinity]() if callee is None else functions.kinds(callee)
    if callee is not None and (TILEOP_HELPER in callee.attributes or _has_sections(callee) or len(kinds) == 2):
        walls |= kinds
    elif len(kinds) == 1:
        summary.carrier = summary.carrier or call
        _prove(summary, call, next(iter(kinds)))
    elif callee is None or callee.is_declaration or _writes(callee):
        _narrow(summary, call, EITHER, Weight.EFFECT)


def _has_sections(function: func.FuncOp) -> bool:
    return next(sections_below(function), None) is not None


def _writes(function: func.FuncOp) -> bool:
    leaves = (op for op in function.body.walk() if not op.regions and not has_trait(op, IsTerminator))
    return any(effect_of(op) is Effect.WRITE for op in leaves)


def _prove(summary: Statement, op: Operation, kind: Affinity) -> None:
    summary.weight = max(summary.weight, Weight.CARRIER)
    if kind not in summary.first:
        summary.first[kind] = op
        if len(summary.first) == 2 and summary.refused is None:
            other = next(iter(summary.first))
            summary.refused = (
                op,
                f"belongs to the {kind.value} core, but '{summary.first[other].name}' in the same statement "
                f"belongs to the {other.value} core",
            )
    _narrow(summary, op, frozenset({kind}), Weight.CARRIER)


def _narrow(summary: Statement, op: Operation, cores: Cores, weight: Weight) -> None:
    summary.weight = max(summary.weight, weight)
    left = summary.cores & cores
    if not left and summary.refused is None:
        summary.refused = (
            op,
            f"can run on {name_cores(cores)}, but the rest of the statement needs {name_cores(summary.cores)}",
        )
    summary.cores = left or summary.cores


def name_cores(cores: Iterable[Affinity]) -> str:
    """Cores in the words of a message."""
    names = sorted(core.value for core in cores)
    return f"the {names[0]} core" if len(names) == 1 else "either core" if names else "no core"
