"""C = relu(A @ B + bias) on the cube core only: bias table, transposing load of B, fixpipe with relu and f16 result."""

import numpy as np

from cubelane.ptodsl import pto


@pto.jit(target="a5", mode="explicit", kernel_kind="cube")
def cube_gemm(
    a: pto.ptr(pto.f16, "gm"),
    b: pto.ptr(pto.f16, "gm"),
    bias: pto.ptr(pto.f32, "gm"),
    c: pto.ptr(pto.f16, "gm"),
    *,
    M: pto.const_expr = 40,
    N: pto.const_expr = 48,
    K: pto.const_expr = 64,
):
    high = -(-M // 16) * 16
    a_l1 = pto.castptr(0, pto.ptr(pto.f16, "mat"))
    b_l1 = pto.castptr(high * K * 2, pto.ptr(pto.f16, "mat"))
    bias_l1 = pto.castptr(high * K * 2 + K * N * 2, pto.ptr(pto.f32, "mat"))
    a_l0 = pto.castptr(0, pto.ptr(pto.f16, "left"))
    b_l0 = pto.castptr(0, pto.ptr(pto.f16, "right"))
    acc = pto.castptr(0, pto.ptr(pto.f32, "acc"))
    table = pto.castptr(0, pto.ptr(pto.f32, "bias"))

    pto.mte_gm_l1_frac(a, a_l1, "nd2nz", shape=(M, K), src_layout=(K * 2,), dst_group=(1, 1, high, 0))
    pto.mte_gm_l1_frac(b, b_l1, "nd2nz", shape=(K, N), src_layout=(N * 2,), dst_group=(1, 1, K, 0))
    pto.mte_gm_l1(bias, bias_l1, N * 4)
    pto.set_flag("MTE2", "MTE1")
    pto.wait_flag("MTE2", "MTE1")
    pto.mte_l1_l0a(a_l1, a_l0, M, K)
    pto.mte_l1_l0b(b_l1, b_l0, K, N, transpose=True)
    pto.mte_l1_bt(bias_l1, table, N * 4 // 32)
    pto.set_flag("MTE1", "M")
    pto.wait_flag("MTE1", "M")
    pto.mad_bias(a_l0, b_l0, acc, table, M, N, K)
    pto.set_flag("M", "FIX")
    pto.wait_flag("M", "FIX")
    pto.mte_l0c_gm(acc, c, M, N, high, N, pre_quant=(1.0, "f32_f16"), pre_relu=("normal_relu",))


KERNEL = cube_gemm
RTOL, ATOL = 2e-3, 2e-3


def inputs(M=40, N=48, K=64):
    """Arrays for one launch, by parameter name."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((M, K)).astype(np.float16), rng.standard_normal((K, N)).astype(np.float16)
    return {"a": a, "b": b, "bias": rng.standard_normal(N).astype(np.float32), "c": np.full((M, N), np.nan, np.float16)}


def golden(given):
    """What the kernel must write."""
    product = given["a"].astype(np.float32) @ given["b"].astype(np.float32) + given["bias"]
    return {"c": np.maximum(product, 0).astype(np.float16)}
