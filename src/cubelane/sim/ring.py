"""The rings between the cores: bounded, first in first out, with bands per lane (architecture.md, "The channel")."""

from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from cubelane.sim.primitives import Array, Fault, Poison

TO_LANES, TO_CUBE = "cube to lanes", "lanes to cube"


Held = tuple[int, Array, int, bool]
"""A slot that a consumer has taken and not given back: its number, the tile, the code, whether the tile is a copy."""


class Ring:
    """One direction of one pipe. `lanes` vector lanes are dispatched; the cube is producer or consumer.

    Producers and consumers are counted from 0; a side with the cube has one. A slot in use is the code it was pushed
    with and what each producer wrote. Tiles never change, so that a slot shares the memory of what was pushed.
    """

    def __init__(self, direction: str, pipe: int, slot_num: int, slot_size: int, lanes: int):
        self.direction, self.pipe, self.to_lanes = direction, pipe, direction == TO_LANES
        self.slot_num, self.slot_size, self.lanes = slot_num, slot_size, lanes
        producers, consumers = (1, lanes) if self.to_lanes else (lanes, 1)
        self.slots: dict[int, tuple[int, dict[int, Array]]] = {}
        self.pushed, self.popped, self.freed = [0] * producers, [0] * consumers, [0] * consumers
        self.full = self.released = 0
        """How many slots every producer has pushed, and every consumer has freed, so far."""
        self.held: list[deque[Held]] = [deque() for _ in range(consumers)]
        self.name = f"the ring {direction}" + (f" (pipe {pipe})" if pipe else "")
        """How messages call it."""

    # --- producer --------------------------------------------------------------------------------------------

    def has_room(self, producer: int) -> bool:
        """Whether the slot of the next push of this producer is free."""
        return self.pushed[producer] - self.released < self.slot_num

    def push(self, producer: int, tile: Array, code: int) -> int:
        """Writes the next slot; its number."""
        share = 2 if code and not self.to_lanes else 1
        if tile.nbytes * share > self.slot_size and (size := _bytes(tile)) * share > self.slot_size:
            raise Fault(f"the tile has {size} bytes, a slot of {self.name} {self.slot_size // share}", code="slot-size")
        number = self.pushed[producer]
        slot = self.slots.get(number)
        if slot is None:
            self.slots[number] = code, {producer: tile}
            self.slots.pop(number - self.slot_num, None)
        elif slot[0] != code:
            raise Fault(f"the lanes push with the codes {slot[0]} and {code} into one slot", code="protocol")
        else:
            slot[1][producer] = tile
        self.pushed[producer] = number + 1
        self.full = min(self.pushed)
        return number

    # --- consumer --------------------------------------------------------------------------------------------

    def has_tile(self, consumer: int) -> bool:
        """Whether the next slot for this consumer is full: every producer has pushed."""
        return self.full > self.popped[consumer]

    def pop(
        self,
        consumer: int,
        code: int,
        shape: tuple[int, ...],
        dtype: Any,
        valid: tuple[int, ...],
        poison: Poison,
        kept: bool,
    ) -> tuple[Array, int]:
        """The tile of the oldest full slot as this consumer sees it, and the slot's number.

        `kept`: the consumer may read the tile after it gave the slot back, and must find it spoiled.
        """
        number = self.popped[consumer]
        pushed, parts = self.slots[number]
        if pushed != code:
            raise Fault(f"pops with the code {code} what was pushed with the code {pushed}", code="protocol")
        if code and self.lanes != 2:
            raise Fault(f"the code {code} shares a tile between two lanes, but one lane runs", code="protocol")
        if self.to_lanes:
            tile = _band(parts[0], consumer, code, shape, dtype, valid, poison)
        else:
            tile = _joined(parts, code, shape, dtype)
        if kept:
            tile = tile.copy()
        self.popped[consumer] = number + 1
        self.held[consumer].append((number, tile, code, kept))
        return tile, number

    def free(self, consumer: int, tile: Array, code: int | None, poison: Poison) -> int:
        """Gives back the slot of a popped tile, which is poisoned if it is read again; the slot's number."""
        held = self.held[consumer]
        if not held or held[0][1] is not tile:
            self._refuse_free(held, tile)
        number, _, popped, kept = held[0]
        if code is not None and code != popped:
            raise Fault(f"frees with the code {code} what was popped with the code {popped}", code="protocol")
        held.popleft()
        if kept:
            poison.spoil(tile)
        self.freed[consumer] += 1
        self.released = min(self.freed)
        return number

    def _refuse_free(self, held: Iterable[Held], tile: Array) -> None:
        """A free that does not give back the slot popped first."""
        taken = list(held)
        mine = next((number for number, popped, _, _ in taken if popped is tile), None)
        if mine is None:
            raise Fault(f"frees a tile that holds no slot of {self.name}", code="protocol")
        raise Fault(
            f"frees slot {mine} of {self.name} while slot {taken[0][0]}, popped before, is still taken",
            "a ring gives its slots back in the order of the pops",
            code="protocol",
        )

    def leftovers(self) -> list[str]:
        """What is out of balance when all agents have ended."""
        result: list[str] = []
        pushes = max(self.pushed)
        for producer, count in enumerate(self.pushed):
            if count != pushes:
                result.append(f"lane {producer} pushed {count} tiles, the other lane {pushes}")
        for consumer, (popped, freed) in enumerate(zip(self.popped, self.freed, strict=True)):
            who = f"lane {consumer}" if self.to_lanes else "the cube"
            if popped != pushes:
                result.append(f"{who} popped {popped} of {pushes} tiles")
            elif freed != pushes:
                result.append(f"{who} freed {freed} of {pushes} slots")
        return result


def _bytes(tile: Array) -> int:
    """The size on chip; elements of four bits take half a byte there."""
    return (tile.size + 1) // 2 if tile.dtype in _FOUR_BITS else tile.nbytes


_FOUR_BITS = frozenset(np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn))


def _axis(code: int) -> int:
    return (code - 1) % 2


@lru_cache(maxsize=1024)
def _band_index(
    box: tuple[int, ...], lane: int, code: int, shape: tuple[int, ...], valid: tuple[int, ...]
) -> tuple[slice, ...]:
    """Where a lane's cells lie in a full tile: lane 1 starts at its own extent, one further for the odd codes.

    All of the lane's box if it is wholly valid, else its valid part.
    """
    if code == 0:
        if box != shape:
            raise Fault(f"pops a tile {list(shape)} from a slot that holds {list(box)}", code="protocol")
        return (slice(None),) * len(box)
    axis = _axis(code)
    half = tuple((e + 1) // 2 if a == axis else e for a, e in enumerate(box))
    if half != shape:
        raise Fault(f"pops a lane's box {list(shape)} of a tile {list(box)}; its half is {list(half)}", code="protocol")
    start = 0 if lane == 0 else valid[axis] + (1 if code > 2 else 0)
    extent = min(shape[axis], max(box[axis] - start, 0))
    if valid[axis] > extent:
        raise Fault(
            f"lane {lane} reads {valid[axis]} cells at {start} on axis {axis} of a tile with {box[axis]}",
            code="protocol",
        )
    return tuple(slice(start, start + v) if a == axis else slice(0, v) for a, v in enumerate(valid))


def _band(
    tile: Array,
    lane: int,
    code: int,
    shape: tuple[int, ...],
    dtype: Any,
    valid: tuple[int, ...],
    poison: Poison,
) -> Array:
    """A lane's part of a full tile: a view of it, or a box with undefined cells around the valid part."""
    if tile.dtype != dtype:
        raise Fault(f"pops {dtype} from a slot that holds {tile.dtype}", code="protocol")
    source = tile[_band_index(tile.shape, lane, code, shape, valid)]
    if code == 0 or valid == shape:
        return source
    result = poison.fill(shape, dtype)
    result[tuple(slice(0, v) for v in valid)] = source
    return result


def _joined(parts: dict[int, Array], code: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """What the cube sees: the half boxes side by side, or what lane 0 pushed for code 0."""
    first = parts[0]
    if first.dtype != dtype:
        raise Fault(f"pops {dtype} from a slot that holds {first.dtype}", code="protocol")
    if code > 2:
        raise Fault(f"the code {code} does not exist from the lanes to the cube", code="protocol")
    if code:
        if any(p.shape != first.shape or p.dtype != first.dtype for p in parts.values()):
            raise Fault("the lanes pushed tiles of different shapes", code="protocol")
        first = np.concatenate((parts[0], parts[1]), axis=_axis(code))
    if first.shape != shape:
        raise Fault(f"pops a tile {list(shape)} from a slot that holds {list(first.shape)}", code="protocol")
    return first if code else first.view()
