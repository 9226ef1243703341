"""Values of the oracle: tiles and tensors with their valid extents, memory, pairs that differ between the lanes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cubelane.check.reference_words import is_integer
from cubelane.ir.diagnostic import Diagnostic

Array = Any


class Undefined:
    """What undefined cells hold in this run; `used` whether there were any."""

    def __init__(self, number: float = float("nan"), whole: int = 101):
        self.number, self.whole, self.used = number, whole, False

    def fill(self, shape: Sequence[int], dtype: Any) -> Array:
        """An array of undefined cells."""
        self.used = True
        dtype = np.dtype(dtype)
        value: Any = self.number
        if is_integer(dtype):
            value = self.whole % 7 if dtype.name.endswith("int4") else self.whole
        return np.full(shape, value).astype(dtype)


@dataclass(frozen=True)
class Cells:
    """A tile, or a tensor that is a value: the physical box in its real element type, the valid extent."""

    data: Array
    valid: tuple[int, ...]

    @property
    def part(self) -> Array:
        """The valid cells."""
        return self.data[tuple(map(slice, self.valid))]

    def as_memory(self) -> "Memory":
        """The same tensor as an argument that a callee may write to."""
        return Memory(self.data)


class Put(NamedTuple):
    """What one write left in a tensor: the tensor's array, the window, its new content."""

    array: Array
    window: tuple[slice, ...]
    content: Array

    def contradicts(self, other: "Put") -> bool:
        """Whether both wrote to one element, and not the same."""
        if self.array is not other.array:
            return False
        shared = [
            slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(self.window, other.window, strict=True)
        ]
        if any(s.start >= s.stop for s in shared):
            return False
        mine, theirs = (
            put.content[
                tuple(slice(s.start - w.start, s.stop - w.start) for s, w in zip(shared, put.window, strict=True))
            ]
            for put in (self, other)
        )
        if is_integer(mine.dtype):
            return not np.array_equal(mine, theirs)
        return not np.array_equal(mine.astype(np.float64), theirs.astype(np.float64), equal_nan=True)


@dataclass(frozen=True)
class Memory:
    """A tensor that has a place in global memory; writes change it for everyone who knows it."""

    data: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, for `np.shape`."""
        return self.data.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.data, dtype)

    def put(self, offsets: Sequence[int], part: Array, shapes: Sequence[int] | None, add: bool) -> Put | None:
        """Writes (or adds) a part to the window at `offsets`; what was written, None for nothing or a sum."""
        if part.size == 0:
            return None
        extents = tuple(shapes) if shapes and int(np.prod(shapes)) == part.size else part.shape
        extents = (1,) * (self.data.ndim - len(extents)) + tuple(extents)
        extents = extents[len(extents) - self.data.ndim :]
        for axis, (n, o, e) in enumerate(zip(self.data.shape, offsets, extents, strict=True)):
            if o < 0 or o + e > n:
                raise IndexError(f"writes {e} elements at {o} on axis {axis} of a tensor with {n}")
        index = tuple(slice(o, o + e) for o, e in zip(offsets, extents, strict=True))
        content = np.reshape(part, extents).astype(self.data.dtype)
        self.data[index] = self.data[index] + content if add else content
        return None if add else Put(self.data, index, content)


class Lanes:
    """A value that lane 0 and lane 1 see differently."""

    def __init__(self, first: Any, second: Any):
        self.both = (first, second)

    def __getitem__(self, lane: int) -> Any:
        return self.both[lane]


def one_for_all(value: Any) -> Any:
    """A pair whose halves agree, as one value; other pairs as they are."""
    if not isinstance(value, Lanes):
        return value
    a, b = value.both
    if isinstance(a, Memory) or a is b:
        return a
    if isinstance(a, Cells) and isinstance(b, Cells):
        same = a.valid == b.valid and np.array_equal(a.part, b.part)
        return a if same else value
    return a if isinstance(a, int | float) and a == b else value


def lane_part(tile: Any, split: int, stride: int | None, lane: int, undefined: Undefined) -> Cells:
    """What a shard hands to a lane: the box of the larger half from `lane * stride` on, with its valid extent."""
    if isinstance(tile, Memory):
        tile = Cells(tile.data, tile.data.shape)
    if split == 0:
        return tile
    axis = split - 1
    box = list(tile.data.shape)
    box[axis] = -(-box[axis] // 2)
    step = stride or box[axis]
    source = np.take(tile.data, range(lane * step, min(lane * step + box[axis], tile.data.shape[axis])), axis)
    result = undefined.fill(box, tile.data.dtype) if source.shape != tuple(box) else source
    if result is not source:
        result[tuple(map(slice, source.shape))] = source
    valid = list(tile.valid)
    valid[axis] = min(max(valid[axis] - lane * step, 0), step)
    return Cells(result, tuple(valid))


def joined_halves(pair: Lanes, split: int) -> Cells:
    """What a gather gives the cube: the boxes of the lanes side by side; lane 0's tile for split 0."""
    first, second = (Cells(v.data, v.data.shape) if isinstance(v, Memory) else v for v in pair.both)
    if split == 0:
        return first
    axis = split - 1
    valid = list(first.valid)
    valid[axis] += second.valid[axis]
    if second.valid[axis] and first.valid[axis] != first.data.shape[axis]:
        raise Diagnostic(
            f"the bands of the lanes do not abut: lane 0 holds {first.valid[axis]} of {first.data.shape[axis]} cells",
            code="gather-bands",
        )
    return Cells(np.concatenate([first.data, second.data], axis), tuple(valid))
