"""The kernels of the public conformance set up to the tile stage; the set is optional."""

import json
import os
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane import language
from cubelane.analysis.equality import Difference, structurally_equal
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import TARGET, functions_of, kind_of
from cubelane.passes import run
from cubelane.passes.pipeline import TILE_STAGE, pass_named
from tests.passes.front.texts import verified

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[4] / "shared" / "conformance"))
TENSOR = sorted(path.parent for path in ROOT.glob("tensor/*/kernel.py"))
TILE = sorted(path.parent for path in ROOT.glob("tile/*/kernel.py"))
OTHER_BLOCKS = {"pure_cube_with_split"}
"""A product of 33 rows fits L0 as a whole; the reference cuts it into 32 rows and one."""

SYMBOL_AS_VALUE = {"dynamic_row_tail_ud"}
"""The host of this kernel passes a run-time extent by its symbol, which says the same as asking for it."""

REPAIRED = {"err_region_transpose", "err_transpose_up_down", "ud_flash_carry"}
"""Kernels at tile level that lack the scratch of a transpose, or have columns in an op that needs rows."""

pytestmark = pytest.mark.skipif(not TENSOR, reason="the conformance set is not here")


def read(folder: Path, target: str, file: str = "kernel.py") -> ModuleOp:
    """A program of the set for a target."""
    path = folder / file
    module = language.parse(path.read_text(encoding="utf-8"), filename=str(path))
    module.attributes[TARGET] = StringAttr(target)
    return module


REFUSED = {"forgotten_shard", "region_none_colsum", "region_none_notify", "region_none_with_boundary"}
"""Kernels that AivSplitValid refuses: a missing boundary, and boundaries in a region without split axis."""


def expectations() -> list[tuple[Path, str]]:
    """Cases whose printed tile stage is a goal, and the target."""
    cases: list[tuple[Path, str]] = []
    for folder in TENSOR:
        facts = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        if facts["want"] == "structural" and folder.name not in {*OTHER_BLOCKS, *REFUSED}:
            cases += [
                (folder, target) for target in ("a2a3", "a5") if (folder / "expected" / target / "tile.py").exists()
            ]
    return cases


@pytest.mark.parametrize("folder, target", expectations(), ids=lambda v: v if isinstance(v, str) else v.name)
def test_tile_stage_is_the_expected_one(folder: Path, target: str):
    wanted = read(folder, target, f"expected/{target}/tile.py")
    pass_named("spread-broadcasts")(wanted)  # the reference leaves a row beside a tile as it is (docs/deviations.md)
    got = run(read(folder, target), TILE_STAGE, verified)
    assert str(difference(got, wanted, folder.name) or "equal") == "equal"


def difference(got: ModuleOp, wanted: ModuleOp, name: str) -> Difference | None:
    """The first difference of two programs."""
    if name not in SYMBOL_AS_VALUE:
        return structurally_equal(got, wanted)
    kernels = [[f for f in functions_of(program) if kind_of(f).in_core] for program in (got, wanted)]
    pairs = zip(*kernels, strict=True)
    return next((found for pair in pairs if (found := structurally_equal(*pair)) is not None), None)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("folder", TENSOR, ids=lambda folder: folder.name)
def test_every_stage_prints_and_parses_back(folder: Path, target: str):
    module = read(folder, target)

    def reparse(_: object, program: ModuleOp) -> None:
        program.verify()
        found = structurally_equal(program, language.parse(language.print_program(program)))
        assert str(found or "equal") == "equal"

    try:
        run(module, TILE_STAGE, reparse)
    except Diagnostic as refused:
        assert folder.name in REFUSED
        assert "aiv_shard" in str(refused)


@pytest.mark.parametrize("folder", TILE, ids=lambda folder: folder.name)
def test_kernel_at_tile_level_is_left_as_simplify_leaves_it(folder: Path):
    facts = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    try:
        module = read(folder, facts["backend"])
    except Diagnostic:
        pytest.skip("refused by the parser")
    run(module, "simplify")
    before = str(module)
    if folder.name in REFUSED:
        with pytest.raises(Diagnostic, match="NONE"):
            run(module, TILE_STAGE, verified)
        return
    run(module, TILE_STAGE, verified)
    assert (str(module) == before) is (folder.name not in REPAIRED)
