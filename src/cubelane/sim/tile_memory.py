"""The memories of one core, byte by byte, and handles of tiles in them: what PTO IR works on (spec/front.md 4.2).

Here a tile is a place: two handles may name the same bytes, an op writes the valid cells of its output into them, and
what lies there may be read under another shape or element type. Nothing keeps a value alive that was written over.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cubelane.sim.primitives import Array, Fault

Place = tuple[int, int]
"""Row and column, or rows and columns."""


class TileSpec(NamedTuple):
    """How the cells of a tile lie in its bytes."""

    rows: int
    columns: int
    dtype: Any
    blocks: str = "row_major"
    inside: str = "none_box"
    fractal: int = 512


@lru_cache(maxsize=512)
def _cells(spec: TileSpec) -> Array:
    """The position of every cell [row, column], counted in elements from the first byte of the tile."""
    item = np.dtype(spec.dtype).itemsize
    high = wide = 1
    if spec.inside != "none_box":
        short = max(32 // item, 1)
        high, wide = {"row_major": (16, short), "col_major": (short, 16)}[spec.inside]
        if spec.fractal == 1024:
            high = wide = 16
    down, across = -(-spec.rows // high), -(-spec.columns // wide)
    box = np.arange(high * wide).reshape((wide, high)).T if spec.inside == "col_major" else None
    box = np.arange(high * wide).reshape((high, wide)) if box is None else box
    order = np.arange(down * across).reshape((across, down)).T if spec.blocks == "col_major" else None
    order = np.arange(down * across).reshape((down, across)) if order is None else order
    table = np.kron(order * (high * wide), np.ones_like(box)) + np.tile(box, (down, across))
    return table[: spec.rows, : spec.columns]


def _count(spec: TileSpec) -> int:
    return int(_cells(spec).max()) + 1


@dataclass(eq=False)
class Handle:
    """A tile as an op names it: bytes, the cells among them, how much of the box is valid."""

    data: Array
    cells: Array
    spec: TileSpec
    valid: Place | None

    @property
    def extents(self) -> Place:
        """The valid rows and columns."""
        if self.valid is None:
            raise Fault("a tile is used before its valid extents are set", code="pto")
        return self.valid

    def get(self) -> Array:
        """All cells of the box, row by row; those nobody wrote are undefined."""
        return self.data[self.cells]

    def put(self, value: Array) -> None:
        """Writes the valid cells."""
        rows, columns = self.extents
        value = np.broadcast_to(np.asarray(value), self.cells.shape) if np.ndim(value) < 2 else value
        if value.shape[0] < rows or value.shape[1] < columns:
            raise Fault(
                f"{list(value.shape)} cells are written to a tile of which {[rows, columns]} are valid", code="pto"
            )
        self.data[self.cells[:rows, :columns]] = value[:rows, :columns].astype(self.data.dtype, copy=False)

    def part(self, sizes: Sequence[int]) -> Array:
        """The valid cells in a window of global memory of that many elements per axis."""
        rows, columns = self.extents
        self._fits(sizes)
        return self.data[self.cells[:rows, :columns]].reshape(tuple(sizes))

    def fill(self, window: Array, sizes: Sequence[int]) -> None:
        """Writes what was loaded from a window of global memory to the valid cells."""
        self._fits(sizes)
        if 0 not in self.extents:
            self.put(window.reshape(self.extents))

    def _fits(self, sizes: Sequence[int]) -> None:
        rows, columns = self.extents
        if int(np.prod(sizes)) != rows * columns:
            raise Fault(f"a window of {list(sizes)} elements for {[rows, columns]} valid cells of a tile", code="pto")

    def window(self, at: Place, sizes: Place, valid: Place | None) -> "Handle":
        """A part of the tile, in place."""
        (row, column), (rows, columns) = at, sizes
        high, wide = self.cells.shape
        if not (0 <= row <= high - rows and 0 <= column <= wide - columns):
            raise Fault(f"a window {list(sizes)} at {list(at)} of a tile {[high, wide]}", code="pto")
        spec = self.spec._replace(rows=rows, columns=columns)
        return Handle(self.data, self.cells[row : row + rows, column : column + columns], spec, valid or sizes)

    def seen_as(self, spec: TileSpec, valid: Place | None) -> "Handle":
        """The same bytes under another shape, layout or element type."""
        first, count = int(self.cells.min()), self.cells.size
        if int(self.cells.max()) - first + 1 > _count(self.spec) or count != len(np.unique(self.cells)):
            raise Fault("a tile with gaps between its rows cannot be seen under another shape", code="pto")
        old, new = self.data.dtype.itemsize, np.dtype(spec.dtype).itemsize
        data = self.data[first:]
        data = data[: len(data) * old // new * new // old].view(spec.dtype)
        return Handle(data, _cells(spec), spec, valid)

    def flat(self, at: int) -> Any:
        """The cell at a distance from the start of the tile, in memory order."""
        return self.data[at].item()

    def set_flat(self, at: int, value: Any) -> None:
        """Writes that cell."""
        self.data[at] = value


@dataclass
class TileMemory:
    """The memories of one core. `poison` makes arrays of undefined cells.

    Where nobody wrote yet all bits are set, which is no number in any type of floats; in a second run with other
    undefined cells the bytes are others too.
    """

    poison: Callable[[Sequence[int], Any], Array]
    sizes: dict[str, int]
    spaces: dict[str, Array] = field(default_factory=dict[str, Array])
    rings: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    taken: dict[int, deque[tuple[Array, Handle]]] = field(default_factory=dict[int, deque[tuple[Array, Handle]]])

    def __post_init__(self) -> None:
        self.poison((1,), np.uint8)  # undefined bytes can be read as whole numbers, which do not show
        byte = 0xFF if np.isnan(self.poison((1,), np.float32)[0]) else 0x4B
        self.spaces = {name: np.full(size, byte, np.uint8) for name, size in self.sizes.items()}

    def reserve(self, space: str, base: int, size: int) -> int:
        """Bytes that belong to the slots of a ring."""
        self.rings.append((space, base, base + size))
        return base

    def tile(self, space: str, address: int, spec: TileSpec, valid: Place) -> Handle:
        """A tile at an address."""
        item = np.dtype(spec.dtype).itemsize
        end = address + _count(spec) * item
        if end > self.sizes[space]:
            raise Fault(f"a tile ends at byte {end} of {space}, which has {self.sizes[space]}", code="pto")
        for ring, first, last in self.rings:
            if ring == space and first < end and address < last:
                raise Fault(f"a tile at {address} of {space} lies in the slots of a ring", code="pto")
        return Handle(self.spaces[space][address:end].view(spec.dtype), _cells(spec), spec, valid)

    def sent(self, handle: Handle) -> Array:
        """What a push moves: the valid cells, in a box of undefined ones."""
        rows, columns = handle.extents
        box = self.poison(handle.cells.shape, handle.data.dtype)
        box[:rows, :columns] = handle.get()[:rows, :columns]
        return box

    def received(self, tile: Array, spec: TileSpec, valid: Place, pipe: int) -> Handle:
        """A popped tile, in the slot that it keeps until it is freed."""
        data = self.poison((_count(spec),), spec.dtype)
        cells = _cells(spec)
        rows, columns = valid
        data[cells[:rows, :columns]] = tile[:rows, :columns]
        handle = Handle(data, cells, spec, valid)
        self.taken.setdefault(pipe, deque()).append((tile, handle))
        return handle

    def oldest(self, pipe: int) -> Array:
        """The tile whose slot is given back next; its cells are undefined from now on."""
        held = self.taken.get(pipe)
        if not held:
            raise Fault("a free without a popped tile", code="protocol")
        tile, handle = held.popleft()
        handle.data[...] = self.poison(handle.data.shape, handle.data.dtype)
        return tile


class Window(NamedTuple):
    """A window of a tensor: where it begins and how many elements it has per axis."""

    tensor: Array
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


def view(tensor: Array, shape: Sequence[int], strides: Sequence[int], layout: str) -> Array:
    """A tensor under a shape; the strides must be those of its layout."""
    order = list(range(len(shape)))
    if layout == "dn" and len(shape) > 1:
        order[-2:] = order[:-3:-1]
    expected, step = [0] * len(shape), 1
    for axis in reversed(order):
        expected[axis] = step
        step *= shape[axis]
    if list(strides) != expected:
        raise Fault(f"the strides {list(strides)} are not those of {list(shape)} in the layout {layout}", code="pto")
    return tensor if tensor.shape == tuple(shape) else tensor.reshape(tuple(shape))


def place(tensor: Array, at: int) -> tuple[int, ...]:
    """The position of the element at a distance from the start of a tensor."""
    return tuple(int(i) for i in np.unravel_index(at, tensor.shape))
