"""The examples: equal to NumPy, clean, in any order of the queues; every removed synchronization op is reported."""

import numpy as np
import pytest

from cubelane.sim.micro.launch import launch_split, split

from .mutations import example, mutants, names, pair_mutants, score


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
def test_a_whole_flag_is_reported_or_redundant(name: str):
    """Without a flag that is not reported, the clocks still order every conflicting pair, in any order of queues."""
    file = example(name)
    module = split(file.KERNEL.compile().mlir_module())
    for _, mutant in pair_mutants(module):
        seen: list[bytes] = []
        for seed in (None, 1, 2, 3):
            given = file.inputs()
            if launch_split(mutant, None, list(given.values()), seed=seed).findings:
                assert not seen, "reported in one order of the queues and not in another"
                break
            seen.append(b"".join(v.tobytes() for v in given.values() if isinstance(v, np.ndarray)))
        assert len(set(seen)) <= 1
