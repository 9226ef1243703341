"""Vector clocks kept while the agents run: an access is judged when it happens, against what its agent knows by then.

The clocks of the tile machine are worked out from a log of ring events; queues, flags and bytes need them at once.
"""

from collections.abc import Sequence

Stamp = tuple[int, ...]
"""The latest event of every agent that is known; never changed in place."""


class Clock:
    """The clock of one agent of a group."""

    def __init__(self, agent: int, agents: int):
        self.agent = agent
        self.now: Stamp = tuple(1 if i == agent else 0 for i in range(agents))

    def release(self) -> Stamp:
        """What a message of this agent carries; later events of the agent are not covered by it."""
        stamp = self.now
        self.now = (*stamp[: self.agent], stamp[self.agent] + 1, *stamp[self.agent + 1 :])
        return stamp

    def acquire(self, stamp: Stamp) -> None:
        """Everything that happened before the message happened before what follows here."""
        self.now = tuple(map(max, self.now, stamp))


def joined(stamps: Sequence[Stamp]) -> Stamp:
    """The knowledge of several messages together."""
    return tuple(map(max, *stamps)) if len(stamps) > 1 else stamps[0]
