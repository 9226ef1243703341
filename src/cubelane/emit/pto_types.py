"""Types of PTO IR for the types of the tile level (spec/front.md 5.2)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    Float4E2M1FNType,
    Float8E8M0FNUType,
    IntAttr,
    StringAttr,
)
from xdsl.ir import Attribute

from cubelane.analysis.tile_layout import matrix_shape
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.types import (
    LAYOUT_DEFAULTS,
    F4E2M1x2Type,
    F8E8M0Type,
    PartitionViewType,
    PtrType,
    TensorViewType,
    TileBufType,
)
from cubelane.ir.types import DYNAMIC, MemorySpace, Pad, TileType

SPACES: dict[MemorySpace, Space] = {
    MemorySpace.DDR: Space.GM,
    MemorySpace.VEC: Space.UB,
    MemorySpace.MAT: Space.L1,
    MemorySpace.LEFT: Space.L0A,
    MemorySpace.RIGHT: Space.L0B,
    MemorySpace.ACC: Space.L0C,
    MemorySpace.BIAS: Space.BT,
    MemorySpace.LEFT_SCALE: Space.FB,
    MemorySpace.RIGHT_SCALE: Space.FB,
}
"""The PTO name of each memory."""

PADS = (Pad.NULL, Pad.ZERO, Pad.MAX, Pad.MIN)
"""What fills a tile outside its valid extent, by its number in PTO IR."""

_ELEMENTS: dict[Attribute, Attribute] = {Float8E8M0FNUType(): F8E8M0Type(), Float4E2M1FNType(): F4E2M1x2Type()}


def element(dtype: Attribute) -> Attribute:
    """The element type; two small floats have a name of their own."""
    return _ELEMENTS.get(dtype, dtype)


def _extents(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(DYNAMIC_INDEX if v == DYNAMIC else v) for v in values])


def tile_buf(tile: TileType, valid: Sequence[int] | None = None) -> TileBufType:
    """The type of a handle. `valid` None leaves the extents to the operands of the op that makes it."""
    assert tile.memory is not None
    d = tile.data
    fields = {
        "blayout": d.blayout.value,
        "slayout": d.slayout.value,
        "fractal": str(d.fractal),
        "pad": str(PADS.index(d.pad)),
    }
    layout = [StringAttr(f"{key}={text}") for key, text in fields.items() if text != LAYOUT_DEFAULTS[key]]
    return TileBufType.new(
        (
            StringAttr(SPACES[tile.memory].value),
            _extents(matrix_shape(tile)),
            _extents((DYNAMIC, DYNAMIC) if valid is None else valid),
            element(tile.dtype),
            ArrayAttr(layout),
        )
    )


def pointer(dtype: Attribute) -> PtrType:
    """The type of a tensor parameter."""
    return PtrType.to(element(dtype))


def tensor_view(rank: int, dtype: Attribute) -> TensorViewType:
    """A whole tensor; its extents are operands."""
    return TensorViewType.new((_extents([DYNAMIC] * rank), element(dtype)))


def partition_view(sizes: Sequence[int], dtype: Attribute) -> PartitionViewType:
    """A window of a tensor; DYNAMIC sizes are operands."""
    return PartitionViewType.new((_extents(sizes), element(dtype)))
