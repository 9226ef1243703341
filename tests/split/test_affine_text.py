"""Index expressions as integer sets mean what the programs compute."""

import islpy as isl
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from cubelane.analysis.affine_text import AffineText


@pytest.mark.parametrize(("number", "remainder"), [(7, 3), (8, 0), (-7, -3), (-8, 0), (0, 0)])
def test_a_remainder_truncates_like_the_op(number, remainder):
    block = Block(arg_types=[IndexType()])
    FuncOp("f", ([IndexType()], []), Region(block))
    four = arith.ConstantOp.from_int_and_width(4, IndexType())
    rest = arith.RemSIOp(block.args[0], four)
    block.add_ops([four, rest])
    affine = AffineText({})
    name = affine.text(rest.result)
    (symbol,) = affine.symbols.values()
    conditions = " and ".join([*affine.constraints, f"{symbol} = {number}"])
    possible = isl.Set(f"[{symbol}] -> {{ [{name}] : {conditions} }}")
    assert affine.exact
    assert possible.project_out(isl.dim_type.param, 0, 1).is_equal(isl.Set(f"{{ [{remainder}] }}"))
