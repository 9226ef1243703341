"""Ops of the DSL are made and copied in a way of their own: what comes out is what xDSL would make."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import Float32Type, StringAttr
from xdsl.ir import Operation
from xdsl.irdl import OptionalDef

from cubelane.ir.gm import Gm
from cubelane.ir.retyping import retyped
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.tile import System, Tile
from cubelane.ir.tile.elementwise import TABLE_OPS
from cubelane.ir.types import MemorySpace, TileType

CLASSES = [op for dialect in (Tile, System, Gm) for op in dialect.operations if issubclass(op, SurfaceOp)]
SMALL = TileType.make((16, 16), Float32Type(), MemorySpace.VEC)
LARGE = TileType.make((32, 16), Float32Type(), MemorySpace.VEC)
EXP = TABLE_OPS["tile.exp"]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.name)
def test_no_op_of_the_dsl_has_regions_successors_or_properties_by_default(kind):
    definition = kind.get_irdl_definition()
    assert not definition.regions and not definition.successors
    stated = [*definition.properties.values(), *definition.attributes.values()]
    assert all(isinstance(d, OptionalDef) or d.default_value is None for d in stated)


def test_a_made_op_is_what_xdsl_makes():
    source = test.TestOp(result_types=[SMALL]).results[0]
    parts = {"operands": [source], "result_types": [SMALL], "attributes": {"note": StringAttr("x")}}
    ours, theirs = EXP.create(**parts), Operation.create.__func__(EXP, **parts)
    assert {use.operation for use in source.uses} == {ours, theirs}
    assert ours.is_structurally_equivalent(theirs)
    assert (ours.location, ours.parent, ours.next_op, ours.successors) == (
        theirs.location,
        None,
        None,
        theirs.successors,
    )
    ours.verify()


def test_a_copy_has_parts_of_its_own():
    made = EXP.create(operands=[test.TestOp(result_types=[SMALL]).results[0]], result_types=[SMALL])
    copy = made.clone()
    copy.attributes["note"] = StringAttr("x")
    assert not made.attributes and copy.results[0] is not made.results[0]


def test_a_value_with_another_type_stays_the_value_that_its_users_know():
    made = test.TestOp(result_types=[SMALL])
    reader = EXP.create(operands=[made.results[0]], result_types=[SMALL])
    value = made.results[0]
    value.name_hint = "v"
    assert retyped(value, LARGE) is value is reader.operands[0]
    assert (value.type, value.name_hint) == (LARGE, "v")
