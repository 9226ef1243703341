"""Proof that a flag is redundant: without it every two conflicting accesses are ordered, for every number of trips.

Order is happens-before: the order of a queue, of issue, and from each set to the wait that takes it. A queue runs in
order and every flag and signal has one queue that sets it and one that takes it, so the k-th wait takes the k-th set in
every interleaving; the order of a program does not depend on how its queues race each other, and one run shows it.

One run has a fixed number of trips. The rest is induction over PERIOD trips at a time. Its premise is that the
program does the same in every PERIOD trips, with addresses moved by constants, from trip SETTLED on
(`trip_shift.py`). A run is, for each queue, a list of events (accesses, sends, receipts) with vector clocks; a clock
is the largest of those of what comes right before: the event before it in its queue and, for a receipt, the send. `n`
and `n + PERIOD` trips must differ in one block of events of each queue; the last BLOCKS blocks must each be the block
before with all clocks moved by one vector T; and what is received there must be sent there, as often as it is
received. Then the run with one more block in each queue, moved by T, and with what follows moved by T, satisfies all
these equations, for `max` commutes with adding T; and no other run does, for the equations have no circle. So it is
the run with PERIOD more trips, and so on. In it

* two accesses of blocks that lie d >= 1 apart conflict as those one apart do, and the later one knows more than that;
* what comes before and behind the loop relates to any block as it does to the first and to the last one.

So the pairs of the longer run stand for all pairs there are. Where more trips touch other windows of a memory, each
access counts as one of the whole memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from cubelane.sim.micro.agents import Agent, Message
from cubelane.sim.micro.launch import launch_split
from cubelane.sim.micro.memory import Memory, Region, Touch, Who

from .trip_shift import NotRegular, Shifts

PERIOD, BLOCKS, SETTLED = 2, 3, 2
EVERYTHING = ((0, 1 << 62),)
Windows = tuple[tuple[int, int], ...]
Build = Callable[[int], tuple[ModuleOp, Sequence[Any]]]
"""The program with a number of trips, and its arguments."""


@dataclass(frozen=True)
class Event:
    """What a queue does: `what` tells it apart from its other events, `clock` is what the queue knows then."""

    agent: int
    what: tuple[str, ...]
    clock: tuple[int, ...]
    memory: str = ""
    windows: Windows = ()
    sender: int = 0
    sent: int = 0
    """Of a receipt: who sent, and when by the sender's own clock."""

    @property
    def writes(self) -> bool:
        return self.what[0] == "write"

    def before(self, other: "Event") -> bool:
        """Whether it happened before the other one, as far as the clocks know."""
        return self.clock[self.agent] <= other.clock[self.agent]


@dataclass
class Trace:
    """The events of a run, by queue."""

    events: dict[int, list[Event]] = field(default_factory=dict[int, list[Event]])

    def add(self, event: Event) -> None:
        self.events.setdefault(event.agent, []).append(event)

    def accesses(self) -> list[Event]:
        return [event for queue in self.events.values() for event in queue if event.memory]

    def furthest(self, agent: int) -> int:
        """The latest event of an agent that anybody knows of."""
        return max(event.clock[agent] for queue in self.events.values() for event in queue)

    def coarse(self, memories: set[str]) -> "Trace":
        """The same with whole memories for windows."""
        return Trace(
            {
                agent: [replace(e, windows=EVERYTHING) if e.memory in memories else e for e in queue]
                for agent, queue in self.events.items()
            }
        )


class NotProven(Exception):
    """What the proof lacks."""


def _windows(region: Region) -> Windows:
    return ((region.first, region.end),)


def _merged(touches: Sequence[Touch]) -> Windows:
    merged: list[tuple[int, int]] = []
    for start, end in sorted({(start, start + size) for start, size, _ in touches}):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


@contextmanager
def recording() -> Iterator[Trace]:
    """Listens to the memories and the messages of the machine."""
    trace = Trace()
    senders: dict[tuple[int, ...], int] = {}
    read, write, touch, hear, by = Memory.read, Memory.write, Memory.touch, Agent.hear, Message.by

    def access(memory: Memory, what: str, windows: Windows, who: Who, places: Sequence[int] = ()) -> None:
        if windows:
            trace.add(
                Event(who.agent, (what, str(places or who.place)), tuple(map(int, who.known)), memory.name, windows)
            )

    def on_read(self: Memory, region: Region, who: Who) -> Any:
        access(self, "read", () if region.is_empty else _windows(region), who)
        return read(self, region, who)

    def on_write(self: Memory, region: Region, value: Any, who: Who, defined: Any = None) -> None:
        access(self, "write", () if region.is_empty else _windows(region), who)
        write(self, region, value, who, defined)

    def on_touch(self: Memory, reads: Sequence[Touch], writes: Sequence[Touch], who: Who) -> None:
        for what, touches in (("read", reads), ("write", writes)):
            access(self, what, _merged(touches), who, sorted({place for _, _, place in touches}))
        touch(self, reads, writes, who)

    def on_hear(self: Agent, message: Message, handshake: int = 0) -> None:
        hear(self, message, handshake)
        sender = senders[message.stamp]
        what = ("receive", str(message.place))
        trace.add(Event(self.number, what, self.clock.now, sender=sender, sent=message.stamp[sender]))

    def on_send(agent: Agent, place: int) -> Message:
        message = by(agent, place)
        senders[message.stamp] = agent.number
        trace.add(Event(agent.number, ("send", str(place)), message.stamp))
        return message

    with (
        mock.patch.object(Memory, "read", on_read),
        mock.patch.object(Memory, "write", on_write),
        mock.patch.object(Memory, "touch", on_touch),
        mock.patch.object(Agent, "hear", on_hear),
        mock.patch.object(Message, "by", staticmethod(on_send)),
    ):
        yield trace


def traced(build: Build, trips: int) -> Trace:
    """The events of a run, which must be clean."""
    module, arguments = build(trips)
    try:
        Shifts(PERIOD, SETTLED).check(module)
    except NotRegular as problem:
        raise NotProven(str(problem)) from None
    with recording() as trace:
        findings = launch_split(module, None, list(arguments)).findings
    if findings:
        raise NotProven(f"{trips} trips: {findings[0].message}")
    return trace


def check_pairs(trace: Trace) -> int:
    """All conflicting pairs are ordered; how many there are."""
    pairs = 0
    by_memory: dict[str, list[Event]] = {}
    for event in trace.accesses():
        by_memory.setdefault(event.memory, []).append(event)
    for same in by_memory.values():
        for a, b in combinations(same, 2):
            if a.agent != b.agent and (a.writes or b.writes) and _overlap(a.windows, b.windows):
                pairs += 1
                if not a.before(b) and not b.before(a):
                    raise NotProven(f"{a.what} and {b.what} on {a.memory} are not ordered")
    return pairs


def _overlap(one: Windows, other: Windows) -> bool:
    return any(a < d and c < b for a, b in one for c, d in other)


def _same(event: Event, other: Event, shift: Sequence[int]) -> bool:
    moved = tuple(np.add(event.clock, shift))
    return (event.what, event.memory, event.windows) == (other.what, other.memory, other.windows) and (
        moved == other.clock
    )


def _moving(short: Trace, long: Trace) -> set[str]:
    """The memories of which more trips touch other windows."""
    where: tuple[dict[tuple[Any, ...], set[Windows]], ...] = ({}, {})
    for found, trace in zip(where, (short, long), strict=True):
        for event in trace.accesses():
            found.setdefault((event.agent, event.what, event.memory), set()).add(event.windows)
    return {key[-1] for key, windows in where[1].items() if where[0].get(key) != windows}


def check_induction(short: Trace, long: Trace) -> None:
    """The longer run is the shorter one with a block in each queue, like the blocks before it but for a shift."""
    shift = [long.furthest(agent) - short.furthest(agent) for agent in range(len(long.accesses()[0].clock))]
    steady = {agent: _steady(short.events.get(agent, []), queue, shift) for agent, queue in long.events.items()}
    for agent, part in steady.items():
        received = Counter((e.sender, e.what[1]) for e in part.last if e.what[0] == "receive")
        for event in long.events[agent][part.end - part.block :]:
            if event.what[0] != "receive":
                continue
            source, place = steady.get(event.sender), event.what[1]
            if source is None:
                raise NotProven(f"{event.what} comes from a scalar unit")
            times = sum(e.what == ("send", place) for e in source.last)
            heard = received[event.sender, place]
            if times != heard:
                raise NotProven(f"{event.what} is sent {times} and received {heard} times in a block")
            if times and event.sent < source.since:
                raise NotProven(f"{event.what} is older than the blocks that were looked at")


@dataclass(frozen=True)
class Steady:
    """The blocks of a queue: the events of one, where the last one ends, that one, and since when they repeat."""

    block: int
    end: int
    last: Sequence[Event]
    since: int


def _steady(short: Sequence[Event], long: Sequence[Event], shift: Sequence[int]) -> Steady:
    block, agent = len(long) - len(short), long[0].agent
    none = [0] * len(shift)
    prefix = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if not _same(a, b, none)), len(short))
    backwards = enumerate(zip(reversed(short), reversed(long), strict=False))
    suffix = next((i for i, (a, b) in backwards if not _same(a, b, shift)), len(short))
    if prefix + suffix < len(short):
        raise NotProven(f"queue {agent}: of {len(short)} events the first {prefix} and the last {suffix} agree")
    end = min(prefix, len(short)) + block
    start = end - BLOCKS * block
    if start < 0:
        raise NotProven("too few trips to see the blocks")
    for one, next_one in zip(long[start : end - block], long[start + block : end], strict=True):
        if not _same(one, next_one, shift):
            raise NotProven(f"queue {agent}: {one.what} does not repeat after {block} events")
    return Steady(block, end, long[end - block : end], long[start].clock[agent] if block else 0)


def prove(build: Build, least: int = 1, enough: int = SETTLED + PERIOD * BLOCKS) -> int:
    """Shows that all conflicting pairs are ordered for every number of trips; the number of pairs looked at."""
    pairs = sum(check_pairs(traced(build, trips)) for trips in range(least, enough))
    for trips in range(enough, enough + PERIOD):
        short, long = traced(build, trips), traced(build, trips + PERIOD)
        moving = _moving(short, long)
        short, long = short.coarse(moving), long.coarse(moving)
        pairs += check_pairs(short) + check_pairs(long)
        check_induction(short, long)
    return pairs
