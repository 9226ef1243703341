"""Agents and what they wait for: the queues of a core, flags, cross-core signals (spec/pto.md 11.1, 11.3, 11.4)."""

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import numpy as np

from cubelane.ir.pto.spaces import Pipe
from cubelane.sim.micro.clock import Clock, Stamp
from cubelane.sim.micro.elements import Array
from cubelane.sim.micro.memory import Who


@dataclass(frozen=True)
class Wait:
    """What an agent waits for: whether it may go on, words for a report, and the flags or releases it needs."""

    ready: Callable[[], bool]
    what: Callable[[], str]
    needs: tuple[object, ...] = ()


Blocking = Generator[Wait | None, None, None]


@dataclass(frozen=True)
class Numbering:
    """The agents of one core group among those of all groups of a launch; agent 0 is the host before the launch.

    Groups run one after another and nothing orders them, so an agent knows nothing of other groups.
    """

    offset: int
    agents: int
    total: int

    def known(self, now: Stamp) -> Array:
        """What a stamp says about every agent of the launch."""
        known = np.zeros(self.total, np.int32)
        known[self.offset : self.offset + self.agents] = now
        return known


class Agent:
    """An in-order queue of a core, or its scalar unit. Knows what happened before its next step."""

    def __init__(self, core_name: str, pipe: Pipe, number: int, group: Numbering):
        self.core_name, self.pipe, self.number = core_name, pipe, number
        self.group = group
        self.clock = Clock(number - group.offset, group.agents)
        self._known: tuple[Stamp, Array] | None = None
        self.last_seen: Stamp | None = None
        self.time, self.cause, self.reason, self.waited = 0, -1, "issue", 0
        """In the timing model: when it is free, by which event, why, and for how long a message kept it."""

    @property
    def name(self) -> str:
        """`AIC MTE2`."""
        return f"{self.core_name} {self.pipe.name}"

    def who(self, place: int) -> Who:
        """This agent at an op."""
        now = self.clock.now
        known = self._known
        if known is None or known[0] is not now:
            known = self._known = (now, self.group.known(now))
        return Who(self.number, known[1], place)

    def ready(self) -> bool:
        """Whether it can do its next step."""
        raise NotImplementedError

    def acquire(self, stamp: Stamp) -> None:
        """Learns what a message carries."""
        if stamp is not self.last_seen:
            self.clock.acquire(stamp)
            self.last_seen = stamp

    def hold(self, time: int, cause: int, reason: str) -> None:
        """It cannot go on before a time."""
        if time > self.time:
            if reason != "issue":
                self.waited += time - self.time
            self.time, self.cause, self.reason = time, cause, reason

    def hear(self, message: "Message", handshake: int = 0) -> None:
        """Learns what a message carries and when it came."""
        self.acquire(message.stamp)
        self.hold(message.time + handshake, message.cause, "flag")


@dataclass
class Item:
    """An op in a queue: its place, what its issue carries, what it waits for, what it does."""

    place: int
    stamp: Stamp
    run: Callable[[Agent], None]
    wait: Wait | None = None
    gives: tuple[object, ...] = ()
    """The flags, signals or releases that this op sets."""
    time: int = 0
    cause: int = -1
    """When it was issued in the timing model, and the event that let the scalar unit come to it."""


class Queue(Agent):
    """A pipe: runs its items in order."""

    def __init__(self, core_name: str, pipe: Pipe, number: int, group: Numbering):
        super().__init__(core_name, pipe, number, group)
        self.items: deque[Item] = deque()
        self.ran = 0

    def ready(self) -> bool:
        """Whether the next item can run."""
        return bool(self.items) and (self.items[0].wait is None or self.items[0].wait.ready())

    def step(self) -> int:
        """Runs the next item; its place."""
        item = self.items[0]
        self.acquire(item.stamp)
        self.hold(item.time, item.cause, "issue")
        item.run(self)
        self.items.popleft()
        self.ran += 1
        return item.place


class Scalar(Agent):
    """The scalar unit: runs the program, issues into the queues."""

    def __init__(self, core_name: str, number: int, group: Numbering):
        super().__init__(core_name, Pipe.S, number, group)
        self.program: Blocking | None = None
        self.waiting: Wait | None = None
        self.place = 0
        self.ended = False
        self._issue: Stamp | None = None

    def issue_stamp(self) -> Stamp:
        """What an op issued now carries; one stamp serves until this unit touches memory or learns something."""
        if self._issue is None:
            self._issue = self.clock.release()
        return self._issue

    def touched(self) -> None:
        """Later issues must carry what was done up to here."""
        self._issue = None

    def acquire(self, stamp: Stamp) -> None:
        """Learns what a message carries."""
        super().acquire(stamp)
        self._issue = None

    def ready(self) -> bool:
        """Whether the program can go on."""
        return not self.ended and (self.waiting is None or self.waiting.ready())

    def step(self) -> int:
        """Runs the program to its next stop."""
        assert self.program is not None
        self.waiting = None
        try:
            self.waiting = next(self.program)
        except StopIteration:
            self.ended = True
        return self.place


@dataclass
class Message:
    """One set of a flag or signal, or one release of a buffer."""

    stamp: Stamp
    agent: str
    place: int
    time: int
    cause: int

    @staticmethod
    def by(agent: Agent, place: int) -> "Message":
        """What an agent sends now."""
        return Message(agent.clock.release(), agent.name, place, agent.time, agent.cause)


@dataclass(eq=False)
class Flag:
    """An event between two queues of a core: set or not. `freed` is the wait that consumed the last set."""

    name: str
    pending: deque[Message] = field(default_factory=deque[Message])
    sets: int = 0
    waits: int = 0
    last_set: int = 0
    last_wait: tuple[int, int, int] | None = None
    """Agent, its time, and place of the last wait."""


@dataclass(eq=False)
class Semaphore:
    """A counter between the cube core and a lane, in one direction."""

    name: str
    pending: deque[Message] = field(default_factory=deque[Message])
    sets: int = 0
    waits: int = 0
    last_set: int = 0


@dataclass(eq=False)
class Release:
    """One `rls_buf`: done when its queue has come to it."""

    message: Message | None = None
