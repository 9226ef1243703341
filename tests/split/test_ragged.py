"""Odd and ragged extents: every valid row count of several boxes, both forms, numbers and run-time values (spec 3)."""

import pytest

from cubelane.analysis.lane_share import Split, placeable
from cubelane.ir.types import DYNAMIC

from .kernels import Kernel, ops, value

STORE = "q = pl.tile.adds(v, 1.0)\no = pl.tile.store(q, [0, 0], y)\nreturn o"
HALF = "q = pl.tile.adds(h, 1.0)\no = pl.tile.store(q, [lane * {half}, 0], y)\nreturn o"
WITH_LOAD = """
t = pl.tile.load(b, [0, 0], [{rows}, 24], target_memory=pl.Mem.Vec)
q = pl.tile.add(v, t)
o = pl.tile.store(q, [0, 0], y)
return o
"""


@pytest.mark.parametrize("rows", [16, 17, 15, 2])
def test_every_number_of_valid_rows(rows: int) -> None:
    for valid in range(1, rows + 1):
        Kernel(STORE, rows=rows, valid=valid).check()


@pytest.mark.parametrize("rows", [16, 15])
def test_every_number_of_valid_rows_beside_a_load(rows: int) -> None:
    for valid in (1, 5, 8, 9, 13, rows - 1):
        Kernel(
            WITH_LOAD.format(rows=rows), rows=rows, valid=valid, parameters={"b": f"pl.Tensor[[{rows}, 24], pl.FP32]"}
        ).check()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 12, 15, 16])
def test_b02_run_time_rows(n: int) -> None:
    module = Kernel(STORE, rows=16, valid="n", n=n).check()
    assert value(module, "v").type.valid == (DYNAMIC, 24)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 12, 15, 16])
def test_b04_run_time_rows_in_an_explicit_region(n: int) -> None:
    Kernel(HALF.format(half=8), rows=16, valid="n", n=n, form="explicit").check()


@pytest.mark.parametrize("valid", range(1, 17))
def test_b03_every_number_of_rows_in_an_explicit_region(valid: int) -> None:
    Kernel(HALF.format(half=8), rows=16, valid=valid, form="explicit").check()


@pytest.mark.parametrize("valid", [3, 13, 14, 24])
def test_ragged_columns_split_by_columns(valid: int) -> None:
    Kernel(STORE, columns_valid=valid, mode="LEFT_RIGHT").check()


@pytest.mark.parametrize("valid", [5, 27])
def test_ragged_rows_and_columns_together(valid: int) -> None:
    Kernel(STORE, valid=valid, columns_valid=7).check()


@pytest.mark.parametrize(
    ("box", "valid", "stride"),
    [
        (16, 16, None),
        (17, 17, None),
        (16, 15, None),
        (16, 13, 7),
        (16, 12, 6),
        (16, 8, 4),
        (16, 1, 1),
        (15, 13, 7),
        (17, 15, 8),
        (15, 14, 7),
        (17, 16, 8),
    ],
)
def test_table_of_rebalanced_strides(box: int, valid: int, stride: int | None) -> None:
    shard = ops(Kernel(STORE, rows=box, valid=valid).lowered(), "tile.aiv_shard")[0]
    assert shard.bound().get("lane_stride") == stride


def test_an_independent_load_cancels_the_rebalance() -> None:
    kernel = Kernel(WITH_LOAD.format(rows=16), rows=16, valid=13, parameters={"b": "pl.Tensor[[16, 24], pl.FP32]"})
    assert ops(kernel.check(), "tile.aiv_shard")[0].bound().get("lane_stride") is None


def test_gap_15_a_slice_of_another_extent_cancels_the_rebalance() -> None:
    body = "q = pl.tile.slice(v, [32, 8], [0, 0])\nk = pl.tile.fillpad(q)\no = pl.tile.store(k, [0, 0], y)\nreturn o"
    module = Kernel(body, rows=32, valid=27, outputs={"y": (32, 8)}).check()
    assert ops(module, "tile.aiv_shard")[0].bound().get("lane_stride") is None


@pytest.mark.parametrize("valid", [6, 16, 20, 31, 32])
@pytest.mark.parametrize("mode", ["UP_DOWN", "LEFT_RIGHT"])
def test_a04_set_validshape_of_every_size(valid: int, mode: str) -> None:
    rows, columns = (valid, 24) if mode == "UP_DOWN" else (32, min(valid, 24))
    body = f"q = pl.tile.set_validshape(v, {rows}, {columns})\no = pl.tile.store(q, [0, 0], y)\nreturn o"
    Kernel(body, mode=mode).check()


@pytest.mark.parametrize("n", [0, 6, 16, 20, 32])
def test_set_validshape_by_a_run_time_value(n: int) -> None:
    body = "q = pl.tile.set_validshape(v, n, 24)\no = pl.tile.store(q, [0, 0], y)\nreturn o"
    Kernel(body, n=n, values={"n": n}, valid=None, parameters={"n": "pl.Scalar[pl.INDEX]"}).check()


@pytest.mark.parametrize("rows", [17, 21, 1])
def test_widening_ops_claim_no_row_of_the_other_lane(rows: int) -> None:
    body = f"""
    f = pl.tile.fillpad(v)
    e = pl.tile.full([{rows}, 24], dtype=pl.FP32, value=2.0)
    q = pl.tile.add(e, f)
    o = pl.tile.store(q, [0, 0], y)
    return o
    """
    Kernel(body, rows=rows, valid=max(1, rows - 4)).check()


def test_lane_shares_are_placeable_exactly_as_the_codes_say() -> None:
    for box in range(2, 40):
        for valid in range(box + 1):
            first, second = Split.of(0, box).lanes(valid)
            assert first + second == valid
            assert placeable((first, second)) == (first == second or first == second + 1 or second == 0)


@pytest.mark.parametrize("valid", [5, 9, 15, 16])
def test_gap_16_ragged_tile_back_to_the_cube(valid: int) -> None:
    body = """
    p = pl.tile.cast(v, pl.FP16)
    q = pl.tile.move(p, target_memory=pl.Mem.Left)
    um = pl.tile.load(u, [0, 0], [24, 16], target_memory=pl.Mem.Mat)
    ur = pl.tile.move(um, target_memory=pl.Mem.Right)
    z = pl.tile.matmul(q, ur)
    o = pl.tile.store(z, [0, 0], y)
    return o
    """
    Kernel(
        body, rows=16, valid=valid, parameters={"u": "pl.Tensor[[24, 16], pl.FP16]"}, outputs={"y": (16, 16)}
    ).check()


@pytest.mark.parametrize("n", [3, 11, 16])
def test_gap_16_run_time_tile_back_to_the_cube(n: int) -> None:
    body = """
    p = pl.tile.cast(v, pl.FP16)
    q = pl.tile.move(p, target_memory=pl.Mem.Left)
    um = pl.tile.load(u, [0, 0], [24, 16], target_memory=pl.Mem.Mat)
    ur = pl.tile.move(um, target_memory=pl.Mem.Right)
    z = pl.tile.matmul(q, ur)
    o = pl.tile.store(z, [0, 0], y)
    return o
    """
    kernel = Kernel(
        body, rows=16, valid="n", n=n, parameters={"u": "pl.Tensor[[24, 16], pl.FP16]"}, outputs={"y": (16, 16)}
    )
    kernel.check()


def test_empty_lane_takes_part_in_every_handshake_and_stores_nothing() -> None:
    module = Kernel(STORE, rows=16, valid=8, parameters={}).check()
    assert ops(module, "scf.if") == []
    guarded = Kernel(HALF.format(half=8), rows=16, valid=5, form="explicit").check()
    branch = ops(guarded, "scf.if")[0]
    assert [op.name for op in branch.true_region.block.ops] == ["tile.store", "scf.yield"]
    assert ops(guarded, "tile.aiv_shard")[0].parent is branch.parent
