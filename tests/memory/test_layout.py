"""Where cells lie: the arithmetic of the passes against index tables that are made in another way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubelane.analysis.tile_layout import byte_count, cell_position, matrix_shape, same_order, same_order_swapped
from cubelane.emit.pto_types import tile_buf
from cubelane.ir.types import DTYPES, Layout, MemorySpace, TileType, bit_width
from cubelane.sim.tile_memory import TileSpec, _cells, _count

KINDS = {"FP32": np.float32, "FP16": np.float16, "INT8": np.int8}
LAYOUTS = [
    (blocks, inside, fractal)
    for blocks in (Layout.ROW_MAJOR, Layout.COL_MAJOR)
    for inside, fractal in (
        (Layout.NONE_BOX, 512),
        (Layout.ROW_MAJOR, 512),
        (Layout.COL_MAJOR, 512),
        (Layout.ROW_MAJOR, 1024),
    )
]
tiles = st.builds(
    lambda rows, columns, name, layout: TileType.make(
        (rows, columns), DTYPES[name], MemorySpace.VEC, blayout=layout[0], slayout=layout[1], fractal=layout[2]
    ),
    st.integers(1, 40),
    st.integers(1, 70),
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(LAYOUTS),
)


def table(tile: TileType) -> np.ndarray:
    d = tile.data
    dtype = next(KINDS[name] for name in KINDS if DTYPES[name] == d.dtype)
    return _cells(TileSpec(*matrix_shape(tile), dtype, d.blayout.value, d.slayout.value, d.fractal))


@given(tiles)
def test_arithmetic_and_table_place_every_cell_alike(tile):
    cells = table(tile)
    rows, columns = cells.shape
    assert [[cell_position(tile, r, c) for c in range(columns)] for r in range(rows)] == cells.tolist()


@given(tiles)
def test_no_two_cells_share_a_place_and_all_fit(tile):
    cells = table(tile)
    assert len(np.unique(cells)) == cells.size
    assert (cells.max() + 1) * bit_width(tile.dtype) // 8 <= byte_count(tile)


@given(tiles, tiles)
def test_same_order_is_what_the_tables_say(one, two):
    a, b = table(one), table(two)
    assert same_order(one, two) == (a.size == b.size and a.reshape(-1).tolist() == b.reshape(-1).tolist())
    assert same_order_swapped(one, two) == (a.shape == b.shape[::-1] and a.T.tolist() == b.tolist())


@pytest.mark.parametrize(
    ("memory", "cell", "position"),
    [
        (MemorySpace.VEC, (1, 0), 64),
        (MemorySpace.MAT, (1, 0), 16),
        (MemorySpace.MAT, (0, 16), 512),
        (MemorySpace.LEFT, (0, 16), 512),
        (MemorySpace.RIGHT, (1, 0), 1),
        (MemorySpace.RIGHT, (0, 16), 256),
    ],
)
def test_known_places_of_a_32_by_64_tile_of_fp16(memory, cell, position):
    assert cell_position(TileType.make((32, 64), DTYPES["FP16"], memory), *cell) == position


def test_handle_of_a_tile_states_its_layout():
    kind = TileType.make((32, 64), DTYPES["FP32"], MemorySpace.ACC)
    text = "!pto.tile_buf<acc, 32x64xf32, valid=?x?, blayout=col_major, slayout=row_major, fractal=1024>"
    assert str(tile_buf(kind)) == text
    assert byte_count(TileType.make((17, 3), DTYPES["FP32"], MemorySpace.ACC)) == 32 * 16 * 4


def test_count_is_the_span_of_the_cells():
    assert _count(TileSpec(3, 5, np.float32)) == 15
    assert _count(TileSpec(3, 5, np.float32, "col_major", "row_major")) == 2 * 8 + 5
