"""What a terminal sees and a pipe does not; JSON of every command; differences between passes."""

import difflib
import io
import json
import re
import sys
from itertools import groupby

import pytest

from cubelane.cli.boundary import wants_json
from cubelane.cli.main import main
from cubelane.report.diff import difference, lines_of
from tests.cli.conftest import GOOD

COLOUR = re.compile(r"\x1b\[[\d;]*3\dm")
ESCAPE = re.compile(r"\x1b\[[\d;]*m")
REFUSED = GOOD.replace("pl.mul(y, 2.0)", "pl.row_expand_sub(y, pl.row_max(y))")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    """Runs a command with both streams on a terminal of 100 columns; gives what the streams got."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("NO_COLOR", "")

    def command(*arguments: object) -> tuple[str, str]:
        out, err = Terminal(), Terminal()
        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            main([str(a) for a in arguments])
        return out.getvalue(), err.getvalue()

    return command


@pytest.fixture
def refused(tmp_path):
    path = tmp_path / "refused.py"
    path.write_text(REFUSED, encoding="utf-8")
    return path


def test_a_terminal_gets_colours_and_a_pipe_none(terminal, run, good):
    assert COLOUR.search(terminal("compile", good)[0])
    assert "\x1b" not in "".join(run("compile", good)[1:])


@pytest.mark.parametrize("how", ["option", "environment"])
def test_no_color_keeps_the_table_and_drops_the_colours(terminal, good, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("NO_COLOR", "1")
    out, err = terminal("compile", good, *(["--no-color"] if how == "option" else []))
    assert "Scale" in out and "equal" in out
    assert not COLOUR.search(out + err)


def test_terminal_and_pipe_show_the_same_diagnostic(terminal, run, refused):
    words = ("compile", refused, "--mode", "left_right")
    plain, coloured = run(*words)[2], terminal(*words)[1]
    shown = ESCAPE.sub("", coloured.split("\x1b[2K")[-1])
    assert COLOUR.search(coloured)
    assert [line.rstrip() for line in shown.splitlines()] == [line.rstrip() for line in plain.splitlines()]


def test_a_bar_shows_how_far_tune_is_and_goes_away(terminal, good):
    out, err = terminal("tune", good, "--no-cache", "--depths", "2", "--jobs", "1")
    assert "3/3" in err and "best: " in out
    assert "3/3" not in out


def test_markup_in_names_is_text(terminal, tmp_path):
    path = tmp_path / "k.py"
    path.write_text(REFUSED.replace("        return out", "        return out  # [red]x[/red]"), encoding="utf-8")
    _, err = terminal("compile", path.rename(tmp_path / "[bold]k.py"), "--mode", "left_right")
    assert "[bold]k.py" in ESCAPE.sub("", err)


# --- JSON -----------------------------------------------------------------------------------------------------------

COMMANDS = {
    "compile": lambda facts: facts["verdict"] == "equal" and facts["timing"]["model"],
    "check": lambda facts: facts["good"] and facts["checks"] and facts["budget"] and facts["findings"] == [],
    "lower": lambda facts: "@pl.program" in facts["text"] and facts["form"] == "pl",
    "emit": lambda facts: "yield" in facts["text"] and facts["form"] == "numpy",
    "report": lambda facts: facts["verdict"] == "equal" and facts["kernel"] == "Scale",
    "tune": lambda facts: facts["best"] == facts["ranked"][0],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_json_of_every_command(run, good, tmp_path, command):
    extra = {"report": ["-o", tmp_path / "r.html"], "tune": ["--no-cache", "--depths", "2", "--jobs", "1"]}
    code, out, err = run(command, good, "--format", "json", *extra.get(command, []))
    assert (code, err) == (0, "")
    assert COMMANDS[command](json.loads(out))


def test_json_of_demo(run, good):
    facts = json.loads(run("demo", good.parent, "--jobs", "1", "--format=json")[1])
    assert facts["equal"] == len(facts["rows"]) == 6 and facts["refused"] == []


@pytest.mark.parametrize("command", ["compile", "check", "lower", "emit", "report"])
def test_a_refusal_is_json_for_every_command(run, refused, tmp_path, command):
    extra = ["-o", tmp_path / "r.html"] if command == "report" else []
    code, out, err = run(command, refused, "--mode", "left_right", "--format", "json", *extra)
    (problem,) = json.loads(out)
    assert code == 1 and err == ""
    assert problem["location"]["line"] == 13 and problem["instead"]


def test_json_of_a_script_that_is_refused(run, tmp_path):
    script = tmp_path / "s.py"
    script.write_text("x = 1 / 0\n")
    code, out, _ = run("run", "--format", "json", script)
    assert code == 1 and json.loads(out)[0]["location"]["line"] == 1


def test_opt_takes_the_options_of_all_commands(run, good, tmp_path):
    text = tmp_path / "k.mlir"
    text.write_text(run("lower", good, "--as", "mlir", "--to", "none")[1], encoding="utf-8")
    code, out, _ = run("opt", text, "-p", "outline-incore-scopes", "--no-color", "--format", "json")
    assert code == 0 and "main_incore_0" in out


def test_options_behind_a_script_are_the_scripts_own():
    assert wants_json("run", ["--format", "json", "s.py"]) and wants_json("check", ["k.py", "--format=json"])
    assert not wants_json("run", ["s.py", "--format", "json"]) and not wants_json("check", ["json", "--format", "text"])


# --- differences between passes -----------------------------------------------------------------------------------


def patched(old: list[str], lines: list[str]) -> list[str]:
    """A text with a unified difference applied."""
    result, at = [], 0
    for line in lines:
        if line.startswith("@@"):
            start = re.match(r"@@ -(\d+)(,0)?", line)
            begin = int(start[1]) - (0 if start[2] else 1)
            result += old[at:begin]
            at = begin
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            result += [line[1:]] if line.startswith(" ") else []
    return [*result, *old[at:]]


def test_differences_lead_from_the_source_to_the_last_program(run, good):
    first = run("lower", good, "--to", "none")[1].splitlines()
    last = run("lower", good)[1].splitlines()
    steps = json.loads(run("lower", good, "--diff", "--format", "json")[1])
    text = first
    for step in steps:
        text = patched(text, step["diff"])
        assert step["added"] == sum(line.startswith("+") for line in step["diff"])
    assert text == last
    assert [step["pass"] for step in steps][-1] == "allocate-memory-addr"


def test_passes_that_change_nothing_share_a_line(run, good):
    steps = json.loads(run("lower", good, "--diff", "--format", "json")[1])
    out = run("lower", good, "--diff")[1].splitlines()
    runs = [
        "".join(f"{step['pass']}," for step in group) for same, group in groupby(steps, lambda s: not s["diff"]) if same
    ]
    folded = [line.removeprefix("=== unchanged by ").replace(", ", ",") + "," for line in out if line.startswith("===")]
    assert folded == runs and any("," in line[:-1] for line in folded)
    assert sum(line.startswith("+++") for line in out) == sum(bool(step["diff"]) for step in steps)


def test_differences_are_coloured_on_a_terminal(terminal, good):
    out, _ = terminal("lower", good, "--diff", "--to", "outline-incore-scopes")
    assert re.search(r"\x1b\[32m\+ ", out) and re.search(r"\x1b\[31m- ", out) and re.search(r"\x1b\[36m@@", out)


def test_a_refusal_comes_behind_the_differences_before_it(run, refused):
    code, out, err = run("lower", refused, "--diff", "--mode", "left_right")
    assert code == 1 and "+++ convert-tensor-to-tile" in out and "row_max" in err


def test_differences_as_mlir(run, good):
    out = run("lower", good, "--diff", "--as", "mlir", "--to", "expand-mixed-kernel")[1]
    assert '"tile.tpush_to_aiv"' in out


def test_lines_of_a_difference():
    old, new = "a\nb\nc\n", "a\nx\nc\n"
    one = difference("first", "second", old, new)
    assert list(one.lines) == list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm=""))[2:]
    kinds = [kind for kind, _ in lines_of([difference("a", "b", old, old), one])]
    assert kinds == ["same", "title", "title", "hunk", "source", "removed", "added", "source"]
