"""Random calls made from what an op declares: operands are drawn, and the type rule of the op says which fit.

Every elementwise and reducing op whose parameters are values, scalars and scratch tiles is called this way, so that an
op added to a table is met by the fuzzer without a line here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from cubelane.check.fuzz.program import Choose
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.gm import Gm
from cubelane.ir.surface import REQUIRED, Bound, Kind, Parameter, SurfaceOp
from cubelane.ir.tile import Tile
from cubelane.ir.traits import Split, Splits
from cubelane.ir.types import TensorType, TileType, dtype_name, is_float

OpClass = type[SurfaceOp]
AnyType = TensorType | TileType

FLOAT_SCALARS = (0.5, 1.0, 2.0, -1.0, 0.25)
WHOLE_SCALARS = (1, 2, 3, 7)
SHIFTS = (0, 1, 2, 5)

DOMAINS: dict[str, dict[str, tuple[float, float]]] = {
    "exp": {"tile": (-6, 3)},
    "log": {"tile": (0.5, 9)},
    "sqrt": {"tile": (0, 9)},
    "rsqrt": {"tile": (0.5, 9)},
    "recip": {"tile": (0.5, 9)},
    "div": {"rhs": (0.5, 9)},
    "rem": {"rhs": (1, 9)},
    "fmod": {"rhs": (1, 9)},
    "shl": {"rhs": (0, 5)},
    "shr": {"rhs": (0, 5)},
    "sin": {"tile": (-3, 3)},
    "cos": {"tile": (-3, 3)},
    "row_prod": {"tile": (-1, 1)},
    "col_prod": {"tile": (-1, 1)},
    "row_expand_div": {"row_vector": (0.5, 9)},
    "col_expand_div": {"col_vector": (0.5, 9)},
    "row_expand_expdif": {"tile": (-2, 2), "row_vector": (-2, 2)},
    "col_expand_expdif": {"tile": (-2, 2), "col_vector": (-2, 2)},
}
"""Where an op has a meaning that both executors can be held to; every other op takes any number."""

ROUNDED = frozenset({"sin", "cos"})
"""Ops that the machine computes by other steps than NumPy: results near enough, but not the same bits."""


class Operand(NamedTuple):
    """A value in scope, by its name in the kernel."""

    name: str
    type: AnyType


class Call(NamedTuple):
    """A call whose operands fit: for each value parameter its operand, for each scratch tile its type."""

    op: OpClass
    operands: Mapping[str, Operand]
    scratch: Mapping[str, AnyType]
    scalars: Mapping[str, str]
    result: AnyType

    @property
    def spelling(self) -> str:
        """The name in the language."""
        return self.op.SPELLING

    def domain(self, parameter: str, dtype: Attribute) -> tuple[float, float] | None:
        """The bounds that an operand is brought into, if any, as numbers of its type."""
        bounds = DOMAINS.get(self.spelling, {}).get(parameter)
        if bounds is None or is_float(dtype):
            return bounds
        low = math.ceil(bounds[0])
        return max(0, low) if dtype_name(dtype).startswith("U") else low, int(bounds[1])

    def text(self, names: Mapping[str, str]) -> str:
        """The call in the namespace of the op, with a name for every operand and scratch tile."""
        values = {**self.scalars, **names}
        arguments = [values[p.name] for p in self.op.PARAMETERS if p.name in values]
        return f"pl.{self.op.NAMESPACE}.{self.spelling}({', '.join(arguments)})"


@cache
def drawable(dialect: str) -> tuple[OpClass, ...]:
    """The ops of `tile` or `gm` whose calls can be drawn."""
    return tuple(op for op in _classes(dialect) if _is_drawable(op))


def _classes(dialect: str) -> Iterator[OpClass]:
    for op in {"tile": Tile, "gm": Gm}[dialect].operations:
        if issubclass(op, SurfaceOp):
            yield op


def _is_drawable(op: OpClass) -> bool:
    splits = next((t for t in op.traits.traits if isinstance(t, Splits)), None)
    if splits is None or splits.behaviour not in (Split.ELEMENTWISE, Split.REDUCES):
        return False
    return all(p.kind in (Kind.VALUE, Kind.SCALAR) or p.default is not REQUIRED for p in op.PARAMETERS)


TRIES = 3
"""First operands that are tried for an op."""


def draw(choose: Choose, op: OpClass, operands: Sequence[Operand]) -> Call | None:
    """A call of an op with operands that fit; None where it takes none of those that were tried."""
    fits: list[Call] = []
    for _ in range(TRIES if operands else 0):
        if fits := list(_fitting(op, choose(operands), operands)):
            break
    if not fits:
        return None
    call: Call = choose(fits)
    first = next(iter(call.operands.values())).type
    scalars = {p.name: _scalar(choose, op, first) for p in op.PARAMETERS if p.kind is Kind.SCALAR}
    return call._replace(scalars=scalars)


def _fitting(op: OpClass, first: Operand, operands: Sequence[Operand]) -> Iterator[Call]:
    """All calls whose first value is `first`; the others have its rows or its columns."""
    splits = next(t for t in op.traits.traits if isinstance(t, Splits))
    values = [p for p in op.PARAMETERS if p.kind is Kind.VALUE]
    scratch = [p for p in values if p.name in splits.scratch]
    taken = [p for p in values if p not in scratch and p.default is REQUIRED]
    near = [o for o in operands if any(a == b for a, b in zip(o.type.shape, first.type.shape, strict=False))]
    for others in product(near, repeat=len(taken) - 1):
        chosen = {p.name: o for p, o in zip(taken, (first, *others), strict=True)}
        call = _typed(op, chosen, scratch)
        if call is not None:
            yield call


def _typed(op: OpClass, chosen: dict[str, Operand], scratch: Sequence[Parameter]) -> Call | None:
    """The call with the type of its result, or None where the op refuses the operands."""
    needed = [p for p in scratch if p.default is REQUIRED]
    for room in reversed([o.type for o in chosen.values()]) if needed else (None,):
        rooms = {p.name: room for p in needed if room is not None}
        types: dict[str, AnyType] = {**{name: o.type for name, o in chosen.items()}, **rooms}
        try:
            result = _result_type(op, types)
        except Diagnostic:
            continue
        if isinstance(result, TensorType | TileType):
            return Call(op, chosen, rooms, {}, result)
    return None


def _result_type(op: OpClass, types: Mapping[str, AnyType]) -> object:
    bound = {p.name: None if p.default is REQUIRED else p.default for p in op.PARAMETERS}
    values = {name: create_ssa_value(type_) for name, type_ in types.items()}
    return op.result_type(Bound({**bound, **values}))  # type: ignore[attr-defined]


def _scalar(choose: Choose, op: OpClass, tile: AnyType) -> str:
    if op.SPELLING.startswith("sh"):
        return str(choose(SHIFTS))
    if is_float(tile.dtype):
        return str(choose(FLOAT_SCALARS))
    return str(choose(WHOLE_SCALARS))


def dtype_of(type_: AnyType) -> str:
    """The name of the element type in the language."""
    return dtype_name(type_.dtype)
