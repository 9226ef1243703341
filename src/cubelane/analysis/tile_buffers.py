"""Which contents share one buffer, and which of them cannot and need a copy (spec/front.md 4.1, 5.4).

What goes round a loop, comes out of a branch or is added to in place must end in one buffer. Contents are merged
greedily, the innermost loops first, as long as no two of a buffer are needed at once; where that fails a copy is due.
"""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.tile_layout import matrix_shape, padded_shape
from cubelane.analysis.tile_lifetimes import Content, Lifetimes, tile_joins, viewed
from cubelane.ir.narrowing import is_one
from cubelane.ir.traits import Splits, trait_of
from cubelane.ir.types import MemorySpace, TileType, bit_width, is_float
from cubelane.targets import Target


def bytes_of(tile: TileType, target: Target) -> int:
    """Bytes that a tile takes in its space: whole blocks of cells, rounded up to the alignment of the space."""
    step = 32 if tile.memory is None else target.alignment.get(tile.memory, 32)
    return _rounded_bytes(tile, target.integer_accumulator_rows, step)


@lru_cache(maxsize=1 << 12)
def _rounded_bytes(tile: TileType, integer_accumulator_rows: int, alignment: int) -> int:
    """Many tiles of a program have the same type; every plan and every check of it asks how large they are."""
    rows, columns = padded_shape(tile)
    if tile.memory is MemorySpace.ACC:
        step = 16 if is_float(tile.dtype) else integer_accumulator_rows
        rows = -(-rows // step) * step
    size = -(-rows * columns * bit_width(tile.dtype) // 8)
    return -(-size // alignment) * alignment


@dataclass(eq=False)
class Buffer:
    """One piece of memory, for all contents that take turns in it. `size` in bytes, of the largest of its tiles.

    A tile that is carried through many loops has many contents: two buffers are compared in steps of the one that has
    less to compare.
    """

    contents: list[Content]
    size: int
    space: MemorySpace
    """The memory space it lies in."""

    def __post_init__(self) -> None:
        self._members = set(self.contents)
        self._segments = sorted(segment for content in self.contents for segment in content.segments)
        """When it is in use, in order; no two overlap."""
        self._links = sum(1 + len(content.apart) + len(content.beside) for content in self.contents)
        """The steps it takes to look through what its contents are linked with."""
        self.place = next((p for content in self.contents if (p := content.place) is not None), None)
        """The address that the author gave one of its tiles."""

    @property
    def start(self) -> int:
        """The first position at which it holds something."""
        return self._segments[0][0]

    @property
    def end(self) -> int:
        """The last position at which it holds something."""
        return self._segments[-1][1]

    def take_in(self, other: "Buffer") -> None:
        """Makes the contents of another buffer its own."""
        self.contents += other.contents
        self.size = max(self.size, other.size)
        few, many = sorted((self._segments, other._segments), key=len)
        for segment in few:
            insort(many, segment)
        self._segments = many
        self._members |= other._members
        self._links += other._links
        if self.place is None:
            self.place = other.place

    @property
    def value(self) -> SSAValue:
        """The tile that names the buffer: the first one of the largest box."""
        return max(self.contents, key=lambda content: content.type.size_in_bytes).root

    @property
    def rows(self) -> int:
        """Rows of that tile."""
        kind = self.value.type
        assert isinstance(kind, TileType)
        return matrix_shape(kind)[0] if len(kind.shape) > 1 else 1

    @property
    def op(self) -> Operation | None:
        """The op that makes that tile, or the loop that carries it."""
        owner = self.value.owner
        return owner.parent_op() if isinstance(owner, Block) else owner

    def placed_elsewhere(self) -> Iterator[SSAValue]:
        """Tiles of it that the author placed at another address."""
        for content in self.contents:
            for value in (content.root, *content.views):
                if isinstance(value.type, TileType) and value.type.address not in (None, self.place):
                    yield value

    @property
    def scratch(self) -> bool:
        """Whether it only lends memory."""
        return all(_only_lent(content) for content in self.contents)

    def excludes(self, other: "Buffer") -> bool:
        """Whether no byte of the two may be shared, save that one takes the very place of the other."""
        return not self.can_stand_in_for(other) or self._linked(other, lambda content: content.beside)

    def can_stand_in_for(self, other: "Buffer") -> bool:
        """Whether the two may begin at the same byte."""
        return not self._meets(other) and not self._linked(other, lambda content: content.apart)

    def _meets(self, other: "Buffer") -> bool:
        """Whether both are needed at some position."""
        few, many = sorted((self._segments, other._segments), key=len)
        for start, end in few:
            behind = bisect_right(many, (end, inf))
            if behind and many[behind - 1][1] >= start:
                return True
        return False

    def _linked(self, other: "Buffer", links: Callable[[Content], list[Content]]) -> bool:
        """Whether some content of the one is linked with some content of the other."""
        few, many = sorted((self, other), key=lambda buffer: buffer._links)
        return any(link in many._members for content in few.contents for link in links(content))


def _only_lent(content: Content) -> bool:
    """Whether every reader of a content uses it as scratch memory."""
    uses = list(content.root.uses)
    if content.views or not uses:
        return False
    for use in uses:
        trait = trait_of(use.operation, Splits)
        names = trait.scratch if trait is not None else ()
        if not any(getattr(use.operation, name, None) is content.root for name in names):
            return False
    return True


@dataclass(frozen=True)
class Copy:
    """A copy that is due: the tile in operand `index` of `op` needs a buffer of its own there."""

    op: Operation
    index: int
    reason: str

    @property
    def value(self) -> SSAValue:
        """The tile to copy."""
        return self.op.operands[self.index]


class TileBuffers:
    """The buffers of a function on a machine, and the copies without which they do not suffice."""

    def __init__(self, function: FuncOp, target: Target):
        self.lifetimes = Lifetimes(function)
        self.copies: list[Copy] = []
        self._of: dict[Content, Buffer] = {}
        for content in self.lifetimes:
            kind = content.type
            if kind.memory is not None and not content.foreign:
                self._of[content] = Buffer([content], bytes_of(kind, target), kind.memory)
        self._join()

    def __iter__(self) -> Iterator[Buffer]:
        """Every buffer once, in the order in which they come into use."""
        return iter(sorted(dict.fromkeys(self._of.values()), key=lambda buffer: buffer.start))

    def holds(self, value: SSAValue) -> Buffer | None:
        """The buffer that a tile lies in; None for one in a slot of a ring."""
        return self._of.get(self.lifetimes[value])

    def of(self, content: Content) -> Buffer | None:
        """The buffer of a content; None for one in a slot of a ring."""
        return self._of.get(content)

    # --- merging ---------------------------------------------------------------------------------------------

    def _join(self) -> None:
        for op in self.lifetimes.in_place_ops():
            index = next(i for i, operand in enumerate(op.operands) if operand is viewed(op))
            self._merge_source(self.lifetimes[op.results[0]], op, index, "it is read again after it was written to")
        inits: list[tuple[Content, Operation, int]] = []
        for op in reversed(list(self.lifetimes.compound_ops())):
            # what a condition hands on comes first: the language has no place for a copy in a condition
            for targets, sources in sorted(tile_joins(op), key=lambda join: not _from_condition(join[1])):
                first, *rest = (self.lifetimes[target] for target in targets)
                for other in rest:
                    self._unite(first, other)
                for source, index in sources:
                    if source is op:
                        inits.append((first, source, index))
                    else:
                        self._merge_source(first, source, index, "the tile before it is read after it is made")
        for first, source, index in inits:
            self._merge_source(first, source, index, "it is read again after the loop began")

    def _merge_source(self, target: Content, op: Operation, index: int, reason: str) -> None:
        value = op.operands[index]
        source = self.lifetimes[value]
        if source.foreign:
            self.copies.append(Copy(op, index, source.foreign))
        elif not self.lifetimes.is_whole(value):
            self.copies.append(Copy(op, index, "it is a part of another tile"))
        elif not self._unite(target, source):
            places = self._of[target].place, self._of[source].place
            if None not in places and places[0] != places[1]:
                reason = f"its author placed it at {places[1]:,}, and what it becomes at {places[0]:,}"
            self.copies.append(Copy(op, index, reason))

    def _unite(self, a: Content, b: Content) -> bool:
        left, right = self._of[a], self._of[b]
        if left is right:
            return True
        if left.space is not right.space or not left.can_stand_in_for(right):
            return False
        if None not in (left.place, right.place) and left.place != right.place:
            return False
        for content in right.contents:
            self._of[content] = left
        left.take_in(right)
        return True


def _from_condition(sources: Sequence[tuple[Operation, int]]) -> bool:
    return all(is_one(op, scf.ConditionOp) for op, _ in sources)


def peak(buffers: Sequence[Buffer], of: TileBuffers) -> list[Buffer]:
    """The buffers that are needed at once where most bytes are."""
    mine = set(buffers)
    events: list[tuple[int, int, Content]] = []
    for buffer in buffers:
        for content in buffer.contents:
            for start, end in content.segments:
                events += [(start, 1, content), (end + 1, 0, content)]
    events.sort(key=lambda event: event[:2])
    alive: Counter[Buffer] = Counter()
    most, best = 0, list[Buffer]()
    for position, begins, content in events:
        buffer = of.of(content)
        assert buffer is not None
        alive[buffer] += 1 if begins else -1
        if not alive[buffer]:
            del alive[buffer]
        if begins:
            read = [b for c in content.clobbers if (b := of.of(c)) is not None] if position == content.start else []
            now = dict.fromkeys([*alive, *(b for b in read if b in mine)])
            if (size := sum(b.size for b in now)) > most:
                most, best = size, list(now)
    return best
