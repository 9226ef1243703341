"""C = (A @ B.T) * scale[n] in f16, A and B in int8: K in steps, both L0 stages in use, one scale for each column.

The cube core accumulates in int32; the fix pipe multiplies by the row of scales in the scaling buffer on the way out.
"""

import numpy as np

from cubelane.ptodsl import pto


@pto.jit(target="a5", mode="explicit", kernel_kind="cube")
def int8_gemm(
    a: pto.ptr(pto.i8, "gm"),
    b: pto.ptr(pto.i8, "gm"),
    scale: pto.ptr(pto.f32, "gm"),
    c: pto.ptr(pto.f16, "gm"),
    *,
    M: pto.const_expr = 48,
    N: pto.const_expr = 64,
    K: pto.const_expr = 256,
    BK: pto.const_expr = 64,
):
    a_l1 = pto.castptr(0, pto.ptr(pto.i8, "mat"))
    b_l1 = pto.castptr(M * K, pto.ptr(pto.i8, "mat"))
    scale_l1 = pto.castptr((M + N) * K, pto.ptr(pto.f32, "mat"))
    scale_fb = pto.castptr(0, pto.ptr(pto.f32, "scaling"))
    a_l0 = pto.castptr(0, pto.ptr(pto.i8, "left"))
    b_l0 = pto.castptr(0, pto.ptr(pto.i8, "right"))
    acc = pto.castptr(0, pto.ptr(pto.i32, "acc"))

    pto.mte_gm_l1(scale, scale_l1, N * 4)
    pto.mte_gm_l1_frac(a, a_l1, "nd2nz", shape=(M, K), src_layout=(K,), dst_group=(1, 1, M, 0))
    pto.mte_gm_l1_frac(b, b_l1, "nd2nz", shape=(N, K), src_layout=(K,), dst_group=(1, 1, N, 0))
    pto.set_flag("MTE2", "MTE1")
    pto.wait_flag("MTE2", "MTE1")
    pto.mte_l1_fb(scale_l1, scale_fb, N * 4 // 32)
    pto.set_flag("MTE1", "FIX")
    for stage in pto.static_range(2):
        pto.set_flag("M", "MTE1", event_id=stage)  # both stages of L0 are free
    for step in range(pto.const(K // BK)):
        s = step % 2
        a_s, b_s = a_l0 + s * (M * BK), b_l0 + s * (N * BK)
        pto.wait_flag("M", "MTE1", event_id=s)
        pto.mte_l1_l0a(a_l1, a_s, M, BK, start_col=step * (BK // 32))
        pto.mte_l1_l0b(b_l1, b_s, BK, N, start_col=step * (BK // 32))
        pto.set_flag("MTE1", "M", event_id=s)
        pto.wait_flag("MTE1", "M", event_id=s)
        if step == 0:
            pto.mad(a_s, b_s, acc, M, N, BK)
        else:
            pto.mad_acc(a_s, b_s, acc, M, N, BK)
        pto.set_flag("M", "MTE1", event_id=s)
    for stage in pto.static_range(2):
        pto.wait_flag("M", "MTE1", event_id=stage)
    pto.set_flag("M", "FIX")
    pto.wait_flag("M", "FIX")
    pto.wait_flag("MTE1", "FIX")
    pto.mte_l0c_gm(acc, c, M, N, M, N, pre_quant=(scale_fb, "vdeqf16"))


KERNEL = int8_gemm
RTOL, ATOL = 1e-3, 1e-3


def inputs(M=48, N=64, K=256):
    """Arrays for one launch, by parameter name."""
    rng = np.random.default_rng(8)
    return {
        "a": rng.integers(-127, 128, (M, K)).astype(np.int8),
        "b": rng.integers(-127, 128, (N, K)).astype(np.int8),
        "scale": (rng.random(N) / 4096).astype(np.float32),
        "c": np.full((M, N), np.nan, np.float16),
    }


def golden(given):
    """What the kernel must write."""
    product = given["a"].astype(np.int32) @ given["b"].astype(np.int32).T
    return {"c": (product * given["scale"]).astype(np.float16)}
