"""What a split rule sees of an op, and the words it answers with (see split_rules)."""

from typing import Protocol, cast

from xdsl.ir import Operation, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.lane_share import (
    WHOLE,
    Replicated,
    Share,
    Split,
    axis_word,
    other_mode,
    shape_text,
)
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.traits import Splits, trait_of
from cubelane.ir.types import SplitMode, TileType


def splits_of(op: Operation) -> Splits | None:
    """What an op declares about being split."""
    return trait_of(op, Splits)


class Axes(Protocol):
    """What the rules ask of the analysis (see `SplitAxes`)."""

    mode: SplitMode
    axis: int
    stride: int | None
    needs: dict[Operation, dict[int, Split]]

    def __getitem__(self, value: SSAValue) -> Share: ...
    def assign(self, value: SSAValue, share: Share, cause: SSAValue | None = None) -> None: ...
    def story(self, value: SSAValue) -> str: ...
    def conflict(
        self, op: Operation, value: SSAValue, one: Split, two: Split, other: SSAValue | None = None
    ) -> Diagnostic: ...


class Leaf:
    """One op under the analysis: its operands' shares, and the words to answer with."""

    def __init__(self, axes: Axes, op: Operation, splits: Splits):
        self.axes, self.op, self.splits = axes, op, splits
        self.affinity = classify(op)

    @property
    def result(self) -> SSAValue:
        """The result of the op."""
        return self.op.results[0]

    @property
    def result_type(self) -> TileType | None:
        """The type of the result if it is a tile."""
        if not self.op.results:
            return None
        type_ = self.op.results[0].type
        return type_ if isinstance(type_, TileType) else None

    def operand(self, name: str) -> SSAValue:
        """An operand by its name in the op's declaration."""
        return cast(SSAValue, getattr(self.op, name))

    def values(self) -> list[SSAValue]:
        """The tile operands whose values matter, in order; scratch does not."""
        scratch = [getattr(self.op, name, None) for name in self.splits.scratch]
        return [v for v in self.op.operands if isinstance(v.type, TileType) and v not in scratch]

    def halved(self) -> list[SSAValue]:
        """The operands of which a lane holds a part."""
        return [v for v in self.values() if isinstance(self.axes[v], Split)]

    def share(self, value: SSAValue) -> Share:
        """The share of an operand."""
        return self.axes[value]

    def keep(self, share: Share, cause: SSAValue | None = None) -> None:
        """States the share of the result."""
        self.axes.assign(self.result, share, cause)

    def need(self, value: SSAValue, share: Split) -> None:
        """States that the op works only on this part of an operand."""
        have = self.axes[value]
        if isinstance(have, Split):
            if have.pack != share.pack:
                raise self._foreign_mask(value)
            if have != share:
                other = next((v for v in self.halved() if self.axes[v] != have), None)
                raise self.axes.conflict(self.op, value, have, share, other)
            return
        self.cuttable(value, share)
        for index, operand in enumerate(self.op.operands):
            if operand is value:
                self.axes.needs.setdefault(self.op, {})[index] = share

    def cuttable(self, value: SSAValue, share: Split) -> None:
        """Refuses an operand of which the lane's part cannot be cut out: a cube tile, or packed bits."""
        if not isinstance(self.axes[value], Replicated):
            raise self.refuse(
                f"{self.op.name} runs on the vector lanes, but its operand {shape_text(value)} lies on the cube side",
                instead="move it to the vector side first: pl.tile.move(.., target_memory=pl.Mem.Vec)",
                code="not-crossed",
            )
        if share.pack > 1:
            raise self._foreign_mask(value)

    def _foreign_mask(self, value: SSAValue) -> Diagnostic:
        """A bit mask that was not made from the same part: its bytes would be shared out, not the cells they mean."""
        return self.refuse(
            f"the bit mask {shape_text(value)} of {self.op.name} holds eight cells a byte along the split axis "
            f"({self.axes.mode.name}, axis {self.axes.axis}) and was not made by a comparison of the same part",
            *([self.axes.story(value)] if isinstance(self.axes[value], Split) else []),
            instead="make the mask with pl.tile.cmp inside the split function, or " + self.swap_mode(),
            code="mask-on-split-axis",
        )

    def refuse(self, message: str, *notes: str, instead: str | None = None, code: str = "split") -> Diagnostic:
        """A refusal at this op."""
        return refuse(self.op, message, *notes, instead=instead, code=code)

    def own(self, extent: int, axis: int | None = None) -> Split:
        """The partition of an axis in this function."""
        return Split.of(self.axes.axis if axis is None else axis, extent, self.axes.stride)

    def singleton(self, type_: TileType) -> bool:
        """Whether a tile has no extent to share out on the function's axis."""
        return self.axes.axis >= len(type_.shape) or type_.shape[self.axes.axis] == 1

    def swap_mode(self) -> str:
        """Advice: split along the other axis."""
        mode = other_mode(self.axes.mode)
        return f"split by {axis_word(mode.axis)}: pl.SplitMode.{mode.name}"


def full_width(leaf: Leaf) -> None:
    """CUBE work is never halved: a halved operand is refused (spec 4.2 step 5)."""
    for value in leaf.halved():
        raise leaf.refuse(
            f"{leaf.op.name} runs on the cube core, which works full width, but each lane holds only its part of "
            f"{shape_text(value)}",
            leaf.axes.story(value),
            instead="move the tile to the cube side first: pl.tile.move(.., target_memory=pl.Mem.Left)",
            code="halved-cube-operand",
        )
    if leaf.result_type is not None:
        leaf.keep(WHOLE)
