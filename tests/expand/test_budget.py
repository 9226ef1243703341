"""What fits: the boundary of front.md 4.1, and what an overflow says (case D10)."""

import pytest

from cubelane.analysis.memory_budget import HEADER, budget, findings
from cubelane.ir.types import MemorySpace
from tests.expand.stages import finished, kernel

BODY = """xm = pl.tile.load(x, [0, 0], [128, 64], target_memory=pl.Mem.Mat)
xl = pl.tile.move(xm, target_memory=pl.Mem.Left)
wm = pl.tile.load(w, [0, 0], [64, 128], target_memory=pl.Mem.Mat)
wr = pl.tile.move(wm, target_memory=pl.Mem.Right)
acc = pl.tile.matmul(xl, wr)
v = pl.tile.move(acc, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box)
out = pl.tile.store(v, [0, 0], y)
return out"""


def crossing(depth):
    text = kernel(BODY, attrs=f'"slot_num": {depth}')
    for old, new in (("[[16, 64]", "[[128, 64]"), ("[[64, 32]", "[[64, 128]"), ("[[16, 32]", "[[128, 128]")):
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("target", "depth", "fits"),
    [("a2a3", 1, True), ("a2a3", 2, True), ("a2a3", 3, False), ("a5", 3, True), ("a5", 4, False)],
)
def test_ring_of_a_128_by_128_crossing_fits_to_the_known_depth(target, depth, fits):
    assert bool(findings(finished(crossing(depth), target))) is not fits


def test_overflow_names_ring_and_depth_that_fits():
    (finding,) = findings(finished(crossing(4), "a2a3"))
    told = str(finding)
    assert finding.code == "budget" and finding.location.line > 0
    assert "k_c2v_slot_buffer" in told and "4 slots of 65,536" in told and "slot_num=2" in told


def test_table_has_a_row_per_space_and_core():
    rows = budget(finished(crossing(2), "a5"))
    spaces = {(row.core, row.space) for row in rows}
    assert {("AIC", MemorySpace.MAT), ("AIC", MemorySpace.ACC), ("AIV", MemorySpace.VEC)} <= spaces
    assert all(len(row.row()) == len(HEADER) for row in rows)
    acc = next(row for row in rows if row.space is MemorySpace.ACC)
    assert acc.tiles == 128 * 128 * 4 and acc.ring == 0
