"""Calls between functions of a kernel: run-time extents may have other names in the caller, all else must agree."""

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.calls import KernelCallOp
from cubelane.ir.context import new_context
from cubelane.language.parser import parse

CALLER = """
import pypto.language as pl
M, K = pl.dynamic("M"), pl.dynamic("K")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def inner(self, x: pl.Tensor[[M, 64], pl.FP32],
              out: pl.Out[pl.Tensor[[M, 64], pl.FP32]]) -> pl.Tensor[[M, 64], pl.FP32]:
        out = pl.store(pl.add(pl.load(x, [0, 0], [16, 64]), 1.0), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[K, 64], pl.FP32],
             o: pl.Out[pl.Tensor[[K, 64], pl.FP32]]) -> pl.Tensor[[K, 64], pl.FP32]:
        o = self.inner(a, o)
        return o
"""


def test_run_time_extents_may_be_named_differently():
    program = parse(CALLER)
    program.verify()
    again = Parser(new_context(), str(program)).parse_module()
    again.verify()
    assert any(isinstance(op, KernelCallOp) for op in again.walk())


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('?x64xf32, symbols = ["K"]', '?x32xf32, symbols = ["K"]', "argument 0 is"),
        ("func.call @inner", "func.call @other", "is no function of the module"),
    ],
)
def test_all_else_must_agree(old: str, new: str, part: str):
    text = str(parse(CALLER)).replace(old, new)
    with pytest.raises(VerifyException, match=part):
        Parser(new_context(), text).parse_module().verify()
