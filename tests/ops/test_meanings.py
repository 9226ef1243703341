"""Every operator against its own formula, twice: by the oracle, and compiled, on the simulated core group."""

from textwrap import indent

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.language import parse
from cubelane.language.registry import OPERATIONS
from tests.ops.formulas import CASES, DATA, Case

DTYPES = {"FP32": np.float32, "INT32": np.int32}
ELSEWHERE = {
    ("tile", "create"): "undefined cells",
    ("tensor", "create"): "undefined cells",
    ("tensor", "write"): "tests/language/test_forms.py: a cell store",
    ("tile", "random"): "tests/sim/test_words.py: the known answers of Philox",
    ("tile", "get_block_idx"): "the number of the core group: 0",
    ("tile", "get_block_num"): "the number of core groups: 1",
    ("tile", "cmp"): "a mask has no meaning of its own: see sel",
    ("tile", "cmps"): "a mask has no meaning of its own: see sels",
    **{
        ("tile", name): "tests/ops/test_sorting.py"
        for name in ("sort32", "mrgsort_format1", "mrgsort_format2", "gather_mask", "gather")
    },
    **{("tile", name): "tests/ops/test_batches.py" for name in ("batch_matmul", "batch_matmul_acc")},
    **{
        (space, name): "tests/expand, tests/split: crossings of the cores"
        for space in ("tile", "tensor")
        for name in ("aiv_shard", "aic_gather")
    },
    **{
        ("tile", name): "tests/expand: the protocol"
        for name in ("tpush_to_aiv", "tpush_to_aic", "tpop_from_aic", "tpop_from_aiv", "get_subblock_idx")
    },
    **{key: "tests/expand: the protocol" for key in OPERATIONS if key[0] == "system"},
}
"""Operators without a formula of their own, and who checks them."""

TILES = """
t = pl.create_tile([8, 16], dtype=pl.FP32)
ti = pl.create_tile([8, 16], dtype=pl.INT32)
{loads}
r = {expression}
out = pl.store(r, [0, 0], out)
return out
"""


def kernel(case: Case, level: str) -> str:
    prefix = "g" if level == "tile" else ""
    parameters = [
        f"{prefix}{name}: pl.Tensor[{list(a.shape)}, pl.{'INT32' if a.dtype == np.int32 else 'FP32'}]"
        for name, a in DATA.items()
    ]
    parameters.append(f"out: pl.Out[pl.Tensor[{list(case.shape)}, pl.{case.dtype}]]")
    expression = case.expression.replace("{s}", level)
    for word in ("t", "ti"):
        expression = expression.replace(f"{{{word}}}", f", {word}" if level == "tile" else "")
    if level == "tile":
        decorator = "@pl.function(type=pl.FunctionType.InCore)"
        loads = [f"{n} = pl.load(g{n}, [0, 0], {list(DATA[n].shape)})" for n in case.of.split() if n != "w"]
        body = TILES.format(loads="\n".join(loads), expression=expression)
    else:
        decorator = "@pl.function"
        body = f"with pl.at(level=pl.Level.CORE_GROUP):\n    out[:, :] = {expression}\nreturn out"
    lines = ["import pypto.language as pl", "@pl.program", "class P:", f"    {decorator}"]
    lines += [f"    def k(self, {', '.join(parameters)}):", indent(body.strip("\n"), "        ")]
    return "\n".join(lines) + "\n"


def given(case: Case, level: str) -> dict[str, np.ndarray]:
    prefix = "g" if level == "tile" else ""
    arrays = {f"{prefix}{name}": array for name, array in DATA.items()}
    return {**arrays, "out": np.full(case.shape, -77, DTYPES[case.dtype])}


ROWS = [
    pytest.param(case, level, id=f"{level}.{name}-{number}")
    for number, (name, case) in enumerate(CASES)
    for level in (("tile", "tensor") if case.level == "both" else (case.level,))
]


@pytest.mark.parametrize(("case", "level"), ROWS)
def test_an_operator_computes_its_formula(case: Case, level: str) -> None:
    program = parse(kernel(case, level))
    arrays = given(case, level)
    exact = case.dtype == "INT32"
    for out in (
        run_reference(program, arrays)["out"],
        ran(program, arrays),
    ):
        np.testing.assert_allclose(
            out, case.wanted.astype(out.dtype), rtol=0 if exact else 2e-6, atol=0 if exact else 5e-7
        )


def ran(program, arrays) -> np.ndarray:
    result = run_group(compile_program(program).module, arrays)
    assert not result.findings, result.findings[0]
    return result.outputs["out"]


def test_every_operator_has_a_formula() -> None:
    covered = {
        (level, name.rstrip("_"))
        for name, case in CASES
        for level in ("tile", "tensor")
        if case.level in ("both", level)
    }
    assert set(OPERATIONS) - covered - set(ELSEWHERE) == set()
    assert set(ELSEWHERE) <= set(OPERATIONS)
