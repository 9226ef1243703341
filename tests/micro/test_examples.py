"""The examples: equal to NumPy, clean, in any order of the queues; every removed synchronization op is reported."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cubelane.ptodsl import pto
from cubelane.sim.micro.launch import split

from .mutations import TRIPS, example, mutants, names, pair_mutants, proven, score, with_trips
from .redundancy import Build, NotProven, prove


def check(name: str, seed: int | None = None, **sizes: int) -> None:
    file = example(name)
    given = file.inputs(**sizes)
    expected = file.golden(given)
    assert not file.KERNEL.compile(**sizes).run(*given.values(), seed=seed).findings
    for key, want in expected.items():
        np.testing.assert_allclose(given[key].astype(np.float64), want.astype(np.float64), file.RTOL, file.ATOL)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_example_is_equal_to_numpy_and_clean(name: str, seed: int | None):
    check(name, seed)


@pytest.mark.parametrize(("m", "n", "k"), [(32, 64, 32), (96, 64, 64), (64, 192, 160)])
def test_mixed_gemm_of_several_shapes(m: int, n: int, k: int):
    check("gemm_bias", M=m, N=n, K=k)


@pytest.mark.parametrize("grid", [2, 3, 5])
def test_mixed_gemm_on_several_core_groups(grid: int):
    file = example("gemm_bias")
    given = file.inputs()
    file.KERNEL[grid, None](*given.values())
    np.testing.assert_allclose(given["c"], file.golden(given)["c"], 1e-3, 1e-3)


def test_mixed_gemm_splits_into_the_expected_children():
    text = {str(c.attributes["pto.kernel_kind"]): str(c) for c in split(
        example("gemm_bias").KERNEL.compile().mlir_module()).body.block.ops}  # fmt: skip
    vector, cube = text["#pto.kernel_kind<vector>"], text["#pto.kernel_kind<cube>"]
    assert "pto.mad" in cube and "mte_l0c_ub" in cube and "PIPE_MTE3" not in cube and "mte_ub_gm" not in cube
    assert "mte_ub_gm" in vector and "pto.mad" not in vector and "PIPE_FIX" not in vector


@pytest.mark.parametrize("name", names())
def test_every_single_removal_is_reported(name: str):
    found = score(name, mutants)
    print(f"{name}: {found.caught} / {found.tried}")
    assert found.caught == found.tried and found.tried, found.missed


@pytest.mark.parametrize("name", names())
def test_a_whole_flag_is_reported_or_proven_redundant(name: str):
    found = score(name, pair_mutants)
    shown = proven(name, found)
    print(f"{name}: {found.caught} caught / {found.tried} tried / {shown} proven redundant")
    assert found.caught + shown == found.tried and found.tried


@pytest.mark.parametrize("name", list(TRIPS))
def test_the_proof_holds_for_a_kernel_as_written_and_not_without_a_flag_it_needs(name: str):
    assert prove(with_trips(name, None)) > 100
    needed = next(n for n in range(20) if n not in score(name, pair_mutants).missed)
    with pytest.raises(NotProven):
        prove(with_trips(name, needed))


def late(condition: Callable[[Any], Any], at: Callable[[Any], Any] = lambda i: 0) -> Build:
    """A loop that hands a buffer from MTE2 to V and back; the way back is left out in some trips."""

    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), *, TRIPS: pto.const_expr = 1):
        pto.set_flag("V", "MTE2")
        for i in range(pto.const(TRIPS)):
            u = pto.castptr(0, pto.ptr(pto.f32, "ub")) + at(i)
            if condition(i):
                pto.wait_flag("V", "MTE2")
            pto.mte_gm_ub(x, u, 0, 256)
            pto.set_flag("MTE2", "V")
            pto.wait_flag("MTE2", "V")
            with pto.vecscope():
                pto.vsts(pto.vlds(u, 0), u, 64, pto.pset_b32("ALL"))
            if condition(i):
                pto.set_flag("V", "MTE2")
        pto.wait_flag("V", "MTE2")

    return lambda trips: (split(kernel.compile(TRIPS=trips).mlir_module()), [np.zeros(64, np.float32)])


def test_the_proof_refuses_what_only_shows_in_late_trips():
    assert prove(late(lambda i: i >= 0)) > 100
    for condition in (lambda i: i < 30, lambda i: i // 2 * i < 900, lambda i: i % 16 < 15):
        with pytest.raises(NotProven, match=r"late trip|no constant|more than a loop counter|every trip"):
            prove(late(condition))
    with pytest.raises(NotProven, match="every trip"):
        prove(late(lambda i: i >= 0, at=lambda i: i // 16 * 64))
