"""C = X @ W.T + bias, written by hand for both kinds of core, double buffered. It states no kind and no sections.

The cube core brings tiles of X and W through L1 and L0, multiplies over K and hands each tile to both vector lanes,
split by rows. The lanes add the bias and store. Two UB slots let the cube core run one tile ahead.
"""

import ml_dtypes
import numpy as np

from cubelane.ptodsl import pto

FREE, FULL = 4, 6  # signals: a UB slot is free, a UB slot is full (one id for each of the two slots)
LANE1 = 16  # the cube core reaches lane 1 by id + 16


@pto.jit(name="gemm_bias", target="a5", mode="explicit")
def gemm_bias(
    x: pto.ptr(pto.bf16, "gm"),
    w: pto.ptr(pto.bf16, "gm"),
    bias: pto.ptr(pto.f32, "gm"),
    c: pto.ptr(pto.f32, "gm"),
    *,
    M: pto.const_expr = 64,
    N: pto.const_expr = 128,
    K: pto.const_expr = 96,
    BM: pto.const_expr = 32,
    BN: pto.const_expr = 64,
    BK: pto.const_expr = 32,
):
    half = BM // 2
    tiles_n, k_steps = N // BN, K // BK
    tiles = (M // BM) * tiles_n
    block, blocks = pto.get_block_idx(), pto.get_block_num()

    x_l1 = pto.castptr(0, pto.ptr(pto.bf16, "mat"))
    w_l1 = pto.castptr(2 * BM * BK * 2, pto.ptr(pto.bf16, "mat"))
    a_l0 = pto.castptr(0, pto.ptr(pto.bf16, "left"))
    b_l0 = pto.castptr(0, pto.ptr(pto.bf16, "right"))
    acc = pto.castptr(0, pto.ptr(pto.f32, "acc"))
    tile_ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
    bias_ub = pto.castptr(2 * half * BN * 4, pto.ptr(pto.f32, "ub"))

    # ---- the cube core -------------------------------------------------------------------------------------
    for stage in pto.static_range(2):
        pto.set_flag("MTE1", "MTE2", event_id=stage)  # both L1 stages are free
        pto.set_flag("M", "MTE1", event_id=stage)  # both L0 stages are free
    pto.set_flag("FIX", "M", event_id=0)  # the accumulator is free
    step = 0
    slot = 0
    for tile in range(block, tiles, blocks):
        row, col = tile // tiles_n * BM, tile % tiles_n * BN
        for kt in range(pto.const(k_steps)):
            s = step % 2
            x_s, w_s = x_l1 + s * (BM * BK), w_l1 + s * (BN * BK)
            a_s, b_s = a_l0 + s * (BM * BK), b_l0 + s * (BN * BK)
            pto.wait_flag("MTE1", "MTE2", event_id=s)
            pto.mte_gm_l1_frac(
                x + (row * K + kt * BK), x_s, "nd2nz", shape=(BM, BK), src_layout=(K * 2,), dst_group=(1, 1, BM, 0)
            )
            pto.mte_gm_l1_frac(
                w + (col * K + kt * BK), w_s, "nd2nz", shape=(BN, BK), src_layout=(K * 2,), dst_group=(1, 1, BN, 0)
            )
            pto.set_flag("MTE2", "MTE1", event_id=s)
            pto.wait_flag("MTE2", "MTE1", event_id=s)
            pto.wait_flag("M", "MTE1", event_id=s)
            pto.mte_l1_l0a(x_s, a_s, BM, BK)
            pto.mte_l1_l0b(w_s, b_s, BK, BN)
            pto.set_flag("MTE1", "MTE2", event_id=s)
            pto.set_flag("MTE1", "M", event_id=s)
            pto.wait_flag("MTE1", "M", event_id=s)
            if kt == 0:
                pto.wait_flag("FIX", "M", event_id=0)
                pto.mad(a_s, b_s, acc, BM, BN, BK)
            else:
                pto.mad_acc(a_s, b_s, acc, BM, BN, BK)
            pto.set_flag("M", "MTE1", event_id=s)
            step = step + 1
        pto.set_flag("M", "FIX", event_id=0)
        pto.wait_flag("M", "FIX", event_id=0)
        pto.wait_intra_flag("FIX", slot + FREE)
        pto.wait_intra_flag("FIX", slot + (FREE + LANE1))
        pto.mte_l0c_ub(acc, tile_ub + slot * (half * BN), BM, BN, BM, BN, split="M")
        pto.set_intra_flag("FIX", slot + FULL)
        pto.set_intra_flag("FIX", slot + (FULL + LANE1))
        pto.set_flag("FIX", "M", event_id=0)
        slot = 1 - slot
    for stage in pto.static_range(2):
        pto.wait_flag("MTE1", "MTE2", event_id=stage)
        pto.wait_flag("M", "MTE1", event_id=stage)
    pto.wait_flag("FIX", "M", event_id=0)
    for stage in pto.static_range(2):
        pto.wait_intra_flag("FIX", FREE + stage)
        pto.wait_intra_flag("FIX", FREE + LANE1 + stage)

    # ---- the vector lanes ----------------------------------------------------------------------------------
    lane = pto.get_subblock_idx()
    for stage in pto.static_range(2):
        pto.set_intra_flag("MTE3", FREE + stage)
        pto.set_flag("V", "MTE2", event_id=stage)  # both bias slots are free
    slot = 0
    for tile in range(block, tiles, blocks):
        row, col = tile // tiles_n * BM, tile % tiles_n * BN
        here, bias_s = tile_ub + slot * (half * BN), bias_ub + slot * BN
        pto.wait_flag("V", "MTE2", event_id=slot)
        pto.mte_gm_ub(bias + col, bias_s, 0, BN * 4)
        pto.set_flag("MTE2", "V", event_id=slot)
        pto.wait_flag("MTE2", "V", event_id=slot)
        pto.wait_intra_flag("V", slot + FULL)
        with pto.vecscope():
            full = pto.pset_b32(pto.MaskPattern.ALL)
            for j in range(pto.const(0), BN, 64):
                b = pto.vlds(bias_s, j)
                for i in range(pto.const(half)):
                    at = i * BN + j
                    pto.vsts(pto.vadd(pto.vlds(here, at), b, full), here, at, full)
        pto.set_flag("V", "MTE2", event_id=slot)
        pto.set_flag("V", "MTE3", event_id=slot)
        pto.wait_flag("V", "MTE3", event_id=slot)
        out = c + ((row + lane * half) * N + col)
        pto.mte_ub_gm(here, out, BN * 4, nburst=(half, BN * 4, N * 4))
        pto.set_intra_flag("MTE3", slot + FREE)
        slot = 1 - slot
    for stage in pto.static_range(2):
        pto.wait_flag("V", "MTE2", event_id=stage)


KERNEL = gemm_bias
RTOL, ATOL = 1e-3, 1e-3


def inputs(M=64, N=128, K=96):
    """Arrays for one launch, by parameter name."""
    rng = np.random.default_rng(0)
    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "w": rng.standard_normal((N, K)).astype(ml_dtypes.bfloat16),
        "bias": rng.standard_normal(N).astype(np.float32),
        "c": np.full((M, N), np.nan, np.float32),
    }


def golden(given):
    """What the kernel must write."""
    product = given["x"].astype(np.float32) @ given["w"].astype(np.float32).T
    return {"c": product + given["bias"]}
