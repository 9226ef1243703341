"""y = a * x + y on the vector core only: double buffered, with a tail that does not fill a register."""

import numpy as np

from cubelane.ptodsl import pto


@pto.jit(target="a5", mode="explicit")
def vector_axpy(
    x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm"), a: pto.f32, n: pto.i32, *, CHUNK: pto.const_expr = 256
):
    x_ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
    y_ub = pto.castptr(2 * CHUNK * 4, pto.ptr(pto.f32, "ub"))
    for stage in pto.static_range(2):
        pto.set_flag("MTE3", "MTE2", event_id=stage)
    slot = 0
    for start in range(pto.const(0), n, CHUNK):
        count = pto.minimum(pto.cast(n, pto.index) - start, CHUNK)
        xs, ys = x_ub + slot * CHUNK, y_ub + slot * CHUNK
        pto.wait_flag("MTE3", "MTE2", event_id=slot)
        pto.mte_gm_ub(x + start, xs, 0, count * 4)
        pto.mte_gm_ub(y + start, ys, 0, count * 4)
        pto.set_flag("MTE2", "V", event_id=slot)
        pto.wait_flag("MTE2", "V", event_id=slot)
        with pto.vecscope():
            left = pto.cast(count, pto.i32)
            for i in range(pto.const(0), CHUNK, 64):
                mask, left = pto.plt_b32(left)
                pto.vsts(pto.vaxpy(pto.vlds(xs, i), pto.vlds(ys, i), a, mask), ys, i, mask)
        pto.set_flag("V", "MTE3", event_id=slot)
        pto.wait_flag("V", "MTE3", event_id=slot)
        pto.mte_ub_gm(ys, y + start, count * 4)
        pto.set_flag("MTE3", "MTE2", event_id=slot)
        slot = 1 - slot
    for stage in pto.static_range(2):
        pto.wait_flag("MTE3", "MTE2", event_id=stage)


KERNEL = vector_axpy
RTOL, ATOL = 1e-6, 1e-6


def inputs(n=1000):
    """Arrays and numbers for one launch, by parameter name."""
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    return {"x": x, "y": y, "a": 1.5, "n": n}


def golden(given):
    """What the kernel must write."""
    return {"y": np.float32(given["a"]) * given["x"] + given["y"]}
