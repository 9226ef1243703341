"""Which memory space a tile must be in: what its users demand and what its op gives (spec/front.md 3.8, phases 0, 1).

The answers come from the `Spaces` trait and from the type of the value; nothing is changed here.
"""

from functools import cache
from typing import cast

from xdsl.dialects.scf import ForOp
from xdsl.ir import Operation, SSAValue, Use
from xdsl.irdl import IRDLOperation

from cubelane.analysis.value_flow import arrives_at
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Kind, SurfaceOp
from cubelane.ir.traits import Spaces, trait_of, trait_of_class
from cubelane.ir.types import DTYPES, MemorySpace, TileType

STORED_FROM_ACC = frozenset(DTYPES[name] for name in ("INT32", "FP32", "FP16", "BF16"))
"""Element types that the way from the accumulator to global memory can write (spec/front.md 2.5, 4.3)."""

Allowed = tuple[MemorySpace, ...]


@cache
def constraints(kind: type[Operation]) -> tuple[tuple[int, Allowed], ...]:
    """Positions of the operands that an op class takes from some spaces only, with these spaces."""
    spaces = trait_of_class(kind, Spaces)
    if spaces is None or not issubclass(kind, IRDLOperation):
        return ()
    names = [name for name, _ in kind.get_irdl_definition().operands]
    return tuple((names.index(name), allowed) for name, allowed in spaces.inputs.items())


@cache
def states_space(kind: type[Operation]) -> bool:
    """Whether calls of an op state the space of their result."""
    return issubclass(kind, SurfaceOp) and any(p.kind is Kind.SPACE for p in kind.PARAMETERS)


def inherits(op: Operation) -> bool:
    """Whether the result of an op is in the space of its first tile operand."""
    spaces = trait_of(op, Spaces)
    return spaces is not None and spaces.output is None and not states_space(type(op))


def _is_first_tile(use: Use) -> bool:
    operands = use.operation.operands
    first = next((i for i, v in enumerate(operands) if isinstance(v.type, TileType)), None)
    return first == use.index


def demand(value: SSAValue) -> MemorySpace | None:
    """The space that the users of a tile ask for; a space of the cube core wins over the vector buffer."""
    wanted: MemorySpace | None = None
    pending, seen = [value], {value}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            allowed = dict(constraints(type(op))).get(use.index)
            if allowed is not None and (wanted is None or wanted is MemorySpace.VEC):
                wanted = allowed[0]
            onward = arrives_at(use)
            if not onward and allowed is None and not is_one(op, ForOp) and inherits(op) and _is_first_tile(use):
                onward = tuple(result for result in op.results if isinstance(result.type, TileType))
            for target in cast(tuple[SSAValue, ...], onward):
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
    return wanted


def space_of(op: Operation) -> MemorySpace | None:
    """The space of the result of an op whose type does not say it: given, demanded, or inherited."""
    spaces = trait_of(op, Spaces)
    if spaces is not None and spaces.output is not None:
        return spaces.output
    first = next((v.type for v in op.operands if isinstance(v.type, TileType)), None)
    if first is not None:
        return first.memory
    wanted = demand(op.results[0])
    return wanted if wanted in (MemorySpace.MAT, MemorySpace.ACC) else MemorySpace.VEC
