"""The fuzzer itself: kernels that are programs, bugs that are found, made small, kept and forgotten again."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from cubelane import language
from cubelane.check.fuzz import campaign, coverage
from cubelane.check.fuzz.calls import Operand, draw, drawable
from cubelane.check.fuzz.campaign import Campaign, State, judge_file, program
from cubelane.check.fuzz.families import FAMILIES
from cubelane.check.fuzz.forms import as_region, tile_form
from cubelane.check.fuzz.judge import judge
from cubelane.check.fuzz.liveness import lost_ops
from cubelane.check.fuzz.program import Program, inputs_of, kernel_file
from cubelane.check.fuzz.setting import targeted
from cubelane.check.fuzz.shrink import shrink
from cubelane.check.kernel_file import read_judge
from cubelane.cli.artifacts import write_text
from cubelane.cli.main import run_command
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.tile.channel import FreeOp
from cubelane.ir.tile.movement import StoreOp
from cubelane.ir.types import DTYPES, TensorType, TileType
from cubelane.passes import pipeline

KERNEL = """import pypto.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.Opaque)
    def main(
        self,
        a: pl.Tensor[[16, 16], pl.FP16],
        w: pl.Tensor[[16, 16], pl.FP16],
        y: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        n: pl.Scalar[pl.INDEX],
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            v = pl.mul(pl.matmul(a, w, out_dtype=pl.FP32), 0.5)
            for i in pl.range(n):
                v = pl.exp(pl.minimum(v, 1.0))
            y = pl.assemble(y, v, [0, 0])
        return y
"""
GOOD = Program(KERNEL, {"n": 2})


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f"{f.generate.__module__}.{f.generate.__name__}")
def test_generated_kernels_are_programs_that_come_back(family):
    refused = 0
    for seed in range(150):
        kernel = family.generate(random.Random(seed).choice)
        try:
            parsed = language.parse(kernel.text, "kernel.py")
        except Diagnostic:
            refused += 1
            continue
        assert inputs_of(parsed, kernel.scalars).keys() == {p for p in inputs_of(parsed, {})}
    assert refused <= 5


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.generate.__module__.rpartition(".")[2])
def test_generated_kernels_are_equal_or_refused(family):
    words = [judge(family.generate(random.Random(seed).choice), ("a5",)).word for seed in range(6)]
    assert "finding" not in words and "equal" in words


def test_a_number_names_one_kernel():
    assert program(7, 3) == program(7, 3)
    assert len({program(7, n).text for n in range(30)}) == 30


def test_the_kernel_file_has_the_inputs_of_the_campaign(tmp_path):
    for number in range(12):
        kernel = program(1, number)
        try:
            parsed = language.parse(kernel.text, "kernel.py")
        except Diagnostic:
            continue
        path = tmp_path / f"kernel{number}.py"
        path.write_text(kernel_file(kernel, parsed, "a kernel"), encoding="utf-8")
        given, wanted = read_judge(path).inputs(), inputs_of(parsed, kernel.scalars)
        assert given.keys() == wanted.keys()
        assert all(np.array_equal(given[k], v) for k, v in wanted.items())
        assert language.print_program(language.parse(path.read_text())) == language.print_program(parsed)


def test_shrinking_keeps_what_matters_and_little_else():
    kernel = program(0, 1)
    text = KERNEL.replace(
        "            y = pl", "            v = pl.exp(v)\n            u = pl.neg(v)\n            y = pl"
    )

    def interesting(candidate: Program) -> bool:
        try:
            return "gm.exp" in str(language.parse(candidate.text))
        except Diagnostic:
            return False

    small = shrink(Program(text, {"n": 2}), interesting, 60)
    assert interesting(small) and small == shrink(Program(text, {"n": 2}), interesting, 60)
    assert small.text.count("pl.exp") == 1 and "matmul" not in small.text and "for " not in small.text
    assert len(small.text) < len(kernel.text)


# --- bugs -----------------------------------------------------------------------------------------------------------


def broken_pass(monkeypatch, name: str, kind: type, change) -> None:
    """The pass does its work and then breaks the first op of a kind."""
    stage = pipeline.pass_named(name)
    rewrite = stage.rewrite
    real = type(rewrite).apply

    def apply(self, context, module: ModuleOp) -> None:
        real(self, context, module)
        victim = next((op for op in module.walk() if isinstance(op, kind)), None)
        if victim is not None:
            change(victim)

    monkeypatch.setattr(type(rewrite), "apply", apply)


def lose(op) -> None:
    if op.results:
        op.results[0].replace_all_uses_with(op.operands[-1])
    op.detach()
    op.erase()


def fails(op) -> None:
    raise KeyError("a bug")


def stores_elsewhere(op) -> None:
    op.operands[1], op.operands[2] = op.operands[2], op.operands[1]


BUGS = {
    "lost store": ("expand-mixed-kernel", StoreOp, lose, "lost op"),
    "lost free": ("stamp-tfree-split", FreeOp, lose, "leftover"),
    "other place": ("lower-auto-vector-split", StoreOp, stores_elsewhere, None),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_in_a_pass_is_found_and_the_pass_named(bug, monkeypatch):
    name, kind, change, wanted = BUGS[bug]
    assert judge(GOOD).word == "equal"
    broken_pass(monkeypatch, name, kind, change)
    found = judge(GOOD).findings
    assert found and all(f.stage == name for f in found)
    assert wanted is None or found[0].kind == wanted


def test_an_exception_is_an_internal_error_of_the_pass(monkeypatch):
    broken_pass(monkeypatch, "resolve-backend-op-layouts", StoreOp, fails)
    (first, _) = judge(GOOD).findings
    assert first.kind == "internal error" and first.stage == "resolve-backend-op-layouts" and "KeyError" in first.detail


def test_a_pass_that_does_not_end_is_too_slow_and_nothing_else(monkeypatch):
    def turns(op) -> None:
        while True:
            pass

    monkeypatch.setattr(campaign, "PATIENCE", 0.5)
    broken_pass(monkeypatch, "resolve-backend-op-layouts", StoreOp, turns)
    assert [f.kind for f in campaign.judged(GOOD, ("a5",)).findings] == ["too slow"]


def test_a_finding_is_kept_small_repeated_and_forgotten_when_mended(monkeypatch, tmp_path, capsys):
    with monkeypatch.context() as broken:
        broken_pass(broken, "resolve-backend-op-layouts", StoreOp, fails)
        assert run_command("fuzz", ["--count", "2", "--target", "a5", "-o", str(tmp_path)]) == 1
        state = State.read(tmp_path / "seed-0.json", 0)
        assert state.findings and state.next == 2 and sum(state.signatures.values()) == 2
        path = Path(next(iter(state.findings)))
        assert len(path.read_text().splitlines()) < 45
        assert run_command("fuzz", [str(path)]) == 1
        assert "internal error after resolve-backend-op-layouts" in capsys.readouterr().out
    assert not judge_file(path).findings
    assert run_command("fuzz", ["--count", "1", "-o", str(tmp_path), "--format", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["findings"] == {} and facts["next"] == 3


def test_a_run_goes_on_where_the_last_one_ended(tmp_path):
    def run(folder: str, count: int, jobs: int = 1) -> State:
        return Campaign(tmp_path / folder, 4, write_text, None, count, jobs, targets=("a5",), block=2).run()

    run("a", 3)
    twice, once, side_by_side = run("a", 2), run("b", 5), run("c", 5, 2)
    for state in (twice, once, side_by_side):
        state.seconds = 0
    assert twice == once == side_by_side and once.programs == once.next == 5


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"seed": 5}', "\0"])
def test_a_state_that_is_none_is_begun_anew(content, tmp_path):
    path = tmp_path / "seed-5.json"
    path.write_text(content)
    assert State.read(path, 5) == State(5)


def test_a_dask_cluster_gives_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        far = Campaign(tmp_path / "far", 4, write_text, None, 2, scheduler=cluster.scheduler_address, targets=("a5",))
        near = Campaign(tmp_path / "near", 4, write_text, None, 2, targets=("a5",))
        assert far.run().tallies == near.run().tallies


# --- parts ----------------------------------------------------------------------------------------------------------


def test_a_needed_op_that_no_core_runs_is_named():
    module = targeted(language.parse(KERNEL, "kernel.py"), "a5")
    pipeline.run(module, "lower-auto-vector-split")
    whole = module.clone()
    expanded = pipeline.pass_named("expand-mixed-kernel")(module)
    assert list(lost_ops(whole, expanded)) == []
    victim = next(op for op in expanded.walk() if op.name == "tile.exp")
    victim.results[0].replace_all_uses_with(victim.operands[0])
    lose(victim)
    assert list(lost_ops(whole, expanded)) == ["tile.exp (kernel.py:16:21)"]


def test_a_kernel_has_two_forms():
    tile = next(p for n in range(50) if (p := program(2, n)).family == "tile" and as_region(p.text) is not None)
    twin = as_region(tile.text)
    assert twin is not None and "pl.split_aiv(2, mode=pl.SplitMode." in twin and "'split_aiv': True" in twin
    assert as_region(twin) is None
    assert language.parse(twin)


def test_a_kernel_of_tensors_has_two_forms_when_it_is_lowered():
    text = tile_form(language.parse(KERNEL, "kernel.py"), "a5")
    twin = as_region(text or "")
    assert twin is not None and twin.count("pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN)") == 1
    assert "pl.tile.matmul" in twin.partition("pl.split_aiv")[0] and "pl.tile.exp" in twin.partition("pl.split_aiv")[2]


def test_cube_work_behind_the_crossing_has_no_other_form():
    behind = "            y = pl.assemble"
    more = "            v = pl.matmul(pl.cast(v, target_type=pl.FP16), w, out_dtype=pl.FP32)\n"
    text = tile_form(language.parse(KERNEL.replace(behind, more + behind), "kernel.py"), "a5")
    assert text is not None and as_region(text) is None


def test_a_program_that_means_something_else_when_compiled_again_is_found(monkeypatch):
    stage = pipeline.pass_named("stamp-tfree-split")
    real = type(stage.rewrite).apply
    seen: list[ModuleOp] = []

    def apply(self, context, module: ModuleOp) -> None:
        real(self, context, module)
        if seen and module is not seen[0]:
            stores_elsewhere(next(op for op in module.walk() if isinstance(op, StoreOp)))
        seen.append(module)

    monkeypatch.setattr(type(stage.rewrite), "apply", apply)
    found = judge(GOOD, ("a5",)).findings
    assert [f.stage for f in found] == ["compiling its own result"]


@pytest.mark.parametrize("dialect", ["gm", "tile"])
def test_every_op_of_the_tables_can_be_drawn_and_fits(dialect):
    """Ops that need no more than values in scope: each is met with operands of its kind."""
    rng = random.Random(0)
    for op in drawable(dialect):
        if "mask" in [p.name for p in op.PARAMETERS]:
            continue  # its first operand is what a comparison makes
        call = next((c for _ in range(60) if (c := draw(rng.choice, op, everything(dialect)))), None)
        assert call is not None, op.name
    assert len(drawable(dialect)) > 60


def everything(dialect: str) -> list[Operand]:
    """A box, a column and a row, as floats and as whole numbers."""
    kinds = [(shape, dtype) for shape in ((8, 16), (8, 1), (1, 16)) for dtype in ("FP32", "INT32")]
    make = TensorType.make if dialect == "gm" else TileType.make
    return [Operand(f"v{n}", make(shape, DTYPES[dtype])) for n, (shape, dtype) in enumerate(kinds)]


def test_situations_are_those_of_the_op():
    found = coverage.covered(language.parse(KERNEL))
    assert found["gm.exp|loop"] == 1 and "gm.exp|straight" not in found
    assert found["gm.minimums|carried"] == 1 and found["gm.matmul|narrow"] == 1
    assert "gm.matmul" not in coverage.never_met(found) and "gm.log" in coverage.never_met(found)
    assert all(len(row) == len(coverage.HEADER) for row in coverage.rows(found))
