"""Every refusal: place, op, variable, axis and mode in the message; the advised rewrite compiles and is equal."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def

import cubelane
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.traits import OnVector, Splits
from cubelane.ir.traits import Split as Behaviour
from cubelane.ir.types import TileType
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit

from .kernels import Kernel, value
from .refusals import AUTOMATIC, REGIONS, STORE, Case

CASES = [*AUTOMATIC, *REGIONS]
SOURCE = Path(cubelane.__file__).parent
MODULES = (
    *SOURCE.glob("passes/tile/lower_auto_vector_split/*.py"),
    *SOURCE.glob("analysis/split_*.py"),
    SOURCE / "analysis/lane_windows.py",
)
ELSEWHERE = {
    "lane-gap": "test_lane_windows: found by `cubelane check`, no kernel leads to it",
    "no-split-rule": "test_op_without_a_rule_is_refused_by_name: every op of the catalogue has a rule",
}
"""Codes without a kernel here, and the test that has them."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_refusal_says_where_what_why_and_what_instead(case: Case) -> None:
    problem = case.bad.refusal()
    told = str(problem)
    assert problem.code == case.code, told
    line = case.bad.text.split("\n")[problem.location.line - 1]
    assert problem.location.file == "kernel.py" and line[problem.location.column - 1 :].strip()
    assert [word for word in case.words if word not in told] == [], told
    assert problem.instead and "LowerAutoVectorSplit" in told
    mode = "NONE" if case.bad.form == "none" else case.bad.mode
    assert mode in told and (mode == "NONE" or "axis" in told), told
    case.advised.check()


def codes_of(path: Path) -> Iterator[str]:
    """The codes that a module refuses with."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
            assert isinstance(node.value.value, str)
            yield node.value.value


def test_every_code_of_the_pass_has_a_kernel_here() -> None:
    raised = {code for path in MODULES for code in codes_of(path)}
    assert raised == {case.code for case in CASES} | set(ELSEWHERE)


def test_the_chain_names_every_op_from_the_crossing_on() -> None:
    body = "a = pl.tile.exp(v)\nb = pl.tile.neg(a)\nq = pl.tile.col_max(b)" + STORE
    problem = Kernel(body, outputs={"y": (1, 24)}).refusal()
    story = next(note for note in problem.notes if "->" in note)
    assert [part.split(" ")[0] for part in story.split(": ", 1)[1].split(" -> ")] == ["move", "exp", "neg"]


@irdl_op_definition
class UnruledOp(IRDLOperation):
    """A vector op that says nothing about being split."""

    name = "test.unruled"
    tile = operand_def(TileType)
    traits = traits_def(OnVector)


@irdl_op_definition
class TileFreeOp(IRDLOperation):
    """A vector op that says it touches no tile, and does."""

    name = "test.tile_free"
    tile = operand_def(TileType)
    traits = traits_def(OnVector, Splits(Behaviour.NONE))


@pytest.mark.parametrize("kind", [UnruledOp, TileFreeOp])
def test_op_without_a_rule_is_refused_by_name(kind: type[Operation]) -> None:
    module = Kernel("q = pl.tile.neg(v)" + STORE).parsed()
    tile = value(module, "q")
    op = kind(operands=[tile])
    op.location = Location("kernel.py", 13, 1).as_attribute()
    tile.owner.parent.insert_op_after(op, tile.owner)
    with pytest.raises(Diagnostic) as refusal:
        LowerAutoVectorSplit()(module)
    told = str(refusal.value)
    assert refusal.value.code == "no-split-rule" and refusal.value.instead
    assert all(word in told for word in ("kernel.py:13", kind.name, "'q'", "UP_DOWN", "axis 0")), told
