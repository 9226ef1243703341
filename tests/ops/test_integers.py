"""Ops on bits take integers only; unsigned scalars count as Python counts."""

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse

KERNEL = """
import pypto.language as pl
@pl.program
class P:
    @pl.function
    def k(self, a: pl.Tensor[[16, 16], pl.FP16], u: pl.Tensor[[16, 16], pl.UINT8], table: pl.Tensor[[4], pl.UINT8],
          out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.matmul(a, a, out_dtype=pl.FP32)
            {statement}
            out[:, :] = pl.add(y, pl.cast(t, target_type=pl.FP32))
        return out
"""
ON_FLOATS = ("not_(y)", "and_(y, y)", "ands(y, 3)", "ors(y, 3)", "shl(y, y)", "shls(y, 1)", "shrs(y, 1)", "xors(y, 5)")


@pytest.mark.parametrize("call", ON_FLOATS)
def test_bits_of_floats_are_refused_where_the_call_stands(call: str) -> None:
    with pytest.raises(Diagnostic, match="works on integers") as refused:
        parse(KERNEL.format(statement=f"t = pl.tensor.{call}"))
    assert refused.value.code == "wrong-dtype" and refused.value.location.line == 10


UNSIGNED = {
    "x": 200,
    "x + pl.const(100, pl.UINT8)": 44,
    "x - pl.const(201, pl.UINT8)": 255,
    "x // pl.const(3, pl.UINT8)": 66,
    "x % pl.const(7, pl.UINT8)": 4,
    "x >> pl.const(1, pl.UINT8)": 100,
    "pl.min(x, pl.const(130, pl.UINT8))": 130,
    "pl.max(x, pl.const(130, pl.UINT8))": 200,
    "~x": 55,
}


@pytest.mark.parametrize("expression", UNSIGNED)
def test_an_unsigned_scalar_counts_without_a_sign(expression: str) -> None:
    statement = f"x = pl.read(table, [1])\n            t = pl.maximum(u, {expression})"
    program = parse(KERNEL.format(statement=statement))
    i, j = np.indices((16, 16))
    arrays = {
        "a": np.zeros((16, 16), np.float16),
        "u": ((i + j) % 3).astype(np.uint8),
        "table": np.array([1, 200, 3, 4], np.uint8),
        "out": np.zeros((16, 16), np.float32),
    }
    result = run_group(compile_program(program).module, arrays)
    assert not result.findings, result.findings[0]
    for outputs in (result.outputs, run_reference(program, arrays)):
        np.testing.assert_array_equal(outputs["out"], np.full((16, 16), UNSIGNED[expression]))
