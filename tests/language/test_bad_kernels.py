"""Kernels that break one rule each: a located diagnostic in the words of the user, the same text every time.

`bad/NAME.py` is the kernel, its first line the rule, `bad/NAME.txt` what a user is shown. A line
`# advice: OLD -> NEW` is the advice of the diagnostic applied: the kernel then compiles and is equal to its meaning.
`CUBELANE_SNAPSHOTS=write pytest tests/language/test_bad_kernels.py` writes the texts anew.
"""

import ast
import os
import re
import warnings
from pathlib import Path

import pytest

from cubelane.check.compiled import compile_program
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from cubelane.report.terminal import render

FOLDER = Path(__file__).parent / "bad"
KERNELS = sorted(FOLDER.glob("*.py"))
ADVICE = re.compile(r"^# advice: (.*) -> (.*)$", re.MULTILINE)


def advice_of(text: str) -> tuple[str, str] | None:
    found = ADVICE.search(text)
    return None if found is None else (ast.literal_eval(found[1]), ast.literal_eval(found[2]))


def refused(path: Path) -> Diagnostic:
    with pytest.raises(Diagnostic) as caught:
        parse(path.read_text(encoding="utf-8"), str(path))
    return caught.value


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_broken_rule_is_told_where_and_how(path: Path) -> None:
    problem = refused(path)
    assert problem.location.line > 0 and problem.location.column > 0
    assert problem.as_json()["code"] == problem.code
    shown = render(problem).replace(str(path), path.name) + "\n"
    expected = path.with_suffix(".txt")
    if os.environ.get("CUBELANE_SNAPSHOTS") == "write":
        expected.write_text(shown, encoding="utf-8")
    assert shown == expected.read_text(encoding="utf-8")
    assert " | " in shown and "^" in shown, "the line of the user is shown"
    assert not re.search(r"Traceback|Error\b|<class|SSAValue|OpResult|xdsl", shown), "it speaks of the kernel"


ADVISED = [path for path in KERNELS if advice_of(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", ADVISED, ids=lambda path: path.stem)
def test_the_advice_compiles_and_is_equal(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    old, new = advice_of(text) or ("", "")
    problem = refused(path)
    assert problem.instead, "the diagnostic advises nothing"
    words = re.findall(r"[A-Za-z_]\w+|\d+|//|!=|`\w+`", problem.instead)
    done = any(word.strip("`") in new for word in words)
    assert done or len(new) < len(old), f"{problem.instead!r} is not what was done: {new!r}"
    body = ADVICE.sub("", text)
    assert old in body
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = parse(body.replace(old, new, 1), path.name)
    verdict = compile_program(program).judge()
    assert verdict.equal, verdict.word


def test_there_are_enough_of_them() -> None:
    rules = {path.read_text(encoding="utf-8").splitlines()[0].split()[1] for path in KERNELS}
    print(f"{len(KERNELS)} kernels, {len(ADVISED)} with advice, rules of {', '.join(sorted(rules))}")
    assert len(KERNELS) >= 60 and len(ADVISED) >= 25
    assert {rule.partition(".")[0] for rule in rules} == {"1", "2"}
