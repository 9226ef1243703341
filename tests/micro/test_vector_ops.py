"""Vector micro-ops against NumPy: arithmetic, distributions, reductions, predicates, conversion."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cubelane.ir.pto.table import op_classes
from cubelane.ptodsl import pto

FLOAT_BINARY = {
    "vadd": np.add, "vsub": np.subtract, "vmul": np.multiply, "vdiv": np.divide, "vmax": np.maximum, "vmin": np.minimum,
}  # fmt: skip
INT_BINARY = {"vand": np.bitwise_and, "vor": np.bitwise_or, "vxor": np.bitwise_xor, "vshl": np.left_shift,
              "vshr": np.right_shift}  # fmt: skip
UNARY = {"vabs": np.abs, "vneg": np.negative, "vexp": np.exp, "vln": np.log, "vsqrt": np.sqrt,
         "vrelu": lambda x: np.maximum(x, 0)}  # fmt: skip


def run(body: Callable[[Any, Any, Any], None], x: np.ndarray, kind: Any, out: Any = None, size: int = 64) -> np.ndarray:
    """Brings x to UB at 0, runs the body in a scope, takes `size` elements at byte 8192."""
    out_kind = out or kind

    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(kind, "gm"), y: pto.ptr(out_kind, "gm")):
        source = pto.castptr(0, pto.ptr(kind, "ub"))
        target = pto.castptr(8192, pto.ptr(out_kind, "ub"))
        pto.mte_gm_ub(x, source, 0, nbytes)
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        with pto.vecscope():
            body(source, target, pto.pset_b16("ALL") if kind.bits == 16 else pto.pset_b32("ALL"))
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.mte_ub_gm(target, y, size * out_kind.bits // 8)

    nbytes = x.nbytes
    y = np.zeros(
        size, {"f32": np.float32, "f16": np.float16, "i32": np.int32, "bf16": ml_dtypes.bfloat16}[out_kind.name]
    )
    kernel.compile()(x, y)
    return y


def floats(n: int = 64, low: float = -3.0) -> np.ndarray:
    return np.random.default_rng(n).uniform(low, 3.0, n).astype(np.float32)


@pytest.mark.parametrize("name", list(FLOAT_BINARY) + list(INT_BINARY))
def test_binary(name: str):
    is_float = name in FLOAT_BINARY
    x = floats(128, 0.5) if is_float else np.random.default_rng(0).integers(0, 8, 128).astype(np.int32)

    def body(source: Any, target: Any, full: Any) -> None:
        result = getattr(pto, name)(pto.vlds(source, 0), pto.vlds(source, 64), pto.pset_b32("VL32"))
        pto.vsts(result, target, 0, full)

    want = (FLOAT_BINARY | INT_BINARY)[name](x[:64], x[64:])
    want[32:] = 0
    np.testing.assert_array_equal(run(body, x, pto.f32 if is_float else pto.i32), want)


@pytest.mark.parametrize("name", list(UNARY))
def test_unary(name: str):
    x = floats(64, 0.5)

    def body(source: Any, target: Any, full: Any) -> None:
        pto.vsts(getattr(pto, name)(pto.vlds(source, 0), full), target, 0, full)

    np.testing.assert_array_equal(run(body, x, pto.f32), UNARY[name](x))


@pytest.mark.parametrize(
    ("dist", "want"),
    [
        ("BRC_B32", lambda x: np.repeat(x[:1], 64)), ("US_B32", lambda x: np.repeat(x[:32], 2)),
        ("DS_B32", lambda x: x[:128:2]), ("BRC_BLK", lambda x: np.tile(x[:8], 8)),
        ("E2B_B32", lambda x: np.repeat(x[:8], 8)),
    ],
)  # fmt: skip
def test_load_distributions(dist: str, want: Callable[[np.ndarray], np.ndarray]):
    x = floats(128)
    got = run(lambda s, t, full: pto.vsts(pto.vlds(s, 0, dist=dist), t, 0, full), x, pto.f32)
    np.testing.assert_array_equal(got, want(x))


def test_interleaving_loads_and_stores():
    x = floats(128)

    def body(source: Any, target: Any, full: Any) -> None:
        even, odd = pto.vldsx2(source, 0, dist="DINTLV_B32")
        low, high = pto.vintlv(odd, even)
        pto.vstsx2(low, high, target, 0, full)

    swapped = np.stack([x[1::2], x[::2]], 1).reshape(-1)
    both = np.stack([swapped[:64], swapped[64:]], 1).reshape(-1)
    np.testing.assert_array_equal(run(body, x, pto.f32, size=128), both)


def test_reductions():
    x = floats()

    def body(source: Any, target: Any, full: Any) -> None:
        pto.vsts(pto.vbr(0.0), target, 0, full)
        pto.mem_bar("VST_VST")
        v, some = pto.vlds(source, 0), pto.pset_b32("VL16")
        one = pto.pset_b32("VL1")
        for i, name in enumerate(("vcadd", "vcmax", "vcmin")):
            pto.vsts(pto.vdup(getattr(pto, name)(v, some), one), target, i * 8, one)
        pto.vsts(pto.vcgmax(v, full), target, 24, pto.pset_b32("VL8"))

    got = run(body, x, pto.f32)
    assert np.isclose(got[0], x[:16].sum()) and got[8] == x[:16].max() and got[16] == x[:16].min()
    np.testing.assert_array_equal(got[24:32], x.reshape(8, 8).max(axis=1))


def test_compare_select_and_scalar_forms():
    x = floats()

    def body(source: Any, target: Any, full: Any) -> None:
        v = pto.vlds(source, 0)
        above = pto.vcmps(v, 0.5, full, "gt")
        pto.vsts(pto.vsel(pto.vmuls(v, 2.0, full), pto.vadds(v, -1.0, full), above), target, 0, full)

    np.testing.assert_array_equal(run(body, x, pto.f32), np.where(x > 0.5, x * 2, x - 1))


@pytest.mark.parametrize(("kind", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_narrowing_conversion_and_packed_store(kind: str, dtype: Any):
    x = floats()

    def body(source: Any, target: Any, full: Any) -> None:
        narrow = pto.vcvt(pto.vlds(source, 0), getattr(pto, kind), full, rnd="R", part="EVEN")
        pto.vsts(narrow, target, 0, full, dist="PK_B32")

    np.testing.assert_array_equal(run(body, x, pto.f32, getattr(pto, kind)), x.astype(dtype))


def test_ops_that_compute_and_convert():
    x = floats(192)

    def body(source: Any, target: Any, full: Any) -> None:
        a, b, c = (pto.vlds(source, i * 64) for i in range(3))
        wide = pto.pset_b16("ALL")
        scaled = pto.vmulscvt(a, 3.0, full, "EVEN", to=pto.f16)
        added = pto.vaddreluconv(a, b, full, "EVEN", to=pto.f16)
        product = pto.vmulconv(b, c, full, "EVEN", to=pto.f16)
        for i, value in enumerate((scaled, added, product)):
            pto.vsts(value, target, i * 64, wide, dist="PK_B32")

    got = run(body, x, pto.f32, pto.f16, size=192)
    a, b, c = x.reshape(3, 64)
    want = np.concatenate([a * np.float32(3), np.maximum(a + b, 0), b * c]).astype(np.float16)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("part", "first"), [("LOWER", 0), ("HIGHER", 64)])
def test_one_half_of_an_interleave(part: str, first: int):
    x = floats(128)
    both = np.stack([x[:64], x[64:]], 1).reshape(-1)

    def body(source: Any, target: Any, full: Any) -> None:
        pto.vsts(pto.vintlvv2(pto.vlds(source, 0), pto.vlds(source, 64), part), target, 0, full)

    np.testing.assert_array_equal(run(body, x, pto.f32), both[first : first + 64])


def test_gather_and_scatter():
    x = floats()

    def body(source: Any, target: Any, full: Any) -> None:
        backwards = pto.vci(63, "DESC")
        pto.vscatter(pto.vgather2(source, backwards, full), target, pto.vci(0), pto.pset_b32("VL32"))

    want = x[::-1].copy()
    want[32:] = np.float32(0)
    got = run(body, x, pto.f32, size=32)
    np.testing.assert_array_equal(got, want[:32])


def test_post_update_moves_the_pointer():
    x = floats(128)

    def body(source: Any, target: Any, full: Any) -> None:
        _, after = pto.vlds(source, 64, post_update="ON")
        pto.vsts(pto.vlds(after, 0), target, 0, full)

    np.testing.assert_array_equal(run(body, x, pto.f32), x[64:])


def test_predicates_over_a_tail():
    x = floats(128)

    def body(source: Any, target: Any, full: Any) -> None:
        left = pto.const(70, pto.i32)
        zero = pto.vbr(0.0)
        for i in (0, 64):
            pto.vsts(zero, target, i, full)
        pto.mem_bar("VST_VST")
        for i in (0, 64):
            mask, left = pto.plt_b32(left)
            pto.vsts(pto.vlds(source, i), target, i, mask)

    want = x.copy()
    want[70:] = 0
    np.testing.assert_array_equal(run(body, x, pto.f32, size=128), want)


@pytest.mark.parametrize("first", [0, 1, 5, 8, 13])
def test_unaligned_streams_load_and_append(first: int):
    x = floats(256)

    def body(source: Any, target: Any, full: Any) -> None:
        reading = pto.vldas(source + first)
        one, reading, here = pto.vldus(source + first, reading, 21)
        two, reading, here = pto.vldus(here, reading, 64)
        writing = pto.init_align()
        writing, there = pto.vstus(writing, 21, one, target + 3)
        writing, there = pto.vstus(writing, 64, two, there)
        pto.vstas(writing, there)
        pto.vsts(pto.vbr(7.0), target, 0, pto.pset_b32("VL3"))
        pto.vsts(pto.vbr(7.0), target, 88, pto.pset_b32("VL8"))

    got = run(body, x, pto.f32, size=96)
    np.testing.assert_array_equal(got[3:88], x[first : first + 85])
    assert got[:3].tolist() == [7.0] * 3


@pytest.mark.parametrize("first", [0, 3, 7])
def test_squeezed_registers_join_a_stream_that_counts_by_itself(first: int):
    x = floats(128)
    kept = np.concatenate([x[:64][x[:64] > 0], x[64:][x[64:] > 0]])

    def body(source: Any, target: Any, full: Any) -> None:
        pto.vsts(pto.vbr(7.0), target, 0, full)
        pto.mem_bar(pto.BarrierType.VST_VST)
        pto.sprclr("AR")
        state = pto.init_align()
        for part in range(2):
            value = pto.vlds(source, 64 * part)
            positive = pto.vcmps(value, 0.0, full, "gt")
            state = pto.vstur(state, pto.vsqz(value, positive), target + first, "POST_UPDATE")
        pto.vstar(state, target + first)

    got = run(body, x, pto.f32)
    np.testing.assert_array_equal(got[first : first + kept.size], kept[: got.size - first])
    assert got[:first].tolist() == [7.0] * first


def test_a_stream_without_a_squeezed_register_is_reported():
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel():
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        with pto.vecscope():
            pto.vstur(pto.init_align(), pto.vbr(1.0), ub, "POST_UPDATE")

    assert [finding.code for finding in kernel.compile().run().findings] == ["stream-count"]


def test_a_stream_that_is_not_flushed_leaves_its_end_undefined():
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(y: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        with pto.vecscope():
            pto.vstus(pto.init_align(), 12, pto.vbr(1.0), ub)
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.mte_ub_gm(ub, y, 32)
        pto.mte_ub_gm(ub, y, 48)  # four elements wait in the state

    assert [finding.code for finding in kernel.compile().run(np.zeros(16, np.float32)).findings] == ["undefined"]


def test_every_op_with_a_meaning_in_the_table_can_be_called():
    named = [c.decl.name for c in op_classes().values() if c.decl.lanes is not None]
    assert len(named) > 30
    for name in named:
        assert callable(getattr(pto, name))
