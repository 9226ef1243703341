"""The rings between the cores: bounded, first in first out, with bands per lane (architecture.md, "The channel")."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from cubelane.sim.primitives import Array, Fault, Poison

TO_LANES, TO_CUBE = "cube to lanes", "lanes to cube"


Held = tuple[int, Array, int, bool]
"""A slot that a consumer has taken and not given back: its number, the tile, the code, whether the tile is a copy."""


class Slot:
    """Memory for one tile: the number of the tile it holds, its code, what each producer wrote, who has yet to act."""

    __slots__ = ("code", "number", "parts", "unfreed", "unpushed")

    def __init__(self, producers: int):
        self.number, self.code, self.unpushed, self.unfreed = -1, 0, 0, 0
        self.parts: list[Array] = [None] * producers


class Ring:
    """One direction of one pipe. `lanes` vector lanes are dispatched; the cube is producer or consumer.

    A side with the cube has one end, a side with the lanes one for each, or one for both if they run side by side
    (`paired`: their tiles have a lane axis in front). Tiles never change, so that a slot shares the memory of what was
    pushed.
    """

    def __init__(self, direction: str, pipe: int, slot_num: int, slot_size: int, lanes: int, paired: bool = False):
        self.direction, self.pipe, self.to_lanes = direction, pipe, direction == TO_LANES
        self.slot_num, self.slot_size, self.lanes, self.paired = slot_num, slot_size, lanes, paired
        self.full = self.released = 0
        """How many tiles every producer has pushed, and every consumer has freed, so far."""
        ends = 1 if paired else lanes
        producers, consumers = (1, ends) if self.to_lanes else (ends, 1)
        view = cube_view if not self.to_lanes else pair_view if paired else lane_view
        self.slots: list[Slot] = []
        """The slots that were used so far, at most `slot_num`."""
        self.outlets = [Outlet(self, i, producers, consumers) for i in range(producers)]
        self.inlets = [Inlet(self, i, view) for i in range(consumers)]
        self.name = f"the ring {direction}" + (f" (pipe {pipe})" if pipe else "")
        """How messages call it."""

    def leftovers(self) -> list[str]:
        """What is out of balance when all agents have ended."""
        result: list[str] = []
        pushes = max(outlet.pushed for outlet in self.outlets)
        for lane, outlet in enumerate(self.outlets):
            if outlet.pushed != pushes:
                result.append(f"lane {lane} pushed {outlet.pushed} tiles, the other lane {pushes}")
        for lane, inlet in enumerate(self.inlets):
            who = f"lane {lane}" if self.to_lanes else "the cube"
            if inlet.popped != pushes:
                result.append(f"{who} popped {inlet.popped} of {pushes} tiles")
            elif inlet.freed != pushes:
                result.append(f"{who} freed {inlet.freed} of {pushes} slots")
        return result


View = Callable[["Inlet", Slot, int, tuple[int, ...], Any, tuple[int, ...], Poison, int], Array]
"""What a consumer sees of a slot, after a check that both sides mean the same tile: code, shape, element type and valid
extents as its program states them, and the place that does."""


class Outlet:
    """The end of a ring where one producer puts tiles in."""

    def __init__(self, ring: Ring, number: int, producers: int, consumers: int):
        self.ring, self.number, self.pushed = ring, number, 0
        self.producers, self.consumers = producers, consumers

    def ready(self) -> bool:
        """Whether the slot of the next push is free."""
        return self.pushed - self.ring.released < self.ring.slot_num

    def push(self, tile: Array, code: int) -> int | None:
        """Writes the next slot; the number of its tile, None while the slot is taken."""
        ring, number = self.ring, self.pushed
        if number - ring.released >= ring.slot_num:
            return None
        part = tile[0] if ring.paired and not ring.to_lanes else tile
        share = 2 if code and not ring.to_lanes else 1
        if part.nbytes * share > ring.slot_size and (size := _bytes(part)) * share > ring.slot_size:
            raise Fault(f"the tile has {size} bytes, a slot of {ring.name} {ring.slot_size // share}", code="slot-size")
        place = number % ring.slot_num
        if place == len(ring.slots):
            ring.slots.append(Slot(self.producers))
        slot = ring.slots[place]
        if slot.number != number:
            slot.number, slot.code, slot.unpushed, slot.unfreed = number, code, self.producers, self.consumers
        elif slot.code != code:
            raise Fault(f"the lanes push with the codes {slot.code} and {code} into one slot", code="protocol")
        slot.parts[self.number] = tile
        self.pushed = number + 1
        slot.unpushed -= 1
        if not slot.unpushed:
            ring.full = self.pushed
        return number


class Inlet:
    """The end of a ring where one consumer takes tiles out, which sees a slot as `view` tells."""

    def __init__(self, ring: Ring, number: int, view: View):
        self.ring, self.number, self.popped, self.freed = ring, number, 0, 0
        self.view, self.held = view, deque[Held]()
        self.known: dict[int, tuple[Any, ...]] = {}
        """For a place of the program the pop that was checked last, and where its cells lie in the slot."""

    def ready(self) -> bool:
        """Whether the next slot for this consumer is full: every producer has pushed."""
        return self.ring.full > self.popped

    def pop(
        self,
        code: int,
        shape: tuple[int, ...],
        dtype: Any,
        valid: tuple[int, ...],
        kept: bool,
        poison: Poison,
        place: int,
    ) -> Array | None:
        """The tile of the oldest full slot as this consumer sees it, None while there is none.

        `kept`: the consumer may read the tile after it gave the slot back, and must find it spoiled.
        """
        number, ring = self.popped, self.ring
        if number >= ring.full:
            return None
        slot = ring.slots[number % ring.slot_num]
        tile = self.view(self, slot, code, shape, dtype, valid, poison, place)
        if kept:
            tile = tile.copy()
        self.popped = number + 1
        self.held.append((number, tile, code, kept))
        return tile

    def refuse(self, slot: Slot, code: int, dtype: Any) -> Fault:
        """Why the two sides do not mean the same code or element type."""
        if slot.code != code:
            text = f"pops with the code {code} what was pushed with the code {slot.code}"
        elif code and self.ring.lanes != 2:
            text = f"the code {code} shares a tile between two lanes, but one lane runs"
        else:
            text = f"pops {dtype} from a slot that holds {slot.parts[0].dtype}"
        return Fault(text, code="protocol")

    def free(self, tile: Array, code: int | None, poison: Poison) -> int:
        """Gives back the slot of a popped tile, which is poisoned if it is read again; the number of the tile."""
        if not self.held or self.held[0][1] is not tile:
            self._refuse_free(tile)
        number, _, popped, kept = self.held.popleft()
        if code is not None and code != popped:
            raise Fault(f"frees with the code {code} what was popped with the code {popped}", code="protocol")
        if kept:
            poison.spoil(tile)
        self.freed = number + 1
        slot = self.ring.slots[number % self.ring.slot_num]
        slot.unfreed -= 1
        if not slot.unfreed:
            self.ring.released = self.freed
        return number

    def _refuse_free(self, tile: Array) -> None:
        """A free that does not give back the slot popped first."""
        mine = next((number for number, popped, _, _ in self.held if popped is tile), None)
        if mine is None:
            raise Fault(f"frees a tile that holds no slot of {self.ring.name}", code="protocol")
        raise Fault(
            f"frees slot {mine} of {self.ring.name} while slot {self.held[0][0]}, popped before, is still taken",
            "a ring gives its slots back in the order of the pops",
            code="protocol",
        )


def lane_view(
    inlet: Inlet,
    slot: Slot,
    code: int,
    shape: tuple[int, ...],
    dtype: Any,
    valid: tuple[int, ...],
    poison: Poison,
    place: int,
) -> Array:
    """The part of one lane: a view, or a box with undefined cells around it."""
    whole = slot.parts[0]
    facts = code, slot.code, shape, valid, whole.shape, whole.dtype, dtype
    known = inlet.known.get(place)
    if known is not None and known[0] == facts:
        return whole[known[1]]
    if slot.code != code or whole.dtype != dtype or (code and inlet.ring.lanes != 2):
        raise inlet.refuse(slot, code, dtype)
    index = _band(whole.shape, inlet.number, code, shape, valid)
    if code == 0 or valid == shape:
        inlet.known[place] = facts, index
        return whole[index]
    result = poison.fill(shape, dtype)
    result[tuple(slice(0, v) for v in valid)] = whole[index]
    return result


def pair_view(
    inlet: Inlet,
    slot: Slot,
    code: int,
    shape: tuple[int, ...],
    dtype: Any,
    valid: tuple[int, ...],
    poison: Poison,
    place: int,
) -> Array:
    """The parts of both lanes, which are wholly valid, with the lane axis in front."""
    whole = slot.parts[0]
    if slot.code != code or whole.dtype != dtype or (code and inlet.ring.lanes != 2):
        raise inlet.refuse(slot, code, dtype)
    if code == 1 and whole.shape == (2 * shape[0], shape[1]):
        return whole.reshape(2, *shape)
    if code == 2 and whole.shape == (shape[0], 2 * shape[1]):
        return whole.reshape(shape[0], 2, shape[1]).swapaxes(0, 1)
    bands = [_band(whole.shape, lane, code, shape, valid) for lane in (0, 1)]
    return np.stack([whole[band] for band in bands])


def cube_view(
    inlet: Inlet,
    slot: Slot,
    code: int,
    shape: tuple[int, ...],
    dtype: Any,
    valid: tuple[int, ...],
    poison: Poison,
    place: int,
) -> Array:
    """What the lanes pushed: their half boxes side by side, or what lane 0 pushed for code 0."""
    if slot.code != code or slot.parts[0].dtype != dtype or (code and inlet.ring.lanes != 2):
        raise inlet.refuse(slot, code, dtype)
    if code > 2:
        raise Fault(f"the code {code} does not exist from the lanes to the cube", code="protocol")
    parts: Sequence[Array] = slot.parts[0] if inlet.ring.paired else slot.parts
    if code == 0:
        tile = parts[0].view()
    elif parts[0].shape != parts[1].shape or parts[0].dtype != parts[1].dtype:
        raise Fault("the lanes pushed tiles of different shapes", code="protocol")
    elif code == 1 and inlet.ring.paired:
        tile = slot.parts[0].reshape(-1, parts[0].shape[1])
    else:
        tile = np.concatenate((parts[0], parts[1]), axis=_axis(code))
    if tile.shape != shape:
        raise Fault(f"pops a tile {list(shape)} from a slot that holds {list(tile.shape)}", code="protocol")
    return tile


def _bytes(tile: Array) -> int:
    """The size on chip; elements of four bits take half a byte there."""
    return (tile.size + 1) // 2 if tile.dtype in _FOUR_BITS else tile.nbytes


_FOUR_BITS = frozenset(np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn))


def _axis(code: int) -> int:
    return (code - 1) % 2


def _band(
    box: tuple[int, ...], lane: int, code: int, shape: tuple[int, ...], valid: tuple[int, ...]
) -> tuple[slice, ...]:
    """Where the valid cells of a lane lie in a full tile (for code 0 all cells).

    Lane 1 starts at its own extent, one further for the odd codes 3 and 4.
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
