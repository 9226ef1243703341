"""Does it fit: what tiles, rings and scratch take of every memory space, against the target's capacity (front.md 4.1).

An overflow names the largest tile and the ring, and says which ring depth or tile height would fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from cubelane.analysis.address_plan import home_space
from cubelane.analysis.tile_buffers import Buffer, TileBuffers, peak
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, target_name
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import InitializePipeOp, ReserveBufferOp
from cubelane.ir.types import MemorySpace
from cubelane.ir.walk import ops_of
from cubelane.targets import TARGETS, Target

KIB = 1024
HEADER = ("program", "core", "space", "tiles", "scratch", "ring", "used", "capacity", "fits")


class RingBytes(NamedTuple):
    """A ring that one core reserved: slots of one size."""

    name: str
    slot_size: int
    slots: int
    location: Location

    @property
    def size(self) -> int:
        """All slots."""
        return self.slot_size * self.slots


@dataclass
class Usage:
    """One row: one space of one core's program at its fullest moment. Sizes in bytes."""

    program: str
    core: str
    space: MemorySpace
    capacity: int
    alive: list[Buffer] = field(default_factory=list[Buffer])
    rings: list[RingBytes] = field(default_factory=list[RingBytes])
    reach: int = 0
    """The byte behind the last one of the address plan, where there is one: gaps count too."""

    @property
    def tiles(self) -> int:
        """Tiles alive at that moment."""
        return sum(b.size for b in self.alive if not b.scratch)

    @property
    def scratch(self) -> int:
        """Tiles that only lend memory."""
        return sum(b.size for b in self.alive if b.scratch)

    @property
    def ring(self) -> int:
        """Slots of the rings."""
        return sum(r.size for r in self.rings)

    @property
    def used(self) -> int:
        """Everything."""
        return max(self.tiles + self.scratch + self.ring, self.reach)

    @property
    def fits(self) -> bool:
        """Whether it does."""
        return self.used <= self.capacity

    @property
    def largest(self) -> Buffer | None:
        """The largest tile alive."""
        return max(self.alive, key=lambda b: b.size, default=None)

    @property
    def fitting_depth(self) -> int | None:
        """The deepest ring that fits beside the tiles; None where no depth does or there is no ring."""
        slot = sum(r.slot_size for r in self.rings)
        if not slot:
            return None
        depth = (self.capacity - self.tiles - self.scratch) // slot
        return depth if depth > 0 else None

    @property
    def fitting_rows(self) -> int | None:
        """Rows of the largest tile at which everything fits, if all sizes shrink with it; a multiple of 16."""
        largest = self.largest
        rows = largest.rows if largest is not None else 1
        fitting = rows * self.capacity // max(self.used, 1)
        fitting -= fitting % 16 if fitting >= 16 else 0
        return fitting if 0 < fitting < rows else None

    def row(self) -> tuple[str, ...]:
        """The cells under `HEADER`."""
        sizes = (f"{size:,}" for size in (self.tiles, self.scratch, self.ring, self.used, self.capacity))
        return (self.program, self.core, self.space.dsl, *sizes, "yes" if self.fits else "NO")

    def finding(self) -> Diagnostic | None:
        """What to say when it does not fit."""
        if self.fits:
            return None
        largest = self.largest
        place = Location.of(largest.op) if largest is not None and largest.op is not None else self.rings[0].location
        notes = [f"tiles {self.tiles:,} + scratch {self.scratch:,} + rings {self.ring:,} bytes at the fullest moment"]
        if self.reach > self.tiles + self.scratch + self.ring:
            notes.append("tiles that are needed at different times leave gaps between those that are needed longer")
        if largest is not None:
            notes.append(f"the largest tile is `{largest.value.name_hint or 'unnamed'}`: {largest.size:,} bytes")
        notes += [
            f"the ring {ring.name} reserves {ring.size:,} bytes: {ring.slots} slots of {ring.slot_size:,}"
            for ring in self.rings
        ]
        return Diagnostic(
            f"{self.space.dsl} of {self.core} overflows in `{self.program}`: {self.used:,} of {self.capacity:,} bytes",
            place,
            notes,
            self._advice(),
            code="budget",
        )

    def _advice(self) -> str:
        ways: list[str] = []
        if self.rings and self.fitting_depth is not None and self.fitting_depth < self.rings[0].slots:
            ways.append(f"a shallower ring: pl.cross_core_slot(slot_num={self.fitting_depth})")
        if self.fitting_rows is not None and self.largest is not None:
            ways.append(f"tiles of {self.fitting_rows} rows instead of {self.largest.rows}")
        return ", or ".join(ways) or "cut the tiles into smaller ones"


def budget(module: ModuleOp) -> list[Usage]:
    """A row for every space that some program uses."""
    target = TARGETS.get(target_name(module) or "")
    if target is None:
        return []
    rows: list[Usage] = []
    for function in functions_of(module):
        if kind_of(function) in (FunctionKind.AIC, FunctionKind.AIV):
            rows += usages(function, target)
    return rows


def usages(function: FuncOp, target: Target, buffers: TileBuffers | None = None) -> list[Usage]:
    """The rows of one program. Who knows the addresses sets `reach`, so that the gaps between tiles count too."""
    home = home_space(function)
    all_buffers = buffers or TileBuffers(function, target)
    by_space: dict[MemorySpace, list[Buffer]] = {}
    for buffer in all_buffers:
        by_space.setdefault(buffer.space, []).append(buffer)
    rings = list(rings_of(function))
    if rings:
        by_space.setdefault(home, [])
    return [
        Usage(
            function.sym_name.data,
            kind_of(function).dsl,
            space,
            target.capacity.get(space, 0),
            peak(members, all_buffers),
            rings if space is home else [],
        )
        for space, members in by_space.items()
    ]


def rings_of(function: FuncOp) -> Iterator[RingBytes]:
    """The rings whose slots lie in this core's memory."""
    sizes = {
        buffer: python_value(op.slot_size)
        for op in ops_of(function, InitializePipeOp)
        for buffer in (op.c2v_buffer, op.v2c_buffer)
    }
    for op in ops_of(function, ReserveBufferOp):
        size = python_value(op.size)
        slot = sizes.get(op.result) or size
        yield RingBytes(python_value(op.buffer_name), slot, max(size // slot, 1), Location.of(op))


def findings(module: ModuleOp) -> list[Diagnostic]:
    """All overflows of a program."""
    return [finding for row in budget(module) if (finding := row.finding()) is not None]
