"""How fast the units of each machine are, as data for the timing model (docs/timing.md names the sources).

All figures are cycles of the core clock and bytes or multiply-adds per cycle. They make a model, not a measurement:
what is public is taken from there, what is not is an assumption and listed as one in docs/timing.md.
"""

from dataclasses import dataclass, replace
from enum import Enum

from cubelane.ir.types import MemorySpace


class Pipe(Enum):
    """A unit of a core that works through its instructions in order, beside the other units."""

    SCALAR = "S"
    CUBE = "M"
    VECTOR = "V"
    MTE1 = "MTE1"
    MTE2 = "MTE2"
    MTE3 = "MTE3"
    FIX = "FIX"

    @property
    def computes(self) -> bool:
        """Whether the unit computes (the others move data)."""
        return self in (Pipe.CUBE, Pipe.VECTOR, Pipe.SCALAR)


@dataclass(frozen=True)
class Path:
    """A way between two memory spaces: the pipe that works it, bytes per cycle, cycles until the first byte."""

    pipe: Pipe
    rate: int
    latency: int


@dataclass(frozen=True)
class Rates:
    """The rates of one machine.

    `macs` is multiply-adds per cycle by operand width in bytes; the cube works in blocks of 16 rows, 16 columns and
    `block_bytes` of the inner axis. `passes` tells how often an op of a cost class goes over its cells.
    """

    clock_ghz: float
    macs: dict[int, int]
    block_bytes: int
    cube_startup: int
    vector_bytes: int
    vector_startup: int
    passes: dict[str, int]
    scalar: int
    issue: int
    handshake: int
    paths: dict[tuple[MemorySpace, MemorySpace], Path]
    ring_to_lanes: tuple[Path, Path]
    """How a push of the cube and the pop of a lane move the tile."""
    ring_to_cube: tuple[Path, Path]
    """How a push of a lane and the pop of the cube move the tile."""

    def path(self, source: MemorySpace, target: MemorySpace) -> Path:
        """The way from one space to another; what has none of its own goes through the vector unit."""
        return self.paths.get((source, target), Path(Pipe.VECTOR, self.vector_bytes, self.vector_startup))


_M = MemorySpace
_GM_LATENCY, _L2_LATENCY, _ON_CHIP = 300, 150, 30
_HERE = Path(Pipe.SCALAR, 1 << 30, 0)
"""The tile already lies where it is popped."""

A2A3_RATES = Rates(
    clock_ghz=1.8,
    macs={1: 8192, 2: 4096, 4: 1024},
    block_bytes=32,
    cube_startup=20,
    vector_bytes=256,
    vector_startup=14,
    passes={"vector": 1, "vector_slow": 4, "reduction": 2},
    scalar=20,
    issue=4,
    handshake=40,
    paths={
        (_M.DDR, _M.MAT): Path(Pipe.MTE2, 64, _GM_LATENCY),
        (_M.DDR, _M.VEC): Path(Pipe.MTE2, 64, _GM_LATENCY),
        (_M.VEC, _M.DDR): Path(Pipe.MTE3, 64, _GM_LATENCY),
        (_M.ACC, _M.DDR): Path(Pipe.FIX, 64, _GM_LATENCY),
        (_M.ACC, _M.MAT): Path(Pipe.FIX, 128, _ON_CHIP),
        (_M.MAT, _M.LEFT): Path(Pipe.MTE1, 256, _ON_CHIP),
        (_M.MAT, _M.RIGHT): Path(Pipe.MTE1, 128, _ON_CHIP),
        (_M.MAT, _M.BIAS): Path(Pipe.MTE1, 128, _ON_CHIP),
    },
    ring_to_lanes=(Path(Pipe.FIX, 64, _L2_LATENCY), Path(Pipe.MTE2, 64, _L2_LATENCY)),
    ring_to_cube=(Path(Pipe.MTE3, 64, _L2_LATENCY), Path(Pipe.MTE2, 64, _L2_LATENCY)),
)
"""Ascend 910B class: rings travel through global memory (in the L2 cache as a rule)."""

A5_RATES = replace(
    A2A3_RATES,
    clock_ghz=1.65,
    handshake=20,
    paths={
        **A2A3_RATES.paths,
        (_M.ACC, _M.VEC): Path(Pipe.FIX, 128, _ON_CHIP),
        (_M.VEC, _M.MAT): Path(Pipe.MTE3, 128, _ON_CHIP),
        (_M.MAT, _M.LEFT_SCALE): Path(Pipe.MTE1, 128, _ON_CHIP),
        (_M.MAT, _M.RIGHT_SCALE): Path(Pipe.MTE1, 128, _ON_CHIP),
    },
    ring_to_lanes=(Path(Pipe.FIX, 128, _ON_CHIP), _HERE),
    ring_to_cube=(Path(Pipe.MTE3, 128, _ON_CHIP), _HERE),
)
"""Ascend 950 class: a push writes into the memory of the other core."""

RATES: dict[str, Rates] = {"a2a3": A2A3_RATES, "a5": A5_RATES}
"""Rates by name of the target."""
