"""A row or a column beside a tile: the text of the machine spreads it with ops that the machine has."""

from typing import Any

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.tile import Tile
from cubelane.ir.traits import Broadcasts, Split, Splits, trait_of_class
from cubelane.language import parse
from cubelane.passes.pipeline import run as run_passes
from tests.pto_text.texts import run_text

KERNEL = """
import pypto.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[{a}, pl.{dtype}], b: pl.Tensor[{b}, pl.{dtype}],
          out: pl.Out[pl.Tensor[[16, 32], pl.{dtype}]]):
        x = pl.load(a, [0, 0], {a})
        y = pl.load(b, [0, 0], {b})
        t = pl.create_tile([16, 32], dtype=pl.{dtype})
        out = pl.store({expression}, [0, 0], out)
        return out
"""
FORMULAS: dict[str, tuple[str, str, Any]] = {
    "add": ("pl.tile.add(x, y)", "FP32", lambda a, b: a + b),
    "sub": ("pl.tile.sub(x, y)", "FP32", lambda a, b: a - b),
    "mul": ("pl.tile.mul(x, y)", "FP32", lambda a, b: a * b),
    "maximum": ("pl.tile.maximum(x, y)", "FP32", max),
    "minimum": ("pl.tile.minimum(x, y)", "FP32", min),
    "fmod": ("pl.tile.fmod(x, y)", "INT32", lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1)),
    "rem": ("pl.tile.rem(x, y, t)", "INT32", lambda a, b: a - a // b * b),
    "and": ("pl.tile.and_(x, y)", "INT32", lambda a, b: a & b),
    "or": ("pl.tile.or_(x, y)", "INT32", lambda a, b: a | b),
    "xor": ("pl.tile.xor(x, y, t)", "INT32", lambda a, b: a ^ b),
    "shl": ("pl.tile.shl(x, pl.tile.abs(y))", "INT32", lambda a, b: a * 2 ** abs(b)),
    "shr": ("pl.tile.shr(x, pl.tile.abs(y))", "INT32", lambda a, b: a // 2 ** abs(b)),
    "sel": ("pl.tile.sel(pl.tile.cmp(x, y, cmp_type=4), x, y, t)", "FP32", lambda a, b: a if a > b else b),
}
SHAPES = [
    ((16, 32), (1, 32)),
    ((16, 32), (16, 1)),
    ((1, 32), (16, 32)),
    ((16, 1), (16, 32)),
    ((16, 1), (1, 32)),
    ((16, 32), (1, 1)),
]


def data(shape: tuple[int, int], seed: int, dtype: str) -> np.ndarray:
    rows, columns = np.indices(shape)
    cells = (5 * rows + 3 * columns + seed) % 7 + 1
    return (cells * np.where((rows + columns) % 2, 1, -1)).astype(np.float32 if dtype == "FP32" else np.int32)


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
@pytest.mark.parametrize("name", FORMULAS)
def test_text_and_simulator_spread_a_row_or_a_column(name: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    expression, dtype, formula = FORMULAS[name]
    program = parse(KERNEL.format(a=list(a), b=list(b), dtype=dtype, expression=expression))
    given = {"a": data(a, 1, dtype), "b": data(b, 4, dtype)}
    pairs = zip(*(np.broadcast_to(x, (16, 32)).ravel().tolist() for x in given.values()), strict=True)
    wanted = np.array([formula(x, y) for x, y in pairs]).reshape(16, 32)
    given["out"] = np.full((16, 32), 99, given["a"].dtype)
    np.testing.assert_array_equal(run_reference(program, given)["out"], wanted)
    compiled = compile_program(program, "a2a3")
    for result in (run_group(compiled.module, given), run_text(compiled, given)):
        assert not result.findings, result.findings[0]
        np.testing.assert_array_equal(result.outputs["out"], wanted)


def test_behind_the_pass_all_operands_have_one_shape() -> None:
    expression = "pl.tile.add(pl.tile.mul(x, y), y)"
    module = run_passes(
        parse(KERNEL.format(a=[16, 32], b=[1, 32], dtype="FP32", expression=expression)), until="spread-broadcasts"
    )
    names = [op.name for op in module.walk() if op.name.startswith("tile.")]
    assert names.count("tile.col_expand_mul") == names.count("tile.col_expand_add") == 1
    assert "tile.add" not in names and "tile.mul" not in names


def test_every_op_that_broadcasts_says_so() -> None:
    """Ops of two tiles whose type rule takes a row beside a tile, but for those that are made for it."""
    for kind in Tile.operations:
        splits = trait_of_class(kind, Splits)
        declared = trait_of_class(kind, Broadcasts)
        tiles = {name for name, _ in kind.get_irdl_definition().operands} if splits else set()
        if splits and splits.behaviour is Split.ELEMENTWISE and {"lhs", "rhs"} <= tiles:
            refuses = kind.name in {"tile.div", "tile.addc", "tile.subc"} or kind.name.startswith("tile.part_")
            assert (declared is None) == refuses, kind.name
        else:
            assert declared is None, kind.name
