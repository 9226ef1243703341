"""PTO IR: reading, section inference and split against the number of ops in a module."""

from benchmarks.timing import growth_exponent, processor_seconds, yardstick
from cubelane.ir.collector import paused
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, VPTO, run

SIZES = (100, 1_000, 10_000, 50_000)
HEAD = """module attributes {pto.backend = "vpto", pto.target_arch = "a5"} {
  func.func @k(%g: !pto.ptr<f32, gm>) attributes {pto.entry} {
    %zero = arith.constant 0 : i64
    %i0 = arith.constant 0 : index
    %n = arith.constant 16 : i64
    %u = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
    %a = pto.castptr %zero : i64 -> !pto.ptr<f16, l0a>
    %b = pto.castptr %zero : i64 -> !pto.ptr<f16, l0b>
    %c = pto.castptr %zero : i64 -> !pto.ptr<f32, l0c>
"""
STEP = """    pto.mte_ub_gm %u, %g, %n nburst(%n, %n, %n) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
    pto.vecscope {
      %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      %v = pto.vlds %u[%i0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      pto.vsts %v, %u[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
    %k = arith.addi %n, %zero : i64
    pto.mad %a, %b, %c, %n, %k, %n : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64
"""
OPS_OF_STEP = 9
SPLIT = next(i for i, step in enumerate(VPTO) if step.name == "vpto-split-cv-module") + 1


def module_text(ops: int) -> str:
    """A kernel with about `ops` ops that changes between vector and cube work all the time."""
    steps = (STEP.replace("%k", f"%k{i}") for i in range(ops // OPS_OF_STEP))
    return f"{HEAD}{''.join(steps)}    return\n  }}\n}}\n"


def stages(text: str) -> list[float]:
    """Seconds for reading (with verification), section inference, split, the rest of the pipeline, printing."""
    with paused():
        programs = []
        read = processor_seconds(lambda: programs.append(read_pto(text)))
        (program,) = programs
        return [
            read,
            processor_seconds(lambda: run(NORMALIZATION, program)),
            processor_seconds(lambda: run(VPTO[:SPLIT], program)),
            processor_seconds(lambda: run(VPTO[SPLIT:], program)),
            processor_seconds(lambda: print_pto(program)),
        ]


def main() -> dict[str, float]:
    """Prints the processor time of each stage and the growth exponent of reading, inference and split together."""
    stages(module_text(100))
    costs: list[float] = []
    print("     ops      read sections     split  the rest     print   read + sections + split")
    for size in SIZES:
        text = module_text(size)
        found = min((stages(text) for _ in range(3 if size < 50_000 else 1)), key=lambda times: sum(times[:3]))
        costs.append(sum(found[:3]))
        cells = "".join(f"{cost * 1e3:7.0f}ms" for cost in found)
        print(f"  {size:6d} {cells}   {costs[-1]:6.2f} s, {costs[-1] / size * 1e6:4.0f} us per op")
    growth = growth_exponent(SIZES[1:], costs[1:])
    print(f"  growth exponent {growth:.2f} from 1,000 ops on")
    return {"growth exponent": growth, "10,000 ops / yardstick": costs[SIZES.index(10_000)] / yardstick()}
