"""The lanes on global memory: conflicts with their lines and rows, proofs for many windows, what stays open and why."""

from collections import Counter
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.analysis.lane_windows import LaneWindows
from cubelane.check.kernel_file import read_program
from cubelane.check.lanes import AFTER, BEFORE, lane_verdicts
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of
from cubelane.language import parse
from cubelane.passes import pipeline
from cubelane.passes.tile.choose_split_mode import ChooseSplitMode

from .conftest import ROOT
from .kernels import Kernel

TWO = {"y": (32, 24), "u": (32, 24)}
SAME_CELLS = {
    "halves at one address": Kernel("o = pl.tile.store(h, [0, 0], y)\nreturn o", form="explicit"),
    "a scalar of the lane": Kernel(
        "s = pl.cast(lane, pl.FP32)\nz = pl.write(u, [0, 0], s)\no = pl.tile.store(h, [lane * 16, 0], y)\nreturn o, z",
        form="explicit",
        outputs=TWO,
    ),
    "a scalar over the other lane's rows": Kernel(
        "z = pl.write(y, [20, 0], 1.0)\no = pl.tile.store(v, [0, 0], z)\nreturn o"
    ),
    "a counter": Kernel(
        "s = pl.read(u, [0, 0])\nz = pl.write(u, [0, 0], s + 1.0)\no = pl.tile.store(v, [0, 0], y)\nreturn o, z",
        outputs=TWO,
    ),
    "a scalar read of the other lane's rows": Kernel(
        "o = pl.tile.store(v, [0, 0], y)\ns = pl.read(o, [20, 0])\nq = pl.tile.adds(v, s)\n"
        "p = pl.tile.store(q, [0, 0], u)\nreturn o, p",
        outputs=TWO,
    ),
}


@pytest.mark.parametrize("name", SAME_CELLS)
def test_lanes_on_the_same_cells_are_refused_at_the_users_lines(name: str) -> None:
    kernel = SAME_CELLS[name]
    problem = kernel.refusal()
    assert problem.code == "lane-conflict" and problem.location.line > 0 and problem.instead
    source = kernel.text.split("\n")
    assert any(word in source[problem.location.line - 1] for word in ("store", "write", "read"))
    for note in problem.notes:
        if note.startswith("the other access is at kernel.py:"):
            line = int(note.split(":")[1])
            assert any(word in source[line - 1] for word in ("store", "write", "read")) and line > 0


def test_one_scalar_written_alike_by_both_lanes_is_one_write() -> None:
    body = "z = pl.write(u, [0, 0], 1.0)\no = pl.tile.store(v, [0, 0], y)\nreturn o, z"
    Kernel(body, outputs=TWO).check()


def test_each_lane_writes_its_own_element() -> None:
    body = "s = pl.cast(lane, pl.FP32)\nz = pl.write(u, [lane, 0], s)\n"
    Kernel(body + "o = pl.tile.store(h, [lane * 16, 0], y)\nreturn o, z", form="explicit", outputs=TWO).check()


@pytest.mark.parametrize("count", [65, 200])
def test_any_number_of_stores_is_proven_apart(count: int) -> None:
    stores = "".join(f"o{i} = pl.tile.store(v, [{32 * i}, 0], {f'o{i - 1}' if i else 'y'})\n" for i in range(count))
    module = Kernel(stores + f"return o{count - 1}", outputs={"y": (32 * count, 24)}).lowered()
    (verdict,) = LaneWindows(functions_of(module)[0]).verdicts()
    assert verdict.proven and verdict.accesses == count


def test_one_overlap_among_many_stores_is_found() -> None:
    rows = [32 * i for i in range(80)]
    rows[70] = rows[69] + 16
    stores = "".join(f"o{i} = pl.tile.store(v, [{r}, 0], {f'o{i - 1}' if i else 'y'})\n" for i, r in enumerate(rows))
    problem = Kernel(stores + "return o79", outputs={"y": (32 * 80, 24)}).refusal()
    first = rows[69] + 16
    assert problem.code == "lane-conflict" and f"rows {first}..{first + 15}" in problem.message


SCATTER = """
s = pl.tensor.read(table, [0])
p = pl.cast(s, pl.INDEX)
o = pl.tile.store({tile}, {at}, y)
return o
"""
TABLE = {"table": "pl.Tensor[[4], pl.INT32]"}


def verdicts(kernel: Kernel):
    return lane_verdicts(kernel.parsed(), kernel.lowered())


def test_address_from_memory_is_not_proven_and_says_why() -> None:
    kernel = Kernel(
        SCATTER.format(tile="h", at="[p + lane * 16, 0]"), form="explicit", parameters=TABLE, outputs={"y": (64, 24)}
    )
    (verdict,) = verdicts(kernel)
    assert not verdict.proven and not verdict.findings
    told = str(verdict)
    assert told.startswith("not proven: tile.store at kernel.py:16") and "`s`" in told and "no affine" in told


def test_unknown_rows_do_not_matter_where_the_lanes_share_out_columns() -> None:
    kernel = Kernel(SCATTER.format(tile="v", at="[p, 0]"), mode="LEFT_RIGHT", parameters=TABLE, outputs={"y": (64, 24)})
    (verdict,) = verdicts(kernel)
    assert not verdict.apart and str(verdict).startswith("apart; not proven that nothing is missing: tile.store at")


def test_split_kernel_is_proven_apart_and_complete() -> None:
    (verdict,) = verdicts(Kernel("o = pl.tile.store(v, [3, 0], y)\nreturn o", rows=17, outputs={"y": (20, 24)}))
    assert verdict.proven and str(verdict) == "apart and complete"


def test_windows_that_the_author_placed_are_said_to_be_his() -> None:
    (verdict,) = verdicts(Kernel("o = pl.tile.store(h, [lane * 16, 0], y)\nreturn o", form="explicit"))
    assert verdict.proven and str(verdict) == "apart, as the author placed them"


def test_a_gap_is_a_finding_with_its_rows() -> None:
    kernel = Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o")
    lowered = kernel.lowered()
    store = next(op for op in functions_of(lowered)[0].body.walk() if op.name == "tile.store")
    store.operands[1] = store.operands[2]
    (verdict,) = lane_verdicts(kernel.parsed(), lowered)
    assert any("no lane writes rows 16..31" in finding.message for finding in verdict.findings)


def told_apart(program: ModuleOp, mode: str | None = None):
    """The verdicts on a program as written; none for a refused one."""
    stages: dict[str, ModuleOp] = {}
    program.attributes["kernel.target"] = StringAttr("a5")
    try:
        if mode is not None:
            ChooseSplitMode(mode).apply(None, program)
        pipeline.run(program, AFTER, lambda stage, module: stages.update({stage.name: module.clone()}))
    except Diagnostic:
        return []
    return lane_verdicts(stages[BEFORE], stages[AFTER])


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_lanes_of_every_example_are_proven_apart_and_complete() -> None:
    found: Counter[str] = Counter()
    for path in EXAMPLES:
        for mode in ("up_down", "left_right"):
            for verdict in told_apart(read_program(str(path)), mode):
                assert verdict.proven, f"{path.stem} {mode} {verdict.tensor}: {verdict}"
                found[str(verdict)] += 1
    print(f"\n{dict(found)}")
    assert found["apart and complete"] >= len(EXAMPLES)


def test_no_case_of_the_conformance_set_is_accused_and_what_is_open_says_why(tile_root: Path) -> None:
    found: Counter[str] = Counter()
    for path in sorted(ROOT.parent.glob("*/*/kernel.py")):
        for verdict in told_apart(parse(path.read_text(encoding="utf-8"), filename=str(path))):
            assert not verdict.findings, f"{path.parent.name}: {verdict}"
            if not verdict.proven:
                assert "not proven" in str(verdict) and "kernel.py:" in str(verdict)
            found["proven" if verdict.proven else str(verdict).partition(":")[0]] += 1
    print(f"\n{dict(found)}")
    assert found["proven"] > 100
