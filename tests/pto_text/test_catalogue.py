"""Every operator of the tile level as PTO text: read back and run, it computes the operator's own formula."""

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.ir.pto.table import op_classes
from cubelane.ir.tile import Tile
from cubelane.ir.traits import PtoSpelling
from cubelane.language import parse
from tests.ops.test_meanings import ROWS, given, kernel
from tests.pto_text.texts import run_text

CASES = [row for row in ROWS if row.values[1] == "tile"]

WITHOUT = {
    *("tile.create", "tile.random", "tile.sin", "tile.cos", "tile.aiv_shard", "tile.aic_gather"),
    *("tile.batch_matmul", "tile.batch_matmul_acc"),
}
"""Ops that print nothing, are expanded before, or have no form."""


@pytest.mark.parametrize(("case", "level"), CASES)
def test_text_of_an_operator_computes_its_formula(case, level):
    compiled = compile_program(parse(kernel(case, level)), "a5")
    run = run_text(compiled, given(case, level))
    assert not run.findings, run.findings[0]
    exact = case.dtype == "INT32"
    out = run.outputs["out"]
    np.testing.assert_allclose(out, case.wanted.astype(out.dtype), rtol=0 if exact else 2e-6, atol=0 if exact else 5e-7)


def test_every_op_of_the_tile_level_has_a_spelling_that_the_table_knows():
    silent: set[str] = set()
    for kind in Tile.operations:
        trait = kind.get_trait(PtoSpelling)
        assert trait is not None, kind.name
        if trait.name is None:
            silent.add(kind.name)
        else:
            assert trait.name in op_classes(), kind.name
    indices = {f"tile.get_{word}" for word in ("subblock_idx", "block_idx", "block_num")}
    assert silent <= WITHOUT | indices
