"""Figures of the micro-op machine and the tracer: a GEMM as a ratio to NumPy, micro-ops per second, tracing per op.

python -m benchmarks micro_machine
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.timing import processor_seconds, yardstick
from cubelane.ptodsl import pto
from cubelane.ptodsl.jit import trace_entry

EXAMPLES = Path(__file__).parents[1] / "examples" / "ptodsl"


def best(action: Callable[[], object], times: int = 3) -> float:
    """The shortest of some runs, in seconds."""
    return min(processor_seconds(action) for _ in range(times))


def load(name):
    """An example file."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gemm():
    """256 x 256 x 256, tiles 128 x 128 x 64."""
    file, size = load("gemm_bias"), {"M": 256, "N": 256, "K": 256}
    handle = file.gemm_bias.compile(**size, BM=128, BN=128, BK=64)
    given = file.inputs(**size)
    machine = best(lambda: handle.run(*given.values()))
    x, w = given["x"].astype(np.float32), given["w"].astype(np.float32)
    plain = best(lambda: x @ w.T + given["bias"], 20)
    print(f"  gemm 256^3: machine {machine * 1e3:.0f} ms, NumPy {plain * 1e3:.2f} ms, ratio {machine / plain:.0f}")
    return machine / plain


def vector_ops(rounds):
    """A scope with a loop of six micro-ops."""

    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            pto.vsts(pto.vbr(0.0), ub, 0, full)
            pto.mem_bar("VST_VLD")
            for i in range(pto.const(rounds)):
                v = pto.vadd(pto.vlds(ub, 0), pto.vlds(ub, 0), full)
                v = pto.vmuls(pto.vexp(v, full), 0.5, full)
                pto.vsts(v, ub, pto.const(64) + i * 0, full)
                pto.mem_bar("VST_VST")

    handle, x = kernel.compile(), np.zeros(64, np.float32)
    return best(lambda: handle.run(x))


def tracing(count):
    """A chain of vector ops."""

    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        with pto.vecscope():
            full = pto.pset_b32("ALL")
            v = pto.vlds(ub, 0)
            for _ in range(count):
                v = pto.vadd(v, v, full)
            pto.vsts(v, ub, 0, full)

    return best(lambda: trace_entry(kernel, {}))


def main() -> dict[str, float]:
    """Prints the machine against NumPy, micro-ops per second and tracing time per op."""
    product = gemm()
    few, many = vector_ops(500), vector_ops(4000)
    print(f"  micro-ops: {7 * 3500 / (many - few):.0f} per second; 500 rounds {few:.2f} s, 4000 rounds {many:.2f} s")
    short, long = tracing(250), tracing(2000)
    print(f"  tracing: {long / 2000 * 1e6:.0f} us per op; 250 ops {short * 1e3:.1f} ms, 2000 ops {long * 1e3:.1f} ms")
    unit = yardstick()
    return {
        "gemm 256^3 / NumPy": product,
        "4000 rounds of 7 micro-ops / yardstick": many / unit,
        "tracing 2000 ops / yardstick": long / unit,
    }
