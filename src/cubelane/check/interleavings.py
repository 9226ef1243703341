"""All interleavings of a few action sequences over bounded rings (see `check.protocol`).

The sequences are fixed, so a state is how far every agent has come: what is pushed, popped and freed follows. A breadth
first search over these positions visits every ring state, and its first deadlock has the shortest way there.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cubelane.analysis.channel_protocol import FREE, POP, PUSH, Action, Agent, CoreGroup, Ring
from cubelane.ir.diagnostic import Diagnostic, Location

State = tuple[int, ...]
Step = tuple[int, Action]


@dataclass(frozen=True)
class Stuck:
    """A state in which nobody can go on though somebody has not ended, and a shortest way to it."""

    state: State
    trace: list[Step]


@dataclass(frozen=True)
class Outcome:
    """What a search found."""

    states: int
    stuck: Stuck | None = None
    reuse: Diagnostic | None = None


class Machine:
    """Agents with fixed action sequences on rings of known depth."""

    def __init__(self, group: CoreGroup, actions: Sequence[list[Action]]):
        self.group = group
        self.agents: tuple[Agent, ...] = group.agents
        self.actions = actions
        self.rings = list(dict.fromkeys(a.ring for own in actions for a in own))
        self._done = [self._progress(own) for own in actions]
        self._freed = [self._freed_when(own) for own in actions]

    def _progress(self, own: list[Action]) -> dict[tuple[str, Ring], list[int]]:
        """Per kind and ring, how many actions of that kind lie before each position."""
        tables: dict[tuple[str, Ring], list[int]] = {}
        for ring in self.rings:
            for kind in (PUSH, POP, FREE):
                counts, total = [0], 0
                for action in own:
                    total += action.kind == kind and action.ring == ring
                    counts.append(total)
                tables[kind, ring] = counts
        return tables

    @staticmethod
    def _freed_when(own: list[Action]) -> dict[tuple[Ring, int], int]:
        """Position behind which a popped tile is given back."""
        return {(a.ring, a.number): i for i, a in enumerate(own) if a.kind == FREE}

    def producers(self, ring: Ring) -> list[int]:
        """Who pushes: the cube, or every lane."""
        return [i for i, agent in enumerate(self.agents) if agent.cube == ring.to_lanes]

    def consumers(self, ring: Ring) -> list[int]:
        """Who pops and frees."""
        return [i for i, agent in enumerate(self.agents) if agent.cube != ring.to_lanes]

    def done(self, agent: int, kind: str, ring: Ring, state: State) -> int:
        """How often an agent has done something on a ring."""
        return self._done[agent][kind, ring][state[agent]]

    def total(self, agent: int, kind: str, ring: Ring) -> int:
        """How often an agent does it in all."""
        return self._done[agent][kind, ring][-1]

    def depth(self, ring: Ring) -> int:
        """Slots of a ring; a ring nobody opened has none."""
        return self.group.depths.get(ring, 0)

    def next_action(self, agent: int, state: State) -> Action | None:
        """What an agent does next; None at its end."""
        own = self.actions[agent]
        return own[state[agent]] if state[agent] < len(own) else None

    def can_run(self, agent: int, state: State) -> bool:
        """Whether the agent's next action need not wait."""
        action = self.next_action(agent, state)
        if action is None:
            return False
        ring = action.ring
        if action.kind == PUSH:
            freed = min((self.done(c, FREE, ring, state) for c in self.consumers(ring)), default=0)
            return action.number - freed < self.depth(ring)
        if action.kind == POP:
            return min((self.done(p, PUSH, ring, state) for p in self.producers(ring)), default=0) > action.number
        return True

    def overwritten(self, agent: int, state: State) -> Diagnostic | None:
        """A push into a slot whose tile some consumer still has (the counts allow it, the slot does not)."""
        action = self.next_action(agent, state)
        if action is None or action.kind != PUSH:
            return None
        old = action.number - self.depth(action.ring)
        if old < 0:
            return None
        for consumer in self.consumers(action.ring):
            position = self._freed[consumer].get((action.ring, old))
            if position is None or position >= state[consumer]:
                return Diagnostic(
                    f"{self.agents[agent].name} reuses slot {old % self.depth(action.ring)} of {action.ring} while "
                    f"{self.agents[consumer].name} still reads tile {old}",
                    action.place,
                    code="slot-reuse",
                )
        return None

    def explain(self, agent: int, state: State) -> str:
        """What an agent waits for; empty at its end."""
        action = self.next_action(agent, state)
        if action is None:
            return ""
        who, ring = self.agents[agent].name, action.ring
        if action.kind == PUSH:
            slow = min(self.consumers(ring), key=lambda c: self.done(c, FREE, ring, state))
            return (
                f"{who} at {action.place} waits for a free slot of {ring} (depth {self.depth(ring)}): slot "
                f"{action.number % max(self.depth(ring), 1)} is not given back by {self.agents[slow].name}"
            )
        late = min(self.producers(ring), key=lambda p: self.done(p, PUSH, ring, state))
        return (
            f"{who} at {action.place} waits for tile {action.number} of {ring}, which {self.agents[late].name} pushes"
        )

    def describe(self, agent: int, action: Action) -> str:
        """One step of a trace."""
        slot = action.number % max(self.depth(action.ring), 1)
        return f"{self.agents[agent].name} {action.kind} slot {slot} ({action.place})"

    def any_place(self, agent: int, ring: Ring) -> Location:
        """Where an agent, or else its partner, uses a ring."""
        for own in (self.actions[agent], *self.actions):
            for action in own:
                if action.ring == ring:
                    return action.place
        return Location()

    @property
    def end(self) -> State:
        """All agents at their end."""
        return tuple(len(own) for own in self.actions)


def explore(machine: Machine, at_most: int) -> Outcome:
    """Visits every reachable state, at most `at_most`."""
    start: State = (0,) * len(machine.actions)
    came: dict[State, tuple[State, int] | None] = {start: None}
    queue: deque[State] = deque([start])
    end = machine.end
    agents = range(len(machine.actions))
    while queue:
        state = queue.popleft()
        moved = False
        for agent in agents:
            if not machine.can_run(agent, state):
                continue
            if (reuse := machine.overwritten(agent, state)) is not None:
                return Outcome(len(came), reuse=reuse)
            moved = True
            after = (*state[:agent], state[agent] + 1, *state[agent + 1 :])
            if after not in came:
                came[after] = (state, agent)
                queue.append(after)
        if not moved and state != end:
            return Outcome(len(came), Stuck(state, _trace(machine, came, state)))
        if len(came) > at_most:
            rest = run_once(machine)
            return Outcome(len(came), rest.stuck, rest.reuse)
    return Outcome(len(came))


def _trace(machine: Machine, came: dict[State, tuple[State, int] | None], state: State) -> list[Step]:
    steps: list[Step] = []
    before = came[state]
    while before is not None:
        earlier, agent = before
        steps.append((agent, machine.actions[agent][earlier[agent]]))
        before = came[earlier]
    return steps[::-1]


def run_once(machine: Machine) -> Outcome:
    """One schedule: every agent as far as it can, in turn."""
    state = [0] * len(machine.actions)
    trace: list[Step] = []
    moved = True
    while moved:
        moved = False
        for agent in range(len(state)):
            while machine.can_run(agent, tuple(state)):
                if (reuse := machine.overwritten(agent, tuple(state))) is not None:
                    return Outcome(len(trace), reuse=reuse)
                trace.append((agent, machine.actions[agent][state[agent]]))
                state[agent] += 1
                moved = True
    if tuple(state) != machine.end:
        return Outcome(len(trace), Stuck(tuple(state), trace))
    return Outcome(len(trace))
