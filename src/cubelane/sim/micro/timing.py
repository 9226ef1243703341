"""When each micro-op runs in the timing model: prices from the rates of the machine, times from what orders the ops.

Queues run in order and messages in the order they are set, so the times are the same in whatever order the agents of
the simulation happened to run. A model, not a measurement (docs/timing.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from cubelane.ir.pto.spaces import Space
from cubelane.ir.types import MemorySpace
from cubelane.sim.micro.agents import Agent
from cubelane.sim.micro.board import Places
from cubelane.sim.timeline import Happening, Timeline
from cubelane.targets.rates import Pipe, Rates

MEMORIES = {
    Space.GM: MemorySpace.DDR, Space.UB: MemorySpace.VEC, Space.L1: MemorySpace.MAT, Space.L0A: MemorySpace.LEFT,
    Space.L0B: MemorySpace.RIGHT, Space.L0C: MemorySpace.ACC, Space.BT: MemorySpace.BIAS, Space.FB: MemorySpace.BIAS,
}  # fmt: skip
"""The memories as the rates know them; the scaling buffer is filled over the way of the bias table."""


@dataclass(frozen=True)
class Price:
    """Cycles, bytes moved, and the way they take."""

    cycles: int
    size: int = 0
    way: str = ""


class Priced(Protocol):
    """Work of a queue that knows what it costs."""

    def price(self, rates: Rates) -> Price:
        """The cost of one execution."""
        ...


def transfer(rates: Rates, source: Space, target: Space, size: int) -> Price:
    """The cost of moving bytes between two memories."""
    path = rates.path(MEMORIES[source], MEMORIES[target])
    return Price(path.latency + -(-size // path.rate), size, f"{source.value} to {target.value}")


def product(rates: Rates, m: int, n: int, k: int, width: int) -> Price:
    """The cost of a product of operands of `width` bytes an element."""
    macs = rates.macs.get(width, min(rates.macs.values()))
    depth = max(1, rates.block_bytes // width)
    blocks = -(-m // 16) * -(-n // 16) * -(-k // depth)
    return Price(rates.cube_startup + -(-blocks * 256 * depth // macs))


class Stopwatch:
    """Keeps what every queue did when. `slow` makes agents slower: a factor by the beginning of their name."""

    def __init__(self, rates: Rates, places: Places, slow: Mapping[str, float] | None = None):
        self.rates, self.places, self.slow = rates, places, dict(slow or {})
        self.events: list[Happening] = []

    def work(self, agent: Agent, place: int, price: Price) -> None:
        """An op that its agent starts as soon as it can; the agent is busy until the end."""
        op = self.places.ops[place]
        assert op is not None
        factor = next((f for name, f in self.slow.items() if agent.name.startswith(name)), 1)
        start, end = agent.time, agent.time + round(price.cycles * factor)
        event = Happening(
            len(self.events), agent.core_name, Pipe(agent.pipe.name), op, start, end, agent.cause, agent.reason,
            agent.waited, price.size, price.way,
        )  # fmt: skip
        self.events.append(event)
        agent.time, agent.cause, agent.reason, agent.waited = end, event.number, "pipe", 0

    def timeline(self) -> Timeline:
        """All that happened."""
        return Timeline(list(dict.fromkeys(e.agent for e in self.events)), self.events, [], self.rates.clock_ghz)
