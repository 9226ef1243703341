"""Scalars known while reading and scalars known at run time mean the same; what has no value is said at its line."""

import pytest

from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse, print_program
from tests.expand.stages import TO_VEC, finished, kernel, product, program
from tests.expand.test_projection import inputs

BODY = (
    product()
    + f"v = {TO_VEC.format('acc')}\nw1 = pl.tile.store(v, [0, 0], y)\n"
    + "i = {expression}\ns = pl.cast(i, pl.FP32)\nt1 = pl.write(t, [0, 0], s)\nreturn w1"
)


def run_time(expression, n):
    """What both executors write for an expression of n."""
    text = kernel(BODY.format(expression=expression), scratch=True)
    given = inputs(n)
    result = run_group(finished(text), given)
    assert not result.findings, result.findings[0]
    wanted = run_reference(program(text), given)
    assert float(result.outputs["t"][0, 0]) == float(wanted["t"][0, 0])
    return int(result.outputs["t"][0, 0])


@pytest.mark.parametrize("divisor", [1, 3, 4, -3, -4])
@pytest.mark.parametrize("number", [-9, -8, -1, 0, 1, 7, 8])
def test_division_and_remainder_are_those_of_python_folded_or_not(number, divisor):
    for symbol, wanted in (("%", number % divisor), ("//", number // divisor)):
        assert run_time(f"n {symbol} {divisor}", number) == wanted
        assert run_time(f"n {symbol} (n - n + {divisor})", number) == wanted
        folded = print_program(parse(kernel(BODY.format(expression=f"n + ({number} {symbol} {divisor})"))))
        assert f"= n + {wanted}" in folded


@pytest.mark.parametrize("expression", ["n // 0", "n % 0", "5 // 0", "5 % 0", "n % (2 - 2)"])
def test_division_by_a_known_zero_is_refused_where_it_stands(expression):
    text = kernel(BODY.format(expression=expression))
    with pytest.raises(Diagnostic) as refusal:
        parse(text, filename="kernel.py")
    line = text.split("\n").index(f"        i = {expression}") + 1
    assert (refusal.value.location.line, refusal.value.location.column) == (line, 13)
    assert "zero" in refusal.value.message


@pytest.mark.parametrize(("expression", "n"), [("8 // n", 0), ("8 % n", 0), ("1 << n", -1), ("8 >> n", -1)])
def test_number_without_a_value_at_run_time_is_an_error_at_the_users_line(expression, n):
    text = kernel(BODY.format(expression=expression), scratch=True)
    line = text.split("\n").index(f"        i = {expression}") + 1
    (finding, *_) = run_group(finished(text), inputs(n)).findings
    assert (finding.code, finding.location.line) == ("scalar", line)
    with pytest.raises(Diagnostic) as refusal:
        run_reference(program(text), inputs(n))
    assert (refusal.value.code, refusal.value.location.line) == ("scalar", line)
