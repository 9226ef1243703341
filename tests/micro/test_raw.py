"""VPTO text on the machine: raw instructions do exactly what the semantic ops they came from do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cubelane.emit.vpto import Job
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.ptodsl import pto
from cubelane.sim.micro.launch import launch_split, split

from .mutations import example, names


def outputs(module: Any, given: dict[str, Any]) -> list[np.ndarray]:
    arguments = [value.copy() if isinstance(value, np.ndarray) else value for value in given.values()]
    assert not launch_split(module, None, arguments).findings
    return arguments


def same(handle: Any, given: dict[str, Any]) -> list[np.ndarray]:
    """Runs the semantic ops, the raw instructions, and the printed VPTO text; all arrays must agree in every bit."""
    wanted = outputs(split(handle.mlir_module()), given)
    text = print_pto(Job(handle.mlir_text(), "k.pto").vpto())
    for module in (split(handle.mlir_module(), raw=True), read_pto(text)):
        assert not any(op.name in ("pto.mad", "pto.mte_gm_ub", "pto.mte_ub_gm") for op in module.walk())
        for want, got in zip(wanted, outputs(module, given), strict=True):
            if isinstance(want, np.ndarray):
                np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
    return wanted


@pytest.mark.parametrize("name", names())
def test_an_example_runs_the_same_as_vpto_text(name: str):
    file = example(name)
    same(file.KERNEL.compile(), file.inputs())


def test_loops_padding_and_copies_within_ub():
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        loops = [(2, 512, 1024), (3, 64, 256)]
        pto.mte_gm_ub(x, ub, 0, 40, nburst=(2, 128, 64), loops=loops, pad=(7.0, 2))
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        pto.mte_ub_ub(ub, ub + 1024, 4, nburst=(3, 4, 2))
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.mte_ub_gm(ub, y, 64, nburst=(2, 64, 64), loops=[(2, 1024, 512), (3, 256, 128)])
        pto.mte_ub_gm(ub + 1024, y + 512, 128, nburst=(3, 192, 128))

    x = np.arange(1024, dtype=np.float32)
    _, y = same(kernel.compile(), {"x": x, "y": np.zeros(1024, np.float32)})
    assert y[:2].tolist() == [7.0, 7.0] and y[2:12].tolist() == x[:10].tolist() and y[12] == 7.0


def product(out: Callable[..., None], kind: Any = pto.f16, acc: Any = pto.f32, target: Any = pto.f32) -> Any:
    """A 32 x 32 x 32 product whose accumulator leaves as `out` says; the scaling buffer holds 32 numbers."""

    @pto.jit(mode="explicit", kernel_kind="cube")
    def kernel(a: pto.ptr(kind, "gm"), b: pto.ptr(kind, "gm"), s: pto.ptr(pto.f32, "gm"), c: pto.ptr(target, "gm")):
        size = 32 * 32 * kind.bits // 8
        a_l1, b_l1 = pto.castptr(0, pto.ptr(kind, "mat")), pto.castptr(size, pto.ptr(kind, "mat"))
        s_l1 = pto.castptr(2 * size, pto.ptr(pto.f32, "mat"))
        l0a, l0b = pto.castptr(0, pto.ptr(kind, "left")), pto.castptr(0, pto.ptr(kind, "right"))
        l0c, fb = pto.castptr(0, pto.ptr(acc, "acc")), pto.castptr(0, pto.ptr(pto.f32, "scaling"))
        for source, place in ((a, a_l1), (b, b_l1)):
            pto.mte_gm_l1_frac(
                source, place, "nd2nz", shape=(32, 32), src_layout=(32 * kind.bits // 8,), dst_group=(1, 1, 32, 0)
            )
        pto.mte_gm_l1(s, s_l1, 128)
        pto.set_flag("MTE2", "MTE1")
        pto.wait_flag("MTE2", "MTE1")
        pto.mte_l1_l0a(a_l1, l0a, 32, 32)
        pto.mte_l1_l0b(b_l1, l0b, 32, 32)
        pto.mte_l1_fb(s_l1, fb, 4)
        pto.set_flag("MTE1", "M")
        pto.wait_flag("MTE1", "M")
        pto.mad(l0a, l0b, l0c, 32, 32, 32)
        pto.set_flag("M", "FIX")
        pto.wait_flag("M", "FIX")
        pto.set_flag("MTE1", "FIX")
        pto.wait_flag("MTE1", "FIX")
        out(l0c, c, fb)

    return kernel.compile()


RNG = np.random.default_rng(0)
LEFT, RIGHT = RNG.standard_normal((2, 32, 32)).astype(np.float16)
ROW = (RNG.random(32) + 0.5).astype(np.float32)
EXACT = LEFT.astype(np.float32) @ RIGHT.astype(np.float32).T
BYTES_LEFT, BYTES_RIGHT = RNG.integers(-100, 100, (2, 32, 32)).astype(np.int8)
EXACT_BYTES = BYTES_LEFT.astype(np.int32) @ BYTES_RIGHT.astype(np.int32).T


def floats(target: Any, **modes: Any) -> np.ndarray:
    """The result of a float product, without and with raw instructions."""
    handle = product(lambda l0c, c, fb: pto.mte_l0c_gm(l0c, c, 32, 32, 32, 32, **_with(modes, fb)), target=target)
    kind = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "ui8": np.uint8}[target.name]
    given = {"a": LEFT, "b": RIGHT, "s": ROW, "c": np.zeros((32, 32), kind)}
    return same(handle, given)[3]


def integers(target: Any, **modes: Any) -> np.ndarray:
    """The result of an integer product."""
    handle = product(
        lambda l0c, c, fb: pto.mte_l0c_gm(l0c, c, 32, 32, 32, 32, **_with(modes, fb)), pto.i8, pto.i32, target
    )
    kind = {"f16": np.float16, "i8": np.int8, "ui8": np.uint8, "i32": np.int32}[target.name]
    given = {"a": BYTES_LEFT, "b": BYTES_RIGHT, "s": ROW, "c": np.zeros((32, 32), kind)}
    return same(handle, given)[3]


def _with(modes: dict[str, Any], fb: Any) -> dict[str, Any]:
    return {name: tuple(fb if v == "row" else v for v in value) if isinstance(value, tuple) else value
            for name, value in modes.items()}  # fmt: skip


def clipped(values: np.ndarray, kind: Any) -> np.ndarray:
    return np.clip(np.rint(values), np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)


def test_floats_leave_as_bytes_by_one_scale_or_one_for_each_column():
    close = {"rtol": 0, "atol": 1}
    np.testing.assert_allclose(floats(pto.i8, pre_quant=(9.5, "qf322b8")), clipped(EXACT * 9.5, np.int8), **close)
    np.testing.assert_allclose(floats(pto.i8, pre_quant=("row", "vqf322b8")), clipped(EXACT * ROW, np.int8), **close)
    np.testing.assert_allclose(floats(pto.ui8, pre_quant=(30.0, "qf322b8")), clipped(EXACT * 30, np.uint8), **close)


def test_integers_leave_scaled():
    scale = np.float32(1 / 4096)
    np.testing.assert_array_equal(integers(pto.i32), EXACT_BYTES)
    np.testing.assert_array_equal(
        integers(pto.f16, pre_quant=(float(scale), "deqf16")), (EXACT_BYTES * scale).astype(np.float16)
    )
    np.testing.assert_array_equal(
        integers(pto.f16, pre_quant=("row", "vdeqf16"), sat=True),
        np.clip(EXACT_BYTES.astype(np.float32) * ROW, -65504, 65504).astype(np.float16),
    )
    small = np.float32(1 / 512)
    np.testing.assert_array_equal(
        integers(pto.i8, pre_quant=(float(small), "req8")), clipped(EXACT_BYTES.astype(np.float32) * small, np.int8)
    )


def test_activations_follow_the_scale_and_end_at_the_clip():
    got = floats(pto.f16, pre_quant=(1.0, "f32_f16"), pre_relu=("scalar_relu", 0.25, 3.0))
    want = np.minimum(np.where(EXACT >= 0, EXACT, EXACT * np.float32(0.25)), 3.0)
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3)
    got = floats(pto.f32, pre_relu=("vector_relu", "row"))
    np.testing.assert_allclose(got, np.where(EXACT >= 0, EXACT, EXACT * ROW), rtol=1e-5, atol=1e-5)


def test_layouts_out_of_the_accumulator():
    np.testing.assert_allclose(floats(pto.f32, layout=("nz2dn", 1)), EXACT.T, rtol=1e-5, atol=1e-5)
    got = floats(pto.f32, layout=("nz2nz", 1)).reshape(4, 32, 8).transpose(1, 0, 2).reshape(32, 32)
    np.testing.assert_allclose(got, EXACT, rtol=1e-5, atol=1e-5)


def test_a_quantisation_that_does_not_fit_is_refused_by_name():
    with pytest.raises(Exception, match="does not model the quantisation 'magic'"):
        floats(pto.i8, pre_quant=(1.0, "magic"))
    with pytest.raises(Exception, match=r"req8 from float32 to int8 \(it is int32 to int8 or uint8\)"):
        floats(pto.i8, pre_quant=(1.0, "req8"))
