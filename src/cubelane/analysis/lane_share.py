"""What a lane holds of a value: the lattice of the split-axis analysis and its arithmetic (spec/passes.md 3.2 to 3.5).

    Replicated  <  Split(axis, extent, box, stride)        both lanes hold all of it / each lane holds its part
    Whole                                                  not a lane's value: cube tiles, tensors, scalars

Box, stride and valid extent are three numbers: buffers use the box, offsets and clamps the stride.
"""

from dataclasses import dataclass
from typing import NamedTuple

from xdsl.ir import SSAValue

from cubelane.ir.types import DYNAMIC, MemorySpace, SplitMode, TileType

LANES = 2
MASK_PACK = 8
"""Cells that one byte of a bit mask stands for."""

_MASK_ALIGN = 32


@dataclass(frozen=True)
class Whole:
    """Not a lane's value: a tile of the cube core, a tensor in global memory, a scalar."""

    def __str__(self) -> str:
        return "whole"


@dataclass(frozen=True)
class Replicated:
    """A vector tile that both lanes hold in full."""

    def __str__(self) -> str:
        return "replicated"


class Split(NamedTuple):
    """A vector tile of which lane i holds the cells [i*stride, i*stride + box) of `axis`, where they exist.

    `extent` is the physical extent before the split. `pack` is 8 for a bit mask whose bytes lie along the axis:
    extent, box and stride then count the cells that the bits stand for.
    """

    axis: int
    extent: int
    box: int
    stride: int
    pack: int = 1

    def __str__(self) -> str:
        return f"split(axis={self.axis}, box={self.box}, stride={self.stride})"

    @staticmethod
    def of(axis: int, extent: int, stride: int | None = None) -> "Split":
        """The box partition of an axis, or the partition by a rebalanced stride (spec 3.3)."""
        box = (extent + 1) // 2
        return Split(axis, extent, box, stride or box)

    @property
    def even(self) -> bool:
        """Whether the lanes' boxes tile the axis exactly, so a fully valid tile is fully valid on both lanes."""
        return self.box == self.stride and self.stride * LANES == self.extent

    def lanes(self, valid: int) -> tuple[int, int]:
        """How many of `valid` cells lane 0 and lane 1 hold (spec 3.7)."""
        return min(valid, self.stride), min(max(valid - self.stride, 0), self.stride)

    def along(self, axis: int) -> "Split":
        """The same partition of another axis."""
        return self if axis == self.axis else self._replace(axis=axis)

    def lane_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The box of one lane."""
        cells = self.box if self.pack == 1 else mask_bytes(self.box)
        return (*shape[: self.axis], cells, *shape[self.axis + 1 :])

    def lane_valid(self, valid: int, physical: int) -> int:
        """The valid extent of one lane as its type states it: a number where both lanes hold the same provably.

        A fully valid axis that the boxes tile exactly stays a number, everything else is known at run time only (3.4).
        """
        if self.pack > 1:
            full = valid == (self.extent + self.pack - 1) // self.pack
            return (self.box + self.pack - 1) // self.pack if full and self.even else DYNAMIC
        return self.box if valid == physical and self.even else DYNAMIC

    def lane_type(self, type_: TileType) -> TileType:
        """The tile type of one lane: shape and valid extent change, layout and padding are carried (3.5)."""
        valid = list(type_.valid)
        valid[self.axis] = self.lane_valid(valid[self.axis], type_.shape[self.axis])
        return type_.replaced(shape=self.lane_shape(type_.shape), valid=tuple(valid))


Share = Whole | Replicated | Split

WHOLE, REPLICATED = Whole(), Replicated()


def mask_bytes(cells: int) -> int:
    """Columns of a bit mask over `cells` columns: one byte for eight, rows aligned to 32 bytes (front.md 2.3)."""
    return ((cells + MASK_PACK - 1) // MASK_PACK + _MASK_ALIGN - 1) // _MASK_ALIGN * _MASK_ALIGN


def placeable(lanes: tuple[int, int]) -> bool:
    """Whether the transport from the cube can place the two bands: an even or an odd code exists (spec 3.1)."""
    first, second = lanes
    return first - second in (0, 1) or second == 0


def default_share(value: SSAValue) -> Share:
    """The share of a value nobody halved: a tile in the vector buffer is replicated, everything else whole."""
    type_ = value.type
    return REPLICATED if isinstance(type_, TileType) and type_.memory is MemorySpace.VEC else WHOLE


AXIS_WORD = {0: "rows", 1: "columns"}


def axis_word(axis: int) -> str:
    """What an axis is called in a message."""
    return AXIS_WORD.get(axis, f"axis {axis}")


def other_mode(mode: SplitMode) -> SplitMode:
    """The mode that splits the other axis."""
    return SplitMode.LEFT_RIGHT if mode is SplitMode.UP_DOWN else SplitMode.UP_DOWN


def name_of(value: SSAValue) -> str:
    """The user's name of a value (without what passes added to it), or what made it where the user gave none."""
    if value.name_hint and (name := value.name_hint.split("__")[0]):
        return name
    owner = value.owner
    return getattr(owner, "name", "a loop value")


def shape_text(value: SSAValue) -> str:
    """`name [rows, columns]` of a tile value, for messages."""
    type_ = value.type
    return f"'{name_of(value)}' {list(type_.shape)}" if isinstance(type_, TileType) else f"'{name_of(value)}'"
