"""The simulated core group running flash attention, against the same algorithm block by block in NumPy."""

import importlib.util
from pathlib import Path
from types import ModuleType

from benchmarks.timing import seconds
from cubelane import language
from cubelane.check.compiled import compile_program
from cubelane.check.execute import Executable, run_group

FLASH = Path(__file__).parents[1] / "examples" / "flash_attention.py"
ROUNDS = 30


def load(path: Path) -> ModuleType:
    """An example as a module, for its `inputs` and `golden`."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(target: str, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Seconds of the simulator, seconds of block-wise NumPy, and their ratio: the smallest of alternating runs."""
    example = load(FLASH)
    program = language.parse(FLASH.read_text(encoding="utf-8"), filename=str(FLASH))
    module = compile_program(program, target).module
    executable = Executable(module)
    inputs = example.inputs()
    if findings := run_group(module, inputs).findings:
        raise findings[0]
    ours, floor = float("inf"), float("inf")
    for _ in range(rounds):
        ours = min(ours, seconds(lambda: run_group(executable, inputs)))
        floor = min(floor, seconds(lambda: example.golden(inputs)))
    return ours, floor, ours / floor


def main() -> None:
    """Prints the ratio for both targets; the goal is 3."""
    for target in ("a2a3", "a5"):
        ours, floor, ratio = measure(target)
        print(f"  {target}: simulator {ours * 1e3:.2f} ms, block-wise NumPy {floor * 1e3:.2f} ms, ratio {ratio:.2f}")
