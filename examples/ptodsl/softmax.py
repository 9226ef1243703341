"""Row-wise softmax on the vector core: a row is reduced, exponentiated and scaled; a block of rows is one transfer."""

import numpy as np

from cubelane.ptodsl import pto


@pto.jit(target="a5", mode="explicit")
def softmax(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm"), *, R: pto.const_expr = 24, C: pto.const_expr = 192,
            ROWS: pto.const_expr = 8):  # fmt: skip
    size = ROWS * C
    ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
    for stage in pto.static_range(2):
        pto.set_flag("MTE3", "MTE2", event_id=stage)
    slot = 0
    for block in range(pto.const(0), R, ROWS):
        rows = ub + slot * size
        pto.wait_flag("MTE3", "MTE2", event_id=slot)
        pto.mte_gm_ub(x + block * C, rows, 0, size * 4)
        pto.set_flag("MTE2", "V", event_id=slot)
        pto.wait_flag("MTE2", "V", event_id=slot)
        with pto.vecscope():
            full = pto.pset_b32(pto.MaskPattern.ALL)
            for r in range(pto.const(ROWS)):
                row = rows + r * C
                top = pto.vbr(-3.0e38)
                for j in range(pto.const(0), C, 64):
                    top = pto.vmax(top, pto.vlds(row, j), full)
                top = pto.vdup(pto.vcmax(top, full), full)
                total = pto.vbr(0.0)
                for j in range(pto.const(0), C, 64):
                    e = pto.vexp(pto.vsub(pto.vlds(row, j), top, full), full)
                    pto.vsts(e, row, j, full)
                    total = pto.vadd(total, e, full)
                total = pto.vdup(pto.vcadd(total, full), full)
                pto.mem_bar(pto.BarrierType.VST_VLD)
                pto.mem_bar(pto.BarrierType.VST_VST)
                for j in range(pto.const(0), C, 64):
                    pto.vsts(pto.vdiv(pto.vlds(row, j), total, full), row, j, full)
        pto.set_flag("V", "MTE3", event_id=slot)
        pto.wait_flag("V", "MTE3", event_id=slot)
        pto.mte_ub_gm(rows, y + block * C, size * 4)
        pto.set_flag("MTE3", "MTE2", event_id=slot)
        slot = 1 - slot
    for stage in pto.static_range(2):
        pto.wait_flag("MTE3", "MTE2", event_id=stage)


KERNEL = softmax
RTOL, ATOL = 1e-5, 1e-6


def inputs(R=24, C=192):
    """Arrays for one launch, by parameter name."""
    x = np.random.default_rng(2).standard_normal((R, C)).astype(np.float32) * 4
    return {"x": x, "y": np.full((R, C), np.nan, np.float32)}


def golden(given):
    """What the kernel must write."""
    e = np.exp(given["x"] - given["x"].max(axis=1, keepdims=True))
    return {"y": e / e.sum(axis=1, keepdims=True)}
