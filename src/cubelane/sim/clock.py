"""Vector clocks: what an agent knows to have happened before it (design chapter 5)."""

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
        stamp, me = self.now, self.agent
        self.now = (*stamp[:me], stamp[me] + 1, *stamp[me + 1 :])
        return stamp

    def acquire(self, stamp: Stamp) -> None:
        """Everything that happened before the message happened before what follows here."""
        self.now = tuple(map(max, self.now, stamp))


def ordered(first: int, when: Stamp, later: Stamp) -> bool:
    """Whether the event of agent `first` at `when` happened before an event at `later`."""
    return when[first] <= later[first]


def joined(stamps: Sequence[Stamp]) -> Stamp:
    """The knowledge of several messages together."""
    return stamps[0] if len(stamps) == 1 else tuple(map(max, *stamps))
