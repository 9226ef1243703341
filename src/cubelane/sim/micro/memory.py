"""Byte-addressed memories: bounds, what is defined, who touched which byte when (spec/pto.md 11.2).

Every byte remembers its last writer and the last read of each agent, as (agent, its time, place). An access that does
not come after them in the vector clocks is a race. Undefined bytes travel with copies; they are reported where their
value is used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cubelane.sim.micro.elements import Array

NOBODY = 0
"""Agent 0 stands for what happened before the launch."""


class Fault(Exception):
    """A mistake of the program that is running; becomes a Diagnostic at its op."""

    def __init__(self, message: str, *notes: str, code: str):
        super().__init__(message)
        self.notes, self.code = notes, code


@dataclass(frozen=True)
class Region:
    """Bytes: runs of `length` starting at start + sum of index * stride over `dims` (count, stride)."""

    start: int
    length: int
    dims: tuple[tuple[int, int], ...] = ()

    @property
    def first(self) -> int:
        """The lowest byte."""
        return self.start + sum(min(0, (count - 1) * stride) for count, stride in self.dims)

    @property
    def end(self) -> int:
        """One past the highest byte."""
        return self.start + sum(max(0, (count - 1) * stride) for count, stride in self.dims) + self.length

    @property
    def is_empty(self) -> bool:
        """Whether it holds no byte."""
        return self.length <= 0 or any(count <= 0 for count, _ in self.dims)

    def moved(self, offset: int) -> "Region":
        """The same shape elsewhere."""
        return Region(self.start + offset, self.length, self.dims)


@dataclass(frozen=True)
class Who:
    """The agent of an access, what it knows, and the op."""

    agent: int
    known: Array
    """For each agent the latest event that happened before."""
    place: int


@dataclass(frozen=True)
class Clash:
    """Two unordered accesses."""

    memory: "Memory"
    offset: int
    first: tuple[int, int]
    """Agent and place of the access before."""
    first_writes: bool
    second: Who
    second_writes: bool


def _view(array: Array, region: Region) -> Array:
    if not region.dims:
        return array[region.start : region.start + region.length]
    size = array.itemsize
    shape = (*(count for count, _ in region.dims), region.length)
    strides = (*(stride * size for _, stride in region.dims), size)
    return as_strided(array[region.start :], shape, strides)


class Memory:
    """One memory of one core, or one array in global memory."""

    def __init__(self, name: str, data: Array, defined: bool, report: Callable[[Clash], None]):
        size = data.size
        self.name, self.data, self.size, self.report = name, data, size, report
        self.defined: Array | None = None if defined else np.zeros(size, np.bool_)
        self.writer = np.zeros(size, np.uint16)
        self.write_time = np.zeros(size, np.int32)
        self.write_place = np.zeros(size, np.int32)
        self.reads: dict[int, tuple[Array, Array]] = {}
        self.base = 0

    def check(self, region: Region) -> None:
        """A Fault unless all of the region lies in the memory."""
        if region.first < 0 or region.end > self.size:
            raise Fault(
                f"bytes {region.first} to {region.end} do not lie in {self.name}, which has {self.size} bytes",
                code="out-of-bounds",
            )

    def read(self, region: Region, who: Who) -> tuple[Array, Array | None]:
        """The bytes of a region, in its shape, and which are defined (None: all)."""
        self.check(region)
        if region.is_empty:
            return np.zeros(0, np.uint8), None
        self._after_write(region, who, False)
        times, places = self._reads_of(who.agent)
        _view(times, region)[...] = who.known[who.agent]
        _view(places, region)[...] = who.place
        defined = None if self.defined is None else _view(self.defined, region)
        if defined is not None:
            defined = None if defined.all() else defined.copy()
        return _view(self.data, region).copy(), defined

    def write(self, region: Region, value: Array, who: Who, defined: Array | None = None) -> None:
        """Writes bytes; `value` has as many as the region, in its order."""
        self.check(region)
        if region.is_empty:
            return
        self.note_write(region, who)
        target = _view(self.data, region)
        target[...] = value.reshape(target.shape)
        if self.defined is not None:
            _view(self.defined, region)[...] = True if defined is None else defined.reshape(target.shape)

    def note_write(self, region: Region, who: Who) -> None:
        """The order part of a write."""
        self._after_write(region, who, True)
        for agent, (times, places) in self.reads.items():
            if agent != who.agent:
                late = _view(times, region) > who.known[agent]
                if late.any():
                    self._clash(region, late, (agent, int(_view(places, region)[late][0])), False, who, True)
        _view(self.writer, region)[...] = who.agent
        _view(self.write_time, region)[...] = who.known[who.agent]
        _view(self.write_place, region)[...] = who.place

    def _after_write(self, region: Region, who: Who, writes: bool) -> None:
        writer = _view(self.writer, region)
        late = _view(self.write_time, region) > who.known[writer]
        if late.any():
            first = (int(writer[late][0]), int(_view(self.write_place, region)[late][0]))
            self._clash(region, late, first, True, who, writes)

    def _clash(
        self, region: Region, late: Array, first: tuple[int, int], first_writes: bool, who: Who, writes: bool
    ) -> None:
        index = np.argwhere(late)[0]
        offset = region.start + int(index[-1])
        offset += sum(int(i) * stride for i, (_, stride) in zip(index, region.dims, strict=False))
        self.report(Clash(self, offset, first, first_writes, who, writes))

    def _reads_of(self, agent: int) -> tuple[Array, Array]:
        found = self.reads.get(agent)
        if found is None:
            found = self.reads[agent] = (np.zeros(self.size, np.int32), np.zeros(self.size, np.int32))
        return found


class GlobalMemory:
    """All arrays of a launch in one address space, with gaps between them that belong to nobody."""

    GAP = 1 << 20
    FIRST = 1 << 32

    def __init__(self, report: Callable[[Clash], None]):
        self.report = report
        self.segments: list[Memory] = []
        self._known: dict[int, Memory] = {}
        self.copies: list[tuple[Array, Array]] = []

    def place(self, name: str, array: Array) -> int:
        """The address of an array; the same array keeps its address."""
        key = id(array)
        if key not in self._known:
            flat = array if array.flags.c_contiguous else np.ascontiguousarray(array)
            if flat is not array:
                self.copies.append((array, flat))
            data: Any = flat.reshape(-1).view(np.uint8)
            segment = Memory(f"argument '{name}'", data, True, self.report)
            last = self.segments[-1] if self.segments else None
            segment.base = self.FIRST if last is None else -(-(last.base + last.size + self.GAP) // 512) * 512
            self.segments.append(segment)
            self._known[key] = segment
        return self._known[key].base

    def at(self, region: Region) -> tuple[Memory, Region]:
        """The array a region lies in."""
        for segment in self.segments:
            if segment.base - self.GAP // 2 <= region.start < segment.base + segment.size + self.GAP // 2:
                return segment, region.moved(-segment.base)
        raise Fault(f"address {region.start} lies in no argument of the launch", code="out-of-bounds")

    def write_back(self) -> None:
        """Copies results into arguments that were not contiguous."""
        for array, flat in self.copies:
            array[...] = flat
