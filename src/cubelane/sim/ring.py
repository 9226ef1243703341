"""The rings between the cores: bounded, first in first out, with bands per lane (architecture.md, "The channel")."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from cubelane.sim.primitives import Array, Fault, Poison

TO_LANES, TO_CUBE = "cube to lanes", "lanes to cube"


@dataclass(slots=True)
class Slot:
    """One tile on its way: the parts its producers wrote, with which code."""

    parts: dict[int, Array]
    code: int


class Held(NamedTuple):
    """A slot that a consumer has taken and not given back."""

    number: int
    tile: Array
    code: int


class Ring:
    """One direction of one pipe. `lanes` vector lanes are dispatched; the cube is producer or consumer."""

    def __init__(self, direction: str, pipe: int, slot_num: int, slot_size: int, lanes: int):
        self.direction, self.pipe = direction, pipe
        self.slot_num, self.slot_size, self.lanes = slot_num, slot_size, lanes
        self.producers: Sequence[int] = (0,) if direction == TO_LANES else range(lanes)
        self.consumers: Sequence[int] = range(lanes) if direction == TO_LANES else (0,)
        self.slots: dict[int, Slot] = {}
        self.pushed = dict.fromkeys(self.producers, 0)
        self.popped = dict.fromkeys(self.consumers, 0)
        self.freed = dict.fromkeys(self.consumers, 0)
        self.full = self.released = 0
        """How many slots every producer has pushed, and every consumer has freed, so far."""
        self.held: dict[int, deque[Held]] = {c: deque() for c in self.consumers}
        self.name = f"the ring {direction}" + (f" (pipe {pipe})" if pipe else "")
        """How messages call it."""

    # --- producer --------------------------------------------------------------------------------------------

    def has_room(self, producer: int) -> bool:
        """Whether the slot of the next push of this producer is free."""
        return self.pushed[producer] - self.released < self.slot_num

    def push(self, producer: int, tile: Array, code: int) -> int:
        """Writes the next slot; its number."""
        share = 1 if self.direction == TO_LANES or code == 0 else 2
        if tile.nbytes * share > self.slot_size and (size := _bytes(tile)) * share > self.slot_size:
            raise Fault(f"the tile has {size} bytes, a slot of {self.name} {self.slot_size // share}", code="slot-size")
        number = self.pushed[producer]
        slot = self.slots.get(number)
        if slot is None:
            slot = self.slots[number] = Slot({}, code)
        elif slot.code != code:
            raise Fault(f"the lanes push with the codes {slot.code} and {code} into one slot", code="protocol")
        slot.parts[producer] = tile
        self.pushed[producer] = number + 1
        self.full = min(self.pushed.values())
        self.slots.pop(number - 2 * self.slot_num, None)
        return number

    # --- consumer --------------------------------------------------------------------------------------------

    def has_tile(self, consumer: int) -> bool:
        """Whether the next slot for this consumer is full: every producer has pushed."""
        return self.full > self.popped[consumer]

    def pop(
        self, consumer: int, code: int, shape: Sequence[int], dtype: Any, valid: Sequence[int], poison: Poison
    ) -> tuple[Array, int]:
        """The tile of the oldest full slot as this consumer sees it, and the slot's number."""
        number = self.popped[consumer]
        slot = self.slots[number]
        if slot.code != code:
            raise Fault(f"pops with the code {code} what was pushed with the code {slot.code}", code="protocol")
        if code and self.lanes != 2:
            raise Fault(f"the code {code} shares a tile between two lanes, but one lane runs", code="protocol")
        if self.direction == TO_LANES:
            tile = _band(slot.parts[0], consumer, code, shape, dtype, valid, poison)
        else:
            tile = _joined(slot.parts, code, shape, dtype, valid, poison)
        self.popped[consumer] = number + 1
        self.held[consumer].append(Held(number, tile, code))
        return tile, number

    def free(self, consumer: int, tile: Array, code: int | None, poison: Poison) -> int:
        """Gives back the slot of a popped tile, which is poisoned; the slot's number."""
        held = self.held[consumer]
        if not held or held[0].tile is not tile:
            self._refuse_free(held, tile)
        mine = held[0]
        if code is not None and code != mine.code:
            raise Fault(f"frees with the code {code} what was popped with the code {mine.code}", code="protocol")
        held.popleft()
        poison.spoil(tile)
        self.freed[consumer] += 1
        self.released = min(self.freed.values())
        return mine.number

    def _refuse_free(self, held: Iterable[Held], tile: Array) -> None:
        """A free that does not give back the slot popped first."""
        taken = list(held)
        mine = next((h for h in taken if h.tile is tile), None)
        if mine is None:
            raise Fault(f"frees a tile that holds no slot of {self.name}", code="protocol")
        raise Fault(
            f"frees slot {mine.number} of {self.name} while slot {taken[0].number}, popped before, is still taken",
            "a ring gives its slots back in the order of the pops",
            code="protocol",
        )

    def leftovers(self) -> list[str]:
        """What is out of balance when all agents have ended."""
        result: list[str] = []
        pushes = max(self.pushed.values())
        for producer, count in self.pushed.items():
            if count != pushes:
                result.append(f"lane {producer} pushed {count} tiles, the other lane {pushes}")
        for consumer in self.consumers:
            who = f"lane {consumer}" if self.direction == TO_LANES else "the cube"
            if self.popped[consumer] != pushes:
                result.append(f"{who} popped {self.popped[consumer]} of {pushes} tiles")
            elif self.freed[consumer] != pushes:
                result.append(f"{who} freed {self.freed[consumer]} of {pushes} slots")
        return result


def _bytes(tile: Array) -> int:
    """The size on chip; elements of four bits take half a byte there."""
    return (tile.size + 1) // 2 if tile.dtype in _FOUR_BITS else tile.nbytes


_FOUR_BITS = frozenset(np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn))


def _axis(code: int) -> int:
    return (code - 1) % 2


@lru_cache
def _half_box(shape: tuple[int, ...], code: int) -> tuple[int, tuple[int, ...]]:
    """The axis that a code shares out, and the box of one lane."""
    axis = _axis(code)
    return axis, tuple((e + 1) // 2 if a == axis else e for a, e in enumerate(shape))


def _band(
    tile: Array, lane: int, code: int, shape: Sequence[int], dtype: Any, valid: Sequence[int], poison: Poison
) -> Array:
    """A lane's part of a full tile: lane 1 starts at its own extent, one further for the odd codes."""
    if tile.dtype != dtype:
        raise Fault(f"pops {dtype} from a slot that holds {tile.dtype}", code="protocol")
    if code == 0:
        if tile.shape != tuple(shape):
            raise Fault(f"pops a tile {list(shape)} from a slot that holds {list(tile.shape)}", code="protocol")
        return tile.copy()
    axis, wanted = _half_box(tile.shape, code)
    if wanted != tuple(shape):
        raise Fault(
            f"pops a lane's box {list(shape)} of a tile {list(tile.shape)}; its half is {list(wanted)}", code="protocol"
        )
    start = 0 if lane == 0 else valid[axis] + (1 if code > 2 else 0)
    extent = min(shape[axis], max(tile.shape[axis] - start, 0))
    if valid[axis] > extent:
        raise Fault(
            f"lane {lane} reads {valid[axis]} cells at {start} on axis {axis} of a tile with {tile.shape[axis]}",
            code="protocol",
        )
    source = tile[start : start + extent] if axis == 0 else tile[:, start : start + extent]
    if valid == shape or tuple(valid) == tuple(shape):
        return source.copy()
    result = poison.fill(shape, dtype)
    inner = tuple(slice(0, v) for v in valid)
    result[inner] = source[inner]
    return result


def _joined(
    parts: dict[int, Array], code: int, shape: Sequence[int], dtype: Any, valid: Sequence[int], poison: Poison
) -> Array:
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
    if first.shape != tuple(shape):
        raise Fault(f"pops a tile {list(shape)} from a slot that holds {list(first.shape)}", code="protocol")
    return first.copy() if code == 0 else first
