"""Happened-before: vector clocks, worked out from the log of a run (design chapter 5).

A push happens before the pop of its slot; a free happens before the push that takes the slot again. While agents run,
events are only noted; the clocks are computed when two accesses to the same cells ask which came first.
"""

from collections.abc import Container, Mapping, Sequence

Stamp = tuple[int, ...]
"""The latest event of every agent that is known."""

Entry = tuple[int, str, str, int | None, int]
"""One event: agent, kind, ring (empty for memory), slot, place in the program."""

AT_RINGS = frozenset({"push", "pop", "free", "wait"})
"""The kinds of events that lanes side by side have together: the log holds one, of the first lane, for both."""


class History:
    """The order of the events of one launch.

    `depths` gives the number of slots of each ring, `pairs` the first of two agents that run side by side.
    """

    def __init__(self, log: Sequence[Entry], depths: Mapping[str, int], agents: int, pairs: Container[int] = ()):
        self.stamps: list[Stamp] = []
        now = [[1 if i == agent else 0 for i in range(agents)] for agent in range(agents)]
        sent: dict[tuple[str, str, int], Stamp] = {}
        for agent, kind, ring, slot, _ in log:
            if slot is not None:
                for mine in now[agent : agent + 2] if agent in pairs else (now[agent],):
                    if kind == "pop":
                        _learn(mine, sent.get(("push", ring, slot)))
                    elif kind == "push":
                        _learn(mine, sent.get(("free", ring, slot - depths[ring])))
            self.stamps.append(tuple(now[agent]))
            if slot is not None and kind in ("push", "free"):
                for each in (agent, agent + 1) if agent in pairs else (agent,):
                    known, mine = sent.get((kind, ring, slot)), now[each]
                    sent[kind, ring, slot] = tuple(map(max, known, mine)) if known else tuple(mine)
                    mine[each] += 1

    def before(self, agent: int, event: int, later: int) -> bool:
        """Whether an event of an agent happened before a later entry of the log."""
        return self.stamps[event][agent] <= self.stamps[later][agent]


def _learn(mine: list[int], stamp: Stamp | None) -> None:
    if stamp is not None:
        mine[:] = map(max, mine, stamp)
