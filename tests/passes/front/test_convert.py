"""What tensor ops become on chip (spec/front.md 3.5)."""

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import Direction, direction_of, functions_of
from cubelane.ir.types import MemorySpace, TileType
from tests.passes.front.texts import lower, names, ops, program

CONVERTED = "convert-tensor-to-tile"


def binary(op: str, lhs: str, rhs: str, result: str = "!mat") -> list[str]:
    """Names of the tile ops of one binary op on two parameters."""
    body = f'%r = "gm.{op}"(%x, %y) : ({lhs}, {rhs}) -> {result}'
    function = lower(program(f"%x: {lhs}, %y: {rhs}", body, f"%r : {result}"), CONVERTED)
    return [name for name in names(function) if name not in ("load", "store")]


@pytest.mark.parametrize(
    "op, lhs, rhs, expected",
    [
        ("add", "!mat", "!mat", ["add"]),
        ("add", "!mat", "!col", ["row_expand_add"]),
        ("add", "!col", "!mat", ["row_expand_add"]),
        ("sub", "!mat", "!col", ["row_expand_sub"]),
        ("sub", "!col", "!mat", ["row_expand_sub", "neg"]),
        ("div", "!mat", "!col", ["row_expand_div"]),
        ("div", "!col", "!mat", ["create", "row_expand", "div"]),
        ("div", "!mat", "!row", ["col_expand_div"]),
        ("div", "!row", "!mat", ["create", "col_expand", "div"]),
        ("maximum", "!mat", "!col", ["row_expand_max"]),
        ("add", "!mat", "!row", ["add"]),
        ("add", "!col", "!row", ["create", "row_expand", "add"]),
        ("sub", "!row", "!col", ["create", "row_expand", "sub"]),
        ("fmod", "!mat", "!col", ["create", "row_expand", "fmod"]),
    ],
)
def test_column_or_row_beside_a_wide_tile_takes_the_form_that_spreads_it(op, lhs, rhs, expected):
    assert binary(op, lhs, rhs) == expected


def test_quotient_of_two_element_types_is_cast_first():
    assert binary("div", "!mat", "!lhs") == ["cast", "div"]


def test_row_reduction_gets_scratch_of_128_columns():
    function = lower(program("%x: !mat", '%r = "gm.row_sum"(%x) : (!mat) -> !col', "%r : !col"), CONVERTED)
    assert ops(function, "tile.create")[0].results[0].type.shape == (32, 128)


def test_argument_of_the_maximum_gets_scratch_of_its_own_shape():
    body = '%r = "gm.row_argmax"(%x) : (!mat) -> !gm.tensor<32x1xi32>'
    function = lower(program("%x: !mat", body, "%r : !gm.tensor<32x1xi32>"), CONVERTED)
    assert ops(function, "tile.create")[0].results[0].type.shape == (32, 64)


SLICE = '%s = "gm.slice"(%x, %c0, %c0) <{window = array<i64: 32, 64>, operandSegmentSizes = array<i32: 1, 2, 0>}> '
SLICE += ": (!gm.tensor<64x64xf16>, index, index) -> !lhs\n"
MULTIPLY = '%p = "gm.matmul"(%s, %w) : (!lhs, !rhs) -> !mat\n'
EXP = '%e = "gm.exp"(%s) : (!lhs) -> !lhs\n'


@pytest.mark.parametrize(
    "uses, returned, spaces",
    [
        (MULTIPLY, "%p : !mat", [MemorySpace.MAT]),
        (EXP, "%e : !lhs", [MemorySpace.VEC]),
        (MULTIPLY + EXP, "%p, %e : !mat, !lhs", [MemorySpace.MAT, MemorySpace.VEC]),
    ],
)
def test_window_is_loaded_where_it_is_wanted(uses, returned, spaces):
    function = lower(program("%x: !gm.tensor<64x64xf16>, %w: !rhs", SLICE + uses, returned), CONVERTED)
    windows = [op for op in ops(function, "tile.load") if op.results[0].type.shape == (32, 64)]
    assert [op.results[0].type.memory for op in windows] == spaces


def test_product_typed_narrow_is_rounded_unless_a_store_does_it():
    narrow = '%r = "gm.matmul"(%a, %b) : (!lhs, !rhs) -> !lhs\n'
    used = narrow + '%e = "gm.exp"(%r) : (!lhs) -> !lhs'
    stored = narrow + '%o = "gm.assemble"(%out, %r, %c0, %c0) : (!lhs, !lhs, index, index) -> !lhs'
    assert "cast" in names(lower(program("%a: !lhs, %b: !rhs", used, "%e : !lhs"), CONVERTED))
    assert "cast" not in names(lower(program("%a: !lhs, %b: !rhs, %out: !lhs", stored), CONVERTED))


def test_product_typed_narrow_and_widened_is_rounded_in_between():
    body = """%r = "gm.matmul"(%a, %b) : (!lhs, !rhs) -> !lhs
      %w = "gm.cast"(%r) <{mode = "none"}> : (!lhs) -> !mat"""
    assert names(lower(program("%a: !lhs, %b: !rhs", body, "%w : !mat"), CONVERTED))[-3:] == ["cast", "cast", "store"]


READ_AND_WRITTEN = """%y = "gm.exp"(%x) : (!mat) -> !mat
  %x1 = "gm.assemble"(%x, %y, %c0, %c0) : (!mat, !mat, index, index) -> !mat
  %z = "gm.exp"(%x1) : (!mat) -> !mat
  %x2 = "gm.assemble"(%x1, %z, %c0, %c0) : (!mat, !mat, index, index) -> !mat"""


def test_parameter_that_is_read_and_written_is_read_where_it_is_used():
    function = lower(program("%x: !mat", READ_AND_WRITTEN, "%x2 : !mat"), CONVERTED)
    assert names(function) == ["load", "exp", "store", "load", "exp", "store"]
    assert ops(function, "tile.load")[1].operands[0] is ops(function, "tile.store")[0].results[0]
    assert direction_of(function, 0) is Direction.INOUT


def test_tensor_that_is_made_filled_and_returned_becomes_an_output():
    body = """%t = "gm.create"() : () -> !mat
      %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %t) -> (!mat) {
        %z = "gm.exp"(%x) : (!mat) -> !mat
        %o = "gm.assemble"(%y, %z, %c0, %c0) : (!mat, !mat, index, index) -> !mat
        scf.yield %o : !mat
      }"""
    function = lower(program("%x: !mat", body, "%r : !mat"), CONVERTED)
    assert names(function) == ["load", "exp", "store"]
    assert function.body.block.args[1].name_hint == "ret0__out"
    assert direction_of(function, 1) is Direction.OUT


def test_batched_product_is_one_product_a_matrix():
    batch, wide = "!gm.tensor<2x32x64xf16>", "!gm.tensor<2x32x64xf32>"
    body = f"""%r = "gm.matmul"(%a, %b) : ({batch}, !rhs) -> {wide}
      %o = "gm.assemble"(%out, %r, %c0, %c0, %c0) : ({wide}, {wide}, index, index, index) -> {wide}"""
    function = lower(program(f"%a: {batch}, %b: !rhs, %out: {wide}", body))
    assert names(function).count("matmul") == 2
    tiles = [result.type for op in function.walk() for result in op.results if isinstance(result.type, TileType)]
    assert all(len(tile.shape) == 2 for tile in tiles)


def test_tensor_with_a_run_time_extent_is_refused_as_one_tile():
    rows = '!gm.tensor<?x64xf32, symbols = ["R"]>'
    with pytest.raises(Diagnostic) as refused:
        lower(program(f"%x: {rows}", f'%r = "gm.exp"(%x) : ({rows}) -> {rows}'))
    assert "`x` has the run-time extent R" in refused.value.message


TILE = "!tile.tile<32x64xf32, vec>"
AT_TILE_LEVEL = f"""
  %t = "tile.load"(%x, %c0, %c0) <{{operandSegmentSizes = array<i32: 1, 2, 0>}}> : (!mat, index, index) -> {TILE}
  %u = "tile.exp"(%t) : ({TILE}) -> {TILE}
  %s = "tile.store"(%u, %c0, %c0, %out) <{{operandSegmentSizes = array<i32: 1, 2, 1, 0>}}>
    : ({TILE}, index, index, !mat) -> !mat"""


def test_function_at_tile_level_is_left_as_it_is():
    module = program("%x: !mat, %out: !mat", AT_TILE_LEVEL)
    before = [str(op) for op in module.walk() if op.name.startswith("tile.")]
    lower(module)
    assert [str(op) for op in module.walk() if op.name.startswith("tile.")] == before


def test_new_ops_have_the_location_of_the_op_they_stand_for():
    module = program("%x: !mat", '%r = "gm.row_sum"(%x) : (!mat) -> !col loc("k.py":7:9)', "%r : !col")
    function = lower(module, CONVERTED)
    for name in ("tile.create", "tile.row_sum"):
        assert str(ops(function, name)[0].location).endswith('"k.py":7:9)')
    assert functions_of(module)
