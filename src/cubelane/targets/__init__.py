"""The machines we compile for, as data: memories, capacities, legal moves, rates (spec/front.md 4, passes.md 1.4)."""

from typing import NamedTuple

from cubelane.ir.types import MemorySpace

KIB = 1024


class Target(NamedTuple):
    """One machine. Capacities in bytes; alignment of tile addresses in bytes."""

    name: str
    chip: str
    capacity: dict[MemorySpace, int]
    alignment: dict[MemorySpace, int]
    moves: frozenset[tuple[MemorySpace, MemorySpace]]
    stages_nz_before_push: bool
    """A lane lays a tile out in NZ order before it pushes it to the cube."""
    replays_on_lane_1: bool
    """A kernel without split still runs both lanes; lane 1 takes part in every handshake without effect."""
    ring_in_global_memory: bool
    """Rings travel through a workspace in global memory."""
    row_alignment: int = 32
    integer_accumulator_rows: int = 16
    """Rows of an accumulator of integers are allocated in blocks of this many (spec/front.md 4.1)."""


def _capacity(vec: int, acc: int, bias: int, scale: int) -> dict[MemorySpace, int]:
    return {
        MemorySpace.VEC: vec * KIB,
        MemorySpace.MAT: 512 * KIB,
        MemorySpace.LEFT: 64 * KIB,
        MemorySpace.RIGHT: 64 * KIB,
        MemorySpace.ACC: acc * KIB,
        MemorySpace.BIAS: bias * KIB,
        MemorySpace.LEFT_SCALE: scale * KIB,
        MemorySpace.RIGHT_SCALE: scale * KIB,
    }


_ALIGNMENT = {
    MemorySpace.VEC: 128,
    MemorySpace.MAT: 128,
    MemorySpace.LEFT: 64,
    MemorySpace.RIGHT: 64,
    MemorySpace.ACC: 128,
    MemorySpace.BIAS: 64,
    MemorySpace.LEFT_SCALE: 32,
    MemorySpace.RIGHT_SCALE: 32,
}

_M = MemorySpace
_FROM_MAT = {(_M.MAT, _M.LEFT), (_M.MAT, _M.RIGHT), (_M.MAT, _M.BIAS)}

A2A3 = Target(
    name="a2a3",
    chip="Ascend910B",
    capacity=_capacity(184, 128, 1, 0),
    alignment=_ALIGNMENT,
    moves=frozenset(
        {(_M.DDR, _M.VEC), (_M.DDR, _M.MAT), (_M.VEC, _M.DDR), (_M.ACC, _M.MAT), (_M.ACC, _M.DDR)} | _FROM_MAT
    ),
    stages_nz_before_push=False,
    replays_on_lane_1=True,
    ring_in_global_memory=True,
    integer_accumulator_rows=32,
)

A5 = Target(
    name="a5",
    chip="Ascend950",
    capacity=_capacity(240, 256, 4, 4),
    alignment=_ALIGNMENT,
    moves=frozenset(
        {
            (_M.DDR, _M.VEC),
            (_M.DDR, _M.MAT),
            (_M.VEC, _M.MAT),
            (_M.VEC, _M.DDR),
            (_M.MAT, _M.LEFT_SCALE),
            (_M.MAT, _M.RIGHT_SCALE),
            (_M.ACC, _M.VEC),
            (_M.ACC, _M.MAT),
            (_M.ACC, _M.DDR),
        }
        | _FROM_MAT
    ),
    stages_nz_before_push=True,
    replays_on_lane_1=False,
    ring_in_global_memory=False,
)

TARGETS: dict[str, Target] = {target.name: target for target in (A2A3, A5)}
"""Targets by name."""
