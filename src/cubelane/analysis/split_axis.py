"""Which axis of which tile the two lanes share out: a fixpoint over SSA that changes nothing (design chapter 4).

Sources: spec/passes.md 4.2 to 4.6 for the rules, 11.1 for what the rules must not get wrong. Loop carries, while
loops and if-results take part like any other value, so a carried accumulator is halved with what it meets.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from cubelane.analysis.lane_share import (
    REPLICATED,
    WHOLE,
    Replicated,
    Share,
    Split,
    Whole,
    axis_word,
    default_share,
    name_of,
    shape_text,
)
from cubelane.analysis.split_leaf import Leaf, splits_of
from cubelane.analysis.split_rules import RULES
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.traits import has_trait
from cubelane.ir.types import SplitMode, TileType
from cubelane.ir.walk import ops_in

__all__ = ["REPLICATED", "WHOLE", "Link", "Replicated", "Share", "Split", "SplitAxes", "Whole", "flows"]


class Link(NamedTuple):
    """One link of the chain that gave a value its axis: the op, where it is, the value's name and share."""

    op: Operation
    location: Location
    name: str
    share: Share

    def __str__(self) -> str:
        made = "carried as" if self.op.dialect_name() == "scf" else self.op.name.partition(".")[2]
        return f"{made} {self.name} ({self.location})"


class SplitAxes:
    """The share of every value of a body. `axes[value]` answers, `axes.why(value)` gives the chain of ops.

    `needs[op]` maps an operand index to the share that operand must have for the op to work on one lane's part; where
    the operand is replicated, whoever applies the answer cuts the lane's part out of it.
    """

    def __init__(self, mode: SplitMode, stride: int | None = None):
        self.mode = mode
        self.axis = mode.axis
        self.stride = stride
        self.needs: dict[Operation, dict[int, Split]] = {}
        self._shares: dict[SSAValue, Share] = {}
        self._causes: dict[SSAValue, SSAValue | None] = {}
        self._pending: deque[Operation] = deque()
        self._queued: set[Operation] = set()

    @staticmethod
    def of(function: FuncOp, mode: SplitMode, stride: int | None = None) -> "SplitAxes":
        """The shares of all values of a function."""
        return SplitAxes.of_block(function.body.block, mode, stride)

    @staticmethod
    def of_block(block: Block, mode: SplitMode, stride: int | None = None) -> "SplitAxes":
        """The shares of all values of a body; values from outside it are replicated or whole."""
        axes = SplitAxes(mode, stride)
        axes.solve(block)
        return axes

    def __getitem__(self, value: SSAValue) -> Share:
        share = self._shares.get(value)
        return default_share(value) if share is None else share

    def splits(self) -> Iterator[tuple[SSAValue, Split]]:
        """The values that the lanes share out, in the order they were found."""
        for value, share in self._shares.items():
            if isinstance(share, Split):
                yield value, share

    def solve(self, block: Block) -> None:
        """Visits every op in program order, then again the users of every value whose share grew."""
        for op in ops_in(block):
            self._pending.append(op)
            self._queued.add(op)
        while self._pending:
            op = self._pending.popleft()
            self._queued.discard(op)
            self._visit(op)

    def why(self, value: SSAValue) -> list[Link]:
        """The chain from the op that shared the value out to the value itself."""
        chain: list[Link] = []
        current: SSAValue | None = value
        while current is not None and isinstance(self[current], Split):
            link = self.link(current)
            if link is not None:
                chain.append(link)
            current = self.cause(current)
        return chain[::-1]

    def link(self, value: SSAValue) -> Link | None:
        """The last link of a value's chain; None for a value that no op makes."""
        op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        return None if op is None else Link(op, Location.of(op), name_of(value), self[value])

    def cause(self, value: SSAValue) -> SSAValue | None:
        """The value from which a value got its share; None where its own op shared it out."""
        return self._causes.get(value)

    def story(self, value: SSAValue) -> str:
        """One sentence for a message: how the value is shared out, since where, along which chain."""
        share, chain = self[value], self.why(value)
        if not isinstance(share, Split) or not chain:
            return f"{shape_text(value)} is not shared out between the lanes"
        steps = chain if len(chain) <= 5 else [*chain[:2], *chain[-3:]]
        return (
            f"{shape_text(value)} is shared out between the two lanes by {axis_word(share.axis)} "
            f"({self.mode.name}, axis {share.axis}): " + " -> ".join(str(link) for link in steps)
        )

    def assign(self, value: SSAValue, share: Share, cause: SSAValue | None = None) -> None:
        """Raises the share of a value; a value that two partitions claim is refused."""
        before = self[value]
        if share == before or not isinstance(share, Split):
            if value not in self._shares:
                self._shares[value] = before if isinstance(before, Split) else share
            return
        if isinstance(before, Split):
            raise self.conflict(_anchor(value), value, before, share, cause)
        self._shares[value] = share
        self._causes[value] = cause
        for use in value.uses:
            if use.operation not in self._queued:
                self._queued.add(use.operation)
                self._pending.append(use.operation)

    def conflict(
        self, op: Operation, value: SSAValue, one: Split, two: Split, other: SSAValue | None = None
    ) -> Diagnostic:
        """The refusal of a value that would have to be shared out in two ways."""
        notes = [self.story(value)] + ([self.story(other)] if other is not None and other is not value else [])
        ways = f"by {axis_word(one.axis)} and by {axis_word(two.axis)} at once; the split axis can only be one of them"
        if one.axis == two.axis:
            ways = (
                f"by {axis_word(one.axis)} (split axis {one.axis}) in two ways at once: lane 1 would start at "
                f"{one.stride} and at {two.stride}"
            )
        return refuse(
            op,
            f"'{name_of(value)}' is shared out {ways}",
            *notes,
            instead="bring both tiles to the same shape before they meet, or move this op out of the split function",
            code="two-split-axes",
        )

    def _visit(self, op: Operation) -> None:
        for source, target in flows(op):
            share = self[source]
            if isinstance(share, Split) and share != self[target]:
                self.assign(target, share, source)
        if is_one(op, ReturnOp):
            self._return(op)
        elif not op.regions:
            self._leaf(op)

    def _return(self, op: ReturnOp) -> None:
        for value in op.arguments:
            if isinstance(self[value], Split):
                raise refuse(
                    op,
                    f"'{name_of(value)}' is returned, but each lane holds only its part of it",
                    self.story(value),
                    instead="store the tile to an output tensor and return the tensor",
                    code="halved-result",
                )

    def _leaf(self, op: Operation) -> None:
        if not any(is_tile(v) for v in (*op.operands, *op.results)) or has_trait(op, IsTerminator):
            return
        splits = splits_of(op)
        if splits is not None:
            RULES[splits.behaviour](Leaf(self, op, splits))
            return
        for operand in op.operands:
            if isinstance(self[operand], Split):
                raise refuse(
                    op,
                    f"{op.name} has no rule for a tile that the lanes share out: '{name_of(operand)}'",
                    self.story(operand),
                    instead="move this op out of the split function",
                    code="no-split-rule",
                )


def _anchor(value: SSAValue) -> Operation:
    """The op at which to report a problem of a value."""
    if is_one(value, BlockArgument):
        parent = value.block.parent_op()
        assert parent is not None
        return parent
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner


def is_tile(value: SSAValue) -> bool:
    """Whether a value is a tile."""
    return isinstance(value.type, TileType)


HANDED_ON = (scf.YieldOp, scf.ConditionOp)
"""Ends of blocks that hand values on."""


def flows(op: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """The values that control flow hands on at this op, each with the carry, argument or result it becomes."""
    if not op.regions and not is_one(op, HANDED_ON):
        return []
    match op:
        case scf.ForOp():
            return [*zip(op.iter_args, op.body.block.args[1:], strict=True), *zip(op.iter_args, op.res, strict=True)]
        case scf.WhileOp():
            return [*zip(op.arguments, op.before_region.block.args, strict=True)]
        case scf.ConditionOp():
            loop = op.parent_op()
            assert isinstance(loop, scf.WhileOp)
            after = loop.after_region.block.args
            return [*zip(op.args, after, strict=True), *zip(op.args, loop.res, strict=True)]
        case scf.YieldOp():
            parent = op.parent_op()
            if is_one(parent, scf.ForOp):
                carried = [*zip(op.arguments, parent.body.block.args[1:], strict=True)]
                return [*carried, *zip(op.arguments, parent.res, strict=True)]
            if is_one(parent, scf.WhileOp):
                return [*zip(op.arguments, parent.before_region.block.args, strict=True)]
            return [] if parent is None else [*zip(op.arguments, parent.results, strict=True)]
        case _:
            return []
