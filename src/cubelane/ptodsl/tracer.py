"""The state of one trace: where ops go, which values are visible there, which helper functions were made."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, StringAttr, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from cubelane.ir.pto.clauses import clause_property
from cubelane.ir.pto.op import problem_of
from cubelane.ir.pto.table import pto_class
from cubelane.ptodsl.errors import user_location, wrong_place, wrong_value
from cubelane.ptodsl.spec import KernelModuleSpec
from cubelane.ptodsl.types import ScalarType

WALLS = ("tileop", "section.cube", "section.vector", "function")
ESCAPE_ADVICE = "store it to a UB or GM buffer before the scope ends, or compute it before the scope begins"


@dataclass
class Scope:
    """An open block. `what` names the construct in the user's words; constants are shared within it."""

    block: Block
    what: str
    constants: dict[tuple[Attribute, object], SSAValue] = field(
        default_factory=dict[tuple[Attribute, object], SSAValue]
    )


@dataclass
class Tracer:
    """One kernel being traced."""

    spec: KernelModuleSpec
    scopes: list[Scope] = field(default_factory=list[Scope])
    helpers: list[FuncOp] = field(default_factory=list[FuncOp])
    closed: dict[Block, str] = field(default_factory=dict[Block, str])
    tileops: int = 0
    sections: set[str] = field(default_factory=set[str])
    callees: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @property
    def block(self) -> Block:
        """The insertion point: the end of this block."""
        return self.scopes[-1].block

    def inside(self, what: str) -> bool:
        """Whether a scope of that name is open."""
        return any(scope.what == what for scope in self.scopes)

    @contextmanager
    def scope(self, block: Block, what: str) -> Generator[Block, None, None]:
        """Ops go to `block` meanwhile; its values are not visible afterwards."""
        self.scopes.append(Scope(block, what))
        try:
            yield block
        finally:
            self.scopes.pop()
            self.closed[block] = what

    def is_visible(self, value: SSAValue) -> bool:
        """Whether a value may be used at the insertion point."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return any(scope.block is home for scope in self.scopes)

    def check_visible(self, value: SSAValue) -> None:
        """Refuses a value of a scope that has ended."""
        if not self.is_visible(value):
            raise self._escaped(value)

    def _escaped(self, value: SSAValue) -> Exception:
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        what = "another kernel" if home is None else self.closed.get(home, "another kernel")
        name = f" {value.name_hint!r}" if value.name_hint else ""
        if what == "tileop":
            message = f"inline pto.tileop() cannot let values defined inside the outlined subkernel escape: value{name}"
        elif what.startswith("section"):
            message = f"cannot use a value{name} defined in pto.{what} outside that physical section"
        else:
            message = f"a value{name} defined in {what} cannot be used outside of it"
        return wrong_place(message, instead=ESCAPE_ADVICE, code="value-escapes")

    def insert(self, op: Operation) -> Operation:
        """Puts an op at the insertion point, at the user's line."""
        for operand in op.operands:
            self.check_visible(operand)
        op.location = user_location().as_attribute()
        self.block.add_op(op)
        return op

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        results: Sequence[Attribute] = (),
        *,
        properties: dict[str, Attribute] | None = None,
        attributes: dict[str, Attribute] | None = None,
        clauses: Sequence[tuple[list[str], Sequence[SSAValue]]] = (),
    ) -> list[SSAValue]:
        """An op of the table; the operands of its clauses follow the positional ones."""
        values, entries = list(operands), list[list[str]]()
        for entry, extra in clauses:
            entries.append(entry)
            values += extra
        op = pto_class(name).create(
            operands=values,
            result_types=results,
            properties={**(properties or {}), **clause_property(entries)},
            attributes=attributes or {},
        )
        problem = problem_of(op)
        if problem is not None:
            raise wrong_value(f"{op.name} {problem}", code="invalid-op")
        return list(self.insert(op).results)

    def constant(self, number: float, kind: ScalarType) -> SSAValue:
        """A constant; equal constants of one scope are one op."""
        carrier = kind.carrier
        literal: int | float = float(number) if isinstance(carrier, AnyFloat) else int(number)
        key = (kind.attribute, repr(literal))
        for scope in reversed(self.scopes):
            if key in scope.constants:
                return scope.constants[key]
            if scope.what in WALLS:
                break
        if isinstance(carrier, AnyFloat):
            float_of = cast("Callable[..., FloatAttr[Any]]", FloatAttr)
            made = self.insert(arith.ConstantOp(float_of(float(number), carrier)))
        else:
            whole = _wrapped(int(number), kind.bits)
            literal_of = cast("Callable[..., IntegerAttr[Any]]", IntegerAttr)
            made = self.insert(arith.ConstantOp(literal_of(whole, carrier)))
        value = made.results[0]
        if carrier != kind.attribute:
            value = self.insert(UnrealizedConversionCastOp.get([value], [kind.attribute])).results[0]
        self.scopes[-1].constants[key] = value
        return value


def _wrapped(number: int, bits: int) -> int:
    if bits in (0, 1):
        return number
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def text(word: str) -> StringAttr:
    """A string attribute."""
    return StringAttr(word)


_active: list[Tracer] = []


def active() -> Tracer | None:
    """The trace that is running, if any."""
    return _active[-1] if _active else None


def tracing(what: str) -> Tracer:
    """The trace that is running; refuses a call outside of one."""
    if not _active:
        raise wrong_place(
            f"{what} may only be used while tracing a @pto.jit kernel", instead="call it in the body of a kernel"
        )
    return _active[-1]


def explicit_only(what: str) -> Tracer:
    """The trace that is running; refuses a call in auto mode."""
    tracer = tracing(what)
    if tracer.spec.mode != "explicit":
        raise wrong_place(
            f"{what} is an auto-mode contract violation: data movement and synchronization are written by hand only in "
            f'explicit mode; {what} is only available in @pto.jit(mode="explicit")',
            instead='decorate the kernel with @pto.jit(mode="explicit")',
            code="auto-mode",
        )
    return tracer


@contextmanager
def activated(tracer: Tracer) -> Generator[Tracer, None, None]:
    """Makes a trace the running one."""
    _active.append(tracer)
    try:
        yield tracer
    finally:
        _active.pop()
