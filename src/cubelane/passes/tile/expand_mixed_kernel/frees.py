"""Gives every popped slot back after its last use, on every path (spec/passes.md 5.10, gaps 21 and 24).

A popped tile *is* its slot, and so is every view of it, every loop carry and branch result that may hold it. On the
machine a free names no tile: it gives back the oldest slot of the ring. So frees stand in the order of the pops, and
a tile is copied out of its slot where that cannot be:

* it leaves its block through a yield (the next trip would read a slot that was given back),
* something nested pops from the same ring while the tile is alive (its frees would come first),
* more slots would be held than the ring has (the producer could never push the next tile).

With these rules the program, run in its own order on both cores at once, never waits for a slot that is held; two
cores that exchange tiles in the same order then cannot deadlock, whatever the interleaving.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from cubelane.analysis.value_flow import arrives_at
from cubelane.ir.diagnostic import refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Bound, python_value
from cubelane.ir.tile.channel import FreeOp, FreeToCubeOp, FreeToLanesOp, PopOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.traits import InPlace, has_trait, trait_of
from cubelane.ir.types import MemorySpace, TileType


def views_of(op: Operation, index: int) -> tuple[SSAValue, ...]:
    """The results of an op that are the buffer of its operand `index`."""
    trait = trait_of(op, InPlace)
    if trait is None or getattr(op, trait.operand) is not op.operands[index]:
        return ()
    return tuple(op.results)


@dataclass
class Life:
    """One popped tile: where it is used, as positions in the block of its pop."""

    pop: PopOp
    position: int
    last: int
    leaves: bool
    """Whether it is yielded out of its block."""
    frees: list[FreeOp] = field(default_factory=list[FreeOp])

    @property
    def ring(self) -> tuple[bool, int]:
        """Direction and pipe of the slot."""
        return self.pop.TO_LANES, python_value(self.pop.properties.get("id")) or 0


class Positions:
    """Where an op stands in a block, counting nested ops as the op around them."""

    def __init__(self, block: Block):
        self.block = block
        self.ops = list(block.ops)
        self.number = {op: i for i, op in enumerate(self.ops)}

    def of(self, op: Operation) -> int:
        """The position of the op of this block that is or holds `op`."""
        while op not in self.number:
            parent = op.parent_op()
            assert parent is not None
            op = parent
        return self.number[op]


def life_of(pop: PopOp, at: Positions) -> Life:
    """Follows a popped tile through views, carries and branch results of its block."""
    life = Life(pop, at.number[pop], at.number[pop], False)
    todo: list[SSAValue] = [pop.results[0]]
    seen = set(todo)
    while todo:
        for use in todo.pop().uses:
            op = use.operation
            if is_one(op, FreeOp):
                life.frees.append(op)
                continue
            if op.parent_block() is at.block and has_trait(op, IsTerminator):
                life.leaves = True
                life.last = max(life.last, len(at.ops) - 2)
                continue
            life.last = max(life.last, at.of(op))
            for alias in (*views_of(op, use.index), *arrives_at(use)):
                if alias not in seen:
                    seen.add(alias)
                    todo.append(alias)
    return life


def blocks_in(op: Operation) -> Iterator[Block]:
    """All blocks below an op, inner ones first."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from blocks_in(inner)
            yield block


class FreeInserter:
    """Places the frees of one core's program."""

    def __init__(self, depth: int):
        self.depth = depth

    def run(self, function: Operation) -> None:
        """Adds the missing frees of every block; frees that are there and stand right stay."""
        for block in list(blocks_in(function)):
            if any(is_one(op, PopOp) for op in block.ops):
                self._block(block)

    def _block(self, block: Block) -> None:
        at = Positions(block)
        lives = [life_of(op, at) for op in at.ops if is_one(op, PopOp)]
        nested = [
            {ring for inner in blocks_in(op) for ring in _rings(inner)} if op.regions else set[tuple[bool, int]]()
            for op in at.ops
        ]
        ends = self._ends(lives, nested)
        for life in lives:
            if id(life) not in ends:
                self._copy_out(life, block)
        for life in lives:
            end = ends.get(id(life))
            self._free(life, None if end is None else at.ops[end])

    def _ends(self, lives: list[Life], nested: list[set[tuple[bool, int]]]) -> dict[int, int]:
        """Position of the free per life that keeps its slot; those left out must be copied."""
        busy = [i for i, rings in enumerate(nested) if rings]
        copied = {
            id(life)
            for life in lives
            if life.leaves or any(life.position < i <= life.last and life.ring in nested[i] for i in busy)
        }
        ends: dict[int, int] = {}
        for ring in dict.fromkeys(life.ring for life in lives):
            ends.update(self._ring_ends([life for life in lives if life.ring == ring], copied))
        return ends

    def _ring_ends(self, lives: list[Life], copied: set[int]) -> dict[int, int]:
        """Frees in the order of the pops, never more than `depth` slots held at once."""
        while True:
            ends, crowded = self._try(lives, copied)
            if not crowded:
                return ends
            copied = copied | crowded

    def _try(self, lives: list[Life], copied: set[int]) -> tuple[dict[int, int], set[int]]:
        """Ends if just `copied` are copied at once, and who else must be."""
        held: deque[int] = deque()
        ends: dict[int, int] = {}
        crowded: set[int] = set()
        for life in lives:
            while held and ends[held[0]] < life.position:
                held.popleft()
            if id(life) in copied:
                # freed at once: whatever is still held would be given back in its place
                crowded.update(held)
                held.clear()
                continue
            while len(held) >= self.depth:
                crowded.add(held.popleft())
            ends[id(life)] = max(life.last, ends[held[-1]] if held else 0)
            held.append(id(life))
        return ends, crowded

    def _copy_out(self, life: Life, block: Block) -> None:
        """Copies the tile right behind its pop; everybody reads the copy."""
        tile = life.pop.results[0]
        assert isinstance(tile.type, TileType)
        if tile.type.memory is not MemorySpace.VEC:
            raise refuse(
                life.pop,
                f"`{tile.name_hint or 'tile'}` stays in its slot of the ring longer than the ring can hold it",
                "the cube has no copy from L1 to L1",
                instead="move it to Left or Right in the trip that receives it, or deepen the ring: "
                "pl.cross_core_slot(slot_num=N)",
                code="slot-held-too-long",
            )
        uses = [use for use in tile.uses if not is_one(use.operation, FreeOp)]
        copy = MoveOp.from_call(Bound({"tile": tile}), tile.type)
        copy.location = life.pop.location
        result = copy.results[0]
        result.name_hint = f"{tile.name_hint or 'tile'}_copy"
        for use in uses:
            use.operation.operands[use.index] = result
        block.insert_op_after(copy, life.pop)

    def _free(self, life: Life, after: Operation | None) -> None:
        tile = life.pop.results[0]
        kind = FreeToCubeOp if life.pop.TO_LANES else FreeToLanesOp
        anchor = after if after is not None else life.pop.next_op
        assert anchor is not None
        own = [free for free in life.frees if free.TO_LANES == life.pop.TO_LANES]
        if len(own) == 1 and after is not None and self._behind(own[0], anchor):
            own[0].operands[0] = tile
            return
        call = Bound({"tile": tile, "id": python_value(life.pop.properties.get("id"))})
        for free in own:
            call = free.bound()
            call.values["tile"] = tile
            free.detach()
            free.erase()
        new = kind.from_call(call)
        new.location = anchor.location
        block = life.pop.parent_block()
        assert block is not None
        while is_one(anchor.next_op, FreeOp) and self._older(anchor.next_op, life):
            anchor = anchor.next_op
        block.insert_op_after(new, anchor)

    @staticmethod
    def _behind(free: FreeOp, last: Operation) -> bool:
        """Whether an existing free stands in the block of the last use, behind it."""
        block = free.parent_block()
        if block is None or block is not last.parent_block():
            return False
        return any(op is free for op in block.ops) and block.get_operation_index(free) > block.get_operation_index(last)

    @staticmethod
    def _older(free: FreeOp, life: Life) -> bool:
        """Whether a free gives back a slot of the same ring that was popped earlier."""
        pop = free.tile.owner
        return is_one(pop, PopOp) and pop.TO_LANES == life.pop.TO_LANES


def _rings(block: Block) -> Iterator[tuple[bool, int]]:
    for op in block.ops:
        if is_one(op, PopOp):
            yield op.TO_LANES, python_value(op.properties.get("id")) or 0
