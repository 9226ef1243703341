"""One agent of the core group: the words of an emitted program that touch rings or global memory."""

import operator
import sys
from collections.abc import Sequence
from typing import Any, Protocol, cast
from weakref import proxy

import numpy as np

from cubelane.sim.clock import Entry
from cubelane.sim.memory import Access, Memory
from cubelane.sim.primitives import PURE, Array, Fault, Poison, is_float
from cubelane.sim.ring import TO_CUBE, TO_LANES, Inlet, Outlet, Ring

ORDERINGS = {name: getattr(operator, name) for name in ("eq", "ne", "gt", "ge", "lt", "le")}

_frame = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Board(Protocol):
    """What the agents of a core group share, as one of them sees it."""

    log: list[Entry]
    memory: Memory
    poison: Poison
    preempts: bool
    lanes: int

    def open_ring(self, direction: str, pipe: int, slot_num: int, slot_size: int) -> Ring:
        """Opens a ring, or checks that the other core opens it alike."""
        ...

    def stored(self, core: "Core", tensor: Array, index: tuple[slice, ...], place: int) -> None:
        """Takes note of a store."""
        ...

    def undefined_read(self, core: "Core", place: int) -> None:
        """Takes note of a read of what nobody wrote."""
        ...

    def undefined_store(self, core: "Core", tensor: Array, index: tuple[slice, ...], cells: Array, place: int) -> None:
        """Takes note of a store of undefined cells."""
        ...


WORDS = tuple(
    """window put read write gather_rows poison box push pop free open_pipe notify wait_for defer_wait
    lane block blocks""".split()
)
"""What an emitted program asks of its core; every other name it uses is in `primitives.PURE`."""


class Core:
    """The cube core (`lane` None) or a vector lane, with the words of an emitted program."""

    def __init__(self, group: Board, agent: int, name: str, lane: int | None):
        self.group = cast(Board, proxy(group))  # a strong reference would make a cycle, and keep all memory of the run
        self.agent, self.name, self.lane_number = agent, name, lane
        self.waiting: Outlet | Inlet | None = None
        """The end of a ring that this core waits at, and the place of its program where it does."""
        self.waits_at = 0
        self.me = lane or 0
        self.entries, self.log = group.log, group.log.append
        self.callers = 1
        """How many frames above one of the words the emitted program is."""
        self.outlets: dict[int | None, Outlet] = {}
        self.inlets: dict[int | None, Inlet] = {}
        """The ends of rings open on this core, by pipe."""
        self.preempts, self.stopped = group.preempts, False
        """Whether the agent may be stopped at a ring operation, and whether it just was."""
        self.memory, self.poison_value = group.memory, group.poison

    def words(self) -> dict[str, Any]:
        """What this core offers an emitted program."""
        return {word: getattr(self, word) for word in WORDS}

    # --- where am I ------------------------------------------------------------------------------------------

    def lane(self) -> int:
        """The lane this program runs on."""
        return self.me

    def block(self) -> int:
        """The number of this core group."""
        return 0

    def blocks(self) -> int:
        """How many core groups run."""
        return 1

    # --- tiles -----------------------------------------------------------------------------------------------

    def poison(self, shape: Sequence[int], dtype: Any) -> Array:
        """A tile of undefined cells."""
        return self.poison_value.fill(shape, dtype)

    def box(self, part: Array, shape: Sequence[int], dtype: Any) -> Array:
        """A tile with its valid part at the origin, undefined elsewhere."""
        if part.shape == tuple(shape):
            return part
        result = self.poison_value.fill(shape, dtype)
        result[tuple(slice(0, e) for e in part.shape)] = part
        return result

    # --- global memory ---------------------------------------------------------------------------------------

    def _touch(self, view: Array, writes: bool, atomic: bool = False, place: int = 0) -> None:
        written = hash(view.tobytes()) if writes and not atomic and self.group.lanes == 2 else None
        when = len(self.entries)
        self.log((self.agent, "store" if writes else "load", "", None, place))
        self.memory.log.append(Access(self.agent, place, when, view, writes, atomic, written))

    def window(
        self,
        tensor: Array,
        offsets: Sequence[int],
        shape: Sequence[int],
        valid: Sequence[int] | None,
        wide: Any = None,
    ) -> Array:
        """The cells of a window: a copy, or a view where nobody writes; cells outside `valid` are undefined.

        They may come in the element type `wide`, which holds all their values.
        """
        place = _frame(self.callers).f_lasti
        source = (self.memory.constants if wide is None else self.memory.images).get(id(tensor))
        if source is not None and valid is None and len(shape) == 2 == source.ndim:
            (row, column), (rows, columns), (height, width) = offsets, shape, source.shape
            if 0 <= row <= height - rows and 0 <= column <= width - columns:
                self.log((self.agent, "load", "", None, place))
                return source[row : row + rows, column : column + columns]
        extents = valid or shape
        index = self.memory.window(tensor, offsets, extents)
        if self.memory.undefined and not self.memory.is_defined(tensor, index):
            self.group.undefined_read(self, place)
        if id(tensor) in self.memory.constants:
            self.log((self.agent, "load", "", None, place))
            cells = tensor if wide is None else self.memory.image(tensor, wide)
            part = cells[index].reshape(extents)
        else:
            self._touch(tensor[index], False, place=place)
            part = tensor[index].reshape(extents).copy()
        return part if part.shape == tuple(shape) else self.box(part, shape, part.dtype)

    def put(
        self, tensor: Array, offsets: Sequence[int], tile: Array, shapes: Sequence[int] | None, atomic: int | None
    ) -> Array:
        """Writes a tile to a window, converted to the tensor's element type; `atomic` 1 adds."""
        if 0 in tile.shape:
            return tensor
        index = self.memory.window(tensor, offsets, self._store_extents(tensor, tile, shapes))
        view, place = tensor[index], _frame(self.callers).f_lasti
        data = tile.reshape(view.shape)
        if is_float(data.dtype) and (undefined := np.isnan(data)).any():
            self.group.undefined_store(self, tensor, index, undefined, place)
        if atomic:
            view += data.astype(tensor.dtype)
        else:
            view[...] = data
        if (written := self.memory.undefined.get(id(tensor))) is not None:
            written[index] = True
        self._touch(view, True, bool(atomic), place)
        self.group.stored(self, tensor, index, place)
        return tensor

    @staticmethod
    def _store_extents(tensor: Array, tile: Array, shapes: Sequence[int] | None) -> Sequence[int]:
        if shapes and int(np.prod(shapes)) == tile.size:
            return shapes
        if tile.ndim <= tensor.ndim:
            return tile.shape
        lead = tile.ndim - tensor.ndim
        return tile.shape[lead:]

    def read(self, tensor: Array, position: Sequence[int]) -> Any:
        """One element as a Python number."""
        index = self.memory.window(tensor, position, (1,) * len(position))
        place = _frame(self.callers).f_lasti
        if not self.memory.is_defined(tensor, index):
            self.group.undefined_read(self, place)
        self._touch(tensor[index], False, place=place)
        return tensor[index].item()

    def write(self, tensor: Array, position: Sequence[int], scalar: Any) -> Array:
        """Writes one element."""
        index = self.memory.window(tensor, position, (1,) * len(position))
        tensor[index] = scalar
        if (written := self.memory.undefined.get(id(tensor))) is not None:
            written[index] = True
        self._touch(tensor[index], True, place=_frame(self.callers).f_lasti)
        return tensor

    def gather_rows(
        self,
        target: Array,
        tensor: Array,
        offsets: Sequence[int],
        source_offsets: Sequence[int],
        sizes: Sequence[int],
    ) -> Array:
        """A copy of the target tile with a window of global memory in its cells at `offsets`."""
        index = self.memory.window(tensor, source_offsets, sizes)
        place = _frame(self.callers).f_lasti
        if not self.memory.is_defined(tensor, index):
            self.group.undefined_read(self, place)
        self._touch(tensor[index], False, place=place)
        return PURE["paste"](target, tensor[index].reshape(sizes), offsets)

    # --- signals ---------------------------------------------------------------------------------------------

    def notify(self, signal: Array, peer: int, position: Sequence[int], value: int, op: int) -> None:
        """Tells a peer, whose memory is not simulated: an event of the log."""
        self.memory.window(signal, position, (1,) * len(position))
        what = f"peer {peer}: {list(position)} {'=' if op else '+='} {value}"
        self.log((self.agent, "notify", what, None, _frame(self.callers).f_lasti))

    def wait_for(self, signal: Array, position: Sequence[int], value: int, comparison: str) -> None:
        """Goes on if the signal of this device fulfils the condition; nobody else could change it."""
        have = self.read(signal, position)
        if not ORDERINGS[comparison](have, value):
            raise Fault(
                f"waits until the signal at {list(position)} is {comparison} {value}, it is {have}",
                "one device is simulated, and no peer sends a signal here",
                code="signal",
            )

    def defer_wait(self, signal: Array, position: Sequence[int], value: int, comparison: str) -> None:
        """Registers a condition for the next kernel: an event of the log."""
        self.memory.window(signal, position, (1,) * len(position))
        self.log((self.agent, "defer", f"{list(position)} {comparison} {value}", None, _frame(self.callers).f_lasti))

    # --- rings -----------------------------------------------------------------------------------------------

    def open_pipe(self, mask: int, slot_size: int, slot_num: int | None, pipe: int | None) -> None:
        """Opens this core's end of the rings that `mask` names (1 to the lanes, 2 to the cube)."""
        number = slot_num or (4 if mask == 3 else 8)
        for bit, direction in ((1, TO_LANES), (2, TO_CUBE)):
            if mask & bit:
                ring = self.group.open_ring(direction, pipe or 0, number, slot_size)
                produces = (direction == TO_LANES) == (self.lane_number is None)
                for key in (pipe,) if pipe else (None, 0):
                    if produces:
                        self.outlets[key] = ring.outlets[self.me]
                    else:
                        self.inlets[key] = ring.inlets[self.me]

    def _closed(self, producing: bool, pipe: int | None) -> Fault:
        direction = TO_LANES if producing == (self.lane_number is None) else TO_CUBE
        return Fault(f"the ring {direction} (pipe {pipe or 0}) is not open on this core", code="protocol")

    def _stops(self) -> bool:
        """Whether an agent is stopped before a ring operation: once, under a random schedule."""
        self.stopped = not self.stopped
        return self.stopped

    def _wait(self, end: Outlet | Inlet, place: int) -> None:
        self.waiting, self.waits_at, self.stopped = end, place, self.preempts
        self.log((self.agent, "wait", end.ring.name, None, place))

    def push(self, tile: Array, code: int, stride: int | None, pipe: int | None, valid: Sequence[int]) -> bool:
        """Writes the tile to the next slot; False while that is taken."""
        outlet, place = self.outlets.get(pipe), _frame(self.callers).f_lasti
        if outlet is None:
            raise self._closed(True, pipe)
        if self.preempts and self._stops():
            return False
        number = outlet.push(tile, code)
        if number is None:
            self._wait(outlet, place)
            return False
        self.log((self.agent, "push", outlet.ring.name, number, place))
        return True

    def pop(
        self,
        code: int,
        stride: int | None,
        pipe: int | None,
        shape: tuple[int, ...],
        dtype: Any,
        valid: tuple[int, ...],
        kept: bool = False,
    ) -> Array | None:
        """The tile of the oldest full slot; None while there is none. `kept`: it may be read after its free."""
        inlet, place = self.inlets.get(pipe), _frame(self.callers).f_lasti
        if inlet is None:
            raise self._closed(False, pipe)
        if self.preempts and self._stops():
            return None
        tile = inlet.pop(code, shape, dtype, valid, kept, self.poison_value, place)
        if tile is None:
            self._wait(inlet, place)
        else:
            self.log((self.agent, "pop", inlet.ring.name, inlet.popped - 1, place))
        return tile

    def free(self, tile: Array, code: int | None, pipe: int | None) -> None:
        """Gives the slot of a popped tile back."""
        inlet = self.inlets.get(pipe)
        if inlet is None:
            raise self._closed(False, pipe)
        number = inlet.free(tile, code, self.poison_value)
        self.log((self.agent, "free", inlet.ring.name, number, _frame(self.callers).f_lasti))
