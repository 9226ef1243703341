"""What goes wrong in a run, in the user's words: races, flags, deadlocks, undefined data (spec/pto.md 11.3, 11.4)."""

from collections.abc import Sequence

from xdsl.ir import Operation

from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.sim.micro.agents import Agent, Flag, Queue, Scalar, Semaphore
from cubelane.sim.micro.memory import Clash, Fault


class Places:
    """The ops of a program by number; 0 is what came before the launch."""

    def __init__(self) -> None:
        self.ops: list[Operation | None] = [None]

    def place(self, op: Operation) -> int:
        """The number of an op."""
        self.ops.append(op)
        return len(self.ops) - 1


class Board:
    """The findings of a launch of `kernel`; each pair of places is reported once."""

    def __init__(self, places: Places, kernel: str) -> None:
        self.findings: list[Diagnostic] = []
        self.places, self.kernel = places, kernel
        self.agents: dict[int, Agent] = {}
        self._seen: set[tuple[object, ...]] = set()

    def where(self, place: int) -> Location:
        """Where an op is written."""
        op = self.places.ops[place]
        return Location() if op is None else Location.of(op)

    def text(self, place: int) -> str:
        """`file:line:col (pto.vlds)`."""
        op = self.places.ops[place]
        return "the start of the launch" if op is None else f"{self.where(place)} ({op.name})"

    def add(self, finding: Diagnostic, *key: object) -> None:
        """Adds a finding unless one with the same key is there."""
        full = (finding.code, *(key or (finding.location, finding.message)))
        if full not in self._seen:
            self._seen.add(full)
            self.findings.append(finding)

    def fault(self, agent: Agent, place: int, problem: Fault) -> Diagnostic:
        """A fault of an op, at its place."""
        op = self.places.ops[place]
        name = "the launch" if op is None else op.name
        return Diagnostic(f"{agent.name}: {name}: {problem}", self.where(place), problem.notes, code=problem.code)

    def undefined(self, agent: Agent, place: int, what: str) -> None:
        """A use of bytes that nobody wrote."""
        op = self.places.ops[place]
        name = "" if op is None else op.name
        finding = Diagnostic(f"{agent.name}: {name} {what} that nobody wrote", self.where(place), code="undefined")
        self.add(finding, place, agent.pipe, what)

    # --- order -----------------------------------------------------------------------------------------------

    def clash(self, clash: Clash) -> None:
        """Two unordered accesses to a byte."""
        first, second = self.agents[clash.first[0]], self.agents[clash.second.agent]
        places = (clash.first[1], clash.second.place)
        verbs = ["writes" if w else "reads" for w in (clash.first_writes, clash.second_writes)]
        message = (
            f"race: {first.name} {verbs[0]} {clash.memory.name} byte {clash.offset} at {self.text(places[0])}, "
            f"{second.name} {verbs[1]} it at {self.text(places[1])}, and nothing orders them"
        )
        finding = Diagnostic(message, self.where(places[1]), self._missing(first, second, places), code="race")
        self.add(finding, places, first.pipe, second.pipe)

    def _missing(self, first: Agent, second: Agent, places: tuple[int, int]) -> Sequence[str]:
        lines = self.where(places[0]).line, self.where(places[1]).line
        if first.core_name == second.core_name:
            pair = f"{first.pipe.name} -> {second.pipe.name}"
            return (
                f"missing flag {pair}: set_flag({first.pipe.name}, {second.pipe.name}) after line {lines[0]}, "
                f"wait_flag({first.pipe.name}, {second.pipe.name}) before line {lines[1]}",
            )
        if first.group is not second.group:
            return ("the two core groups of a launch run in no order; each must write bytes of its own",)
        if {first.core_name[-4:-1], second.core_name[-4:-1]} == {"AIV"}:
            return ("the two vector lanes have no signal between them; each must write bytes of its own",)
        return (
            f"missing signal {first.core_name} -> {second.core_name}: set_intra_flag({first.pipe.name}, id) after line "
            f"{lines[0]}, wait_intra_flag({second.pipe.name}, id) before line {lines[1]}",
        )

    def reused(self, flag: Flag, agent: Agent, place: int) -> None:
        """A set that can come before the wait for the set before it."""
        message = f"{agent.name}: {flag.name} is set again, but nothing makes sure that its last set was waited for"
        notes = [f"the last set is at {self.text(flag.last_set)}"]
        if flag.last_wait is not None:
            notes.append(f"the wait at {self.text(flag.last_wait[2])} is not ordered before this set")
        self.add(Diagnostic(message, self.where(place), notes, code="event-reused"), place, flag.last_set)

    def overflow(self, semaphore: Semaphore, agent: Agent, place: int) -> None:
        """A counter beyond four bits."""
        message = f"{agent.name}: {semaphore.name} counts beyond 15; nobody waits for it often enough"
        self.add(Diagnostic(message, self.where(place), code="signal-overflow"), place)

    def leftovers(self, messages: Sequence[Flag | Semaphore]) -> None:
        """Sets that nobody waited for."""
        for flag in messages:
            if flag.pending:
                last = flag.pending[-1]
                message = (
                    f"{flag.name} is set by {last.agent} and never waited for ({flag.sets} sets, {flag.waits} waits)"
                )
                finding = Diagnostic(message, self.where(last.place), code="leftover")
                self.add(finding, last.place, flag.name.split(" ")[0])

    def deadlock(self, blocked: Sequence[Agent]) -> None:
        """Nobody can go on. Reports the shortest reason: a wait that nobody will end, else a circle of waits."""
        reason = _reason(blocked)
        notes = [
            f"{agent.name} at {self.text(_wait_of(agent)[0])} waits since cycle {agent.time} for {_wait_of(agent)[1]}"
            for agent in reason
        ]
        others = [agent.name for agent in blocked if agent not in reason]
        if others:
            notes.append(f"because of that, {', '.join(others)} {'wait' if len(others) > 1 else 'waits'} too")
        names = " and ".join(agent.name for agent in reason)
        message = f"deadlock in {self.kernel}: {names} {'waits forever' if len(reason) == 1 else 'wait for each other'}"
        self.add(Diagnostic(message, self.where(_wait_of(reason[0])[0]), notes, code="deadlock"))


def _blockers(agent: Agent, blocked: Sequence[Agent]) -> list[Agent]:
    """The blocked agents that would have to act before an agent can go on."""
    if isinstance(agent, Queue):
        wait = agent.items[0].wait
    else:
        wait = agent.waiting if isinstance(agent, Scalar) else None
    needs = () if wait is None else wait.needs
    found: list[Agent] = [o for o in blocked if isinstance(o, Queue) and o is not agent and o in needs]
    found += [o for o in blocked if isinstance(o, Queue) and any(g in needs for i in o.items for g in i.gives)]
    scalars: list[Agent] = [other for other in blocked if isinstance(other, Scalar) and other is not agent]
    return found or scalars


def _reason(blocked: Sequence[Agent]) -> list[Agent]:
    paths: list[list[Agent]] = []
    for start in blocked:
        path = [start]
        while True:
            after = _blockers(path[-1], blocked)
            if not after:
                paths.append([path[-1]])
                break
            if after[0] in path:
                paths.append(path[path.index(after[0]) :])
                break
            path.append(after[0])
    return min(paths, key=len)


def _wait_of(agent: Agent) -> tuple[int, str]:
    if isinstance(agent, Queue):
        item = agent.items[0]
        return item.place, item.wait.what() if item.wait is not None else "nothing"
    assert isinstance(agent, Scalar)
    return agent.place, agent.waiting.what() if agent.waiting is not None else "nothing"
