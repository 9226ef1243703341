"""What the memories of a core hold at every op: is each tile still there when it is read? (spec/front.md 4.1, 8.3)

This judges addresses without asking how they were chosen. It runs a function forwards over the set of tiles that are
intact: an op must find what it reads, a write spoils whatever it overlaps, the ways through a branch or a loop meet in
what is intact on all of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from cubelane.analysis.tile_buffers import bytes_of
from cubelane.analysis.tile_lifetimes import is_view, may_take, viewed
from cubelane.analysis.value_flow import joins_of, terminator
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import FunctionKind, kind_of
from cubelane.ir.narrowing import is_one, is_result
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import ReserveBufferOp
from cubelane.ir.traits import InPlace, Splits, has_trait, trait_of
from cubelane.ir.types import MemorySpace, TileType
from cubelane.ir.walk import ops_of
from cubelane.targets import Target

CODE = "memory-address"
HANDED_ON = (scf.YieldOp, scf.ConditionOp)
"""Ends of blocks: what they hand on is judged where it arrives."""


class Extent(NamedTuple):
    """Bytes of one space, from the first to the one behind the last."""

    space: MemorySpace
    first: int
    end: int

    def meets(self, other: "Extent") -> bool:
        """Whether the two share a byte."""
        return self.space is other.space and self.first < other.end and other.first < self.end


State = dict[SSAValue, Extent]
"""The tiles that are intact, each with its bytes."""


def shown_by(value: SSAValue) -> SSAValue:
    """The tile whose bytes a view shows; the tile itself if it is no view."""
    while is_result(value) and is_view(value.op):
        value = viewed(value.op)
    return value


@dataclass
class MemoryContents:
    """The findings of one function on a machine."""

    function: FuncOp
    target: Target
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def __post_init__(self) -> None:
        self._rings = list(self._reserved())
        self._seen: set[tuple[Operation, str]] = set()
        self._extents: dict[SSAValue, Extent | None] = {}
        self._block(self.function.body.block, {})

    def _reserved(self) -> Iterator[Extent]:
        home = MemorySpace.MAT if kind_of(self.function) is FunctionKind.AIC else MemorySpace.VEC
        taken: list[Extent] = []
        for op in ops_of(self.function, ReserveBufferOp):
            base = python_value(op.base)
            ring = Extent(home, base, base + python_value(op.size))
            if base < 0 or any(ring.meets(other) for other in taken):
                self._find(op, f"the ring {python_value(op.buffer_name)} has no place of its own")
            taken.append(ring)
            yield ring

    def _find(self, op: Operation, message: str) -> None:
        if (op, message) not in self._seen:
            self._seen.add((op, message))
            self.findings.append(refuse(op, message, code=CODE))

    # --- tiles -----------------------------------------------------------------------------------------------

    def _extent(self, value: SSAValue) -> Extent | None:
        """The bytes of a tile that has an address."""
        try:
            return self._extents[value]
        except KeyError:
            extent = self._extents[value] = self._extent_of(value.type)
            return extent

    def _extent_of(self, kind: Attribute) -> Extent | None:
        if not isinstance(kind, TileType) or kind.address is None or kind.memory is None:
            return None
        return Extent(kind.memory, kind.address, kind.address + bytes_of(kind, self.target))

    def _read(self, state: State, op: Operation, value: SSAValue) -> None:
        root = shown_by(value)
        whole = self._extent(root)
        if whole is None:
            return
        if root not in state:
            self._find(op, f"{_name(value)} was overwritten before {op.name} reads it")
        mine = whole if root is value else self._extent(value)
        if mine is not None and mine.first != whole.first:
            self._find(op, f"{_name(value)} does not lie where the tile it shows lies")

    def _write(self, state: State, op: Operation, value: SSAValue) -> None:
        extent = self._extent(value)
        if extent is None:
            return
        kind = value.type
        assert isinstance(kind, TileType) and kind.memory is not None
        if extent.end > self.target.capacity.get(extent.space, 0):
            self._find(op, f"{_name(value)} ends at byte {extent.end} of {extent.space.dsl}, behind its end")
        if extent.first % self.target.alignment.get(extent.space, 32):
            self._find(op, f"{_name(value)} begins at byte {extent.first}, which is not aligned")
        if any(extent.meets(ring) for ring in self._rings):
            self._find(op, f"{_name(value)} lies in the slots of a ring")
        for other in [v for v, e in state.items() if e.meets(extent)]:
            del state[other]
        state[value] = extent

    def _leaf(self, state: State, op: Operation) -> None:
        trait = trait_of(op, Splits)
        read = [v for v in op.operands if isinstance(v.type, TileType)]
        scratch: list[SSAValue] = []
        if trait is not None and trait.scratch:
            lent = [getattr(op, name, None) for name in trait.scratch]
            scratch = [v for v in read if any(v is s for s in lent)]
            read = [v for v in read if not any(v is s for s in lent)]
        for value in read:
            self._read(state, op, value)
        if read or scratch:
            for value in (*scratch, *op.results):
                self._beside(op, value, [v for v in (*read, *scratch) if v is not value])
        for value in scratch:
            if (extent := self._extent(shown_by(value))) is not None:
                for other in [v for v, e in state.items() if e.meets(extent)]:
                    del state[other]
        for result in op.results:
            self._write(state, op, result)

    def _beside(self, op: Operation, value: SSAValue, others: Iterable[SSAValue]) -> None:
        """What is written must not lie on what is read, unless cell on cell."""
        extent = self._extent(value)
        if extent is None:
            return
        for other in others:
            there = self._extent(shown_by(other))
            if there is None or not extent.meets(there):
                continue
            base = viewed(op) if has_trait(op, InPlace) else None
            exact = extent.first == there.first and (other is base or may_take(op, other, value))
            if not exact:
                self._find(op, f"{op.name} writes {_name(value)} over its operand {_name(other)}")

    # --- control flow ----------------------------------------------------------------------------------------

    def _block(self, block: Block, state: State) -> None:
        for op in block.ops:
            if not op.regions:
                if not is_view(op) and not is_one(op, HANDED_ON):
                    self._leaf(state, op)
            elif is_one(op, scf.ForOp):
                self._for(op, state)
            elif is_one(op, scf.IfOp):
                self._if(op, state)
            elif is_one(op, scf.WhileOp):
                self._while(op, state)
            else:
                self._leaf(state, op)

    def _arrive(self, state: State, op: Operation, source: Operation) -> None:
        """What goes over the edge from `source` into the joins of `op` changes its name, and must stay in place."""
        moved: list[tuple[SSAValue, SSAValue]] = []
        for join in joins_of(op):
            for slot in join.sources:
                if slot.op is source and isinstance(slot.value.type, TileType):
                    self._read(state, source, slot.value)
                    if self._extent(slot.value) != self._extent(join.targets[0]):
                        self._find(
                            source, f"{_name(slot.value)} arrives in another place than {_name(join.targets[0])}"
                        )
                    moved += [(slot.value, target) for target in join.targets]
        for _, target in moved:
            extent = self._extent(target)
            if extent is not None:
                for other in [v for v, e in state.items() if e.meets(extent) and not any(v is t for _, t in moved)]:
                    del state[other]
        for _, target in moved:
            if (extent := self._extent(target)) is not None:
                state[target] = extent

    def _settle(self, state: State, source: State) -> bool:
        """Keeps what both ways leave intact; whether that is less."""
        lost = [v for v, e in state.items() if source.get(v) != e]
        for value in lost:
            del state[value]
        return bool(lost)

    def _for(self, op: scf.ForOp, state: State) -> None:
        self._arrive(state, op, op)
        end = terminator(op, 0)
        while True:
            around = dict(state)
            self._block(op.body.block, around)
            self._arrive(around, op, end)
            if not self._settle(state, around):
                return

    def _if(self, op: scf.IfOp, state: State) -> None:
        ways: list[State] = []
        for region in op.regions:
            way = dict(state)
            if region.blocks:
                self._block(region.block, way)
                self._arrive(way, op, region.block.last_op or op)
            ways.append(way)
        first, second = ways
        self._settle(first, second)
        state.clear()
        state.update(first)

    def _while(self, op: scf.WhileOp, state: State) -> None:
        self._arrive(state, op, op)
        condition, end = terminator(op, 0), terminator(op, 1)
        while True:
            left = dict(state)
            self._block(op.before_region.block, left)
            self._arrive(left, op, condition)
            around = dict(left)
            self._block(op.after_region.block, around)
            self._arrive(around, op, end)
            if not self._settle(state, around):
                state.clear()
                state.update(left)
                return


def _name(value: SSAValue) -> str:
    return f"`{value.name_hint or 'a tile'}`"


def findings(function: FuncOp, target: Target) -> list[Diagnostic]:
    """Everything that is wrong with the addresses of a function."""
    return MemoryContents(function, target).findings
