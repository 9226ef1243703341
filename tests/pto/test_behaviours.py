"""The three behaviours of spec/pto.md chapter 1 side by side: baseline, main, and what the seed asks of us."""

from pathlib import Path

import pytest

from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, run
from tests.micro.mutations import example

from .behaviours import Outcome, baseline, main
from .snippets import IN_UB, OUT_UB, C, V, flag, kernel, loop, section
from .stages import assembled, children, names, refusal
from .test_acceptance import CUBE_FLAGS, VECTOR_FLAGS

FILES = Path(__file__).parents[1] / "filecheck" / "pto"
AMBIGUOUS = Outcome(error="whose section kind cannot be inferred uniquely")
ALL_VECTOR = Outcome(kind="vector")
BOTH = ["vector", "cube"]


def manual_gemm() -> str:
    """The hand-written mixed GEMM of TileLang, reduced."""
    return (FILES / "seed_5_manual_gemm.pto").read_text()


def traced_gemm() -> str:
    """Our worked example, as traced."""
    return example("gemm_bias").KERNEL.compile().mlir_text()


def sectioned_gemm() -> str:
    """The same with the sections that the front end of TileLang writes for main."""
    program = read_pto(traced_gemm())
    run(NORMALIZATION, program)
    return print_pto(program)


CASES: dict[str, tuple[str, Outcome, Outcome, list[str]]] = {
    "manual gemm": (manual_gemm(), ALL_VECTOR, AMBIGUOUS, BOTH),
    "traced gemm": (traced_gemm(), ALL_VECTOR, AMBIGUOUS, BOTH),
    "traced gemm in sections": (
        sectioned_gemm(),
        Outcome(error="conflicts with explicit pto.kernel_kind on its module"),
        Outcome(sections="C V"),
        BOTH,
    ),
    "raw vector then cube": (kernel(V, C), ALL_VECTOR, Outcome(sections="V C"), BOTH),
    "raw cube only": (kernel(C), ALL_VECTOR, Outcome(kind="cube"), ["cube"]),
    "raw vector only": (kernel(V), ALL_VECTOR, ALL_VECTOR, ["vector"]),
    "vector with flags (22a)": (kernel(*VECTOR_FLAGS), ALL_VECTOR, AMBIGUOUS, ["vector"]),
    "cube with flags (22b)": (kernel(*CUBE_FLAGS), ALL_VECTOR, AMBIGUOUS, ["cube"]),
    "both with flags (22c)": (kernel(*VECTOR_FLAGS, *CUBE_FLAGS), ALL_VECTOR, AMBIGUOUS, BOTH),
    "two sections": (
        kernel(section("vector", V), section("cube", C)),
        Outcome(error="conflicts with explicit pto.kernel_kind on its module"),
        Outcome(sections="V C"),
        BOTH,
    ),
    "transfers around vector": (kernel(IN_UB, V, OUT_UB, C), ALL_VECTOR, Outcome(sections="V C"), BOTH),
}
REFUSED_BY_ALL_BUT_THE_BASELINE = {
    "lone shared flag": kernel(flag("set", "MTE2", "V")),
    "both kinds in a loop": kernel(loop(V + C)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_three_behaviours_side_by_side(name: str):
    text, by_baseline, by_main, ours = CASES[name]
    assert baseline(read_pto(text)) == by_baseline
    assert main(read_pto(text)) == by_main
    found = children(assembled(text))
    assert list(found) == ours
    for kind, child in found.items():
        foreign = "pto.mad" if kind == "vector" else "pto.vlds"
        assert not any(op.startswith(foreign) for op in names(child))


@pytest.mark.parametrize("name", list(REFUSED_BY_ALL_BUT_THE_BASELINE))
def test_what_nobody_can_place_is_a_vector_child_for_the_baseline_alone(name: str):
    text = REFUSED_BY_ALL_BUT_THE_BASELINE[name]
    assert baseline(read_pto(text)) == ALL_VECTOR
    assert main(read_pto(text)) == AMBIGUOUS
    assert "section kind ambiguous" in refusal(text).message
