"""The tile level: tiles on chip and what the cores do with them. One class an op, declared once."""

from xdsl.ir import Dialect

from cubelane.ir.tile.barriers import BARRIER_OPS
from cubelane.ir.tile.channel import CHANNEL_OPS
from cubelane.ir.tile.elementwise import ELEMENTWISE_OPS
from cubelane.ir.tile.extended import EXTENDED_OPS
from cubelane.ir.tile.making import MAKING_OPS
from cubelane.ir.tile.masks import MASK_OPS
from cubelane.ir.tile.matrix import MATRIX_OPS
from cubelane.ir.tile.movement import MOVEMENT_OPS
from cubelane.ir.tile.padding import PADDING_OPS
from cubelane.ir.tile.shaping import SHAPING_OPS
from cubelane.ir.tile.signals import SIGNAL_OPS
from cubelane.ir.tile.sorting import SORTING_OPS
from cubelane.ir.types import TileType

_OPS = (
    *MOVEMENT_OPS,
    *MAKING_OPS,
    *SHAPING_OPS,
    *PADDING_OPS,
    *ELEMENTWISE_OPS,
    *EXTENDED_OPS,
    *MASK_OPS,
    *SORTING_OPS,
    *MATRIX_OPS,
    *CHANNEL_OPS,
    *SIGNAL_OPS,
    *BARRIER_OPS,
)

Tile = Dialect("tile", [op for op in _OPS if op.name.startswith("tile.")], [TileType])
System = Dialect("system", [op for op in _OPS if op.name.startswith("system.")], [])
