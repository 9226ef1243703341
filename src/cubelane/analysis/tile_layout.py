"""Where the cells of a tile lie in its memory: order of blocks, order inside a block, padding (spec/front.md 4.2)."""

from collections.abc import Iterable, Iterator

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
    (rows, columns), (height, width) = matrix_shape(tile), inner_box(tile)
    return -(-rows // height) * height, -(-columns // width) * width


def cell_count(tile: TileType) -> int:
    """Cells that the tile takes in memory, padding included."""
    rows, columns = padded_shape(tile)
    return rows * columns


def byte_count(tile: TileType) -> int:
    """Bytes that the tile takes in memory, padding included."""
    return -(-cell_count(tile) * bit_width(tile.dtype) // 8)


Digit = tuple[int, int]
"""How often one part of an index counts up, and how many cells further on in memory each step leads."""


def _digits(tile: TileType) -> tuple[list[Digit], list[Digit]]:
    """The row and the column of a cell as digits, most significant first: which block, which cell of the block."""
    shape, (height, width) = matrix_shape(tile), inner_box(tile)
    down, across = -(-shape[0] // height), -(-shape[1] // width)
    cells = height * width
    by_columns = tile.data.blayout is Layout.COL_MAJOR
    block_down, block_across = (cells, down * cells) if by_columns else (across * cells, cells)
    cell_down, cell_across = (1, height) if tile.data.slayout is Layout.COL_MAJOR else (width, 1)
    return [(down, block_down), (height, cell_down)], [(across, block_across), (width, cell_across)]


def cell_position(tile: TileType, row: int, column: int) -> int:
    """The position of a cell in memory, counted in cells from the tile's address."""
    height, width = inner_box(tile)
    ((_, block_down), (_, cell_down)), ((_, block_across), (_, cell_across)) = _digits(tile)
    down, across = row // height * block_down, column // width * block_across
    return down + row % height * cell_down + across + column % width * cell_across


def _is_whole(tile: TileType) -> bool:
    return padded_shape(tile) == matrix_shape(tile)


def _merged(digits: Iterable[Digit]) -> list[Digit]:
    """The digits with those that count on without a gap made one: two orders are the same just if these are."""
    merged: list[Digit] = []
    for count, step in digits:
        if count == 1:
            continue
        if merged and merged[-1][1] == count * step:
            merged[-1] = merged[-1][0] * count, step
        else:
            merged.append((count, step))
    return merged


def same_order(source: TileType, result: TileType) -> bool:
    """Whether the cells of two tiles, each counted row by row, lie at the same positions."""
    if _is_whole(source) and _is_whole(result):
        source_rows, source_columns = _digits(source)
        rows, columns = _digits(result)
        return _merged(source_rows + source_columns) == _merged(rows + columns)
    return [*_positions(source)] == [*_positions(result)]


def same_order_swapped(source: TileType, result: TileType) -> bool:
    """Whether every cell [row, column] of the source lies where the result has its cell [column, row]."""
    if matrix_shape(source) != matrix_shape(result)[::-1]:
        return False
    if _is_whole(source) and _is_whole(result):
        source_rows, source_columns = _digits(source)
        rows, columns = _digits(result)
        return _merged(source_columns + source_rows) == _merged(rows + columns)
    rows, columns = matrix_shape(source)
    swapped = [cell_position(source, row, column) for column in range(columns) for row in range(rows)]
    return swapped == [*_positions(result)]


def _positions(tile: TileType) -> Iterator[int]:
    rows, columns = matrix_shape(tile)
    return (cell_position(tile, row, column) for row in range(rows) for column in range(columns))


def is_contiguous(tile: TileType) -> bool:
    """Whether consecutive cells, row by row, lie one behind the other without gaps."""
    if not _is_whole(tile):
        return False
    rows, columns = _digits(tile)
    return all(step == 1 for _, step in _merged(rows + columns))


def window_is_contiguous(tile: TileType, box: tuple[int, int]) -> bool:
    """Whether a window of that size, wherever it lies in the tile, is contiguous (row by row, without gaps)."""
    rows, columns = matrix_shape(tile)
    if not is_contiguous(tile):
        return False
    return box[0] == 1 or box[1] == columns or columns == 1 or rows == 1
