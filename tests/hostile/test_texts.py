"""Whatever the text: a program or a Diagnostic, in little time, and nothing of it is executed."""

import time

import pytest

from cubelane import language
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.text import print_pto, read_pto
from tests.pto.snippets import function, module

from .texts import ABOVE, CYCLES, EVIL, PLACES, deep, kernel


def dsl(text: str) -> str:
    """`program`, or the words of the Diagnostic."""
    try:
        program = language.parse(text, "kernel.py")
    except Diagnostic as problem:
        assert problem.as_json() and "Traceback" not in str(problem)
        return str(problem)
    assert language.parse(language.print_program(program))
    return "program"


def pto(text: str) -> str:
    """The same for PTO text."""
    try:
        program = read_pto(text, "kernel.pto")
    except Diagnostic as problem:
        assert problem.as_json() and "Traceback" not in str(problem)
        return str(problem)
    assert read_pto(print_pto(program))
    return "program"


@pytest.mark.parametrize("place", PLACES)
def test_nothing_in_a_body_is_executed(place, tmp_path):
    mark = tmp_path / "ran"
    dsl(kernel(PLACES[place].format(evil=EVIL.format(mark=str(mark)))))
    assert not mark.exists()


@pytest.mark.parametrize("place", ABOVE)
def test_nothing_above_a_kernel_is_executed(place, tmp_path):
    mark = tmp_path / "ran"
    dsl(kernel("pass", above=ABOVE[place].format(evil=EVIL.format(mark=str(mark)))))
    assert not mark.exists()


@pytest.mark.parametrize("cycle", CYCLES)
def test_cycles_end(cycle):
    name = CYCLES[cycle].split()[0]
    dsl(kernel(f"t = pl.tile.load(x, [{name}, 0], [8, 8])", above=CYCLES[cycle]))


DEEP = {
    "parentheses": ("(", ")"),
    "lists": ("[", "]"),
    "minus signs": ("-", ""),
    "nots": ("not ", ""),
    "sums": ("1 + (", ")"),
    "calls": ("pl.exp(", ")"),
    "subscripts": ("x[", "]"),
    "lambdas": ("lambda: ", ""),
    "conditions": ("1 if n else ", ""),
    "attributes": ("", ".a"),
}


@pytest.mark.parametrize("depth", [50, 400, 20_000])
@pytest.mark.parametrize("nest", DEEP)
def test_deep_expressions_end(nest, depth):
    opening, closing = DEEP[nest]
    dsl(kernel(f"i = {deep(opening, 'n', closing, depth)}"))


def test_deep_blocks_end():
    for depth in (20, 95, 300):
        lines = [" " * i + "if n > 0:" for i in range(depth)]
        dsl(kernel("\n".join([*lines, " " * depth + "pass"])))


@pytest.mark.parametrize("word", ["module {", "scf.if %no {", "(", "[", "<", "!pto.ptr<", "dense<[", "{a = ["])
@pytest.mark.parametrize("depth", [50, 3000])
def test_deep_pto_text_ends(word, depth):
    assert pto(word * depth) != "program"
    pto(module(function(f"    {word * depth}\n")))


@pytest.mark.parametrize("tail", ["", "\n", "\\", "\\q", "\v"])
def test_a_string_that_does_not_end_is_told_at_once(tail):
    start = time.perf_counter()
    assert pto('module attributes {a = "' + "long " * 2000 + tail) != "program"
    assert dsl(kernel("t = '" + "long " * 2000 + tail)) != "program"
    assert time.perf_counter() - start < 5


NUMBERS = (
    "9" * 5000,
    "-" + "9" * 5000,
    "0x" + "f" * 5000,
    "1e400",
    "-1e400",
    "1" + "0" * 50,
    "0.1" * 3,
    "1_0",
    "08",
    "1j",
)


@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_huge_and_odd_numbers(number):
    for body in (
        f"t = pl.tile.load(x, [{number}, 0], [8, 8])",
        f"t = pl.tile.full([{number}, 8], dtype=pl.FP32, value=1.0)",
        f"t = pl.tile.full([8, 8], dtype=pl.FP32, value={number})",
        f"for i in pl.range({number}):\n    pass",
        f"i = n << {number}",
        f"i = n + {number}",
        f"i = 2 ** {number}",
        f"i = 'a' * {number}",
    ):
        dsl(kernel(body))
    dsl(kernel("pass").replace("[8, 8]", f"[{number}, 8]"))
    pto(module(function(f"    %q = arith.constant {number} : i64\n")))
    pto(module(function(f"    %q = arith.constant {number} : i{number}\n")))


CHARACTERS = ("\0", "\ufeff", "\u2028", "\x0c", "\x1a", "\ud800", "\U0001f600", "é", "\t", "\v", "\\\n", "​", "٣", "ｐl")


@pytest.mark.parametrize("character", CHARACTERS, ids=[hex(ord(c[0])) for c in CHARACTERS])
def test_odd_characters_anywhere(character):
    good = kernel("t = pl.tile.load(x, [0, 0], [8, 8])")
    other = module(function("    pto.barrier #pto.pipe<PIPE_ALL>\n"))
    for position in (0, 10, 60, 150, len(good) - 12):
        dsl(good[:position] + character + good[position:])
        pto(other[:position] + character + other[position:])
    dsl(kernel(f"t = '{character}'"))
    dsl(kernel(f"v{character} = n"))


def test_line_endings_of_other_systems_change_nothing():
    good = kernel("t = pl.tile.load(x, [0, 0], [8, 8])\ny = pl.tile.store(t, [0, 0], y)")
    plain = language.print_program(language.parse(good))
    for ending in ("\r\n", "\r"):
        assert language.print_program(language.parse(good.replace("\n", ending))) == plain


def test_time_is_in_proportion_to_the_text():
    """A text of twenty times the statements takes no more than forty times as long."""

    def seconds(count: int) -> float:
        text = kernel("\n".join(["t = pl.tile.load(x, [0, 0], [8, 8])", *["t = pl.tile.neg(t)"] * count]))
        start = time.perf_counter()
        assert language.parse(text)
        return time.perf_counter() - start

    seconds(10)
    assert seconds(4000) < 40 * max(seconds(200), 0.01)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n" * 1000,
        "#",
        '"' * 3,
        "'",
        "(",
        "pl",
        "class A: pass",
        "import pypto.language as pl",
        "@",
        "\\",
        "if 1:",
    ],
)
def test_texts_without_a_kernel_are_refused(text):
    assert dsl(text) != "program"
    pto(text)
