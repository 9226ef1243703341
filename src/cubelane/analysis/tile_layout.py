"""Where the cells of a tile lie in its memory: order of blocks, order inside a block, padding (spec/front.md 4.2)."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cubelane.ir.types import Layout, TileType, bit_width

_BOX_ROWS = 16
_BOX_BYTES = 32
_SQUARE_FRACTAL = 1024
"""Fractal size in bytes whose boxes are 16 x 16 cells whatever the element type."""


def matrix_shape(tile: TileType) -> tuple[int, int]:
    """Rows and columns of the box; leading axes count as rows, a one-dimensional tile is one row."""
    *lead, columns = tile.shape
    rows = 1
    for extent in lead:
        rows *= extent
    return rows, columns


def inner_box(tile: TileType) -> tuple[int, int]:
    """Rows and columns of one block of cells; (1, 1) for a tile that is not boxed."""
    if tile.data.slayout is Layout.NONE_BOX:
        return 1, 1
    if tile.data.fractal == _SQUARE_FRACTAL:
        return _BOX_ROWS, _BOX_ROWS
    short = max(_BOX_BYTES * 8 // bit_width(tile.dtype), 1)
    return (_BOX_ROWS, short) if tile.data.slayout is Layout.ROW_MAJOR else (short, _BOX_ROWS)


def padded_shape(tile: TileType) -> tuple[int, int]:
    """Rows and columns in whole blocks."""
    shape, box = matrix_shape(tile), inner_box(tile)
    rows, columns = (-(-extent // step) * step for extent, step in zip(shape, box, strict=True))
    return rows, columns


def cell_count(tile: TileType) -> int:
    """Cells that the tile takes in memory, padding included."""
    rows, columns = padded_shape(tile)
    return rows * columns


def byte_count(tile: TileType) -> int:
    """Bytes that the tile takes in memory, padding included."""
    return -(-cell_count(tile) * bit_width(tile.dtype) // 8)


def cell_order(tile: TileType) -> npt.NDArray[np.int64]:
    """For every cell [row, column] of the box its position in memory, counted in cells from the tile's address."""
    return _cell_order(matrix_shape(tile), inner_box(tile), tile.data.blayout, tile.data.slayout)


@lru_cache(maxsize=256)
def _cell_order(shape: tuple[int, int], box: tuple[int, int], blocks: Layout, inside: Layout) -> npt.NDArray[np.int64]:
    down, across = (-(-extent // step) for extent, step in zip(shape, box, strict=True))
    row, column = np.indices(shape, dtype=np.int64)
    block_row, block_column = row // box[0], column // box[1]
    block = block_row * across + block_column
    if blocks is Layout.COL_MAJOR:
        block = block_column * down + block_row
    cell = row % box[0] * box[1] + column % box[1]
    if inside is Layout.COL_MAJOR:
        cell = column % box[1] * box[0] + row % box[0]
    order = block * (box[0] * box[1]) + cell
    order.flags.writeable = False
    return order


def is_contiguous(tile: TileType) -> bool:
    """Whether consecutive cells, row by row, lie one behind the other without gaps."""
    rows, columns = matrix_shape(tile)
    return padded_shape(tile) == (rows, columns) and bool(
        (cell_order(tile).reshape(-1) == np.arange(rows * columns)).all()
    )


def window_is_contiguous(tile: TileType, box: tuple[int, int]) -> bool:
    """Whether a window of that size, wherever it lies in the tile, is contiguous (row by row, without gaps)."""
    rows, columns = matrix_shape(tile)
    if not is_contiguous(tile):
        return False
    return box[0] == 1 or box[1] == columns or columns == 1 or rows == 1
