"""Structural equality: equal up to names, and a difference says where."""

import re

import pytest

from cubelane.analysis.equality import structurally_equal
from cubelane.language import parse
from tests.language.kernels import in_core

BODY = """
i = n * 2 + 1
t = pl.load(x, [i, 0], [8, 8])
for j in pl.range(4):
    t = pl.exp(t)
if n > 1:
    t = pl.neg(t)
out = pl.store(t, [i, 0], out)
return out
"""

SAME = {
    "names": re.sub(r"\bt\b", "other", BODY),
    "place of a scalar": BODY.replace("[i, 0], out", "[n * 2 + 1, 0], out"),
    "unused scalar": "k = n * 5\n" + BODY,
    "constant bound to a name": "two = 2\n" + BODY.replace("n * 2", "n * two"),
    "branch that does nothing": BODY.replace("out = pl", "if n > 3:\n    pass\nelse:\n    pass\nout = pl"),
}


@pytest.mark.parametrize("name", SAME)
def test_these_are_equal(name: str) -> None:
    left = BODY.replace("out = pl", "if n > 3:\n    pass\nout = pl") if name.startswith("branch") else BODY
    assert structurally_equal(parse(in_core(left)), parse(in_core(SAME[name]))) is None


DIFFERENT = {
    "other op": ("pl.exp", "pl.abs", "statements differ"),
    "other constant": ("n * 2", "n * 3", "operand"),
    "other operand": ("[i, 0], out", "[n, 0], out", "operand"),
    "other type": ("[8, 8]", "[8, 16]", "types"),
    "one statement more": ("if n > 1", "t = pl.exp(t)\nif n > 1", "statements differ"),
    "other loop": ("pl.range(4)", "pl.parallel(4)", "state different things"),
    "other condition": ("n > 1", "n >= 1", "operand"),
    "order of a difference": ("n * 2 + 1", "1 + n * 2", "operand"),
}


@pytest.mark.parametrize(("old", "new", "reason"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_these_differ(old: str, new: str, reason: str) -> None:
    difference = structurally_equal(parse(in_core(BODY)), parse(in_core(BODY.replace(old, new, 1))))
    assert difference is not None
    assert reason in difference.reason
    assert difference.function == "k"
    assert difference.left or difference.right


def test_other_functions_differ() -> None:
    text = in_core(BODY)
    difference = structurally_equal(parse(text), parse(text.replace("def k", "def m")))
    assert difference is not None and "functions" in difference.reason
