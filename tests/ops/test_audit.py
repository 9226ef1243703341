"""The audit: what becomes of every operator of the reference's catalogue, by what the ops declare and the tests hold.

An operator works (all columns filled), or it stands in the list of refusals with its reason. A new one that is in
neither fails here.
"""

import pytest

from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import Composite, CoreAffinity, Cost, Meaning, PerMatrix, PtoSpelling, Spaces, Split, Splits
from cubelane.language.registry import REFUSED, find, refusal
from tests.ops.catalogue import CATALOGUE
from tests.ops.formulas import CASES
from tests.ops.test_meanings import ELSEWHERE

REFUSED_TILE = """alloc matmul_mx matmul_mx_acc matmul_mx_bias tget_scale_addr gatherb gather_compare scatter
    scatter_mask scatter_update mgather mscatter paged_gather create_l1""".split()
REFUSED_TENSOR = "expand_clone sort32".split()
REFUSED_SYSTEM = "sync_src sync_dst sync_set sync_wait set_ffts cacheinvalid syncall".split()
REFUSED_PLAIN = "submit spmd_submit no_dep dump_tag".split()
REFUSALS = {
    **{("tile", name): "E" for name in REFUSED_TILE},
    **{("tensor", name): "E" for name in REFUSED_TENSOR},
    **{("system", name): "E" for name in REFUSED_SYSTEM},
    **{(name,): "O" for name in REFUSED_PLAIN},
}
"""What is refused by its name, and the class it has in the catalogue."""

WITHOUT_TEXT = {
    "tile.create": "only allocates",
    "tile.random": "the machine has no such instruction: refused when text is asked for",
    "tile.aiv_shard": "becomes a pop",
    "tile.aic_gather": "becomes a push",
}
"""Tile ops that print nothing of their own in PTO IR, and why."""

ROWS = [
    ((*path, name), status) for path, table in CATALOGUE.items() for status, names in table.items() for name in names
]
FORMULAS = {
    (level, name.rstrip("_")) for name, case in CASES for level in ("tile", "tensor") if case.level in ("both", level)
}


def op_of(path: tuple[str, ...]) -> type[SurfaceOp] | None:
    return find(*path) if len(path) == 2 else None


@pytest.mark.parametrize(("path", "status"), ROWS, ids=lambda v: ".".join(v) if isinstance(v, tuple) else v)
def test_an_operator_has_all_it_needs_or_is_refused_with_a_reason(path: tuple[str, ...], status: str) -> None:
    if path in REFUSALS:
        refused = refusal(path)
        assert refused is not None and op_of(path) is None
        why, way = refused
        assert ".".join(path) in why and way
        assert status == REFUSALS[path]
        return
    assert status != "O"
    if len(path) == 1:
        return  # a name for one of the others, see tests/ops/test_catalogue.py
    kind = op_of(path)
    assert kind is not None, "neither an operator nor in the list of refusals"
    declared = {trait: kind.get_trait(trait) for trait in (CoreAffinity, Cost, Meaning, PtoSpelling, Spaces, Splits)}
    assert all(declared.values())
    key = (path[0], path[1].rstrip("_"))
    kept = (kind.NAMESPACE, kind.SPELLING.rstrip("_"))
    assert {key, kept} & (FORMULAS | set(ELSEWHERE)), "no formula judges it"
    splits, spelling = declared[Splits], declared[PtoSpelling]
    if path[0] == "tile" and isinstance(spelling, PtoSpelling) and isinstance(splits, Splits):
        asks = splits.behaviour is Split.NONE
        lowered = kind.get_trait(Composite) or kind.get_trait(PerMatrix)
        assert spelling.name or lowered or asks or kind.name in WITHOUT_TEXT, "no PTO text"


def test_every_refusal_is_of_an_operator_of_the_catalogue() -> None:
    catalogued = {path for path, _ in ROWS}
    assert set(REFUSALS) <= catalogued
    names = {path[-1] for path in REFUSALS}
    beyond = {"wait_task", "task_id", "batch_paged"} | {key for key in REFUSED if key.startswith("tensor.")}
    assert {name for name in REFUSED if name not in names} <= beyond
