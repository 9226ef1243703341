"""The programs that faults are seeded into: kernels for this purpose, and examples, at each level."""

from collections.abc import Iterator
from pathlib import Path

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_reference
from cubelane.check.faults.kills import Kills, Subject, kills
from cubelane.check.faults.pto_kills import pto_kills
from cubelane.check.faults.pto_rules import PTO_RULES
from cubelane.check.faults.tile_rules import TILE_RULES
from cubelane.check.kernel_file import read_judge, read_program

ROOT = Path(__file__).parents[2]
KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.py"))
EXAMPLES = [ROOT / "examples" / f"{name}.py" for name in ("epilogue_switch", "k_loop_accumulate", "matmul_softmax")]
PTO_EXAMPLES = [
    ROOT / "examples" / "ptodsl" / f"{name}.py"
    for name in ("cube_gemm", "gemm_bias", "rmsnorm", "softmax", "vector_axpy")
]

SPLIT, FINAL, PTO = "split function", "programs of the cores", "PTO ops"
LEVELS = {
    SPLIT: "after LowerAutoVectorSplit: the two lanes are told apart, cube and vector work stand together",
    FINAL: "after the last pass: one program for the cube core, one for the lanes",
    PTO: "traced kernels after the split into a cube and a vector module",
}


def tile_subjects(path: Path, target: str) -> Iterator[tuple[str, Subject]]:
    """A kernel file as a right program at both levels of tiles."""
    judge = read_judge(path)
    assert judge.inputs is not None
    inputs = judge.inputs()
    compiled = compile_program(read_program(str(path)), target, keep_stages=True)
    expected = run_reference(compiled.source, inputs)
    split = next(s.module for s in compiled.stages if s.name == "lower-auto-vector-split")
    for level, module in ((SPLIT, split), (FINAL, compiled.module)):
        yield level, Subject(path.stem, module, inputs, expected, judge.rtol, judge.atol)


def all_kills() -> dict[str, Kills]:
    """The kills at every level."""
    result = {level: Kills() for level in LEVELS}
    for path in (*KERNELS, *EXAMPLES):
        for target in ("a2a3", "a5") if path in KERNELS else ("a2a3",):
            for level, subject in tile_subjects(path, target):
                result[level].add(kills(subject, TILE_RULES))
    for path in PTO_EXAMPLES:
        result[PTO].add(pto_kills(path, PTO_RULES))
    return result
