"""How much of each memory space a program needs at once: buffers of tiles by liveness (spec/front.md 4.1).

A buffer belongs to the op that makes a tile; views and in-place results share it, a carried tile has one for the whole
loop, and a popped tile lies in its slot of the ring and needs none.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, WhileOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from cubelane.analysis.value_flow import joins_of
from cubelane.ir.tile.channel import PopOp
from cubelane.ir.traits import InPlace, Splits
from cubelane.ir.types import MemorySpace, TileType, bit_width
from cubelane.targets import Target

ACC_ROWS = 16
"""Rows of an accumulator are allocated in blocks of this many (spec/front.md 4.1)."""


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory of one tile: from the op at position `start` to the last use at `end`, both included."""

    value: SSAValue
    space: MemorySpace
    size: int
    start: int
    end: int
    scratch: bool

    @property
    def rows(self) -> int:
        """Rows of the tile's box."""
        kind = self.value.type
        assert isinstance(kind, TileType)
        return kind.shape[0] if len(kind.shape) > 1 else 1

    @property
    def op(self) -> Operation | None:
        """The op that makes the tile, or the loop that carries it."""
        owner = self.value.owner
        return owner.parent_op() if isinstance(owner, Block) else owner


def bytes_of(tile: TileType, target: Target) -> int:
    """Bytes that a tile takes in its space, rounded up to the alignment."""
    shape = list(tile.shape)
    if tile.memory is MemorySpace.ACC and len(shape) == 2:
        shape[0] = -(-shape[0] // ACC_ROWS) * ACC_ROWS
    cells = 1
    for extent in shape:
        cells *= extent
    size = (cells * bit_width(tile.dtype) + 7) // 8
    step = target.alignment.get(tile.memory, 32) if tile.memory is not None else 32
    return -(-size // step) * step


class Buffers:
    """All buffers of one program."""

    def __init__(self, function: FuncOp, target: Target):
        self.function, self.target = function, target
        self.start: dict[Operation, int] = {}
        self.end: dict[Operation, int] = {}
        self.root: dict[SSAValue, SSAValue] = {}
        self.last: dict[SSAValue, int] = {}
        self._number(function.body.block, 0)
        self._aliases()
        self._uses()

    def _number(self, block: Block, position: int) -> int:
        for op in block.ops:
            self.start[op] = position
            position += 1
            for region in op.regions:
                for inner in region.blocks:
                    position = self._number(inner, position)
            self.end[op] = position - 1
        return position

    def of(self, value: SSAValue) -> SSAValue:
        """The value whose buffer a tile lies in."""
        while value in self.root:
            value = self.root[value]
        return value

    def _aliases(self) -> None:
        for op in self.start:
            trait = op.get_trait(InPlace)
            if trait is not None:
                for result in op.results:
                    self.root[result] = getattr(op, trait.operand)
            if isinstance(op, ForOp | WhileOp):
                for join in joins_of(op):
                    for target in join.targets[1:]:
                        self.root[target] = join.targets[0]
                if isinstance(op, WhileOp):
                    pairs = zip(op.after_region.block.args, op.before_region.block.args, strict=False)
                    self.root.update({after: before for after, before in pairs if after is not before})

    def _uses(self) -> None:
        for op, position in self.start.items():
            for operand in op.operands:
                if isinstance(operand.type, TileType):
                    root = self.of(operand)
                    self.last[root] = max(self.last.get(root, 0), self._extended(root, op, position))

    def _extended(self, root: SSAValue, reader: Operation, position: int) -> int:
        """A use inside a loop that the buffer is older than lasts to the end of that loop."""
        home = root.owner if isinstance(root.owner, Block) else root.owner.parent_block()
        current = reader
        while current.parent_block() is not home:
            parent = current.parent_op()
            if parent is None or parent is self.function:
                break
            current = parent
            if isinstance(current, ForOp | WhileOp):
                position = max(position, self.end[current])
        return position

    def __iter__(self) -> Iterator[Buffer]:
        for op, position in self.start.items():
            for result in op.results:
                if result not in self.root and not isinstance(op, PopOp):
                    yield from self._buffer(result, position)
            if isinstance(op, ForOp | WhileOp):
                for join in joins_of(op):
                    if join.targets[0] not in self.root:
                        yield from self._buffer(join.targets[0], position, self.end[op])

    def _buffer(self, value: SSAValue, start: int, end: int = 0) -> Iterator[Buffer]:
        kind = value.type
        if isinstance(kind, TileType) and kind.memory is not None:
            last = max(self.last.get(value, start), end)
            yield Buffer(value, kind.memory, bytes_of(kind, self.target), start, last, _is_scratch(value))


def _is_scratch(value: SSAValue) -> bool:
    """Whether a tile only lends memory."""
    uses = list(value.uses)
    if not isinstance(value, OpResult) or not uses:
        return False
    for use in uses:
        trait = use.operation.get_trait(Splits)
        names = trait.scratch if trait is not None else ()
        if not any(getattr(use.operation, name, None) is value for name in names):
            return False
    return True


def peak(buffers: list[Buffer]) -> list[Buffer]:
    """The buffers that are alive where most bytes are."""
    events: list[tuple[int, int, Buffer]] = []
    for buffer in buffers:
        events += [(buffer.start, 1, buffer), (buffer.end + 1, 0, buffer)]
    events.sort(key=lambda event: event[:2])
    alive: dict[Buffer, None] = {}
    now = most = 0
    best: list[Buffer] = []
    for _, begins, buffer in events:
        if begins:
            alive[buffer] = None
            now += buffer.size
            if now > most:
                most, best = now, list(alive)
        else:
            del alive[buffer]
            now -= buffer.size
    return best
