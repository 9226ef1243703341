"""Which statements of a function form a section, and of which kind (spec/pto.md 5.6). Changes nothing.

`plan(function, functions)` answers runs of statements; what cannot be decided is refused at its first op.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from cubelane.analysis.pto_evidence import Functions, Statement, Weight, name_cores, statement
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.pto.evidence import Sync
from cubelane.ir.pto.spaces import Cores
from cubelane.ir.traits import CoreAffinity, has_trait, trait_of

UPSTREAM = "contains an uncovered top-level op segment whose section kind cannot be inferred uniquely"
INSTEAD = (
    "wrap the ops of each core explicitly: pto.section.cube { ... } around cube work, "
    "pto.section.vector { ... } around vector work"
)


@dataclass
class Run:
    """Consecutive statements of one kind; `ops` is everything that goes into the section, in order."""

    kind: Affinity
    members: list[int] = field(default_factory=list[int])
    ops: list[Operation] = field(default_factory=list[Operation])


@dataclass
class Plan:
    """The sections of one function. `kinds` are the cores it needs; `covered` says that nothing is left to place."""

    function: func.FuncOp
    runs: list[Run]
    kinds: Cores
    covered: bool
    wrappable: bool = True


def ambiguous(op: Operation, reason: str, *notes: str) -> Diagnostic:
    """The refusal of the section inference, at the op that makes it ambiguous."""
    return refuse(
        op,
        f"section kind ambiguous: '{op.name}' {reason}",
        *notes,
        UPSTREAM,
        instead=INSTEAD,
        code="section-kind-ambiguous",
    )


def plan(function: func.FuncOp, functions: Functions) -> Plan:
    """The sections of a function with a body. Raises a `Diagnostic` at the first op that makes them ambiguous."""
    blocks = list(function.body.blocks)
    if len(blocks) > 1:
        return _plan_graph(function, blocks, functions)
    statements = [statement(op, functions) for op in blocks[0].ops]
    if not any(Weight.SYNC <= s.weight <= Weight.CARRIER or s.refused for s in statements):
        walls = frozenset(kind for s in statements for kind in s.kinds)
        return Plan(function, [], walls, covered=True)
    placed = _Placement(statements).resolve()
    runs = _Runs(blocks[0], statements, placed).form()
    kinds = frozenset(kind for kind in placed if kind is not None)
    walls = frozenset(k for s in statements if s.weight is Weight.WALL for k in s.kinds)
    return Plan(function, runs, kinds | walls, covered=False)


def _plan_graph(function: func.FuncOp, blocks: Sequence[Block], functions: Functions) -> Plan:
    """A function with branches between blocks: it can be of one kind, but its parts cannot be wrapped."""
    statements = [statement(op, functions) for block in blocks for op in block.ops]
    if not any(Weight.SYNC <= s.weight <= Weight.CARRIER or s.refused for s in statements):
        return Plan(function, [], frozenset(k for s in statements for k in s.kinds), covered=True)
    placed = _Placement(statements).resolve()
    kinds = frozenset(kind for kind in placed if kind is not None)
    if len(kinds) > 1:
        first = next(k for k in placed if k is not None)
        index = next(i for i, k in enumerate(placed) if k is not None and k is not first)
        raise ambiguous(statements[index].op, "is of another kind than the ops before it, in a body with branches")
    return Plan(function, [], kinds, covered=False, wrappable=False)


class _Placement:
    """Gives every statement that needs a core its core: by proof, by its neighbours, or by the event it shares."""

    def __init__(self, statements: list[Statement]) -> None:
        self.statements = statements
        self.kinds: list[Affinity | None] = [s.kind if s.weight is Weight.CARRIER else None for s in statements]
        self.before = self._nearest(range(len(statements)))
        self.after = self._nearest(range(len(statements) - 1, -1, -1))
        self.problems: dict[int, Diagnostic] = {}

    def resolve(self) -> list[Affinity | None]:
        """The core of each statement; None for those that need none."""
        for index, s in enumerate(self.statements):
            if s.refused is not None:
                self.problems[index] = ambiguous(*s.refused, *_where(s))
            elif s.weight in (Weight.SYNC, Weight.EFFECT):
                self._by_neighbours(index)
        self._by_events()
        self._check_events()
        if self.problems:
            raise self.problems[min(self.problems)]
        return self.kinds

    def _nearest(self, order: range) -> list[Cores]:
        found: list[Cores] = [frozenset()] * len(self.statements)
        last: Cores = frozenset()
        for index in order:
            found[index] = last
            if self.statements[index].weight >= Weight.CARRIER and self.statements[index].kinds:
                last = self.statements[index].kinds
        return found

    def _by_neighbours(self, index: int) -> None:
        s = self.statements[index]
        neighbours = self.before[index] | self.after[index]
        choice = s.cores & neighbours
        if len(choice) == 1:
            self.kinds[index] = next(iter(choice))
        elif neighbours or s.weight is Weight.SYNC:
            self.problems[index] = self._undecided(index, neighbours)

    def _undecided(self, index: int, neighbours: Cores) -> Diagnostic:
        s = self.statements[index]
        op = s.carrier or s.op
        if not neighbours:
            return ambiguous(op, "has a queue on both cores and nothing around it belongs to a core")
        if not s.cores & neighbours:
            reason = f"needs {name_cores(s.cores)}, but lies among ops of {name_cores(neighbours)}"
            return ambiguous(op, reason)
        what = "has a queue on both cores" if s.weight is Weight.SYNC else "has an effect that must happen once"
        before, after = name_cores(self.before[index]), name_cores(self.after[index])
        return ambiguous(op, f"{what} and lies between ops of {before} and ops of {after}")

    def _by_events(self) -> None:
        """A flag on a border goes where every other op on its event is; both ends of an event see each other."""
        placed: defaultdict[tuple[str, str, str], set[Affinity]] = defaultdict(set)
        for _, op, kind in self._flags():
            event = _event(op)
            if event is not None and kind is not None:
                placed[event].add(kind)
        for index in list(self.problems):
            s = self.statements[index]
            event = _event(s.op)
            kinds = placed[event] & s.cores if event is not None else set[Affinity]()
            if s.weight is Weight.SYNC and s.refused is None and len(kinds) == 1 and len(s.cores) == 2:
                if self.before[index] | self.after[index]:
                    self.kinds[index] = next(iter(kinds))
                    del self.problems[index]

    def _check_events(self) -> None:
        """A set and its wait may not end on two cores, unless its queues are on two cores to begin with."""
        owners: dict[tuple[str, str, str], tuple[Affinity, Operation]] = {}
        for index, op, kind in self._flags():
            event, trait = _event(op), trait_of(op, CoreAffinity)
            if event is None or kind is None or not isinstance(trait, Sync):
                continue
            if not trait.cores(op) & trait.peer_cores(op):
                continue
            owner, first = owners.setdefault(event, (kind, op))
            if owner is not kind and trait != trait_of(first, CoreAffinity):
                reason = (
                    f"lands on the {kind.value} core, but '{first.name}' of the same event lands on the "
                    f"{owner.value} core ({Location.of(first)}); they cannot see each other"
                )
                self.problems.setdefault(index, ambiguous(op, reason))

    def _flags(self) -> list[tuple[int, Operation, Affinity | None]]:
        return [(i, op, self.kinds[i]) for i, s in enumerate(self.statements) for op in s.flags]


def _event(op: Operation) -> tuple[str, str, str] | None:
    trait = trait_of(op, CoreAffinity)
    return trait.event(op) if isinstance(trait, Sync) else None


def _where(s: Statement) -> list[str]:
    return [f"first {kind.value} op: '{op.name}' at {Location.of(op)}" for kind, op in s.first.items()]


OUTSIDE = -1
UNUSED = -2


class _Runs:
    """Forms runs and decides which neutral statements go with them."""

    def __init__(self, block: Block, statements: list[Statement], placed: list[Affinity | None]) -> None:
        self.block = block
        self.statements = statements
        self.placed = placed
        self.index = {s.op: i for i, s in enumerate(statements)}
        self.users = [self._users_of(s.op) for s in statements]
        self.breaks: set[int] = set()

    def form(self) -> list[Run]:
        """The runs with all their ops, in program order."""
        while True:
            runs, run_of = self._consecutive()
            owners = self._owners(run_of)
            crossing = self._reads_that_leave(runs, owners)
            if not crossing:
                break
            self.breaks |= crossing
        for index, owner in enumerate(owners):
            if owner >= 0:
                runs[owner].ops.append(self.statements[index].op)
        return runs

    def _consecutive(self) -> tuple[list[Run], list[int]]:
        runs: list[Run] = []
        run_of = [OUTSIDE] * len(self.statements)
        is_open = False
        for index, kind in enumerate(self.placed):
            if self.statements[index].weight is Weight.WALL or index in self.breaks:
                is_open = False
            if kind is None:
                continue
            if not is_open or runs[-1].kind is not kind:
                runs.append(Run(kind))
                is_open = True
            runs[-1].members.append(index)
            run_of[index] = len(runs) - 1
        return runs, run_of

    def _owners(self, run_of: list[int]) -> list[int]:
        """For every statement the run it goes into: its own, or the only one that uses its results."""
        owners = list(run_of)
        spans = self._spans(run_of)
        for index in range(len(self.statements) - 1, -1, -1):
            s = self.statements[index]
            if owners[index] >= 0 or s.weight > Weight.READ or has_trait(s.op, IsTerminator):
                continue
            using = {OUTSIDE if u == OUTSIDE else owners[u] for u in self.users[index]}
            if not using:
                owners[index] = spans[index] if s.weight is Weight.FREE or spans[index] >= 0 else OUTSIDE
            elif len(using) == 1:
                owner = next(iter(using))
                owners[index] = owner if s.weight is Weight.FREE or owner == spans[index] else OUTSIDE
        return owners

    def _spans(self, run_of: list[int]) -> list[int]:
        """For every statement the run that it lies in the middle of."""
        spans = [OUTSIDE] * len(run_of)
        last, start = OUTSIDE, 0
        for index, run in enumerate(run_of):
            if run == OUTSIDE:
                continue
            if run == last:
                spans[start : index + 1] = [run] * (index + 1 - start)
            last, start = run, index
        return spans

    def _reads_that_leave(self, runs: list[Run], owners: list[int]) -> set[int]:
        """Reads in the middle of a run that others need too: the run ends there, so that order is kept."""
        crossing: set[int] = set()
        for number, run in enumerate(runs):
            for index in range(run.members[0], run.members[-1]):
                if self.statements[index].weight is Weight.READ and owners[index] != number:
                    crossing.add(index)
        return crossing - self.breaks

    def _users_of(self, op: Operation) -> list[int]:
        found: list[int] = []
        for result in op.results:
            for use in result.uses:
                found.append(self._statement_of(use.operation))
        return found

    def _statement_of(self, op: Operation) -> int:
        current: Operation | None = op
        while current is not None and current.parent is not self.block:
            current = current.parent_op()
        index = OUTSIDE if current is None else self.index[current]
        if index != OUTSIDE and has_trait(self.statements[index].op, IsTerminator):
            return OUTSIDE
        return index
