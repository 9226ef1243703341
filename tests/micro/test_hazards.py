"""What the machine reports: races with both lines and the missing flag, flags, deadlocks, bounds, undefined data."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ptodsl import pto


def found(body: Callable[..., Any], *arguments: Any, kind: str = "vector", **options: Any) -> list[Diagnostic]:
    """The findings of a run."""
    kernel = pto.jit(mode="explicit", kernel_kind=kind)(body)
    return kernel.compile().run(*(arguments or (np.zeros(256, np.float32),)), **options).findings


def line(body: Callable[..., Any], mark: str) -> int:
    lines, first = inspect.getsourcelines(body)
    return next(first + i for i, text in enumerate(lines) if mark in text)


def ub(offset: int = 0) -> Any:
    return pto.castptr(offset, pto.ptr(pto.f32, "ub"))


def copy_through_v(x: Any, at: int = 0) -> None:
    with pto.vecscope():
        pto.vsts(pto.vlds(ub(at), 0), ub(at), 0, pto.pset_b32("ALL"))


def test_race_names_both_lines_and_the_missing_flag():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 256)  # first
        with pto.vecscope():
            pto.vlds(ub(), 0)  # second

    (race,) = found(body)
    assert race.code == "race" and race.location.line == line(body, "# second")
    assert f":{line(body, '# first')}:" in race.message
    assert "missing flag MTE2 -> V: set_flag(MTE2, V)" in race.notes[0]


def test_flag_makes_it_clean():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        copy_through_v(x)

    assert not found(body)


def test_barrier_all_orders_everything_and_buffers_order_their_users():
    def barrier(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.pipe_barrier("ALL")
        copy_through_v(x)

    def buffers(x: pto.ptr(pto.f32, "gm")):
        pto.get_buf("MTE2", 3)
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.rls_buf("MTE2", 3)
        pto.get_buf("V", 3)
        copy_through_v(x)
        pto.rls_buf("V", 3)

    def other_buffer(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.rls_buf("MTE2", 3)
        pto.get_buf("V", 4)
        copy_through_v(x)

    assert not found(barrier) and not found(buffers)
    assert found(other_buffer)[0].code == "race"


def test_wait_that_is_never_set_is_a_deadlock_with_its_reason_only():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.wait_flag("MTE2", "V", event_id=5)  # here
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")

    (finding,) = found(body)
    assert finding.code == "deadlock" and finding.location.line == line(body, "# here")
    assert "AIV0 V waits forever" in finding.message
    assert "id 5, which is never set" in finding.notes[0] and "AIV0 MTE3 waits too" in finding.notes[1]


def test_circle_of_waits():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.wait_flag("MTE3", "V")
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.set_flag("MTE3", "V")

    (finding,) = found(body)
    assert "wait for each other" in finding.message and len(finding.notes) == 2


def test_set_that_is_never_waited_for():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.set_flag("MTE2", "V")  # here

    (finding,) = found(body)
    assert finding.code == "leftover" and finding.location.line == line(body, "# here")


def test_event_reused_too_early():
    def body(x: pto.ptr(pto.f32, "gm")):
        for i in range(2):
            pto.mte_gm_ub(x, ub(256 * i), 0, 256)
            pto.set_flag("MTE2", "V")
            pto.wait_flag("MTE2", "V")
            copy_through_v(x, 256 * i)

    assert [f.code for f in found(body)] == ["event-reused"]


def test_out_of_bounds_and_alignment():
    def past(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 2048)  # here

    def crooked(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(4), 0, 256)

    def beyond(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(256 * 1024 - 32), 0, 256)

    first = found(past)[0]
    assert first.code == "out-of-bounds" and first.location.line == line(past, "# here")
    assert "argument 'x', which has 1024 bytes" in first.message
    assert found(crooked)[0].code == "alignment"
    assert "UB of AIV0, which has 262144 bytes" in found(beyond)[0].message


def test_undefined_data_is_reported_where_it_leaves_the_core():
    def body(x: pto.ptr(pto.f32, "gm")):
        copy_through_v(x)
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.mte_ub_gm(ub(), x, 256)  # here

    (finding,) = found(body)
    assert finding.code == "undefined" and finding.location.line == line(body, "# here")


def test_load_after_store_in_a_scope_needs_a_memory_barrier():
    def body(x: pto.ptr(pto.f32, "gm"), *, barrier: pto.const_expr = False):
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            pto.vsts(pto.vbr(1.0), ub(), 0, full)
            if barrier:
                pto.mem_bar(pto.BarrierType.VST_VLD)
            pto.vsts(pto.vlds(ub(), 0), ub(256), 0, full)

    kernel = pto.jit(mode="explicit")(body)
    x = np.zeros(64, np.float32)
    (finding,) = kernel.compile().run(x).findings
    assert finding.code == "scope-order" and "VST_VLD" in finding.notes[0]
    assert not kernel.compile(barrier=True).run(x).findings


def test_core_groups_may_not_write_the_same_bytes():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.store_scalar(1.0, x)

    assert not found(body)
    (finding,) = found(body, np.zeros(4, np.float32), grid=2)
    assert finding.code == "race" and "core groups" in finding.notes[0]


def test_lanes_may_not_write_the_same_bytes():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.store_scalar(1.0, x)

    (finding,) = found(body, np.zeros(4, np.float32), lanes=2)
    assert "two vector lanes have no signal between them" in finding.notes[0]


def test_signal_between_cube_and_lane_carries_order():
    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm"), *, signal: pto.const_expr = True):
        acc = pto.castptr(0, pto.ptr(pto.f32, "acc"))
        left, right = (pto.castptr(0, pto.ptr(pto.f16, s)) for s in ("left", "right"))
        l1 = pto.castptr(0, pto.ptr(pto.f16, "mat"))
        pto.mte_l1_l0a(l1, left, 16, 16)
        pto.mte_l1_l0b(l1, right, 16, 16)
        pto.set_flag("MTE1", "M")
        pto.wait_flag("MTE1", "M")
        pto.mad(left, right, acc, 16, 16, 16)
        pto.set_flag("M", "FIX")
        pto.wait_flag("M", "FIX")
        pto.mte_l0c_ub(acc, ub(), 16, 16, 16, 16)
        if signal:
            pto.set_intra_flag("FIX", 2)
        with pto.vecscope():
            pto.vsts(pto.vlds(ub(), 0), ub(2048), 0, pto.pset_b32("ALL"))

    result = kernel.compile(signal=False).run(np.zeros(4, np.float32))
    races = [f for f in result.findings if f.code == "race"]
    assert races and "missing signal AIC -> AIV0: set_intra_flag(FIX, id)" in races[0].notes[0]


def test_a_release_in_mode_1_waits_for_the_work_of_every_queue_that_got_the_buffer():
    def body(x: pto.ptr(pto.f32, "gm"), *, mode: pto.const_expr = 1):
        pto.get_buf("MTE2", 5, mode=1)
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.get_buf("V", 5, mode=1)
        pto.rls_buf("V", 5, mode=mode)
        copy_through_v(x)

    kernel, x = pto.jit(mode="explicit")(body), np.zeros(256, np.float32)
    for seed in (None, 1, 2, 3):
        assert not kernel.compile().run(x, seed=seed).findings
    assert {f.code for f in kernel.compile(mode=0).run(x).findings} == {"race"}


def test_a_get_in_mode_1_never_waits():
    def body(x: pto.ptr(pto.f32, "gm"), *, mode: pto.const_expr = 1):
        pto.get_buf("MTE2", 5)
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.rls_buf("MTE2", 5)
        pto.get_buf("V", 5, mode=mode)
        copy_through_v(x)

    kernel, x = pto.jit(mode="explicit")(body), np.zeros(256, np.float32)
    assert {f.code for f in kernel.compile().run(x).findings} == {"race"}
    assert not kernel.compile(mode=0).run(x).findings


def test_a_release_in_mode_1_that_can_never_be_done_names_the_work_it_waits_for():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.get_buf("MTE2", 5, mode=1)
        pto.wait_flag("V", "MTE2", event_id=3)
        pto.rls_buf("V", 5, mode=1)  # here
        pto.set_flag("V", "MTE2", event_id=3)

    (finding,) = found(body)
    assert finding.code == "deadlock" and "the work of MTE2 on buffer 5" in " ".join(finding.notes)


def test_a_buffer_token_has_32_ids_and_two_modes():
    def wrong_mode(x: pto.ptr(pto.f32, "gm")):
        pto.get_buf("V", 1, mode=2)  # here

    def wrong_id(x: pto.ptr(pto.i64, "gm")):
        pto.get_buf("V", pto.load_scalar(x, 0))  # here

    with pytest.raises(Diagnostic, match="legal modes are 0 and 1") as caught:
        pto.jit(mode="explicit")(wrong_mode).compile()
    assert caught.value.location.line == line(wrong_mode, "# here")
    (finding,) = found(wrong_id, np.full(4, 32, np.int64))
    assert finding.code == "buffer-id" and finding.location.line == line(wrong_id, "# here")


def test_fences_order_and_a_trap_stops_at_its_line():
    def fenced(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.dsb()
        copy_through_v(x)

    def trapped(x: pto.ptr(pto.f32, "gm")):
        pto.trap()  # here

    assert not found(fenced)
    (finding,) = found(trapped)
    assert finding.code == "trap" and finding.location.line == line(trapped, "# here")
