"""LowerAutoVectorSplit alone on a matmul followed by 100, 1,000 and 10,000 vector ops."""

from xdsl.dialects.builtin import StringAttr

from benchmarks.chains import chain_kernel
from benchmarks.timing import growth_exponent, processor_seconds, yardstick
from cubelane import language
from cubelane.ir.collector import paused
from cubelane.ir.kernel import TARGET
from cubelane.passes import lower_auto_vector_split, pipeline

SIZES = (100, 1_000, 10_000)


def main() -> dict[str, float]:
    """Prints the time per length and the growth exponent."""
    costs: list[float] = []
    for size in SIZES:
        times: list[float] = []
        for _ in range(3 if size < 10_000 else 1):
            module = language.parse(chain_kernel(size))
            module.attributes[TARGET] = StringAttr("a2a3")
            pipeline.run(module, until=pipeline.TILE_STAGE)
            with paused():  # as in a compile
                times.append(processor_seconds(lambda module=module: lower_auto_vector_split()(module)))
        costs.append(min(times))
        print(f"  {size:6d} ops  {costs[-1] * 1e3:8.1f} ms  {costs[-1] / size * 1e6:6.1f} us per op")
    growth = growth_exponent(SIZES, costs)
    print(f"  growth exponent {growth:.2f}")
    return {"growth exponent": growth, f"{SIZES[-1]} ops / yardstick": costs[-1] / yardstick()}
