"""Global memory as the group sees it: bounds, what was written, who touched which window when, races."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cubelane.sim.clock import History
from cubelane.sim.primitives import Array, Fault


class Access(NamedTuple):
    """One read or write of a window by one agent."""

    agent: int
    place: int
    """Where in the emitted function, as an offset into its code."""
    when: int
    """Its entry in the log of the launch."""
    view: Array
    """The window itself, as a view of the tensor."""
    writes: bool
    atomic: bool = False
    written: Any = None
    """The bytes a write left, to tell a harmless double write from a race."""


@dataclass(frozen=True)
class Race:
    """Two unordered accesses to overlapping cells, at least one a write."""

    first: Access
    second: Access

    @property
    def harmless(self) -> bool:
        """Both wrote the same bytes to the same window."""
        a, b = self.first, self.second
        return a.writes and b.writes and a.written is not None and a.written == b.written and _same_window(a, b)


def _same_window(a: Access, b: Access) -> bool:
    return a.view.shape == b.view.shape and a.view.__array_interface__["data"] == b.view.__array_interface__["data"]


_IMAGE_LIMIT = 1 << 18
"""Elements of a tensor up to which it is converted as a whole, which costs less than a launch does anyway."""


def _is_tensor(argument: Any) -> bool:
    return isinstance(argument, np.ndarray)


def _base(array: Array) -> int:
    owner: Any = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return id(owner)  # pyright: ignore[reportUnknownArgumentType]


@dataclass
class Memory:
    """The tensors of one run.

    `undefined` holds, for a tensor that came without content, which of its cells were written so far.
    """

    undefined: dict[int, Array] = field(default_factory=dict[int, Array])
    log: list[Access] = field(default_factory=list[Access])
    keep: list[Array] = field(default_factory=list[Array])
    constants: dict[int, Array] = field(default_factory=dict[int, Array])
    """The tensors (by id) that have content and that nobody writes during a launch: windows of them need no copy and
    no entry in the log of accesses."""
    images: dict[int, Array] = field(default_factory=dict[int, Array])
    """Constant tensors (by id) in the element type in which products compute with them."""

    def begin_launch(self, calls: Sequence[tuple[Sequence[Any], Collection[int]]]) -> None:
        """Forgets the accesses, which come before all that follow. `calls`: arguments, and which may be written."""
        self.log.clear()
        self.images.clear()
        written: set[int] = set()
        read: dict[int, Array] = {}
        for arguments, writes in calls:
            for position, argument in enumerate(arguments):
                if not _is_tensor(argument):
                    continue
                if position in writes:
                    written.add(_base(argument))
                elif id(argument) not in self.undefined:
                    read[id(argument)] = argument
        self.constants = {key: a for key, a in read.items() if _base(a) not in written}

    def image(self, tensor: Array, wide: Any) -> Array:
        """A constant tensor in a wider element type, or as it is if that would take much memory."""
        image = self.images.get(id(tensor))
        if image is None:
            image = self.images[id(tensor)] = tensor.astype(wide) if tensor.size <= _IMAGE_LIMIT else tensor
        return image

    def declare_undefined(self, tensor: Array) -> None:
        """Nothing of this tensor means anything until it is written."""
        self.undefined[id(tensor)] = np.zeros(tensor.shape, np.bool_)
        self.keep.append(tensor)

    def window(self, tensor: Array, offsets: Sequence[int], extents: Sequence[int]) -> tuple[slice, ...]:
        """The index of a window; a Fault unless all of it lies in the tensor."""
        lead = tensor.ndim - len(extents)
        whole = extents if lead == 0 else (1,) * lead + tuple(extents)
        index: list[slice] = []
        for limit, offset, extent in zip(tensor.shape, offsets, whole, strict=True):
            end = offset + extent
            if (offset < 0 or end > limit) and extent:
                raise Fault(
                    f"{extent} elements at {offset} on axis {len(index)} do not lie in a tensor of {limit}",
                    code="out-of-bounds",
                )
            index.append(slice(offset, end))
        return tuple(index)

    def is_defined(self, tensor: Array, index: tuple[slice, ...]) -> bool:
        """Whether every cell of a window holds something."""
        written = self.undefined.get(id(tensor))
        return written is None or bool(written[index].all())

    def races(self, history: Callable[[], History]) -> list[Race]:
        """All races, one for each pair of places; `history` is asked for only if two agents touch the same cells."""
        order: History | None = None
        found: dict[tuple[int, int, int, int], Race] = {}
        tensors: dict[int, list[Access]] = {}
        for access in self.log:
            tensors.setdefault(_base(access.view), []).append(access)
        for accesses in tensors.values():
            writes = [a for a in accesses if a.writes]
            if not writes or len({a.agent for a in accesses}) < 2:
                continue
            for write in writes:
                for other in accesses:
                    key = (write.agent, write.place, other.agent, other.place)
                    if key in found or not _overlap(write, other):
                        continue
                    order = order or history()
                    if not _ordered(order, write, other) and not _wrote_the_same(write, other, writes):
                        mirrored = (other.agent, other.place, write.agent, write.place)
                        if mirrored not in found:
                            found[key] = Race(write, other)
        return list(found.values())


def _wrote_the_same(write: Access, read: Access, writes: Sequence[Access]) -> bool:
    """Whether the reader wrote the same bytes to the same window before, so that the other's write changes nothing."""
    return not read.writes and any(
        own.agent == read.agent and own.when < read.when and Race(write, own).harmless for own in writes
    )


def _overlap(write: Access, other: Access) -> bool:
    """Whether two agents touch the same cells."""
    if write.agent == other.agent or (write.atomic and other.atomic):
        return False
    return np.may_share_memory(write.view, other.view) and np.shares_memory(write.view, other.view)


def _ordered(history: History, a: Access, b: Access) -> bool:
    first, second = (a, b) if a.when < b.when else (b, a)
    return history.before(first.agent, first.when, second.when)
