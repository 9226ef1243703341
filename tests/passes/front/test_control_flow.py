"""Types at loop carries and if-results (spec/front.md 3.5, 3.8)."""

import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.test_value import create_ssa_value

from cubelane.analysis.join_types import join_type
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.types import Layout, MemorySpace, TileType
from tests.passes.front.texts import lower, names, ops, program

PRODUCT = '%y = "gm.matmul"(%a, %b) : (!lhs, !rhs) -> !mat'
PARAMETERS = "%a: !lhs, %b: !rhs, %out: !mat"
STORE = '%o = "gm.assemble"(%out, %r, %c0, %c0) : (!mat, !mat, index, index) -> !mat'


def test_carried_product_that_meets_vector_work_is_carried_in_the_vector_buffer():
    k = lower(
        program(
            PARAMETERS,
            f"""{PRODUCT}
            %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %y) -> (!mat) {{
              %z = "gm.exp"(%x) : (!mat) -> !mat
              scf.yield %z : !mat
            }}
            {STORE}""",
        )
    )
    (loop,) = ops(k, "scf.for")
    assert loop.results[0].type.memory is MemorySpace.VEC
    assert loop.operands[3].owner.name == "tile.move"
    assert ops(loop, "tile.move") == []


def test_accumulator_carried_by_products_stays_in_acc():
    k = lower(
        program(
            PARAMETERS,
            f"""{PRODUCT}
            %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %y) -> (!mat) {{
              %z = "gm.matmul_acc"(%x, %a, %b) : (!mat, !lhs, !rhs) -> !mat
              scf.yield %z : !mat
            }}
            {STORE}""",
        )
    )
    (loop,) = ops(k, "scf.for")
    assert loop.results[0].type.memory is MemorySpace.ACC
    assert "Vec" not in str(loop)


def test_undefined_accumulator_is_made_in_acc():
    k = lower(
        program(
            PARAMETERS,
            f"""%y = "gm.create"() : () -> !mat
            %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %y) -> (!mat) {{
              %z = "gm.matmul_acc"(%x, %a, %b) : (!mat, !lhs, !rhs) -> !mat
              scf.yield %z : !mat
            }}
            {STORE}""",
        )
    )
    assert ops(k, "tile.create")[0].results[0].type.memory is MemorySpace.ACC


ZEROS = '%y = "gm.full"() <{value = 0.0 : f64}> : () -> !mat'
LOOP_OF_PRODUCTS = """
    %r = scf.for %i = %c0 to {end} step %c1 iter_args(%x = %y) -> (!mat) {{
      %z = "gm.matmul_acc"(%x, %a, %b) : (!mat, !lhs, !rhs) -> !mat
      scf.yield %z : !mat
    }}"""


def test_accumulator_of_zeros_is_overwritten_by_the_first_trip():
    k = lower(program(PARAMETERS, ZEROS + LOOP_OF_PRODUCTS.format(end="%c4") + STORE))
    (product,) = ops(k, "tile.matmul_acc")
    assert product.operands[3].owner.name == "arith.cmpi"
    assert ops(k, "tile.full") == []
    assert ops(k, "tile.create")[0].results[0].type.memory is MemorySpace.ACC


def test_accumulator_of_zeros_in_a_loop_that_may_not_run_is_refused():
    with pytest.raises(Diagnostic) as refused:
        lower(program(PARAMETERS + ", %n: index", ZEROS + LOOP_OF_PRODUCTS.format(end="%n") + STORE))
    assert refused.value.code == "accumulator-of-zeros"
    assert "pl.matmul" in (refused.value.instead or "")


def test_product_added_to_zeros_is_the_product():
    body = f"""{ZEROS}
      %r = "gm.matmul_acc"(%y, %a, %b) : (!mat, !lhs, !rhs) -> !mat
      {STORE}"""
    assert names(lower(program(PARAMETERS, body))) == ["load", "load", "move", "move", "matmul", "store"]


def test_product_added_to_a_vector_tile_is_refused():
    body = """%r = "gm.matmul_acc"(%s, %a, %b) : (!mat, !lhs, !rhs) -> !mat
      %o = "gm.assemble"(%out, %r, %c0, %c0) : (!mat, !mat, index, index) -> !mat"""
    with pytest.raises(Diagnostic) as refused:
        lower(program(PARAMETERS + ", %s: !mat", body))
    assert refused.value.code == "no-way-into-acc"
    assert "`s`" in refused.value.message


def test_if_of_a_product_and_a_vector_tile_meets_in_the_vector_buffer():
    k = lower(
        program(
            PARAMETERS + ", %flag: i1",
            f"""{PRODUCT}
            %r = scf.if %flag -> (!mat) {{
              %e = "gm.exp"(%y) : (!mat) -> !mat
              scf.yield %e : !mat
            }} else {{
              scf.yield %y : !mat
            }}
            {STORE}""",
        )
    )
    (branch,) = ops(k, "scf.if")
    assert branch.results[0].type.memory is MemorySpace.VEC
    then, other = (region.block.last_op for region in branch.regions)
    assert then.operands[0].type == other.operands[0].type == branch.results[0].type
    assert other.operands[0].owner.name == "tile.move"


def test_full_column_agrees_with_a_reduced_column():
    k = lower(
        program(
            "%x: !mat, %out: !col",
            """%m = "gm.full"() <{value = -1.0e30 : f64}> : () -> !col
            %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%top = %m) -> (!col) {
              %n = "gm.row_max"(%x) : (!mat) -> !col
              %t = "gm.maximum"(%top, %n) : (!col, !col) -> !col
              scf.yield %t : !col
            }
            %o = "gm.assemble"(%out, %r, %c0, %c0) : (!col, !col, index, index) -> !col""",
        )
    )
    (loop,) = ops(k, "scf.for")
    assert loop.results[0].type.data.blayout is Layout.COL_MAJOR
    (maximum,) = ops(k, "tile.maximum")
    assert [operand.type.shape for operand in maximum.operands] == [(1, 32), (1, 32)]


def test_carried_parameter_that_is_computed_on_is_loaded_before_the_loop():
    k = lower(
        program(
            "%x: !mat, %out: !mat",
            f"""%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %x) -> (!mat) {{
              %z = "gm.exp"(%y) : (!mat) -> !mat
              scf.yield %z : !mat
            }}
            {STORE}""",
        )
    )
    (loop,) = ops(k, "scf.for")
    assert loop.operands[3].owner.name == "tile.load"


def test_carried_output_stays_a_tensor():
    k = lower(
        program(
            "%x: !mat, %out: !mat",
            """%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %out) -> (!mat) {
              %z = "gm.exp"(%x) : (!mat) -> !mat
              %o = "gm.assemble"(%y, %z, %c0, %c0) : (!mat, !mat, index, index) -> !mat
              scf.yield %o : !mat
            }""",
        )
    )
    (loop,) = ops(k, "scf.for")
    assert loop.results[0].type.name == "gm.tensor"


def test_values_of_two_shapes_do_not_meet():
    wide, narrow = (create_ssa_value(TileType.make(shape, f32, MemorySpace.VEC)) for shape in ((32, 64), (32, 1)))
    with pytest.raises(Diagnostic) as refused:
        join_type("y", [wide, narrow])
    assert "`y` is [32, 64]" in refused.value.message


def test_while_loop_carries_a_tile():
    k = lower(
        program(
            "%x: !mat, %out: !mat, %n: index",
            f"""%count, %r = scf.while (%i = %c0, %y = %x) : (index, !mat) -> (index, !mat) {{
              %more = arith.cmpi slt, %i, %n : index
              scf.condition(%more) %i, %y : index, !mat
            }} do {{
            ^bb0(%j: index, %z: !mat):
              %e = "gm.exp"(%z) : (!mat) -> !mat
              %next = arith.addi %j, %c1 : index
              scf.yield %next, %e : index, !mat
            }}
            {STORE}""",
        )
    )
    (loop,) = ops(k, "scf.while")
    assert loop.results[1].type.memory is MemorySpace.VEC
