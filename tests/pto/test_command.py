"""The command: exit codes, output files, messages, and that no text makes a traceback."""

import itertools
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubelane.cli import ptoas as command
from cubelane.cli.ptoas import ptoas
from cubelane.emit.vpto import Job, StageFailure, emit_vpto
from cubelane.passes.pto.pipeline import ALL_PASSES

from .snippets import STORE, C, V, kernel, loop, section

GOOD = kernel(V, C)
CORPUS = sorted((Path(__file__).parent / "corpus").rglob("*.pto"))
EXAMPLES = int(os.environ.get("CUBELANE_PTO_EXAMPLES", "100"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.pto"
    path.write_text(GOOD)
    return path


def test_good_input_writes_the_file_and_nothing_else(source: Path, capsys: pytest.CaptureFixture[str]):
    target = source.parent / "out.pto"
    assert ptoas(["--pto-arch=a5", "--pto-backend=vpto", "--emit-vpto", str(source), "-o", str(target)]) == 0
    assert target.read_text() == emit_vpto(GOOD)
    assert sorted(path.name for path in source.parent.iterdir()) == ["in.pto", "out.pto"]
    assert capsys.readouterr() == ("", "")


def test_a_refusal_leaves_the_old_output_alone(source: Path, capsys: pytest.CaptureFixture[str]):
    target = source.parent / "out.pto"
    target.write_text("old")
    source.write_text(kernel(loop(V + C)))
    assert ptoas(["--emit-vpto", str(source), "-o", str(target)]) == 1
    assert target.read_text() == "old"
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{source}:") and "section kind ambiguous" in lines[0]
    assert lines[-1] == "Error: failed to normalize uncovered PTO tile sections."


def test_failures_of_the_backend_have_their_own_last_line(source: Path, capsys: pytest.CaptureFixture[str]):
    source.write_text(kernel(section("cube", section("vector", V))))
    assert ptoas(["--emit-vpto", str(source)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "Error: VPTO emission pipeline failed."


def test_standard_output_is_the_default(source: Path, capsys: pytest.CaptureFixture[str]):
    assert ptoas(["--emit-pto-ir", str(source)]) == 0
    assert "pto.section.cube" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["x.pto"], "object output is not built"),
        (["--emit-vpto"], "required: input"),
        (["--emit-vpto", "missing.pto"], "cannot read missing.pto"),
        (["--emit-vpto", "--pto-arch=a9", "x.pto"], "invalid choice"),
        (["--emit-vpto", "--pto-backend=emitc", "x.pto"], "needs the vpto backend"),
        (["--emit-vpto", "--mlir-print-ir-after=nothing", "x.pto"], "unknown pass 'nothing'"),
        (["--emit-vpto", "--plan-memory-impl=x", "x.pto"], "memory planning is not built"),
        (["--emit-vpto", "--enable-op-fusion", "x.pto"], "op fusion is not built"),
        (["--what", "x.pto"], "unrecognized arguments"),
    ],
)
def test_a_wrong_command_line_is_code_two(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]):
    assert ptoas(arguments) == 2
    assert part in capsys.readouterr().err


SYNC_OPTIONS = ("insert-sync", "bufid_sync", "inject-barrier-all-sync", "graph-sync-solver")


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(SYNC_OPTIONS, 2)))
def test_g08_two_ways_of_automatic_sync_exclude_each_other(first: str, second: str, capsys: pytest.CaptureFixture[str]):
    assert ptoas(["--emit-vpto", f"--enable-{first}", f"--enable-{second}", "x.pto"]) == 2
    assert f"--enable-{second}: not allowed with argument --enable-{first}" in capsys.readouterr().err


@pytest.mark.parametrize("option", [f"--enable-{name}" for name in SYNC_OPTIONS] + ["--enable-op-fusion"])
def test_an_option_of_a_part_that_is_not_built_is_refused_by_name(
    option: str, source: Path, capsys: pytest.CaptureFixture[str]
):
    assert ptoas(["--emit-vpto", option, str(source)]) == 2
    assert f"{option} is not available" in capsys.readouterr().err


def test_the_option_kept_for_compatibility_changes_nothing(source: Path, capsys: pytest.CaptureFixture[str]):
    assert ptoas(["--emit-vpto", "--enable-tile-op-expand", str(source)]) == 0
    assert capsys.readouterr().out == emit_vpto(GOOD)


@pytest.mark.parametrize("name", sorted(ALL_PASSES))
@pytest.mark.parametrize("when", ["before", "after"])
def test_ir_is_printed_around_every_pass(name: str, when: str, source: Path, capsys: pytest.CaptureFixture[str]):
    assert ptoas(["--emit-vpto", f"--mlir-print-ir-{when}={name}", str(source)]) == 0
    assert f"// IR dump {when} {name}\nmodule attributes" in capsys.readouterr().err


def test_an_emitc_module_is_not_assembled_as_vpto(source: Path, capsys: pytest.CaptureFixture[str]):
    source.write_text(GOOD.replace('"vpto"', '"emitc"'))
    assert ptoas(["--emit-vpto", str(source)]) == 2
    assert ptoas(["--emit-vpto", "--pto-backend=vpto", str(source)]) == 0
    assert "emitc" in capsys.readouterr().err


def test_a_directory_that_does_not_exist_is_told(source: Path, capsys: pytest.CaptureFixture[str]):
    assert ptoas(["--emit-vpto", str(source), "-o", "/nowhere/at/all.pto"]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_our_own_bug_is_code_three(source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def broken(self: Job) -> None:
        raise KeyError("inside")

    monkeypatch.setattr(command.Job, "vpto", broken)
    assert ptoas(["--emit-vpto", str(source)]) == 3
    assert "bug" in capsys.readouterr().err


def test_diagnostics_as_json(source: Path, capsys: pytest.CaptureFixture[str]):
    source.write_text(kernel(loop(V + C)))
    assert ptoas(["--emit-vpto", "--format=json", str(source)]) == 1
    (problem,) = json.loads(capsys.readouterr().out)
    assert problem["code"] == "section-kind-ambiguous" and problem["location"]["line"] > 0


def test_arch_comes_from_the_command_line_then_the_module_then_a3():
    bare = kernel(V, attributes='pto.backend = "vpto"').replace(' attributes {pto.target_arch = "a5"}', "", 1)
    assert 'pto.target_arch = "a3"' in emit_vpto(bare, arch=None)
    assert 'pto.target_arch = "a2"' in emit_vpto(bare, arch="a2")
    assert 'pto.target_arch = "a5"' in emit_vpto(kernel(V), arch=None)


def test_levels_and_tile_addresses():
    addressed = kernel("    %t = pto.alloc_tile addr = %zero : !pto.tile_buf<vec, 8x8xf32>\n")
    Job(addressed).normalized()
    Job(addressed, level="level3").normalized()
    with pytest.raises(StageFailure, match="must not have 'addr ='"):
        Job(addressed, level="level2").normalized()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(CORPUS), st.data())
def test_damaged_text_never_makes_a_traceback(path: Path, data: st.DataObject):
    words = path.read_text().split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(words) - 1))
        action = data.draw(st.sampled_from(("drop", "double", "swap", "cut")))
        other = data.draw(st.integers(0, len(words) - 1))
        if action == "drop":
            words[position] = ""
        elif action == "double":
            words[position] += " " + words[position]
        elif action == "swap":
            words[position], words[other] = words[other], words[position]
        else:
            words[position] = words[position][: len(words[position]) // 2]
    try:
        Job(" ".join(words), "damaged.pto").vpto()
    except StageFailure as failure:
        assert failure.diagnostic.message


def test_a_store_outside_explicit_sections_is_warned_about(source: Path, capsys: pytest.CaptureFixture[str]):
    source.write_text(kernel(section("cube", C), STORE, section("vector", V)))
    assert ptoas(["--emit-vpto", str(source)]) == 0
    assert "'pto.store_scalar' lies outside the sections, so both cores run it" in capsys.readouterr().err


def test_tile_ops_are_warned_about_as_unexpanded(source: Path, capsys: pytest.CaptureFixture[str]):
    tile = "!pto.tile_buf<vec, 8x8xf32>"
    source.write_text(kernel(f"    %t = pto.alloc_tile : {tile}\n    pto.tneg ins(%t : {tile}) outs(%t : {tile})\n"))
    assert ptoas(["--emit-vpto", str(source)]) == 0
    assert "not expanded into micro-ops: pto.tneg" in capsys.readouterr().err
