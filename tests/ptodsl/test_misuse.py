"""Misuse is a Diagnostic at the user's line, and the Python error a script expects (spec/pto.md 2.6, 2.7)."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ptodsl import pto


def refusal(body: Callable[..., Any], **options: Any) -> Diagnostic:
    """Traces a body; its line with `# here` must be the place of the refusal."""
    with pytest.raises(Diagnostic) as caught:
        pto.jit(**{"mode": "explicit", **options})(body).compile()
    lines, first = inspect.getsourcelines(body)
    here = next((first + i for i, text in enumerate(lines) if "# here" in text), None)
    if here is not None:
        assert (caught.value.location.file, caught.value.location.line) == (__file__, here)
    return caught.value


def ub() -> Any:
    return pto.castptr(0, pto.ptr(pto.f32, "ub"))


def test_register_does_not_leave_its_scope():
    def body():
        with pto.vecscope():
            v = pto.vlds(ub(), 0)
        with pto.vecscope():
            pto.vsts(v, ub(), 0, pto.pset_b32("ALL"))  # here

    problem = refusal(body)
    assert "cannot be used outside" in problem.message and isinstance(problem, RuntimeError)


def test_tileop_values_do_not_escape():
    def body(x: pto.ptr(pto.i64, "gm")):
        with pto.tileop():
            v = pto.const(1, dtype=pto.i64) + pto.const(2, dtype=pto.i64)
        pto.store_scalar(v, x)  # here

    assert "cannot let values defined inside the outlined subkernel escape" in refusal(body).message


def test_tileop_captures_scalars_only():
    def body():
        pointer = ub()
        with pto.tileop():
            with pto.vecscope():
                pto.vlds(pointer, 0)

    problem = refusal(body)
    assert "captured boundary value #1 with unsupported type" in problem.message and isinstance(problem, TypeError)
    assert "only pto.Tile and PTO scalar values" in problem.message and problem.instead is not None


def test_tileop_scalars_become_arguments():
    @pto.jit
    def kernel(n: pto.i64):
        with pto.tileop():
            with pto.vecscope():
                u = pto.castptr(n, pto.ptr(pto.f32, "ub"))
                pto.vsts(pto.vbr(1.0), u, 0, pto.pset_b32("ALL"))

    text = kernel.compile().mlir_text()
    assert "func.call @inline_tileop_0__ptodsl_" in text and "(%n) : (i64) -> ()" in text
    assert kernel.compile().verify()


def test_decorated_tileop_is_traced_once_and_returns_nothing():
    @pto.tileop
    def fill(at: pto.i64):
        with pto.vecscope():
            pto.vsts(pto.vbr(1.0), pto.castptr(at, pto.ptr(pto.f32, "ub")), 0, pto.pset_b32("ALL"))

    @pto.jit
    def kernel():
        fill(0)
        fill(256)

    text = kernel.compile().mlir_text()
    assert text.count("func.func private @fill__ptodsl_") == 1 and text.count("func.call") == 2
    with pytest.raises(TypeError, match="helpers must return None"):
        pto.tileop(eval("lambda: 1", {})) if False else pto.tileop(_returns)


def _returns() -> int:
    return 1


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [(1, TypeError, "expects 'cube' or 'vector'"), ("CUBE", ValueError, "expects 'cube' or 'vector'")],
)
def test_section_kind(kind: Any, error: type[Exception], text: str):
    def body():
        with pto.section(kind):  # here
            pass

    problem = refusal(body)
    assert isinstance(problem, error) and text in problem.message


def test_section_rules():
    def auto():
        with pto.section("cube"):  # here
            pass

    def nested():
        with pto.section("cube"):
            with pto.section("vector"):  # here
                pass

    def twice():
        with pto.section("cube"):
            pass
        with pto.section("cube"):  # here
            pass

    assert "only available in @pto.jit" in refusal(auto, mode="auto").message
    assert "cannot be combined with explicit" in refusal(auto, kernel_kind="cube").message
    assert "nested pto.section() scopes" in refusal(nested).message
    assert "at most once in a function" in refusal(twice).message
    with pytest.raises(RuntimeError, match="may only be used while tracing"):
        with pto.section("cube"):
            pass


def test_sections_restore_names():
    @pto.jit(mode="explicit")
    def kernel():
        e = 1
        with pto.section("cube"):
            e = e + 1
            pto.wait_intra_flag("FIX", e)
        with pto.section("vector"):
            pto.wait_intra_flag("MTE3", e)

    text = kernel.compile().mlir_text()
    assert "<PIPE_FIX>, 2" in text and "<PIPE_MTE3>, 1" in text


def test_section_values_stay_inside():
    def body(n: pto.i64, x: pto.ptr(pto.i64, "gm")):
        kept = []
        with pto.section("cube"):
            kept.append(n + 1)
        pto.store_scalar(kept[0], x)  # here

    assert "defined in pto.section.cube outside that physical section" in refusal(body).message


def test_moves_need_explicit_mode():
    def body(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 64)  # here

    problem = refusal(body, mode="auto")
    assert "auto-mode contract violation" in problem.message and isinstance(problem, RuntimeError)


def test_split_and_lane_exclude_each_other():
    def lane():
        pto.mte_l0c_ub(pto.castptr(0, pto.ptr(pto.f32, "acc")), ub(), 32, 32, 32, 32, 1, split="M")  # here

    def third():
        pto.mte_l0c_ub(pto.castptr(0, pto.ptr(pto.f32, "acc")), ub(), 32, 32, 32, 32, 2)  # here

    assert isinstance(refusal(lane), ValueError) and isinstance(refusal(third), ValueError)


def test_decorator_and_signature():
    with pytest.raises(ValueError, match="unsupported PTODSL jit mode 'fast'; expected 'auto' or 'explicit'"):
        pto.jit(mode="fast")(lambda: None)

    def untyped(x):  # type: ignore[no-untyped-def]
        pass

    def in_ub(x: pto.ptr(pto.f32, "ub")):
        pass

    def returns():
        return 1

    assert "needs a type annotation" in refusal(untyped).message
    assert "into gm only" in refusal(in_ub).message
    assert "must return nothing" in refusal(returns).message


def test_events_signals_and_pipes():
    def event():
        pto.set_flag("MTE2", "V", event_id=8)  # here

    def pipe():
        pto.wait_flag("DMA", "V")  # here

    def cross():
        pto.set_cross_flag("MTE3", 1)  # here

    assert "0 to 7" in refusal(event).message
    assert "unknown pipe 'DMA'" in refusal(pipe).message
    assert "legal queues are FIX" in refusal(cross).message


def test_run_time_branch_that_leaves_is_refused():
    def body(n: pto.i32):
        if n > 0:  # here
            return
        pto.pipe_barrier("ALL")

    assert "no truth while tracing" in refusal(body).message


def test_variable_of_one_branch_is_refused_where_it_is_used():
    def body(n: pto.i32, x: pto.ptr(pto.i32, "gm")):
        if n > 0:
            v = n + 1
        pto.store_scalar(v + 1, x)  # here

    assert "assigned in only one branch" in refusal(body).message


def test_removed_and_unknown_names():
    def old():
        with pto.cube():  # here
            pass

    def unknown():
        pto.vfrobnicate()  # here

    assert isinstance(refusal(old), TypeError)
    assert "no name 'pto.vfrobnicate'" in refusal(unknown).message


def test_kernel_modules_are_not_launched():
    @pto.jit(entry=False)
    def helper(n: pto.i32):
        pass

    with pytest.raises(RuntimeError, match="cannot be compiled or launched alone"):
        helper.compile()
