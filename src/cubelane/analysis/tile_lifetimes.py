"""What tiles hold, and from where to where it is needed (spec/front.md 4.1).

A *content* is what one op writes into a tile, or what arrives in a loop carry or an if-result. Views (a slice, a
reshape) show a content that is there already. Positions count the ops of a function in program order, two a piece: an
op reads at its even position and writes at the odd one behind it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import IfOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from cubelane.analysis.tile_layout import (
    is_contiguous,
    matrix_shape,
    same_order,
    same_order_swapped,
    window_is_contiguous,
)
from cubelane.analysis.value_flow import joins_of
from cubelane.ir.narrowing import is_one, is_result
from cubelane.ir.tile.channel import PopOp
from cubelane.ir.traits import Cost, CostClass, InPlace, Overwrites, Split, Splits, has_trait, trait_of, trait_of_class
from cubelane.ir.types import TileType

Segment = tuple[int, int]
"""Positions from the first to the last, both included."""


@dataclass(eq=False)
class Content:
    """What is written once. It is needed in `segments`: a branch that does not use it is a gap."""

    root: SSAValue
    segments: list[Segment] = field(default_factory=list[Segment])
    views: list[SSAValue] = field(default_factory=list[SSAValue])
    clobbers: list["Content"] = field(default_factory=list["Content"])
    """Operands that are still read while this is written: no byte may be shared with them."""
    takes: list["Content"] = field(default_factory=list["Content"])
    """Operands cell by cell behind which this may be written: exactly the same bytes are as good as none."""
    apart: list["Content"] = field(default_factory=list["Content"])
    """The contents that this clobbers, and those that clobber it."""
    beside: list["Content"] = field(default_factory=list["Content"])
    """The contents that this takes, and those that take it."""

    @property
    def type(self) -> TileType:
        """The type of the tile."""
        kind = self.root.type
        assert isinstance(kind, TileType)
        return kind

    @property
    def place(self) -> int | None:
        """The address that the author gave the tile, or one of its views that begin where it begins."""
        kinds = [value.type for value in (self.root, *self.views)]
        return next((kind.address for kind in kinds if isinstance(kind, TileType) and kind.address is not None), None)

    @property
    def start(self) -> int:
        """Where it is written."""
        return self.segments[0][0]

    @property
    def end(self) -> int:
        """Where it is read last."""
        return max(last for _, last in self.segments)

    @property
    def foreign(self) -> str | None:
        """Where it lies when that is not memory of the function: a slot of a ring, or what a caller handed over."""
        owner = self.root.owner
        if isinstance(owner, Block):
            return "it is a parameter" if is_one(owner.parent_op(), FuncOp) else None
        return "it lies in a slot of a ring" if is_one(owner, PopOp) else None

    def reads(self, other: "Content", taken: bool) -> None:
        """Notes an operand, which this may be written over cell by cell (`taken`) or not."""
        (self.takes if taken else self.clobbers).append(other)
        for one, two in ((self, other), (other, self)):
            (one.beside if taken else one.apart).append(two)


@cache
def _shows(kind: type[Operation]) -> bool:
    cost = trait_of_class(kind, Cost)
    return trait_of_class(kind, InPlace) is not None and cost is not None and cost.cost is CostClass.FREE


def is_view(op: Operation) -> bool:
    """Whether the op shows the content of its operand and writes nothing."""
    return _shows(op.__class__)


def viewed(op: Operation) -> SSAValue:
    """The operand that an in-place op works on."""
    trait = trait_of(op, InPlace)
    assert trait is not None
    value: SSAValue = getattr(op, trait.operand)
    return value


def is_window(op: Operation) -> bool:
    """Whether a view shows a part of its operand only."""
    trait = trait_of(op, Splits)
    return trait is not None and trait.behaviour is Split.SLICES


def may_take(op: Operation, operand: SSAValue, result: SSAValue) -> bool:
    """Whether an op may write its result cell by cell over an operand."""
    old, new = operand.type, result.type
    if not isinstance(old, TileType) or not isinstance(new, TileType):
        return False
    trait, base = trait_of(op, Splits), trait_of(op, Overwrites)
    lent = () if trait is None else (*trait.scratch, *trait.packed)
    if any(getattr(op, name, None) is operand for name in lent):
        return False
    if not old.covers_the_cells_of(new):
        return False
    if base is not None:
        others = [o for o in op.operands if o is operand]
        return getattr(op, base.operand) is operand and len(others) == 1
    return trait is not None and trait.behaviour is Split.ELEMENTWISE


class Lifetimes:
    """All contents of a function."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.enter: dict[Operation, int] = {}
        self.leave: dict[Operation, int] = {}
        self.entry: dict[Block, int] = {}
        self._contents: dict[SSAValue, Content] = {}
        self._shown: dict[SSAValue, SSAValue] = {}
        self._inside: set[SSAValue] = set()
        self._arguments(function.body.block)
        self._visit(function.body.block, 0)
        for content in self:
            content.segments = self._segments(content)

    def __iter__(self) -> Iterator[Content]:
        return iter(self._contents.values())

    def __getitem__(self, value: SSAValue) -> Content:
        """The content that a tile shows."""
        return self._contents[self._shown.get(value, value)]

    def is_whole(self, value: SSAValue) -> bool:
        """Whether the tile shows all cells of its content, from the first byte on."""
        return value not in self._inside

    def in_place_ops(self) -> Iterator[Operation]:
        """The ops that write into the memory of an operand."""
        for op in self.enter:
            if has_trait(op, InPlace) and not is_view(op):
                yield op

    def compound_ops(self) -> Iterator[Operation]:
        """Loops and branches, from the outside in."""
        return (op for op in self.enter if op.regions)

    # --- building --------------------------------------------------------------------------------------------

    def _visit(self, block: Block, position: int) -> int:
        """Numbers the ops of a block and notes what they write, show and read; the position behind it."""
        self.entry[block] = position
        position += 1
        for op in block.ops:
            self.enter[op] = position
            position += 1
            if op.regions:
                position = self._compound(op, position)
                self.leave[op] = position
            elif is_view(op):
                self._view(op)
            else:
                self._leaf(op)
            position += 1
        return position

    def _new(self, value: SSAValue) -> Content:
        self._contents[value] = content = Content(value)
        return content

    def _arguments(self, block: Block) -> None:
        for argument in block.args:
            if isinstance(argument.type, TileType):
                self._new(argument)

    def _compound(self, op: Operation, position: int) -> int:
        blocks = [block for region in op.regions for block in region.blocks]
        for block in blocks:
            self._arguments(block)
        for result in op.results:
            if isinstance(result.type, TileType):
                self._new(result)
        for block in blocks:
            position = self._visit(block, position)
        return position

    def _view(self, op: Operation) -> None:
        source, result = viewed(op), op.results[0]
        self._shown[result] = root = self._shown.get(source, source)
        self._contents[root].views.append(result)
        if source in self._inside or (is_window(op) and not same_box(source, result)):
            self._inside.add(result)

    def _leaf(self, op: Operation) -> None:
        """What the op writes, each with the operands that may lie in the same place and those that must not."""
        made = [self._new(result) for result in op.results if isinstance(result.type, TileType)]
        if not made:
            return
        base = viewed(op) if has_trait(op, InPlace) else None
        read = [operand for operand in op.operands if isinstance(operand.type, TileType) and operand is not base]
        for content in made:
            for operand in read:
                taken = self.is_whole(operand) and may_take(op, operand, content.root)
                content.reads(self[operand], taken)

    def _segments(self, content: Content) -> list[Segment]:
        root = content.root
        if is_result(root):
            home, start = root.op.parent, 2 * self._end(root.op) + 1
            assert home is not None
        else:
            assert is_one(root, BlockArgument)
            home, start = root.block, 2 * self.entry[root.block] + 1
        readers = [use.operation for value in (content.root, *content.views) for use in value.uses]
        return self._reads_in(home, start, readers)

    def _end(self, op: Operation) -> int:
        """The position at which an op is done: behind its body, where it has one."""
        return self.leave.get(op) or self.enter[op]

    def _reads_in(self, home: Block, start: int, readers: Sequence[Operation]) -> list[Segment]:
        """From `start` to the last of the readers; a loop around a reader counts whole, of a branch the arm with it."""
        under: dict[Operation, list[Operation]] = {}
        for reader in readers:
            top = reader
            while top.parent is not home:
                parent = top.parent_op()
                assert parent is not None
                top = parent
            under.setdefault(top, []).append(reader)
        if not under:
            return [(start, start)]
        last = max(under, key=lambda op: self.enter[op])
        nested = [reader for reader in under[last] if reader is not last]
        if not nested:
            return [(start, 2 * self.enter[last])]
        if not is_one(last, IfOp):
            return [(start, 2 * self._end(last))]
        segments = [(start, 2 * self.enter[last])]
        for region in last.regions:
            for arm in region.blocks:
                inside = [reader for reader in nested if _is_in(reader, arm)]
                if inside:
                    segments += self._reads_in(arm, 2 * self.entry[arm], inside)
        return segments


def _is_in(op: Operation, block: Block) -> bool:
    """Whether an op lies in a block, however deep."""
    current: Operation | None = op
    while current is not None and current.parent_block() is not block:
        current = current.parent_op()
    return current is not None


def same_box(source: SSAValue, result: SSAValue) -> bool:
    return (
        isinstance(source.type, TileType)
        and isinstance(result.type, TileType)
        and source.type.shape == result.type.shape
    )


def view_problem(op: Operation, source_is_whole: bool) -> str | None:
    """Why the bytes of the operand cannot be read as the result of a view; None when they can."""
    source, result = viewed(op).type, op.results[0].type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    trait = trait_of(op, Splits)
    behaviour = None if trait is None else trait.behaviour
    if behaviour in (Split.RESHAPES, Split.REINTERPRETS):
        if behaviour is Split.RESHAPES and source_is_whole and same_order(source, result):
            return None
        if not _in_one_piece(viewed(op)):
            return "its operand is a part of a tile with gaps between the rows"
        if not is_contiguous(source) or not is_contiguous(result):
            return "the cells do not lie in memory row by row"
    if behaviour is Split.TRANSPOSES:
        if not source_is_whole:
            return "its operand is a part of a tile"
        if not same_order_swapped(source, result):
            return "swapping the axes would move cells"
    return None


def _in_one_piece(value: SSAValue) -> bool:
    """Whether the rows of a tile follow each other without gaps; those of a window of a tile may not."""
    owner = value.owner
    if not isinstance(owner, Operation) or not is_view(owner):
        return True
    outer = viewed(owner)
    if is_window(owner) and not same_box(outer, value):
        assert isinstance(outer.type, TileType) and isinstance(value.type, TileType)
        return window_is_contiguous(outer.type, matrix_shape(value.type)) and _in_one_piece(outer)
    return _in_one_piece(outer)


def tile_joins(op: Operation) -> Iterator[tuple[tuple[SSAValue, ...], tuple[tuple[Operation, int], ...]]]:
    """The joins of a compound op that carry tiles: the values that share a place, the operands that arrive there."""
    for join in joins_of(op):
        if isinstance(join.targets[0].type, TileType):
            yield join.targets, tuple((slot.op, slot.index) for slot in join.sources)
