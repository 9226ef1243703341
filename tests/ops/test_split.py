"""The less frequent operators behind a product, shared out between the lanes; barriers stay where they stand."""

from typing import Any

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import draw_inputs, run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from tests.language.kernels import ops

KERNEL = """
import pypto.language as pl
@pl.program
class P:
    @pl.function
    def k(self, a: pl.Tensor[[32, 32], pl.FP16], w: pl.Tensor[[32, 64], pl.FP16], b: pl.Tensor[[32, 64], pl.FP32],
          out: pl.Out[pl.Tensor[{shape}, pl.{dtype}]]):
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.{mode})]):
            y = pl.matmul(a, w, out_dtype=pl.FP32)
            n = pl.cast(y, target_type=pl.INT32)
            m = pl.cast(b, target_type=pl.INT32)
            out[:, :] = {expression}
        return out
"""
WHOLE = {
    "rem": "pl.rem(y, pl.adds(pl.abs(b), 0.5))",
    "rems": "pl.rems(y, 1.5)",
    "lrelu": "pl.lrelu(y, 0.25)",
    "prelu": "pl.prelu(y, b)",
    "part_add": "pl.part_add(y, b)",
    "part_max": "pl.part_max(b, y)",
    "addc": "pl.addc(y, b, y)",
    "subc": "pl.subc(b, y, b)",
    "addsc": "pl.addsc(y, 2.0, b)",
    "subsc": "pl.subsc(y, 2.0, b)",
    "sin": "pl.sin(y)",
    "cos": "pl.cos(pl.mul(y, b))",
    "xor": "pl.cast(pl.xor(n, m), target_type=pl.FP32)",
    "xors": "pl.cast(pl.xors(n, 7), target_type=pl.FP32)",
}


def outputs(text: str, target: str) -> tuple[Any, Any]:
    program = parse(text)
    arrays = draw_inputs(program)
    result = run_group(compile_program(program, target).module, arrays)
    assert not result.findings, result.findings[0]
    return result.outputs["out"], run_reference(program, arrays)["out"]


@pytest.mark.parametrize("mode", ["UP_DOWN", "LEFT_RIGHT"])
@pytest.mark.parametrize("name", WHOLE)
def test_an_operator_is_shared_out(name: str, mode: str) -> None:
    text = KERNEL.format(shape="[32, 64]", dtype="FP32", mode=mode, expression=WHOLE[name])
    got, wanted = outputs(text, "a2a3" if mode == "UP_DOWN" else "a5")
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_the_place_of_a_column_is_found_where_columns_are_shared_out() -> None:
    text = KERNEL.format(shape="[1, 64]", dtype="INT32", mode="LEFT_RIGHT", expression="pl.col_argmax(y)")
    got, wanted = outputs(text, "a2a3")
    np.testing.assert_array_equal(got, wanted)
    with pytest.raises(Diagnostic, match="col_argmax"):
        outputs(text.replace("LEFT_RIGHT", "UP_DOWN"), "a2a3")


def test_a_barrier_stays_on_its_core() -> None:
    text = KERNEL.format(shape="[32, 64]", dtype="FP32", mode="UP_DOWN", expression="pl.exp(y)")
    text = text.replace("            n =", "            pl.system.bar_m()\n            n =")
    text = text.replace(
        "            out[:, :]", "            pl.system.bar_v()\n            pl.system.fence()\n            out[:, :]"
    )
    module = compile_program(parse(text)).module
    for name, functions in {
        "system.bar_m": ["k_incore_0_aic"],
        "system.bar_v": ["k_incore_0_aiv"],
        "system.fence": ["k_incore_0_aic", "k_incore_0_aiv"],
    }.items():
        found = [function_of(op) for op in ops(module, name)]
        assert sorted(found) == functions, name
    got, wanted = outputs(text, "a2a3")
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def function_of(op: Any) -> str:
    while op.name != "func.func":
        op = op.parent_op()
    return op.sym_name.data
