"""Does the channel protocol hold: no deadlock, no slot reused too early, push = pop = free on every path (design 5).

Three ways to an answer, in this order:

* **explored**: every interleaving and every ring state of every path of a small program is visited.
* **by argument**: the programs of all agents have the same loops and branches around their actions, and between two of
  them every segment starts and ends with empty rings and runs through in one schedule. Agents are deterministic and
  an action that can run stays runnable until it does, so if one schedule of a segment ends, all do; by induction over
  the loops the whole program ends, whatever the trip counts.
* **not proven**, with the reason. That is no alarm: nothing wrong was found either.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from cubelane.analysis.channel_protocol import (
    FREE,
    POP,
    PUSH,
    Action,
    Agent,
    Choice,
    CoreGroup,
    Limits,
    Repeat,
    Ring,
    Scenario,
    Shape,
    TooLong,
    core_groups,
    scenarios,
    shape_of,
)
from cubelane.check.interleavings import Machine, Stuck, explore, run_once
from cubelane.ir.diagnostic import Diagnostic, Location


class Proof(Enum):
    """How sure the verdict is."""

    EXPLORED = "explored"
    ARGUED = "proven by argument"
    NOT_PROVEN = "not proven"
    VIOLATED = "violated"


@dataclass
class Verdict:
    """What is known about the protocol of one core group."""

    kernel: str
    proof: Proof
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    paths: int = 0
    states: int = 0
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        facts = f"{self.paths} paths, {self.states} states" if self.states else ""
        tail = "; ".join(part for part in (facts, self.reason) if part)
        return f"{self.kernel}: {self.proof.value}" + (f" ({tail})" if tail else "")


@dataclass
class Bounds:
    """How much to explore."""

    states: int = 200_000
    paths: int = 256
    actions: int = 4_000
    trip: int | None = None
    depth: int | None = None


def check_protocol(module: ModuleOp, bounds: Bounds | None = None) -> list[Verdict]:
    """A verdict for every pair of programs of a module."""
    return [check_group(group, bounds or Bounds()) for group in core_groups(module)]


def check_group(group: CoreGroup, bounds: Bounds) -> Verdict:
    """Explores what is small enough, argues about the rest."""
    if bounds.depth is not None:
        group = CoreGroup(group.name, group.agents, dict.fromkeys(group.depths, bounds.depth))
    deepest = max(group.depths.values(), default=1)
    limits = Limits(actions=bounds.actions, trips=tuple(sorted({0, 1, 2, deepest, deepest + 1})), trip=bounds.trip)
    verdict = Verdict(group.name, Proof.EXPLORED)
    open_ended = False
    try:
        for scenario in scenarios(group, limits, bounds.paths):
            verdict.paths += 1
            open_ended |= bool(scenario.assumed)
            verdict.findings = findings_of(group, scenario, verdict, bounds)
            if verdict.findings:
                verdict.proof = Proof.VIOLATED
                return verdict
            if verdict.states > bounds.states:
                verdict.reason = f"more than {bounds.states} states"
                break
        else:
            if verdict.paths >= bounds.paths:
                verdict.reason = f"more than {bounds.paths} paths"
    except TooLong:
        verdict.reason = f"more than {bounds.actions} actions"
    if not open_ended and not verdict.reason:
        return verdict
    return _argued(group, verdict)


def _argued(group: CoreGroup, verdict: Verdict) -> Verdict:
    """For all trip counts and conditions: the argument over the shapes of the programs."""
    shapes = [shape_of(agent) for agent in group.agents]
    problem = Argument(group).problem(shapes)
    if problem is None:
        verdict.proof = Proof.ARGUED
    else:
        verdict.proof = Proof.NOT_PROVEN
        verdict.reason = "; ".join(part for part in (verdict.reason, problem) if part)
    return verdict


def findings_of(group: CoreGroup, scenario: Scenario, verdict: Verdict, bounds: Bounds) -> list[Diagnostic]:
    """What is wrong on one path."""
    found = list(static_findings(group.agents, scenario.actions))
    if found:
        return found
    machine = Machine(group, scenario.actions)
    left = bounds.states - verdict.states
    outcome = explore(machine, left) if left > 0 else run_once(machine)
    verdict.states += outcome.states
    if outcome.stuck is not None:
        return [_deadlock(machine, outcome.stuck, scenario)]
    if outcome.reuse is not None:
        return [outcome.reuse]
    return list(_leftovers(machine, scenario))


def static_findings(agents: Sequence[Agent], actions: Sequence[list[Action]]) -> Iterator[Diagnostic]:
    """What one agent does wrong whatever the others do: frees out of order, slots kept, codes that differ."""
    for agent, own in zip(agents, actions, strict=True):
        yield from _order_of_frees(agent, own)
    by_ring: dict[Ring, dict[str, list[list[Action]]]] = {}
    for own in actions:
        rings = {action.ring for action in own}
        for ring in rings:
            for kind in (PUSH, POP):
                mine = [a for a in own if a.kind == kind and a.ring == ring]
                if mine:
                    by_ring.setdefault(ring, {}).setdefault(kind, []).append(mine)
    for ring, kinds in by_ring.items():
        for pushes in kinds.get(PUSH, ()):
            for pops in kinds.get(POP, ()):
                yield from _codes(ring, pushes, pops)


def _order_of_frees(agent: Agent, actions: list[Action]) -> Iterator[Diagnostic]:
    held: dict[Ring, list[Action]] = {}
    for action in actions:
        taken = held.setdefault(action.ring, [])
        if action.kind == POP:
            taken.append(action)
        elif action.kind == FREE:
            mine = next((a for a in taken if a.number == action.number), None)
            if mine is None:
                yield Diagnostic(
                    f"{agent.name} frees a slot of {action.ring} that it does not hold",
                    action.place,
                    ("its tile was given back before, or never popped",),
                    code="free-without-slot",
                )
                return
            if mine is not taken[0]:
                yield Diagnostic(
                    f"{agent.name} frees slot {mine.number} of {action.ring} while slot {taken[0].number}, popped "
                    f"before at {taken[0].place}, is still in use",
                    action.place,
                    ("a ring gives its slots back in the order of the pops; the producer would overwrite that slot",),
                    code="free-order",
                )
                return
            taken.remove(mine)


def _codes(ring: Ring, pushes: list[Action], pops: list[Action]) -> Iterator[Diagnostic]:
    for push, pop in zip(pushes, pops, strict=False):
        if push.code != pop.code:
            yield Diagnostic(
                f"slot {pop.number} of {ring} is popped with the code {pop.code}, it was pushed with {push.code}",
                pop.place,
                (f"the push is at {push.place}",),
                code="transport-code",
            )
            return


def _deadlock(machine: Machine, stuck: Stuck, scenario: Scenario) -> Diagnostic:
    waits = [machine.explain(agent, stuck.state) for agent in range(len(machine.agents))]
    first = next(a for i in range(len(machine.agents)) if (a := machine.next_action(i, stuck.state)) is not None)
    trace = " ; ".join(machine.describe(agent, action) for agent, action in stuck.trace[-12:])
    skipped = len(stuck.trace) - 12
    return Diagnostic(
        f"deadlock in `{machine.group.name}`: every program that has not ended waits",
        first.place,
        (
            *[w for w in waits if w],
            f"shortest way there ({len(stuck.trace)} steps): "
            + ("... ; " if skipped > 0 else "")
            + (trace or "at once"),
            f"path: {scenario}",
        ),
        code="deadlock",
    )


def _leftovers(machine: Machine, scenario: Scenario) -> Iterator[Diagnostic]:
    """Push = pop = free for every agent on every ring, at the end."""
    for ring in machine.rings:
        pushes = {a: machine.total(a, PUSH, ring) for a in machine.producers(ring)}
        most = max(pushes.values(), default=0)
        for agent, count in pushes.items():
            if count != most:
                yield _unbalanced(machine, agent, PUSH, ring, count, f"the other lane pushes {most}", scenario)
        for agent in machine.consumers(ring):
            pops, frees = machine.total(agent, POP, ring), machine.total(agent, FREE, ring)
            if pops != most:
                yield _unbalanced(machine, agent, POP, ring, pops, f"{most} tiles are pushed", scenario)
            elif frees != pops:
                yield _unbalanced(machine, agent, FREE, ring, frees, f"{pops} slots are taken", scenario)


def _unbalanced(
    machine: Machine, agent: int, kind: str, ring: Ring, count: int, other: str, scenario: Scenario
) -> Diagnostic:
    place = machine.any_place(agent, ring)
    done = {PUSH: "pushes", POP: "pops", FREE: "frees"}[kind]
    return Diagnostic(
        f"{machine.agents[agent].name} {done} {count} times on {ring}, but {other}",
        place,
        (f"path: {scenario}",),
        code="unbalanced",
    )


Flight = tuple[tuple[Action, ...], ...]
"""The pushes of each agent whose tiles nobody has popped yet."""


class NotArgued(Exception):
    """Why the argument does not go through."""


class Argument:
    """The inductive argument: same control flow around the actions, and segments that run through by themselves.

    Between two segments every slot is empty or holds a tile that was pushed and not yet popped (a skewed pipeline
    sends one trip ahead). A loop keeps these tiles as they are; both arms of a branch leave the same ones.
    """

    def __init__(self, group: CoreGroup):
        self.group = group

    def problem(self, shapes: Sequence[Shape]) -> str | None:
        """Why the argument does not go through for whole programs, None if it does."""
        try:
            flight = self._segment(shapes, ((),) * len(shapes))
        except NotArgued as reason:
            return str(reason)
        left = next((push for pushes in flight for push in pushes), None)
        return None if left is None else f"the tile pushed at {left.place} is never popped"

    def _segment(self, shapes: Sequence[Shape], flight: Flight) -> Flight:
        pieces = [list(_pieces(shape)) for shape in shapes]
        for straight in zip_longest(*pieces):
            if any(piece is None for piece in straight):
                raise NotArgued("the programs do not have the same loops and branches around their transports")
            flight = self._straight([piece[0] for piece in straight], flight)
            flight = self._compound([piece[1] for piece in straight], flight)
        return flight

    def _straight(self, runs: Sequence[list[Action]], flight: Flight) -> Flight:
        whole = [[*pushed, *run] for pushed, run in zip(flight, runs, strict=True)]
        renumbered = tuple(_renumbered(own) for own in whole)
        for finding in static_findings(self.group.agents, renumbered):
            raise NotArgued(finding.message)
        machine = Machine(self.group, renumbered)
        outcome = run_once(machine)
        if outcome.stuck is not None or outcome.reuse is not None:
            raise NotArgued(f"a part of the body at {_place(runs)} does not run through by itself")
        return self._left_over(machine, whole, _place(runs))

    def _left_over(self, machine: Machine, whole: Sequence[list[Action]], place: Location) -> Flight:
        """What is in flight behind a straight run."""
        left: list[list[Action]] = [[] for _ in whole]
        for ring in machine.rings:
            pops = {machine.total(agent, POP, ring) for agent in machine.consumers(ring)}
            frees = {machine.total(agent, FREE, ring) for agent in machine.consumers(ring)}
            pushes = {machine.total(agent, PUSH, ring) for agent in machine.producers(ring)}
            if len(pops) != 1 or frees != pops or len(pushes) != 1:
                raise NotArgued(f"a slot is in use across the loop or branch at {place}")
            for agent in machine.producers(ring):
                sent = [a for a in whole[agent] if a.kind == PUSH and a.ring == ring]
                left[agent] += sent[min(pops) :]
        return tuple(tuple(pushes) for pushes in left)

    def _compound(self, compounds: "Sequence[Repeat | Choice | None]", flight: Flight) -> Flight:
        if all(c is None for c in compounds):
            return flight
        if all(isinstance(c, Repeat) for c in compounds):
            loops = [c for c in compounds if isinstance(c, Repeat)]
            if any(loop.key != loops[0].key for loop in loops):
                raise NotArgued(
                    f"the loop at {Location.of(loops[0].op)} may run a different number of times on another core"
                )
            _same(flight, self._segment([loop.body for loop in loops], flight), loops[0].op)
            return flight
        if all(isinstance(c, Choice) for c in compounds):
            branches = [c for c in compounds if isinstance(c, Choice)]
            if any(branch.key != branches[0].key for branch in branches):
                raise NotArgued(f"the branch at {Location.of(branches[0].op)} may go another way on another core")
            one, two = (self._segment([branch.arms[arm] for branch in branches], flight) for arm in (0, 1))
            _same(one, two, branches[0].op)
            return one
        raise NotArgued("the programs do not have the same loops and branches around their transports")


def _same(one: Flight, two: Flight, op: Operation) -> None:
    """Both leave the same tiles on the rings: as many, with the same codes."""
    sent = [[sorted((str(a.ring), a.code) for a in pushes) for pushes in flight] for flight in (one, two)]
    if sent[0] != sent[1]:
        raise NotArgued(f"a slot is in use across the loop or branch at {Location.of(op)}")


def _pieces(shape: Shape) -> "Iterator[tuple[list[Action], Repeat | Choice | None]]":
    """A shape as straight runs, each with the loop or branch that ends it."""
    run: list[Action] = []
    for item in shape:
        if isinstance(item, Action):
            run.append(item)
        else:
            yield run, item
            run = []
    yield run, None


def _renumbered(run: list[Action]) -> list[Action]:
    """The actions of a segment counted from zero."""
    counts: dict[tuple[str, Ring], int] = {}
    numbers: dict[tuple[Ring, int], int] = {}
    result: list[Action] = []
    for action in run:
        if action.kind == FREE:
            number = numbers.pop((action.ring, action.number), -1)
        else:
            number = counts.get((action.kind, action.ring), 0)
            counts[action.kind, action.ring] = number + 1
            if action.kind == POP:
                numbers[action.ring, action.number] = number
        result.append(Action(action.kind, action.ring, number, action.code, action.op))
    return result


def _place(runs: Sequence[list[Action]]) -> Location:
    return next((run[0].place for run in runs if run), Location())
