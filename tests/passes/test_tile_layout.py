"""Where cells lie in memory: the arithmetic of digits against a layout written out cell by cell."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from cubelane.analysis.tile_layout import (
    cell_position,
    inner_box,
    is_contiguous,
    matrix_shape,
    padded_shape,
    same_order,
    same_order_swapped,
)
from cubelane.ir.types import DTYPES, Layout, TileType

SIDES = (1, 2, 3, 8, 16, 24, 32, 48)


@st.composite
def tiles(draw: st.DrawFn) -> TileType:
    """Tiles of all layouts, also such as do not fill their blocks."""
    shape = draw(st.lists(st.sampled_from(SIDES), min_size=2, max_size=2))
    return TileType.make(
        shape,
        DTYPES[draw(st.sampled_from(("FP16", "FP32", "INT8")))],
        blayout=draw(st.sampled_from((Layout.ROW_MAJOR, Layout.COL_MAJOR))),
        slayout=draw(st.sampled_from(list(Layout))),
        fractal=draw(st.sampled_from((512, 1024))),
    )


def written_out(tile: TileType) -> list[list[int]]:
    """Fills memory block by block, cell by cell, in the order the layout names; gives the place of every cell."""
    (rows, columns), (height, width) = padded_shape(tile), inner_box(tile)
    blocks = list(product(range(rows // height), range(columns // width)))
    if tile.data.blayout is Layout.COL_MAJOR:
        blocks.sort(key=lambda block: block[::-1])
    cells = list(product(range(height), range(width)))
    if tile.data.slayout is Layout.COL_MAJOR:
        cells.sort(key=lambda cell: cell[::-1])
    place = {
        (down * height + row, across * width + column): number
        for number, ((down, across), (row, column)) in enumerate(product(blocks, cells))
    }
    height, width = matrix_shape(tile)
    return [[place[row, column] for column in range(width)] for row in range(height)]


def flat(rows: list[list[int]]) -> list[int]:
    """All cells, row by row."""
    return [cell for row in rows for cell in row]


@given(tiles())
def test_a_cell_lies_where_filling_the_blocks_in_order_puts_it(tile: TileType):
    rows, columns = matrix_shape(tile)
    assert [[cell_position(tile, r, c) for c in range(columns)] for r in range(rows)] == written_out(tile)


@given(tiles())
def test_contiguous_means_that_the_cells_count_up_and_nothing_is_padded(tile: TileType):
    whole = padded_shape(tile) == matrix_shape(tile)
    order = flat(written_out(tile))
    assert is_contiguous(tile) == (whole and order == list(range(len(order))))


@given(tiles(), tiles())
def test_orders_are_the_same_just_if_every_cell_has_the_same_place(source: TileType, result: TileType):
    assert same_order(source, result) == (flat(written_out(source)) == flat(written_out(result)))
    swapped = [list(row) for row in zip(*written_out(source), strict=True)]
    assert same_order_swapped(source, result) == (swapped == written_out(result))


@given(tiles(), st.sampled_from(list(Layout)))
def test_a_tile_swapped_in_shape_and_layout_has_its_cells_swapped(tile: TileType, inside: Layout):
    turned = {Layout.ROW_MAJOR: Layout.COL_MAJOR, Layout.COL_MAJOR: Layout.ROW_MAJOR, Layout.NONE_BOX: Layout.NONE_BOX}
    source = tile.replaced(slayout=inside)
    result = source.replaced(
        shape=source.shape[::-1], blayout=turned[source.data.blayout], slayout=turned[source.data.slayout]
    )
    assert same_order_swapped(source, result)
