"""Order through global memory between the cores (spec/passes.md 5.7, gap 22; cases E).

A store on one core and an access of the same elements on the other need an order. A tile that crosses between the two
accesses gives it: the other core cannot pop before it was pushed. Where none does, a *fence* is added, a token that
crosses right behind the first access. Its pop takes the place among the other crossings that its push has, so tokens
and data never change places in the ring, and a program with fences is as free of deadlock as one without.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from cubelane.analysis.boundaries import Boundary, place_of
from cubelane.analysis.gm_windows import Window, may_meet
from cubelane.analysis.places import Places
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.narrowing import is_one, is_result, is_value
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import RunsOnce, has_trait
from cubelane.ir.types import MemorySpace, TensorType, TileType
from cubelane.ir.walk import ops_in


class Fence(NamedTuple):
    """A token: pushed right after `after`, popped right before `before`; `reader` is the access that waits."""

    to_lanes: bool
    tile: SSAValue
    name: str
    after: Operation
    before: Operation
    reader: Operation

    @property
    def producer(self) -> Affinity:
        """The core that pushes."""
        return Affinity.CUBE if self.to_lanes else Affinity.VECTOR


@dataclass(frozen=True, eq=False)
class Access:
    """One op that reads or writes a parameter, on one core."""

    op: Operation
    core: Affinity
    root: SSAValue
    writes: bool
    atomic: bool
    window: Window | None
    position: int
    announces: bool = False
    """A side effect that must come after what was written before it; what follows need not wait for it."""


def _tile_of(op: Operation) -> SSAValue | None:
    """The tile an access moves: what is stored, or what was loaded."""
    tile = getattr(op, "tile", None)
    if is_value(tile):
        return tile
    return op.results[0] if op.results and isinstance(op.results[0].type, TileType) else None


class Paths:
    """Where ops stand: enclosing blocks, and which crossings lie between two of them."""

    def __init__(self, body: Block):
        self.number: dict[Operation, int] = {op: i for i, op in enumerate(ops_in(body))}
        self.body = body

    def ancestors(self, op: Operation) -> list[Operation]:
        """The op and all ops around it, innermost first, up to the body."""
        chain = [op]
        while op.parent_block() is not self.body:
            parent = op.parent_op()
            assert parent is not None
            op = parent
            chain.append(op)
        return chain

    def meet(self, one: Operation, two: Operation) -> tuple[list[Operation], list[Operation]]:
        """The chains of both up to the block they share; the last of each stand in that block."""
        first, second = self.ancestors(one), self.ancestors(two)
        while len(first) > 1 and len(second) > 1 and first[-1] is second[-1]:
            if first[-2].parent_block() is not second[-2].parent_block():
                break
            first.pop()
            second.pop()
        return first, second

    def common_loops(self, one: Operation, two: Operation) -> list[Operation]:
        """Loops around both, innermost first."""
        around = set(self.ancestors(two)[1:])
        return [op for op in self.ancestors(one)[1:] if op in around and is_one(op, (ForOp, WhileOp))]


class GmOrder:
    """Finds what must be ordered in one mixed body, and the tokens that do it."""

    def __init__(
        self,
        function: FuncOp,
        boundaries: dict[Operation, Boundary],
        runs_on: dict[Affinity, set[Operation]],
        places: Places,
        handles: TensorHandles,
    ):
        self.function, self.boundaries = function, boundaries
        self.block = function.body.block
        self.paths = Paths(self.block)
        self.runs_on, self.places, self.handles = runs_on, places, handles
        self.crossings: list[tuple[Operation, bool]] = [(op, b.to_lanes) for op, b in boundaries.items()]
        self.by_block: dict[Block | None, list[tuple[int, bool]]] = {}
        for op, to_lanes in self.crossings:
            self._note(op, to_lanes)
        self.found: list[tuple[Access, Access, bool]] = []

    def _note(self, op: Operation, to_lanes: bool) -> None:
        self.by_block.setdefault(op.parent_block(), []).append((self.paths.number[op], to_lanes))

    def fences(self) -> list[Fence]:
        """The tokens, in the order of their pushes. Raises a Diagnostic where no token can give the order."""
        accesses = list(self.accesses())
        by_root: dict[SSAValue, list[Access]] = {}
        for access in accesses:
            by_root.setdefault(access.root, []).append(access)
        edges = [edge for group in by_root.values() if self._contended(group) for edge in self._edges(group)]
        edges = [edge for edge in edges if not self._covered(*edge)]
        edges.sort(key=lambda edge: (edge[0].position, -edge[1].position), reverse=True)
        waits: dict[bool, set[Operation]] = {True: set(), False: set()}
        chosen: list[tuple[Access, Access, Operation, SSAValue]] = []
        for first, second, loop in edges:
            waits[first.core is Affinity.CUBE].update(self.paths.ancestors(second.op))
            if not self._covered(first, second, loop):
                anchor, tile = self._token(first, second)
                chosen.append((first, second, anchor, tile))
                self._note(anchor, first.core is Affinity.CUBE)
        return self._placed(chosen, waits)

    @staticmethod
    def _contended(group: list[Access]) -> bool:
        cores = {access.core for access in group}
        return len(cores) > 1 and any(access.writes for access in group)

    def accesses(self) -> Iterator[Access]:
        """All accesses of parameters, in program order; a shared read counts on every core that needs it."""
        written: dict[SSAValue, None] = {}
        for op in ops_in(self.block):
            if has_trait(op, RunsOnce):
                for core in self._cores(op):
                    for root in written:
                        yield Access(op, core, root, False, False, None, self.paths.number[op], announces=True)
                continue
            target, source = getattr(op, "target", None), getattr(op, "source", None)
            writes = has_trait(op, MemoryWriteEffect) and _is_tensor(target)
            reads = has_trait(op, MemoryReadEffect) and _is_tensor(source)
            value = target if writes else source if reads else None
            root = self.handles[value] if is_value(value) else None
            if root is None:
                continue
            if writes:
                written[root] = None
            atomic = bool(python_value(op.properties.get("atomic"))) and writes
            for core in self._cores(op):
                yield Access(op, core, root, writes, atomic, Window.of(op), self.paths.number[op])

    def _cores(self, op: Operation) -> list[Affinity]:
        place = self.places(op)
        if place is not Affinity.SHARED:
            return [place]
        return [core for core, ops in self.runs_on.items() if op in ops]

    def _edges(self, group: list[Access]) -> Iterator[tuple[Access, Access, Operation | None]]:
        """Pairs that need an order: the second after the first, in one run or around a loop."""
        for i, one in enumerate(group):
            for two in group[i:]:
                if (
                    one.core is two.core
                    or not (one.writes or two.writes)
                    or (one.atomic and two.atomic)
                    or one.announces
                ):
                    continue
                if one.op is not two.op and not self._exclusive(one.op, two.op) and may_meet(one.window, two.window):
                    yield one, two, None
                if two.announces:
                    continue
                for loop in self.paths.common_loops(one.op, two.op):
                    if may_meet(two.window, one.window, loop):
                        yield two, one, loop
                        break

    def _exclusive(self, one: Operation, two: Operation) -> bool:
        """Whether the two stand in different branches of one `if`."""
        first, second = self.paths.meet(one, two)
        return first[-1] is second[-1] and is_one(first[-1], IfOp)

    def _covered(self, first: Access, second: Access, loop: Operation | None) -> bool:
        """Whether something crosses from the first core to the second between the two accesses, on every path."""
        to_lanes = first.core is Affinity.CUBE
        if loop is None:
            mine, other = self.paths.meet(first.op, second.op)
            return (
                self._behind(mine[:-1], to_lanes)
                or self._ahead(other[:-1], to_lanes)
                or self._between(mine[-1], other[-1], to_lanes)
            )
        mine, other = self._below(first.op, loop), self._below(second.op, loop)
        return self._behind(mine, to_lanes) or self._ahead(other, to_lanes)

    def _below(self, op: Operation, loop: Operation) -> list[Operation]:
        chain = self.paths.ancestors(op)
        return chain[: chain.index(loop)]

    def _in(self, op: Operation, to_lanes: bool) -> list[int]:
        return [n for n, way in self.by_block.get(op.parent_block(), ()) if way == to_lanes]

    def _behind(self, chain: list[Operation], to_lanes: bool) -> bool:
        """A fence behind an op counts from that op on, a crossing from behind it."""
        return any(any(n >= self.paths.number[op] for n in self._in(op, to_lanes)) for op in chain)

    def _ahead(self, chain: list[Operation], to_lanes: bool) -> bool:
        return any(any(n < self.paths.number[op] for n in self._in(op, to_lanes)) for op in chain)

    def _between(self, one: Operation, two: Operation, to_lanes: bool) -> bool:
        low, high = self.paths.number[one], self.paths.number[two]
        return any(low <= n < high for n in self._in(one, to_lanes))

    def _token(self, first: Access, second: Access) -> tuple[Operation, SSAValue]:
        """Where the token is pushed, and the tile that it is."""
        tile = _tile_of(first.op)
        kind = tile.type if tile is not None else None
        wanted = MemorySpace.ACC if first.core is Affinity.CUBE else MemorySpace.VEC
        if tile is None or not isinstance(kind, TileType) or kind.memory is not wanted or len(kind.shape) != 2:
            raise self._unordered(first, second)
        anchor = first.op
        while (parent := anchor.parent_op()) is not self.function and parent is not None:
            if not is_one(parent, IfOp) or not self._own_condition(parent) or not self._visible(tile, parent):
                break
            anchor = parent
        return anchor, tile

    def _own_condition(self, branch: IfOp) -> bool:
        """Whether only the lanes know which way a branch goes."""
        todo, seen = [branch.cond], set[SSAValue]()
        while todo:
            value = todo.pop()
            if value in seen or not is_result(value):
                continue
            seen.add(value)
            if is_one(value.op, SubblockIdxOp) or place_of(value.op) is Affinity.VECTOR:
                return True
            todo += value.op.operands
        return False

    @staticmethod
    def _visible(value: SSAValue, at: Operation) -> bool:
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent_block()
        block = at.parent_block()
        while block is not None:
            if block is home:
                return True
            parent = block.parent_op()
            block = parent.parent_block() if parent is not None else None
        return False

    def _unordered(self, first: Access, second: Access) -> Diagnostic:
        def does(access: Access) -> str:
            return "writes" if access.writes else "reads"

        names = {Affinity.CUBE: "the cube", Affinity.VECTOR: "the vector side"}
        tensor = first.root.name_hint or "a tensor"
        return refuse(
            second.op,
            f"`{tensor}` has no order: {names[second.core]} {does(second)} here what {names[first.core]} "
            f"{does(first)} at {Location.of(first.op)}",
            "the two cores run side by side, and no tile crosses between the two accesses",
            instead="let a tile that depends on the first access cross to the other core before the second one, or "
            "use a tensor of its own for each step",
            code="unordered-memory",
        )

    def _placed(
        self, chosen: "list[tuple[Access, Access, Operation, SSAValue]]", waits: dict[bool, set[Operation]]
    ) -> list[Fence]:
        """Gives every pop the place among the crossings that its push has, before any access that may rely on it."""
        chosen.sort(key=lambda item: self.paths.number[item[2]])
        fences: list[Fence] = []
        later: dict[bool, set[Operation]] = {True: set(), False: set()}
        for first, second, anchor, tile in reversed(chosen):
            to_lanes = first.core is Affinity.CUBE
            before = self._latest(anchor, waits[to_lanes] | later[to_lanes], to_lanes)
            later[to_lanes].add(before)
            name = first.root.name_hint or "tensor"
            fences.append(Fence(to_lanes, tile, name, anchor, before, second.op))
        return fences[::-1]

    def _latest(self, anchor: Operation, stops: set[Operation], to_lanes: bool) -> Operation:
        """The last statement of the anchor's block before which the token may be popped."""
        current = anchor.next_op
        assert current is not None
        while current.next_op is not None:
            if current in stops or self._crosses(current, to_lanes):
                break
            current = current.next_op
        return current

    def _crosses(self, op: Operation, to_lanes: bool) -> bool:
        """Whether an op is or holds a crossing, or a fence inside, of that direction."""
        if op in self.boundaries:
            return self.boundaries[op].to_lanes == to_lanes
        if not op.regions:
            return False
        end = op.next_op
        low = self.paths.number[op]
        high = self.paths.number[end] if end is not None else len(self.paths.number)
        return any(low < n < high and way == to_lanes for ns in self.by_block.values() for n, way in ns)


def _is_tensor(value: object) -> bool:
    return is_value(value) and isinstance(value.type, TensorType)
