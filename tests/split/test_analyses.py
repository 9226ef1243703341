"""The analyses alone: shares and their reasons, valid extents, lane windows. They change nothing."""

import pytest

from cubelane.analysis.lane_share import MASK_PACK, Replicated, Split, Whole, mask_bytes
from cubelane.analysis.lane_windows import LaneWindows
from cubelane.analysis.split_axis import SplitAxes
from cubelane.analysis.valid_extents import LaneExtent, ValidExtents, lane_share_of
from cubelane.ir.kernel import functions_of
from cubelane.ir.types import SplitMode

from .kernels import Kernel, value

CARRY = """
z = pl.tile.full([32, 24], dtype=pl.FP32, value=0.0)
for k, (a,) in pl.range(3, init_values=(z,)):
    b = pl.tile.add(a, v)
    q = pl.yield_(b)
o = pl.tile.store(q, [0, 0], y)
return o
"""


def axes_of(kernel: Kernel, mode: SplitMode = SplitMode.UP_DOWN):
    module = kernel.parsed()
    before = str(module)
    axes = SplitAxes.of(functions_of(module)[0], mode)
    assert str(module) == before
    return module, axes


def test_shares_of_cube_vector_and_carried_values() -> None:
    module, axes = axes_of(Kernel(CARRY))
    assert axes[value(module, "acc")] == Whole()
    for name in ("v", "z", "a", "b", "q"):
        assert axes[value(module, name)] == Split(0, 32, 16, 16), name


def test_a_vector_of_extent_one_is_replicated() -> None:
    body = "b = pl.tile.load(t, [0, 0], [1, 24], target_memory=pl.Mem.Vec)\no = pl.tile.store(v, [0, 0], y)\nreturn o"
    module, axes = axes_of(Kernel(body, parameters={"t": "pl.Tensor[[1, 24], pl.FP32]"}))
    assert axes[value(module, "b")] == Replicated()


def test_why_leads_from_the_crossing_through_the_loop() -> None:
    body = "a = pl.tile.neg(v)\nb = pl.tile.exp(a)\no = pl.tile.store(b, [0, 0], y)\nreturn o"
    module, axes = axes_of(Kernel(body))
    assert [link.name for link in axes.why(value(module, "b"))] == ["v", "a", "b"]
    assert all(link.location.line > 0 for link in axes.why(value(module, "b")))
    assert axes.why(value(module, "acc")) == []


def test_axis_walks_through_vector_reshapes() -> None:
    body = """
    s = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    m = pl.tile.row_max(v, s)
    r = pl.tile.reshape(m, [1, 32])
    b = pl.tile.reshape(r, [32, 1])
    o = pl.tile.store(v, [0, 0], y)
    return o
    """
    module, axes = axes_of(Kernel(body))
    assert axes[value(module, "r")] == Split(1, 32, 16, 16)
    assert axes[value(module, "b")] == Split(0, 32, 16, 16)


def test_lanes_partition_every_extent() -> None:
    for extent in range(2, 30):
        share = Split.of(0, extent)
        for valid in range(extent + 1):
            assert sum(share.lanes(valid)) == valid
        assert share.even == (extent % 2 == 0)
    assert mask_bytes(64) == 32 and mask_bytes(257) == 64 and MASK_PACK == 8


def test_extents_are_found_through_the_matmul() -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", valid="n", n=3).parsed()
    extents = ValidExtents(functions_of(module)[0])
    found = extents.of(value(module, "q"), 0)
    assert found is not None and not isinstance(found, int) and found.name_hint == "n"
    assert extents.of(value(module, "q"), 1) == 24


def test_extent_of_a_carry_is_the_one_all_ways_agree_on() -> None:
    module = Kernel(
        CARRY.replace("z = pl.tile.full([32, 24], dtype=pl.FP32, value=0.0)", "z = v"), valid="n", n=3
    ).parsed()
    found = ValidExtents(functions_of(module)[0]).of(value(module, "q"), 0)
    assert found is not None and not isinstance(found, int) and found.name_hint == "n"


def test_extent_of_a_shard_is_the_lanes_share_of_the_whole() -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", valid=21).lowered()
    extent = ValidExtents(functions_of(module)[0]).lane_extent(value(module, "q"), 0)
    assert extent == LaneExtent(21, 11)


def test_a_clamp_expression_is_recognised_as_a_share() -> None:
    module = Kernel("q = pl.tile.set_validshape(v, 20, 24)\no = pl.tile.store(q, [0, 0], y)\nreturn o").lowered()
    extents = ValidExtents(functions_of(module)[0])
    assert lane_share_of(extents.lane_extent(value(module, "q"), 0)) == LaneExtent(20, 16)


BLOCKS = """
for k, (t,) in pl.range(3, init_values=(y,)):
    a = pl.tile.store(v, [k * {step}, 0], t)
    o = pl.yield_(a)
return o
"""
WINDOWS = [
    Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o"),
    Kernel("o = pl.tile.store(v, [3, 2], y)\nreturn o", mode="LEFT_RIGHT", outputs={"y": (40, 30)}),
    Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o", rows=17),
    Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o", valid=13, rows=16),
    Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o", valid="n", n=3),
    Kernel(BLOCKS.format(step=32), outputs={"y": (96, 24)}),
]


@pytest.mark.parametrize("kernel", WINDOWS)
def test_windows_of_the_lanes_are_disjoint_and_cover_the_full_width_program(kernel: Kernel) -> None:
    before = LaneWindows(functions_of(kernel.parsed())[0])
    after = LaneWindows(functions_of(kernel.lowered())[0])
    assert list(after.conflicts()) == [] and list(after.missing(before)) == []
    assert all(w.exact for windows in after.by_tensor.values() for w in windows)


def test_a_missing_part_is_named_with_its_rows() -> None:
    kernel = Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o")
    before = LaneWindows(functions_of(kernel.parsed())[0])
    module = kernel.lowered()
    store = next(op for op in functions_of(module)[0].body.walk() if op.name == "tile.store")
    store.operands[1] = store.operands[2]
    problems = list(LaneWindows(functions_of(module)[0]).missing(before))
    assert "rows 16..31" in problems[0].message and "'y'" in problems[0].message


def test_blocks_that_overlap_from_trip_to_trip_are_refused() -> None:
    problem = Kernel(BLOCKS.format(step=16), outputs={"y": (64, 24)}).refusal()
    assert "both write" in problem.message and "rows 16..47" in problem.message
