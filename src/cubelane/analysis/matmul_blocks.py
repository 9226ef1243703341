"""How a product is cut into blocks that fit the small memories of the cube core (spec/front.md 3.7, 4.1).

The operands of one block lie in L0A and L0B, twice if possible so that the next block is fetched while one is
multiplied; its accumulator lies in L0C.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cubelane.ir.types import MemorySpace, SplitMode, TileType, bit_width
from cubelane.targets import Target

GRAIN = 16
"""Blocks are whole multiples of this in every axis."""

ACC_BYTES = 4
"""Bytes of one cell of an accumulator."""


class Blocks(NamedTuple):
    """Extents of one block in rows, columns and depth."""

    rows: int
    columns: int
    depth: int


def _divisors(extent: int) -> Iterator[int]:
    """The extent itself, then its divisors that are multiples of the grain, from large to small."""
    yield extent
    for size in range(extent - 1, 0, -1):
        if size % GRAIN == 0 and extent % size == 0:
            yield size


def _round_up(extent: int) -> int:
    return (extent + GRAIN - 1) // GRAIN * GRAIN


class Product(NamedTuple):
    """The extents of a product and the width of its operands in bytes."""

    rows: int
    columns: int
    depth: int
    width: int

    @staticmethod
    def of(lhs: TileType, rhs: TileType) -> "Product":
        """The product of two tiles."""
        return Product(lhs.shape[0], rhs.shape[1], lhs.shape[1], (bit_width(lhs.dtype) + 7) // 8)

    def fits(self, target: Target) -> bool:
        """Whether the whole product fits without cutting."""
        return self._block_fits(target, Blocks(self.rows, self.columns, self.depth), 1)

    def _block_fits(self, target: Target, block: Blocks, copies: int) -> bool:
        left = block.rows * block.depth * self.width * copies
        right = block.depth * block.columns * self.width * copies
        acc = _round_up(block.rows) * block.columns * ACC_BYTES
        return (
            left <= target.capacity[MemorySpace.LEFT]
            and right <= target.capacity[MemorySpace.RIGHT]
            and acc <= target.capacity[MemorySpace.ACC]
        )

    def blocks(self, target: Target, mode: SplitMode) -> Blocks | None:
        """The largest blocks that fit; None if there are none.

        Under a split by rows only columns are cut, and the other way round, so that no block lies across both lanes.
        """
        for rows, columns in self._faces(mode):
            for copies in (2, 1):
                for depth in _divisors(self.depth):
                    block = Blocks(rows, columns, depth)
                    if self._block_fits(target, block, copies):
                        return block
        return None

    def _faces(self, mode: SplitMode) -> Iterator[tuple[int, int]]:
        if mode is not SplitMode.LEFT_RIGHT:
            yield from ((self.rows, columns) for columns in _divisors(self.columns))
        if mode is not SplitMode.UP_DOWN:
            yield from ((rows, self.columns) for rows in _divisors(self.rows))
        if mode is SplitMode.NONE:
            yield from ((rows, columns) for rows in _divisors(self.rows) for columns in _divisors(self.columns))
