"""Commands: exit codes, tables, artifacts, JSON, and what bad input of every kind ends in."""

import json
import os

import pytest

from tests.cli.conftest import GOOD, JUDGE


def row(out: str) -> list[str]:
    """The cells of the kernel's row."""
    return next(line.split() for line in out.splitlines() if line.startswith("Scale "))


def test_compile_prints_a_row_that_ends_in_equal(run, good):
    code, out, err = run("compile", good)
    assert (code, err) == (0, "")
    assert "kernel target mode cores crossings ring bytes max error verdict".split() in [
        o.split() for o in out.splitlines()
    ]
    assert row(out) == ["Scale", "a2a3", "up_down", "AIC+AIV", "1", "4096", "0.00e+00", "equal"]


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("mode", ["up_down", "left_right", "none"])
def test_compile_takes_target_and_mode(run, good, target, mode):
    code, out, _ = run("compile", good, "--target", target, "--mode", mode)
    assert code == 0
    assert row(out)[1:3] == [target, mode]


def test_compile_by_kernel_name(run, good):
    assert run("compile", f"{good}:Scale")[0] == 0
    code, _, err = run("compile", f"{good}:Other")
    assert code == 1 and "Other" in err and "Scale" in err


def test_compile_without_inputs_and_golden_is_judged_by_the_oracle(run, tmp_path):
    path = tmp_path / "bare.py"
    path.write_text(GOOD, encoding="utf-8")
    code, out, _ = run("compile", path)
    assert code == 0 and row(out)[-1] == "equal"


def test_drawn_inputs_that_mean_nothing_are_told_apart_from_a_wrong_kernel(run, tmp_path):
    path = tmp_path / "paged.py"
    table = GOOD.replace("def main(self,", "def main(self, table: pl.Tensor[[1], pl.INT32],")
    paged = table.replace("y = ", "x = pl.slice(x, [32, 32], [pl.read(table, [0]) * 32, 0])\n            y = ")
    path.write_text(paged, encoding="utf-8")
    code, _, err = run("compile", path, "--seed", 1)
    assert code == 1 and "pl.slice(x, " in err
    assert "drawn at random" in err and "instead: define inputs()" in err
    inputs = JUDGE.split("def golden")[0].replace("return {", 'return {"table": np.zeros(1, np.int32),')
    path.write_text(paged + inputs, encoding="utf-8")
    assert run("compile", path)[0] == 0


def test_compile_with_a_wrong_golden_exits_1_and_names_the_element(run, tmp_path):
    path, golden = tmp_path / "k.py", tmp_path / "g.py"
    path.write_text(GOOD, encoding="utf-8")
    wrong = JUDGE.replace('return {"out": 2', 'return {"out": 3')
    golden.write_text("import numpy as np\n" + wrong, encoding="utf-8")
    code, out, _ = run("compile", path, "--golden", golden)
    assert code == 1
    assert "differs from the golden: out:" in out and "first [" in out


def test_compile_writes_artifacts(run, good, tmp_path):
    folder = tmp_path / "build"
    code, *_ = run("compile", good, "-o", folder)
    assert code == 0
    names = sorted(path.name for path in folder.iterdir())
    assert "00_source.py" in names and "summary.json" in names and "final.mlir" in names
    assert any(name.endswith("after_lower-auto-vector-split.py") for name in names)
    assert {"main_incore_0_aic_numpy.py", "main_incore_0_aiv_numpy.py"} <= set(names)
    assert not [name for name in names if name.endswith(".tmp")]
    assert json.loads((folder / "summary.json").read_text())["verdict"] == "equal"


def test_compile_twice_writes_the_same_bytes(run, good, tmp_path):
    for name in ("a", "b"):
        assert run("compile", good, "-o", tmp_path / name)[0] == 0

    def files(folder):
        return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    first = files(tmp_path / "a")
    assert first == files(tmp_path / "b")
    assert any(name.endswith(".pto") for name in first)


def test_compile_format_json(run, good):
    code, out, _ = run("compile", good, "--format", "json")
    facts = json.loads(out)
    assert code == 0 and facts["verdict"] == "equal" and facts["findings"] == []


@pytest.mark.parametrize("how", ["each", "end"])
def test_compile_validates(run, good, how):
    assert run("compile", good, "--validate", how)[0] == 0


def test_compile_unvalidated_says_so(run, good):
    code, out, _ = run("compile", good, "--validate", "off")
    assert code == 0 and row(out)[-2:] == ["not", "run"]


def test_lower_prints_the_program_after_a_pass(run, good):
    code, out, _ = run("lower", good, "--to", "lower-auto-vector-split")
    assert code == 0
    assert "0 + subblock_idx * 16" in out and '"split_aiv": True' in out


def test_lower_prints_mlir(run, good):
    code, out, _ = run("lower", good, "--as", "mlir")
    assert code == 0 and '"tile.tpush_to_aiv"' in out


def test_lower_to_an_unknown_pass_is_a_wrong_command_line(run, good):
    code, _, err = run("lower", good, "--to", "nothing")
    assert code == 2 and "lower-auto-vector-split" in err


def test_emit_prints_programs_that_python_can_read(run, good):
    code, out, _ = run("emit", good)
    assert code == 0
    compile(out, "emitted", "exec")
    assert "yield" in out


def test_check_prints_every_verdict(run, good):
    code, out, _ = run("check", good)
    assert code == 0 and "equal to the oracle" in out and "equal to the golden" in out


def test_demo_judges_a_folder(run, good):
    code, out, _ = run("demo", good.parent, "--jobs", "1")
    assert code == 0
    assert out.rstrip().splitlines()[-1].startswith("6 of 6 equal, 0 refused")


def test_run_runs_a_script_that_imports_pypto(run, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nimport pypto.language as pl\nprint(pl.SplitMode.UP_DOWN.name, sys.argv[1:])\n")
    code, out, _ = run("run", script, "a", "b")
    assert (code, out) == (0, "UP_DOWN ['a', 'b']\n")


def test_run_reports_an_exception_of_the_script_at_its_line(run, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("x = 1\ny = x / 0\n")
    code, _, err = run("run", script)
    assert code == 1 and "script.py:2" in err and "ZeroDivisionError" in err


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["compile"], ["compile", "x.py", "--target", "a9"]])
def test_wrong_command_lines_exit_2(run, arguments):
    code, _, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["compile", "lower", "emit", "check", "demo", "run", "--version", "--help"])
def test_help_of_every_command(run, command):
    arguments = [command] if command.startswith("--") else [command, "--help"]
    code, out, _ = run(*arguments)
    assert code == 0 and out


BAD_FILES = {
    "empty": b"",
    "not python": b"def (:\n",
    "nul bytes": b"\x00\x00import x\n",
    "not utf-8": b"# \xff\xfe\xfa\n",
    "no kernel": b"x = 1\n",
    "deep": b"x = " + b"(" * 5000 + b"1" + b")" * 5000 + b"\n",
    "raises": GOOD.encode() + b"\nraise ValueError('mine')\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_end_in_a_message_without_traceback(run, tmp_path, name):
    path = tmp_path / "bad.py"
    path.write_bytes(BAD_FILES[name])
    code, _, err = run("compile", path)
    assert code == 1
    assert str(path) in err and "Traceback" not in err


def test_a_missing_file_is_a_wrong_command_line(run, tmp_path):
    code, _, err = run("compile", tmp_path / "none.py")
    assert code == 2 and "none.py" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(run, good, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert run("compile", good, "-o", folder / "x")[0] == 2


def test_an_output_folder_that_is_a_file(run, good, tmp_path):
    target = tmp_path / "file"
    target.write_text("mine")
    code, _, err = run("compile", good, "-o", target)
    assert code == 2 and "Traceback" not in err
    assert target.read_text() == "mine"


def test_a_refusal_shows_line_caret_and_advice(run, tmp_path):
    path = tmp_path / "refused.py"
    path.write_text(GOOD.replace("pl.mul(y, 2.0)", "pl.row_expand_sub(y, pl.row_max(y))"), encoding="utf-8")
    code, _, err = run("compile", path, "--mode", "left_right")
    lines = err.splitlines()
    assert code == 1
    assert lines[0].startswith(f"{path}:") and ": error: " in lines[0]
    assert lines[2].strip().strip("| ").startswith("^")
    assert any(line.strip().startswith("instead:") for line in lines)


def test_a_refusal_as_json(run, tmp_path):
    path = tmp_path / "refused.py"
    path.write_text(GOOD.replace("pl.mul(y, 2.0)", "pl.row_expand_sub(y, pl.row_max(y))"), encoding="utf-8")
    code, out, _ = run("compile", path, "--mode", "left_right", "--format", "json")
    (problem,) = json.loads(out)
    assert code == 1
    assert problem["location"]["line"] == 13 and problem["instead"]
