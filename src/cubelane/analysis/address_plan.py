"""An address for every buffer of a program: rings first, then tiles, first fit by time of use (spec/front.md 4.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.func import FuncOp

from cubelane.analysis.tile_buffers import Buffer, TileBuffers
from cubelane.ir.kernel import FunctionKind, kind_of
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import ReserveBufferOp
from cubelane.ir.types import MemorySpace
from cubelane.ir.walk import ops_of
from cubelane.targets import Target

Range = tuple[int, int]
"""Bytes from the first to the one behind the last."""


@dataclass
class AddressPlan:
    """Where everything lies. Addresses in bytes from the start of the space."""

    rings: dict[ReserveBufferOp, int] = field(default_factory=dict[ReserveBufferOp, int])
    buffers: dict[Buffer, int] = field(default_factory=dict[Buffer, int])

    def high_water(self, space: MemorySpace) -> int:
        """The byte behind the last one that a tile of the space takes."""
        return max((at + b.size for b, at in self.buffers.items() if b.space is space), default=0)


def home_space(function: FuncOp) -> MemorySpace:
    """The space in which a core keeps the slots of the rings it reads from."""
    return MemorySpace.MAT if kind_of(function) is FunctionKind.AIC else MemorySpace.VEC


def address_plan(function: FuncOp, buffers: TileBuffers, target: Target) -> AddressPlan:
    """The plan with the smallest reach: by time of use, or, where that does not fit, the largest first.

    Tiles that their author placed lie there, whatever is wrong with it (`placed_tiles` tells); the others around them.
    """
    plan = AddressPlan()
    home = home_space(function)
    taken = _place_rings(function, plan, target.alignment.get(home, 32))
    by_space: dict[MemorySpace, list[Buffer]] = {}
    for buffer in buffers:
        by_space.setdefault(buffer.space, []).append(buffer)
    for space, members in by_space.items():
        reserved = taken if space is home else []
        step, capacity = target.alignment.get(space, 32), target.capacity.get(space, 0)
        fixed = [_Placed(b, b.place, b.start, b.end) for b in members if b.place is not None]
        free = [b for b in members if b.place is None] if fixed else members
        plan.buffers.update((each.buffer, each.at) for each in fixed)
        for order in (_by_time, _by_size):
            plan.buffers.update(order(free, reserved, step, fixed))
            if plan.high_water(space) <= capacity:
                break
    return plan


def _place_rings(function: FuncOp, plan: AddressPlan, step: int) -> list[Range]:
    """Rings whose base the author left open lie one behind the other, around those with a stated base."""
    ops = ops_of(function, ReserveBufferOp)
    taken: list[Range] = []
    for op in ops:
        base, size = python_value(op.base), python_value(op.size)
        if base >= 0:
            plan.rings[op] = base
            taken.append((base, base + size))
    for op in ops:
        if op not in plan.rings:
            size = python_value(op.size)
            plan.rings[op] = base = lowest(taken, size, step)
            taken.append((base, base + size))
    return taken


class _Placed(NamedTuple):
    """A buffer with its address, and the positions between which it is in use."""

    buffer: Buffer
    at: int
    start: int
    end: int

    @property
    def range(self) -> Range:
        return self.at, self.at + self.buffer.size


def _by_time(
    buffers: Sequence[Buffer], reserved: Sequence[Range], step: int, fixed: Sequence[_Placed]
) -> dict[Buffer, int]:
    """In the order of their first use; those whose time is over are forgotten."""
    placed: dict[Buffer, int] = {}
    active: list[_Placed] = []
    for buffer in buffers:
        start = buffer.start
        active = [other for other in active if other.end >= start - 1]
        placed[buffer] = _first_fit(buffer, [*fixed, *active], reserved, step)
        active.append(_Placed(buffer, placed[buffer], start, buffer.end))
    return placed


def _by_size(
    buffers: Sequence[Buffer], reserved: Sequence[Range], step: int, fixed: Sequence[_Placed]
) -> dict[Buffer, int]:
    """The largest first, which wastes less but takes longer."""
    placed: list[_Placed] = list(fixed)
    for buffer in sorted(buffers, key=lambda b: -b.size):
        start, end = buffer.start, buffer.end
        near = [other for other in placed if other.start <= end + 1 and start <= other.end + 1]
        placed.append(_Placed(buffer, _first_fit(buffer, near, reserved, step), start, end))
    return {each.buffer: each.at for each in placed}


def _first_fit(buffer: Buffer, others: Sequence[_Placed], reserved: Sequence[Range], step: int) -> int:
    """The place of an operand that the op may write over, else the lowest free address."""
    hard, soft = list(reserved), list[Range]()
    for other in others:
        if buffer.excludes(other.buffer):
            (soft if buffer.can_stand_in_for(other.buffer) else hard).append(other.range)
    for at, _ in soft:
        mine = (at, at + buffer.size)
        if not any(overlap(mine, r) for r in hard) and not any(r[0] != at and overlap(mine, r) for r in soft):
            return at
    return lowest([*hard, *soft], buffer.size, step)


def overlap(a: Range, b: Range) -> bool:
    """Whether two ranges share a byte."""
    return a[0] < b[1] and b[0] < a[1]


def lowest(taken: Iterable[Range], size: int, step: int) -> int:
    """The lowest aligned address at which `size` bytes meet nothing that is taken."""
    at = 0
    for first, end in sorted(taken):
        if first >= at + size:
            break
        if end > at:
            at = -(-end // step) * step
    return at
