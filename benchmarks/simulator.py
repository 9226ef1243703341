"""The simulated core group running flash attention, against the same algorithm block by block in NumPy.

The yardstick is the golden of the example: blocks of the same size, the same element types, rounded where the kernel
rounds. Both take turns; what counts is the smallest processor time of each, since other work may share the machine.
"""

from pathlib import Path

from benchmarks.timing import processor_seconds
from cubelane.check.compiled import compile_program
from cubelane.check.execute import Executable, run_group
from cubelane.check.kernel_file import read_judge, read_program

FLASH = Path(__file__).parents[1] / "examples" / "flash_attention.py"
ROUNDS = 300


def measure(target: str, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Seconds of the simulator, seconds of block-wise NumPy, and their ratio: the smallest of alternating runs."""
    example = read_judge(FLASH)
    assert example.inputs is not None and example.golden is not None
    golden = example.golden
    module = compile_program(read_program(str(FLASH)), target).module
    executable = Executable(module)
    inputs = example.inputs()
    if findings := run_group(module, inputs).findings:
        raise findings[0]
    ours, floor = float("inf"), float("inf")
    for _ in range(rounds):
        ours = min(ours, processor_seconds(lambda: run_group(executable, inputs)))
        floor = min(floor, processor_seconds(lambda: golden(inputs)))
    return ours, floor, ours / floor


def main() -> dict[str, float]:
    """Prints the ratio for both targets; the goal is 1.5."""
    result: dict[str, float] = {}
    for target in ("a2a3", "a5"):
        ours, floor, ratio = measure(target)
        print(f"  {target}: simulator {ours * 1e3:.2f} ms, block-wise NumPy {floor * 1e3:.2f} ms, ratio {ratio:.2f}")
        result[f"flash attention on {target} / NumPy"] = ratio
    return result
