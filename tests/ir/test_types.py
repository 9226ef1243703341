"""Types print and parse back; implicit layouts and canonical valid extents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.parser import Parser

from cubelane.ir.context import new_context
from cubelane.ir.types import (
    DTYPES,
    DYNAMIC,
    Layout,
    MemorySpace,
    Pad,
    SplitMode,
    TensorLayout,
    TensorType,
    TileType,
    dtype_name,
    promote,
)

extents = st.integers(1, 300)


def reparsed(type_):
    return Parser(new_context(), str(type_)).parse_type()


@given(
    st.lists(extents, min_size=1, max_size=3),
    st.sampled_from([n for n in DTYPES if n != "INDEX"]),
    st.sampled_from([None, *MemorySpace]),
    st.sampled_from(Layout),
    st.sampled_from(Pad),
    st.data(),
)
def test_tile_types_print_and_parse_back(shape, dtype, memory, layout, pad, data):
    valid = [data.draw(st.one_of(st.just(DYNAMIC), st.integers(0, extent))) for extent in shape]
    type_ = TileType.make(shape, DTYPES[dtype], memory, valid, blayout=layout, pad=pad)
    assert reparsed(type_) == type_


@given(st.lists(st.one_of(extents, st.sampled_from("MNK")), min_size=1, max_size=3), st.sampled_from(TensorLayout))
def test_tensor_types_print_and_parse_back(shape, layout):
    type_ = TensorType.make(shape, DTYPES["BF16"], layout)
    assert reparsed(type_) == type_


def test_a_full_valid_extent_is_the_same_as_none():
    assert TileType.make((4, 8), DTYPES["FP32"], MemorySpace.VEC, (4, 8)) == TileType.make(
        (4, 8), DTYPES["FP32"], MemorySpace.VEC
    )


@pytest.mark.parametrize(
    ("shape", "memory", "layout"),
    [
        ((16, 1), MemorySpace.VEC, (Layout.COL_MAJOR, Layout.NONE_BOX)),
        ((1, 1), MemorySpace.VEC, (Layout.ROW_MAJOR, Layout.NONE_BOX)),
        ((16, 8), MemorySpace.MAT, (Layout.COL_MAJOR, Layout.ROW_MAJOR)),
        ((16, 8), MemorySpace.RIGHT, (Layout.ROW_MAJOR, Layout.COL_MAJOR)),
    ],
)
def test_implicit_layouts(shape, memory, layout):
    type_ = TileType.make(shape, DTYPES["FP16"], memory)
    assert (type_.data.blayout, type_.data.slayout) == layout


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [("INT32", "FP16", "FP16"), ("FP16", "FP32", "FP32"), ("UINT8", "INT8", "INT8"), ("UINT32", "INT16", "UINT32")],
)
def test_promotion(a, b, common):
    assert dtype_name(promote(DTYPES[a], DTYPES[b])) == common
    assert dtype_name(promote(DTYPES[b], DTYPES[a])) == common


def test_odd_codes_belong_to_the_mode_of_their_even_code():
    assert [SplitMode.of_code(code).name for code in range(5)] == [
        "NONE",
        "UP_DOWN",
        "LEFT_RIGHT",
        "UP_DOWN",
        "LEFT_RIGHT",
    ]
