"""Copies and addresses: what shares a place, what may not, what does not fit, and what the independent check finds."""

import pytest

from cubelane.analysis.address_plan import address_plan
from cubelane.analysis.memory_budget import usages
from cubelane.analysis.memory_contents import findings
from cubelane.analysis.tile_buffers import TileBuffers, peak
from cubelane.analysis.tile_lifetimes import Lifetimes
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.types import MemorySpace
from cubelane.passes.tile.allocate_memory_addr import allocate
from cubelane.passes.tile.materialize_semantic_aliases import materialize
from cubelane.passes.tile.placement import place
from cubelane.targets import A5, TARGETS
from tests.memory.programs import HALF, T, addresses, binary, core, full, function, small, to_half, unary


def placed(body, target=A5, **how):
    module = core(body, **how)
    materialize(function(module), target)
    allocate(function(module), target)
    module.verify()
    assert findings(function(module), target) == []
    return addresses(module)


def moves(body, **how):
    module = core(body, **how)
    materialize(function(module), A5)
    return [op for op in module.walk() if op.name == "tile.move"]


def test_a_result_takes_the_place_of_an_operand_read_for_the_last_time():
    at = placed(full("x") + unary("y", "x") + unary("z", "y"))
    assert at == {"x": 0, "y": 0, "z": 0}


def test_a_result_of_another_type_does_not():
    at = placed(full("x") + to_half("h", "x"))
    assert at == {"x": 0, "h": 512}


def test_a_reduction_does_not_write_over_what_it_reads():
    at = placed(
        full("x")
        + full("tmp")
        + f'%m = "tile.row_max"(%x, %tmp) : ({T}, {T}) -> !tile.tile<8x1xf32, vec, col_major, none_box, 512, null>\n'
    )
    assert len(set(at.values())) == 3


def test_tiles_needed_at_once_lie_apart_and_later_ones_reuse_what_is_free():
    at = placed(full("x") + full("y") + binary("s", "x", "y") + full("z") + to_half("h", "s"))
    assert at["x"] != at["y"] and at["s"] in (at["x"], at["y"])
    assert at["z"] in (at["x"], at["y"]) and at["z"] != at["s"] and at["h"] in (at["z"], 1024)


def test_arms_of_a_branch_use_the_same_memory():
    at = placed(
        "%r = scf.if %n -> (" + T + ") {\n" + full("a") + unary("b", "a") + f"scf.yield %b : {T}\n"
        "} else {\n" + full("c") + f"scf.yield %c : {T}\n}}\n",
        arguments="%n: i1",
    )
    assert set(at.values()) == {0}


LOOP = "%r = scf.for %k = %c0 to %c3 step %c1 iter_args(%a = %x) -> ({t}) {{\n{body}scf.yield %y : {t}\n}}\n"


def test_seed_carry_and_result_share_a_place_without_a_copy():
    body = full("x") + LOOP.format(t=T, body=unary("y", "a")) + unary("z", "r")
    assert not moves(body)
    assert set(placed(body).values()) == {0}


def test_a_carry_read_after_the_next_one_is_made_needs_a_copy():
    body = full("x") + LOOP.format(t=T, body=unary("y", "a") + binary("s", "y", "a")) + unary("z", "r")
    (move,) = moves(body)
    assert move.next_op.name == "scf.yield"
    placed(body)


def test_a_seed_needed_after_the_loop_is_made_again_or_copied():
    again = full("x") + LOOP.format(t=T, body=unary("y", "a")) + binary("z", "r", "x")
    assert not moves(again)
    assert placed(again)["z"] is not None
    copied = full("w") + unary("x", "w") + LOOP.format(t=T, body=unary("y", "a")) + binary("z", "r", "x")
    assert len(moves(copied)) == 1
    placed(copied)


def test_a_window_that_seeds_a_carry_is_copied():
    small_tile = "!tile.tile<4x16xf32, vec>"
    body = (
        full("w")
        + '%x = "tile.slice"(%w, %c1, %c0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : '
        + f"({T}, index, index) -> {small_tile}\n"
        + LOOP.format(t=small_tile, body=unary("y", "a", kind=small_tile))
    )
    assert len(moves(body)) == 1
    placed(body)


def test_a_reshape_of_a_window_with_gaps_is_copied_first():
    body = (
        full("w")
        + '%x = "tile.slice"(%w, %c0, %c1) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : '
        + f"({T}, index, index) -> !tile.tile<8x8xf32, vec>\n"
        + '%y = "tile.reshape"(%x) : (!tile.tile<8x8xf32, vec>) -> !tile.tile<4x16xf32, vec>\n'
    )
    assert len(moves(body)) == 1
    at = placed(body)
    assert at["x"] is None and at["y"] == 512


def test_an_accumulator_read_after_it_was_added_to_is_refused():
    acc, left, right = (f"!tile.tile<16x16x{k}>" for k in ("f32, acc", "f16, left", "f16, right"))
    body = (
        f'%l = "tile.create"() : () -> {left}\n%r = "tile.create"() : () -> {right}\n'
        f'%a = "tile.matmul"(%l, %r) : ({left}, {right}) -> {acc}\n'
        f'%b = "tile.matmul_acc"(%a, %l, %r) : ({acc}, {left}, {right}) -> {acc}\n'
        f'"tile.tpush_to_aiv"(%a) <{{split = 0 : i64}}> : ({acc}) -> ()\n'
    )
    with pytest.raises(Diagnostic, match="`a` is added to in place and needed again") as caught:
        materialize(function(core(body, kind="aic")), A5)
    assert caught.value.code == "needs-copy" and "pl.add(a, pl.matmul" in (caught.value.instead or "")


def test_allocation_without_the_copies_is_refused():
    body = full("x") + LOOP.format(t=T, body=unary("y", "a") + binary("s", "y", "a"))
    with pytest.raises(Diagnostic, match="materialize-semantic-aliases"):
        allocate(function(core(body)), A5)


def test_stated_ring_bases_stay_and_open_ones_go_around_them():
    def ring(name, size, base):
        facts = f'buffer_name = "{name}", size = {size} : i64, base = {base} : i64'
        return f'%{name} = "system.reserve_buffer"() <{{{facts}}}> : () -> i32\n'

    module = core(ring("p", 300, -1) + ring("q", 512, 0) + full("x"))
    allocate(function(module), A5)
    bases = {str(op.buffer_name.data): op.base.value.data for op in module.walk() if op.name == "system.reserve_buffer"}
    assert bases == {"p": 512, "q": 0}
    assert addresses(module) == {"x": 896}


# --- what fits ---------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_in_the_words_of_the_budget():
    body = full("x") + full("y") + binary("s", "x", "y")
    module = core(body)
    with pytest.raises(Diagnostic) as caught:
        allocate(function(module), small(vec=1000))
    (usage,) = usages(function(core(body)), small(vec=1000))
    assert caught.value.code == "budget" and caught.value.message == usage.finding().message
    assert "1,024 of 1,000 bytes" in caught.value.message
    placed(body, small(vec=1024))


GAPS = full("a") + full("b") + to_half("h", "a") + full("c") + binary("s", "b", "c") + unary("g", "h", kind=HALF)
"""By time of use: b above a, h above both; then c would fit where a was."""


def test_largest_first_where_the_order_of_use_leaves_gaps():
    body = (
        full("a", HALF)
        + full("b", HALF)
        + unary("a2", "a", kind=HALF)
        + full("c")
        + binary("d", "b", "b", HALF)
        + unary("e", "c")
    )
    lifetimes = Lifetimes(function(core(body)))
    assert len(list(lifetimes)) == 6
    target = small(vec=768)
    buffers = TileBuffers(function(core(body)), target)
    plan = address_plan(buffers.lifetimes.function, buffers, target)
    assert plan.high_water(MemorySpace.VEC) <= 768
    assert sum(b.size for b in peak(list(buffers), buffers)) <= 768
    placed(body, target)
    placed(GAPS)


def test_peak_counts_a_result_beside_the_operand_it_may_not_overwrite():
    buffers = TileBuffers(function(core(full("x") + to_half("h", "x"))), A5)
    assert sum(b.size for b in peak(list(buffers), buffers)) == 768
    buffers = TileBuffers(function(core(full("x") + unary("y", "x"))), A5)
    assert sum(b.size for b in peak(list(buffers), buffers)) == 512


def test_accumulators_of_integers_take_whole_blocks_of_32_rows_on_a2a3():
    for target, size in (("a5", 16 * 16 * 4), ("a2a3", 32 * 16 * 4)):
        body = '%a = "tile.create"() : () -> !tile.tile<16x16xi32, acc>\n'
        (buffer,) = TileBuffers(function(core(body, kind="aic", target=target)), TARGETS[target])
        assert buffer.size == size


# --- the independent check ---------------------------------------------------------------------------------------


def moved(body, name, address):
    """The program with one tile put somewhere else, views and joins as they were."""
    module = core(body)
    allocate(function(module), A5)
    for op in module.walk():
        for value in op.results:
            if value.name_hint == name:
                place(value, address)
                return findings(function(module), A5)
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("name", "address", "what"),
    [
        ("y", 0, "was overwritten before"),
        ("y", 256, "was overwritten before"),
        ("h", 0, "`w` was overwritten before"),
        ("h", 512, "writes `h` over its operand"),
        ("h", 768, "writes `h` over its operand"),
        ("y", 520, "not aligned"),
        ("s", A5.capacity[MemorySpace.VEC] - 128, "behind its end"),
    ],
)
def test_check_finds_a_tile_in_the_wrong_place(name, address, what):
    body = full("x") + full("y") + unary("w", "x") + to_half("h", "y") + to_half("g", "y") + to_half("s", "w")
    assert moved(body, "s", 4096) == []
    assert any(what in str(finding) for finding in moved(body, name, address))


def test_check_finds_a_carry_that_ends_elsewhere():
    body = full("x") + LOOP.format(t=T, body=unary("y", "a"))
    assert any("arrives in another place" in str(f) for f in moved(body, "y", 4096))


def test_check_finds_a_tile_in_the_slots_of_a_ring():
    facts = 'buffer_name = "q", size = 512 : i64, base = 0 : i64'
    ring = f'%q = "system.reserve_buffer"() <{{{facts}}}> : () -> i32\n'
    assert any("slots of a ring" in str(f) for f in moved(ring + full("x"), "x", 0))
