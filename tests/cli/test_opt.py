"""`cubelane opt`: the errors and exit codes of all our commands around the driver of xDSL."""

import time
from pathlib import Path

import pytest

from tests.pto.snippets import C, V, kernel

WRONG = "func.func @f() {\n  %a = arith.constant 1 : i32\n  %b = arith.addi %a, %a : i64\n  func.return\n}\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.pto"
    path.write_text(kernel(V, C))
    return path


def test_pto_and_mlir_files_are_read_alike(run, text: Path):
    other = text.with_suffix(".mlir")
    other.write_text(text.read_text())
    assert run("opt", text) == run("opt", other)
    assert run("opt", text)[0] == 0


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("-p", "nosuch"), "Unrecognized passes: ['nosuch']"),
        (("-p", "vpto-split-cv-module{a=1}"), "not found in expected arguments"),
        (("-p", "vpto-split-cv-module{a"), "Expected equals"),
        (("-f", "nosuch"), "invalid choice: 'nosuch'"),
    ],
)
def test_a_wrong_command_line_is_code_two(run, text: Path, options: tuple[str, str], part: str):
    code, _, err = run("opt", text, *options)
    assert code == 2 and part in err and "Traceback" not in err


def test_an_unknown_kind_of_file_is_code_two(run, text: Path):
    other = text.with_suffix(".xyz")
    other.write_text("")
    code, _, err = run("opt", other)
    assert code == 2 and "known are .mlir, .pto" in err


def test_a_wrong_text_is_code_one_with_its_place(run, tmp_path: Path):
    path = tmp_path / "in.mlir"
    path.write_text(WRONG)
    code, _, err = run("opt", path)
    assert code == 1 and f"{path}:3:" in err and "Traceback" not in err


def test_places_of_chunks_are_those_of_the_file(run, tmp_path: Path):
    path = tmp_path / "in.mlir"
    path.write_text("module {\n}\n// -----\n" + WRONG)
    code, _, err = run("opt", "--split-input-file", path)
    assert code == 1 and f"{path}:6:" in err


def test_a_refused_pass_leaves_the_output_alone(run, text: Path):
    target = text.with_name("out.mlir")
    target.write_text("old")
    text.write_text(kernel(V, C).replace("module attributes", "module attributes", 1) + "}")
    assert run("opt", text, "-o", target)[0] == 1
    assert target.read_text() == "old"
    text.write_text(kernel(V, C))
    assert run("opt", text, "-o", target)[0] == 0
    assert "pto.mad" in target.read_text()


@pytest.mark.parametrize("start", ["", "module attributes {a = "])
def test_a_string_without_end_is_found_at_once(run, tmp_path: Path, start: str):
    path = tmp_path / "in.mlir"
    path.write_text(start + '"' + "a" * 200_000 + "\n}")
    began = time.process_time()
    code, _, err = run("opt", path)
    assert code == 1 and "closing string literal" in err
    assert time.process_time() - began < 5
