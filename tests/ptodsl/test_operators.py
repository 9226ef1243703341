"""Operators of traced integers mean what they mean in Python, whatever the signs; unsigned types have none."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cubelane.ptodsl import pto

PAIRS = [(7, 3), (-7, 3), (7, -3), (-7, -3), (6, 3), (-6, 3), (0, 5), (1, 7)]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def run(kind: Any, array: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """combine(x[0], x[1]) and combine of the same numbers with the second one known while tracing."""
    second = int(array[1])

    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(kind, "gm"), y: pto.ptr(kind, "gm")):
        a, b = pto.load_scalar(x, 0), pto.load_scalar(x, 1)
        pto.store_scalar(combine(a, b), y, 0)
        pto.store_scalar(combine(a, second), y, 1)

    out = np.zeros(2, array.dtype)
    assert not kernel.compile().run(array, out).findings
    return out


@pytest.mark.parametrize("name", list(OPERATORS))
@pytest.mark.parametrize("kind", ["i32", "i64", "si32"])
@pytest.mark.parametrize("pair", PAIRS)
def test_signed_operators_are_those_of_python(name: str, kind: str, pair: tuple[int, int]):
    array = np.array(pair, np.int64 if kind == "i64" else np.int32)
    want = OPERATORS[name](*pair)
    assert run(getattr(pto, kind), array, OPERATORS[name]).tolist() == [want, want]


@pytest.mark.parametrize("number", [4_000_000_000, 7])
def test_unsigned_operators_have_no_sign(number: int):
    array = np.array([number, 3], np.uint32)
    for name, combine in (OPERATORS | {">>": operator.rshift}).items():
        want = combine(number, 3) % 2**32
        assert run(pto.ui32, array, combine).tolist() == [want, want], name
    assert run(pto.ui32, array, pto.maximum).tolist() == [max(number, 3)] * 2
    assert run(pto.ui32, array, pto.ceil_div).tolist() == [-(-number // 3)] * 2


def test_a_remainder_picks_a_stage_in_a_loop_that_counts_down():
    """`(first - i) % 2` goes below zero: a truncated remainder would be -1, in front of the stages."""

    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(y: pto.ptr(pto.i32, "gm"), first: pto.i32):
        for i in range(pto.const(4)):
            pto.store_scalar((first - pto.cast(i, pto.i32)) % 2, y, i)

    out = np.zeros(4, np.int32)
    assert not kernel.compile().run(out, 1).findings
    assert out.tolist() == [1, 0, 1, 0]
