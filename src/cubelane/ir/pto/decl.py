"""How a PTO op is declared: one entry says its operands, results, text, core evidence and effects (spec/pto.md 4).

    declare("vadd", "lhs:vreg rhs:vreg mask:mask -> result:vreg", affinity=OnVector, role=Role.CARRIER, pipe=Pipe.V)

The signature lists operands `name:kind` and results after `->`. A kind in brackets prints as `[%i]` behind the
operand before it, `?` marks an optional and `*` a variable number. Kinds are named in `kinds.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from xdsl.ir import Operation

from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.traits import CoreAffinity, OnBoth


class Role(Enum):
    """What an op asks of the section inference (spec/pto.md 4.4, 5.6)."""

    CARRIER = "decides its core by itself and must lie in a section"
    TILE = "a high-level tile op: a carrier that a tileop helper may not contain"
    SYNC = "a flag or cross-core signal: must be placed, by its pipe or its neighbours"
    NEUTRAL = "follows the ops it serves"


class Effect(Enum):
    """What running the op does besides giving its results."""

    NONE = "nothing: it may be repeated, moved and dropped"
    READ = "reads memory or state"
    WRITE = "changes memory or state: it must run exactly once, on one core"


class Form(Enum):
    """How the op is written (spec/pto.md 4.9)."""

    PLAIN = "name %a, %b[%i], ... clauses {attributes} : types -> results"
    INS_OUTS = "name ins(%a : T) outs(%b : T)"
    CALL = "name(%a : T) {attributes} (key = %b : T) -> results"
    FLAG = "name[<PIPE_A>, <PIPE_B>, <EVENT_ID0>]"
    SIGNAL = "name <PIPE_A>, 5"
    PIPE = "name #pto.pipe<PIPE_A>"
    BUFFER = "name[<PIPE_A>, 0, 0]"


class Typed(Enum):
    """Which operand types the text repeats after the colon."""

    ALL = "all but the bracketed ones"
    FIRST = "only that of the first operand"
    NOTHING = "none: the types after the colon are those of the results"


@dataclass(frozen=True)
class Slot:
    """One operand or result of a signature."""

    name: str
    kind: str
    bracket: bool = False
    optional: bool = False
    variadic: bool = False


class ClauseStyle(Enum):
    """How a clause is written; `types` of a clause says how the type list repeats it."""

    CALL = "name(args)"
    VALUE = "name = %x"
    LIST = "name = [args]"
    SIZES = "name [args]"


class ClauseTypes(Enum):
    """How the type list after the colon shows the operands of a clause."""

    PLAIN = "as if they were ordinary operands"
    NAMED = "behind the name of the clause"
    PAREN = "in parentheses behind the name of the clause"


@dataclass(frozen=True)
class Clause:
    """A named part behind the operands, e.g. `nburst(%n, %s, %d)`. `least`..`most` operands; `words` it may name."""

    name: str
    least: int = 0
    most: int = 0
    style: ClauseStyle = ClauseStyle.CALL
    types: ClauseTypes = ClauseTypes.PLAIN
    words: tuple[str, ...] = ()
    required: bool = False
    repeats: bool = False


Rule = Callable[[Operation], str | None]


@dataclass(frozen=True)
class OpDecl:
    """All that is known about one op. `rules` are verifier rules: they answer what is wrong, or None."""

    name: str
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    affinity: CoreAffinity = OnBoth
    role: Role = Role.NEUTRAL
    effect: Effect = Effect.NONE
    pipe: Pipe | None = None
    form: Form = Form.PLAIN
    typed: Typed = Typed.ALL
    strings: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    clause_separator: str = " "
    type_order: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    tags: frozenset[str] = field(default_factory=frozenset[str])
    inside: frozenset[str] = frozenset()
    """Attributes that stand inside the `ins` clause, behind the operands."""
    raw: str | None = None
    """The raw instruction that a semantic op becomes (spec/pto.md 8.3)."""
    lanes: str | None = None
    """The meaning on lanes as a NumPy expression over operand names; None where a simulator has its own."""

    @property
    def full_name(self) -> str:
        """The name with its dialect."""
        return f"pto.{self.name}"

    def clause(self, name: str) -> Clause | None:
        """The clause of that name."""
        return next((c for c in self.clauses if c.name == name), None)


def _slots(text: str) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    for word in text.split():
        bracket = word.startswith("[")
        name, _, kind = word.replace("[", "").replace("]", "").partition(":")
        suffix = kind[-1:] if kind[-1:] in "?*" else ""
        bare = kind.rstrip("?*") or "any"
        slots.append(Slot(name, bare, bracket, optional=suffix == "?", variadic=suffix == "*"))
    return tuple(slots)


def declare(
    name: str,
    signature: str = "",
    *,
    affinity: CoreAffinity = OnBoth,
    role: Role = Role.NEUTRAL,
    effect: Effect = Effect.NONE,
    pipe: Pipe | None = None,
    form: Form = Form.PLAIN,
    typed: Typed = Typed.ALL,
    strings: tuple[str, ...] = (),
    clauses: tuple[Clause, ...] = (),
    clause_separator: str = " ",
    type_order: tuple[str, ...] = (),
    rules: tuple[Rule, ...] = (),
    tags: str = "",
    inside: tuple[str, ...] = (),
    raw: str | None = None,
    lanes: str | None = None,
) -> OpDecl:
    """An entry of the table. `signature` is described at the top of this module."""
    operands, _, results = signature.partition("->")
    return OpDecl(
        name,
        _slots(operands),
        _slots(results),
        affinity,
        role,
        effect,
        pipe,
        form,
        typed,
        strings,
        clauses,
        clause_separator,
        type_order,
        rules,
        frozenset(tags.split()),
        frozenset(inside),
        raw,
        lanes,
    )
