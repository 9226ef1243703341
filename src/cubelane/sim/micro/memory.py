"""Byte-addressed memories: bounds, what is defined, who touched which byte when (spec/pto.md 11.2).

Every byte remembers its last writer and the last read of each agent, as (agent, its time, place). An access that does
not come after them in the vector clocks is a race. Undefined bytes travel with copies; they are reported where their
value is used.

What a byte remembers is kept once for a grain of bytes. Grains begin with 32 bytes, the unit of nearly all accesses;
an access that begins or ends inside a grain makes all grains of its memory smaller, so no two accesses ever share
one unless they share a byte.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cubelane.sim.micro.elements import Array, DType

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


class Who(NamedTuple):
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


class Fresh:
    """The bytes of a memory that a vector scope stored to since its last memory barrier."""

    __slots__ = ("marks", "spans")

    def __init__(self, size: int):
        self.marks, self.spans = bytearray(size), list[tuple[int, int]]()

    def holds(self, start: int, end: int) -> bool:
        """Whether one of the bytes was stored."""
        return self.marks.find(1, start, end) >= 0

    def add(self, start: int, end: int) -> None:
        """Bytes are stored."""
        self.marks[start:end] = b"\1" * (end - start)
        self.spans.append((start, end))

    def clear(self) -> None:
        """A barrier, or the end of the scope."""
        for start, end in self.spans:
            self.marks[start:end] = bytes(end - start)
        self.spans.clear()


GRAIN = 32
Touch = tuple[int, int, int]
"""One access of a vector scope: first byte, bytes, place."""


class Memory:
    """One memory of one core, or one array in global memory."""

    def __init__(self, name: str, data: Array, defined: bool, report: Callable[[Clash], None]):
        size = data.size
        self.name, self.data, self.size, self.report = name, data, size, report
        self.known = bytearray(0 if defined else size)
        """For each byte 1 when somebody wrote it; empty when all are defined from the start."""
        self.defined: Array | None = None if defined else np.frombuffer(self.known, np.bool_)
        self.grain = GRAIN
        grains = -(-size // GRAIN)
        self.writer = np.zeros(grains, np.uint16)
        self.write_time = np.zeros(grains, np.int32)
        self.write_place = np.zeros(grains, np.int32)
        self.reads: dict[int, tuple[Array, Array]] = {}
        self.base = 0
        self._typed: dict[DType, Array] = {}

    def typed(self, kind: DType) -> Array:
        """The bytes as elements of a type, from byte 0 on."""
        found = self._typed.get(kind)
        if found is None:
            whole = self.size // kind.itemsize * kind.itemsize
            found = self._typed[kind] = self.data[:whole].view(kind)
        return found

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
        grains = self._grains(region)
        self._after_write(grains, who, False)
        times, places = self._reads_of(who.agent)
        _view(times, grains)[...] = who.known[who.agent]
        _view(places, grains)[...] = who.place
        defined = None if self.defined is None else _view(self.defined, region)
        if defined is not None:
            defined = None if defined.all() else defined.copy()
        return _view(self.data, region).copy(), defined

    def write(self, region: Region, value: Array, who: Who, defined: Array | None = None) -> None:
        """Writes bytes; `value` has as many as the region, in its order."""
        self.check(region)
        if region.is_empty:
            return
        self._note_write(self._grains(region), who)
        target = _view(self.data, region)
        target[...] = value.reshape(target.shape)
        if self.defined is not None:
            _view(self.defined, region)[...] = True if defined is None else defined.reshape(target.shape)

    def touch(self, reads: Sequence[Touch], writes: Sequence[Touch], who: Who) -> None:
        """The order part of many contiguous accesses of one agent at one time, as those of a vector scope."""
        for touches, writing in ((reads, False), (writes, True)):
            sizes: dict[int, list[Touch]] = {}
            for touched in touches:
                sizes.setdefault(touched[1], []).append(touched)
            for size, same in sizes.items():
                self._touch(np.array(same), size, who, writing)

    def _touch(self, touches: Array, size: int, who: Who, writing: bool) -> None:
        starts, places = touches[:, 0], touches[:, 2]
        self._refine(int(np.bitwise_or.reduce(starts)) | size)
        grains = (starts // self.grain)[:, None] + np.arange(size // self.grain)
        late = self.write_time[grains] > who.known[self.writer[grains]]
        if late.any():
            for row, column in _first_of_rows(late):
                grain, place = int(grains[row, column]), int(places[row])
                first = (int(self.writer[grain]), int(self.write_place[grain]))
                self._clash(grain, first, True, who._replace(place=place), writing)
        if not writing:
            times, where = self._reads_of(who.agent)
            times[grains], where[grains] = who.known[who.agent], places[:, None]
            return
        for agent, (times, where) in self.reads.items():
            late = times[grains] > who.known[agent] if agent != who.agent else None
            if late is not None and late.any():
                for row, column in _first_of_rows(late):
                    grain, place = int(grains[row, column]), int(places[row])
                    self._clash(grain, (agent, int(where[grain])), False, who._replace(place=place), True)
        self.writer[grains], self.write_time[grains] = who.agent, who.known[who.agent]
        self.write_place[grains] = places[:, None]

    def _grains(self, region: Region) -> Region:
        """The region in grains; they are made small enough for it."""
        bits = region.start | region.length
        for _, stride in region.dims:
            bits |= stride
        self._refine(bits)
        grain = self.grain
        if grain == 1:
            return region
        dims = tuple((count, stride // grain) for count, stride in region.dims)
        return Region(region.start // grain, region.length // grain, dims)

    def _refine(self, bits: int) -> None:
        """Makes grains so small that all numbers joined in `bits` are multiples of them."""
        if not bits & (self.grain - 1):
            return
        fine = bits & -bits
        times = self.grain // fine
        self.grain, grains = fine, -(-self.size // fine)
        self.writer, self.write_time, self.write_place = (
            np.repeat(part, times)[:grains] for part in (self.writer, self.write_time, self.write_place)
        )
        self.reads = {
            a: (np.repeat(t, times)[:grains], np.repeat(p, times)[:grains]) for a, (t, p) in self.reads.items()
        }

    def _note_write(self, grains: Region, who: Who) -> None:
        """The order part of a write."""
        self._after_write(grains, who, True)
        for agent, (times, places) in self.reads.items():
            if agent != who.agent:
                late = _view(times, grains) > who.known[agent]
                if late.any():
                    self._clash_in(grains, late, lambda at, a=agent, p=places: (a, int(p[at])), False, who, True)
        _view(self.writer, grains)[...] = who.agent
        _view(self.write_time, grains)[...] = who.known[who.agent]
        _view(self.write_place, grains)[...] = who.place

    def _after_write(self, grains: Region, who: Who, writes: bool) -> None:
        late = _view(self.write_time, grains) > who.known[_view(self.writer, grains)]
        if late.any():
            self._clash_in(
                grains, late, lambda at: (int(self.writer[at]), int(self.write_place[at])), True, who, writes
            )

    def _clash_in(
        self, grains: Region, late: Array, first: Callable[[int], tuple[int, int]], first_writes: bool, who: Who,
        writes: bool,
    ) -> None:  # fmt: skip
        index = np.argwhere(late)[0]
        at = grains.start + int(index[-1])
        at += sum(int(i) * stride for i, (_, stride) in zip(index, grains.dims, strict=False))
        self._clash(at, first(at), first_writes, who, writes)

    def _clash(self, grain: int, first: tuple[int, int], first_writes: bool, who: Who, writes: bool) -> None:
        self.report(Clash(self, grain * self.grain, first, first_writes, who, writes))

    def _reads_of(self, agent: int) -> tuple[Array, Array]:
        found = self.reads.get(agent)
        if found is None:
            grains = self.writer.size
            found = self.reads[agent] = (np.zeros(grains, np.int32), np.zeros(grains, np.int32))
        return found


def _first_of_rows(late: Array) -> list[tuple[int, int]]:
    """The first marked column of every row that has one."""
    rows = np.flatnonzero(late.any(axis=1))
    return [(int(row), int(late[row].argmax())) for row in rows]


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
