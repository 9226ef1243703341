"""Control flow on traced values computes what Python computes, rewritten and in explicit form (cases F04, F16)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubelane.ptodsl import pto


def ran(kernel: Any, *numbers: int, size: int = 8) -> list[int]:
    """Runs a kernel that stores integers."""
    out = np.zeros(size, np.int64)
    kernel.compile()(out, *numbers)
    return out.tolist()


@pto.jit(kernel_kind="vector")
def sums(out: pto.ptr(pto.i64, "gm"), n: pto.i32):
    total, count = 0, 0
    for i in range(n):
        if i % 3 == 0 or not i < 5:
            total = total + i
        elif 1 < i <= 4:
            total = total - 1
            count = count + 1
        else:
            count = count + 10
    pto.store_scalar(total, out, 0)
    pto.store_scalar(count, out, 1)
    j, v = n, 1
    while j > 0 and v < 100:
        v = v * 2
        j = j - 1
    pto.store_scalar(v, out, 2)
    pto.store_scalar(7 if n > 3 else 9, out, 3)


def sums_in_python(n: int) -> list[int]:
    total = count = 0
    for i in range(n):
        if i % 3 == 0 or not i < 5:
            total += i
        elif 1 < i <= 4:
            total, count = total - 1, count + 1
        else:
            count += 10
    j, v = n, 1
    while j > 0 and v < 100:
        v, j = v * 2, j - 1
    return [total, count, v, 7 if n > 3 else 9]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 12))
def test_statements_compute_what_python_computes(n: int):
    assert ran(sums, n)[:4] == sums_in_python(n)


def test_static_loops_are_unrolled_and_constexprs_stay_python():
    @pto.jit(kernel_kind="vector")
    def kernel(out: pto.ptr(pto.i64, "gm"), *, K: pto.const_expr = 3, flag: pto.const_expr = True):
        for i in range(K):
            if flag:
                pto.store_scalar(i + 1, out, i)

    assert ran(kernel)[:4] == [1, 2, 3, 0]
    assert "scf" not in kernel.compile().mlir_text()
    assert kernel.compile(K=2).mlir_text().count("store_scalar") == 2
    assert "store_scalar" not in kernel.compile(flag=False).mlir_text()
    assert kernel.compile() is kernel.compile(K=3)


def test_explicit_forms():
    @pto.jit(kernel_kind="vector")
    def kernel(out: pto.ptr(pto.i64, "gm"), n: pto.i64):
        with pto.for_(0, n, step=1).carry(total=pto.const(0, pto.i64)) as loop:
            loop.update(total=loop.total + loop.iv)
        with pto.if_(n > 2) as branch:
            with branch.then_:
                branch.assign(x=loop.final.total)
            with branch.else_:
                branch.assign(x=-1)
        pto.store_scalar(branch.x, out, 0)
        with pto.for_(0, 3) as i:
            pto.store_scalar(i * 5, out, i + 1)

    assert ran(kernel, 5)[:4] == [10, 0, 5, 10]
    assert ran(kernel, 2)[0] == -1


def test_variable_reassigned_before_a_loop_and_dead_after_it():
    @pto.jit(kernel_kind="vector")
    def kernel(out: pto.ptr(pto.i64, "gm"), n: pto.i32):
        v = 1
        if n > 1:
            v = 5
        j = 0
        while j < n:
            v = v * 2
            j = j + 1
        pto.store_scalar(j, out, 0)

    assert ran(kernel, 3)[0] == 3


def test_pointer_carried_through_a_loop():
    @pto.jit(kernel_kind="vector")
    def kernel(out: pto.ptr(pto.i64, "gm"), n: pto.i32):
        p = out
        for i in range(n):
            pto.store_scalar(i * i, p)
            p = pto.addptr(p, 2)

    assert ran(kernel, 4) == [0, 0, 1, 0, 4, 0, 9, 0]


def test_kernel_module_is_called_on_the_machine():
    @pto.jit(entry=False, mode="explicit")
    def add(x: pto.ptr(pto.f32, "ub"), by: pto.f32, *, TIMES: pto.const_expr = 1):
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            pto.vsts(pto.vadds(pto.vlds(x, 0), by * TIMES, full), x, 0, full)

    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        pto.mte_gm_ub(x, ub, 0, 256)
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        add(ub, 2.0)
        add(ub, 3.0)
        add(ub, 1.0, TIMES=4)
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.mte_ub_gm(ub, x, 256)

    x = np.arange(64, dtype=np.float32)
    kernel.compile()(x)
    np.testing.assert_array_equal(x, np.arange(64) + 9)
    text = kernel.compile().mlir_text()
    assert text.count("func.call @add(") == 2 and text.count("func.call @add_1(") == 1


def test_division_by_zero_is_reported_at_its_line():
    @pto.jit(kernel_kind="vector")
    def kernel(out: pto.ptr(pto.i64, "gm"), n: pto.i64):
        pto.store_scalar(8 // n, out)

    assert ran(kernel, 2)[0] == 4
    with pytest.raises(Exception, match="division by zero"):
        ran(kernel, 0)
