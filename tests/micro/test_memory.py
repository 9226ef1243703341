"""What a byte remembers: grains and batches find exactly the races that a plain list of accesses has."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cubelane.sim.micro.memory import Clash, Memory, Region, Who

SIZE, AGENTS = 200, 3


@dataclass(frozen=True)
class Access:
    """An agent at a time, what it knows of the others, the bytes, and whether it writes."""

    agent: int
    knows: tuple[int, int]
    region: Region
    writes: bool


@dataclass
class Plain:
    """The oracle: every byte has its last write and all reads since the beginning."""

    write: dict[int, tuple[int, int]] = field(default_factory=dict)
    reads: dict[int, dict[int, int]] = field(default_factory=dict)

    def clashes(self, access: Access, known: list[int]) -> set[str]:
        found: set[str] = set()
        touched = set(bytes_of(access.region))
        for byte in touched:
            agent, time = self.write.get(byte, (0, 0))
            if time > known[agent]:
                found.add("write")
            late = any(t > known[a] for a, t in self.reads.get(byte, {}).items() if a != access.agent)
            if access.writes and late:
                found.add("read")
        for byte in touched:
            if access.writes:
                self.write[byte] = (access.agent, known[access.agent])
            else:
                self.reads.setdefault(byte, {})[access.agent] = known[access.agent]
        return found


def bytes_of(region: Region) -> list[int]:
    starts = [region.start]
    for count, stride in region.dims:
        starts = [s + i * stride for s in starts for i in range(count)]
    return [s + i for s in starts for i in range(region.length)]


units = st.sampled_from((1, 2, 4, 8, 16, 32))


@st.composite
def regions(draw: st.DrawFn) -> Region:
    unit = draw(units)
    length = unit * draw(st.integers(1, 3))
    dims = tuple((draw(st.integers(1, 2)), unit * draw(st.integers(1, 3))) for _ in range(draw(st.integers(0, 2))))
    region = Region(unit * draw(st.integers(0, 3)), length, dims)
    return region if region.end <= SIZE else Region(0, unit)


accesses = st.builds(
    Access, st.integers(1, AGENTS), st.tuples(st.integers(0, 12), st.integers(0, 12)), regions(), st.booleans()
)


@settings(max_examples=150, deadline=None)
@given(st.lists(accesses, min_size=2, max_size=12))
def test_grains_find_the_races_of_single_bytes(program: list[Access]):
    seen: list[Clash] = []
    memory, plain = Memory("m", np.zeros(SIZE, np.uint8), True, seen.append), Plain()
    for time, access in enumerate(program, 1):
        others = iter(min(k, time - 1) for k in access.knows)
        known = [0, *(time if a == access.agent else next(others) for a in range(1, AGENTS + 1))]
        wanted = plain.clashes(access, known)
        who = Who(access.agent, np.array(known, np.int32), time)
        seen.clear()
        if access.writes:
            memory.write(access.region, np.zeros(len(bytes_of(access.region)), np.uint8), who)
        else:
            memory.read(access.region, who)
        assert {"write" if clash.first_writes else "read" for clash in seen} == wanted
        assert all(
            clash.offset // memory.grain in {b // memory.grain for b in bytes_of(access.region)} for clash in seen
        )


spans = st.tuples(st.integers(0, 24), st.sampled_from((1, 2, 4))).map(lambda pair: (pair[0] * 4, pair[1] * 16))


@settings(max_examples=100, deadline=None)
@given(st.lists(accesses, max_size=6), st.lists(spans, max_size=5), st.lists(spans, max_size=5))
def test_a_batch_is_its_reads_and_then_its_writes(before: list[Access], reads: list, writes: list):
    def prepared(seen: list[Clash]) -> Memory:
        memory = Memory("m", np.zeros(SIZE, np.uint8), True, seen.append)
        for time, access in enumerate(before, 1):
            who = Who(access.agent, np.array([0, *([time] * AGENTS)], np.int32), time)
            if access.writes:
                memory.write(access.region, np.zeros(len(bytes_of(access.region)), np.uint8), who)
            else:
                memory.read(access.region, who)
        seen.clear()
        return memory

    who = Who(2, np.array([0, 1, 20, 2], np.int32), 0)
    singly, together = list[Clash](), list[Clash]()
    one, two = prepared(singly), prepared(together)
    for place, (start, size) in enumerate(reads, 100):
        one.read(Region(start, size), who._replace(place=place))
    for place, (start, size) in enumerate(writes, 200):
        one.write(Region(start, size), np.zeros(size, np.uint8), who._replace(place=place))
    two.touch(
        [(start, size, place) for place, (start, size) in enumerate(reads, 100)],
        [(start, size, place) for place, (start, size) in enumerate(writes, 200)],
        who,
    )
    places = [{clash.second.place for clash in seen if clash.second.place < 200} for seen in (singly, together)]
    assert places[0] == places[1]
    assert bool([c for c in singly if c.second_writes]) == bool([c for c in together if c.second_writes])


def test_a_memory_keeps_large_grains_as_long_as_accesses_allow():
    memory = Memory("m", np.zeros(1024, np.uint8), False, lambda clash: None)
    who = Who(1, np.array([0, 1], np.int32), 1)
    memory.write(Region(0, 512), np.zeros(512, np.uint8), who)
    assert memory.grain == 32 and memory.writer.size == 32
    memory.write(Region(4, 8), np.zeros(8, np.uint8), who)
    assert memory.grain == 4 and memory.writer.size == 256
    memory.read(Region(0, 2, ((3, 10),)), who)
    assert memory.grain == 2
