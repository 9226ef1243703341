"""Compile time of a matmul followed by a chain of vector ops, against the length of the chain."""

from benchmarks.timing import growth_exponent, processor_seconds, yardstick
from cubelane import language
from cubelane.check.compiled import compile_program

SIZES = (100, 400, 2_000, 20_000)
RUNS = {100: 9, 400: 5, 2_000: 5, 20_000: 2}
GOAL = 2_000
"""The length for which docs/performance.md states a goal."""
STEPS = ("pl.exp", "pl.neg", "pl.abs", "pl.relu")


def chain_kernel(length: int) -> str:
    """A mixed kernel with `length` elementwise ops between the product and the store."""
    lines = [f"            v = {STEPS[i % len(STEPS)]}(v)" for i in range(length)]
    return "\n".join(
        [
            "import cubelane.language as pl",
            "",
            "@pl.program",
            "class Chain:",
            "    @pl.function",
            "    def main(self, x: pl.Tensor[[64, 64], pl.FP16], w: pl.Tensor[[64, 64], pl.FP16],",
            "             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:",
            "        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):",
            "            v = pl.matmul(x, w, out_dtype=pl.FP32)",
            *lines,
            "            out = pl.assemble(out, v, [0, 0])",
            "        return out",
        ]
    )


def compile_text(text: str) -> None:
    """Parses and runs every pass."""
    compile_program(language.parse(text), "a2a3")


def main() -> dict[str, float]:
    """Prints the time per length and the growth exponent."""
    compile_text(chain_kernel(10))
    costs: list[float] = []
    for size in SIZES:
        text = chain_kernel(size)
        cost = min(processor_seconds(lambda text=text: compile_text(text)) for _ in range(RUNS[size]))
        costs.append(cost)
        print(f"  {size:5d} ops  {cost * 1e3:8.1f} ms  {cost / size * 1e6:6.1f} us per op")
    growth, long = growth_exponent(SIZES, costs), growth_exponent(SIZES[2:], costs[2:])
    print(f"  growth exponent {growth:.2f}, {long:.2f} from 2,000 ops on")
    return {"growth exponent": growth, f"{GOAL} ops / yardstick": costs[SIZES.index(GOAL)] / yardstick()}
