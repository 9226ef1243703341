"""`@pl.jit`: types from the arguments of a call; running it gives what the oracle gives, in the caller's arrays."""

import inspect
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cubelane.language as pl
from cubelane.check.execute import run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import errors, parse
from tests.cli.conftest import JUDGE, run  # noqa: F401 - a fixture

M = pl.dynamic("M")


@pl.jit.inline
def half(x):
    return pl.mul(x, 0.5)


@pl.jit.incore
def scaled(a: pl.Tensor, o: pl.Out[pl.Tensor], factor=2.0):
    t = pl.load(a, [0, 0], [32, 32])
    return pl.store(half(pl.mul(t, factor)), [0, 0], o)


@pl.jit
def linear(a, w: pl.Tensor, gain=3, *, bias: pl.Tensor, out: pl.Out):
    """A product, a gain, a bias."""
    with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
        y = pl.matmul(a, w, out_dtype=pl.FP32)
        out[:] = pl.add(pl.mul(y, gain * 1.0), bias)
    return out


@pl.jit(target="a5")
def twice(a, first: pl.Out[pl.Tensor], second: pl.Out[pl.Tensor]):
    first = scaled(a, first)
    second = scaled(first, second, 6.0)
    return first, second


@pl.jit
def fresh(a):
    with pl.at(level=pl.Level.CORE_GROUP):
        y = pl.exp(a)
    return y


@pl.jit
def added(total: pl.InOut[pl.Tensor], step: pl.Tensor, rate: pl.Scalar):
    with pl.at(level=pl.Level.CORE_GROUP):
        total[:] = pl.add(total, pl.mul(step, pl.cast(rate, pl.FP32)))


@pl.jit
def rows(x: pl.Tensor[[M, 32], pl.FP32], o: pl.Out[pl.Tensor[[M, 32], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        for i in pl.range(M // 16):
            o[i * 16 : i * 16 + 16, :] = pl.neg(x[i * 16 : i * 16 + 16, :])
    return o


def coded(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    i = np.indices(shape)
    return ((3 * i[0] + i[-1]) % 7 - 3).astype(dtype)


def marked(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    return np.full(shape, -77, dtype)


A, W = coded((32, 64), np.float16), coded((64, 16), np.float16)
BIAS = coded((32, 16))


def test_a_call_is_equal_to_the_oracle_and_writes_the_array_of_the_caller() -> None:
    out = marked((32, 16))
    result = linear(A, W, bias=BIAS, out=out)
    assert result is out
    given = {"a": A, "w": W, "bias": BIAS, "out": marked((32, 16))}
    oracle = run_reference(linear.specialize(A, W, bias=BIAS, out=out), given)
    np.testing.assert_array_equal(out, oracle["out"])
    np.testing.assert_array_equal(out, 3 * (A.astype(np.float32) @ W.astype(np.float32)) + BIAS)


def test_defaults_and_constants_make_specializations_of_their_own() -> None:
    out = marked((32, 16))
    linear(A, W, 5, bias=BIAS, out=out)
    np.testing.assert_array_equal(out, 5 * (A.astype(np.float32) @ W.astype(np.float32)) + BIAS)
    first = linear.compile(A, W, 5, bias=BIAS, out=out)
    assert linear.compile(A + 1, W, gain=5, bias=BIAS, out=out.copy()) is first
    assert linear.compile(A, W, 6, bias=BIAS, out=out) is not first
    assert linear.compile(A[:16], W, 5, bias=BIAS[:16], out=out[:16]) is not first


def test_functions_without_types_call_each_other() -> None:
    a, first, second = coded((32, 32)), marked((32, 32)), marked((32, 32))
    result = twice(a, first, second)
    assert result[0] is first and result[1] is second
    np.testing.assert_array_equal(first, a)
    np.testing.assert_array_equal(second, 3 * a)
    compiled = twice.compile(a, first, second)
    assert compiled.target == "a5"
    names = [f for f in twice.specialize(a, first, second).functions]
    assert names == ["scaled", "scaled_1", "twice"]


def test_a_result_that_is_no_parameter_is_a_new_array() -> None:
    a = coded((16, 16))
    np.testing.assert_allclose(fresh(a), np.exp(a), rtol=1e-6)


def test_an_inout_array_and_a_scalar_of_the_run() -> None:
    total, step = coded((16, 32)), np.ones((16, 32), np.float32)
    before = total.copy()
    assert added(total, step, 2) is None
    np.testing.assert_array_equal(total, before + 2)
    compiled = added.compile(total, step, 2)
    assert added.compile(total, step, 7) is compiled
    added(total, step, 7)
    np.testing.assert_array_equal(total, before + 9)


def test_a_dynamic_extent_needs_one_specialization_for_all_sizes() -> None:
    for size in (16, 48):
        x, o = coded((size, 32)), marked((size, 32))
        rows(x, o)
        np.testing.assert_array_equal(o, -x)
    assert rows.compile(coded((16, 32)), marked((16, 32))) is rows.compile(coded((80, 32)), marked((80, 32)))
    with pytest.raises(errors.ParserTypeError, match=r"`o` of `rows`.*array \[32, 32\]"):
        rows(coded((16, 32)), marked((32, 32)))


def test_lower_gives_the_program_after_all_passes() -> None:
    text = linear.lower(A, W, bias=BIAS, out=marked((32, 16))).as_python()
    assert "tpush_to_aiv" in text and "tpop_from_aic" in text
    parse(text)


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "bfloat16", "float8_e4m3fn"])
def test_element_types_of_arrays(dtype: str) -> None:
    array = np.zeros((16, 32), np.dtype(getattr(ml_dtypes, dtype, dtype)))
    word = {"bfloat16": "BF16", "float16": "FP16", "float8_e4m3fn": "FP8E4M3FN"}.get(dtype, dtype.upper())
    assert f"a: pl.Tensor[[16, 32], pl.{word}]" in copied.specialize(array, array).as_python()


@pl.jit
def copied(a, o: pl.Out):
    with pl.at(level=pl.Level.CORE_GROUP):
        o[:] = a
    return o


class Foreign:
    """An array of another library: it shows its memory, and nothing else."""

    def __init__(self, data: np.ndarray):
        self.data = data
        self.shape, self.dtype = data.shape, data.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.data if not copy else self.data.copy()


class Exchanged:
    """An array that speaks DLPack only."""

    def __init__(self, data: np.ndarray):
        self.data = data

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.data.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.data.__dlpack_device__()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[key] = value


class Copied(Foreign):
    """Shows a copy of its memory: what is written there is lost."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.data.copy()


@pytest.mark.parametrize("kind", [Foreign, Exchanged])
def test_arrays_of_other_libraries(kind: type) -> None:
    a, out = kind(coded((16, 32))), kind(marked((16, 32)))
    assert copied(a, out) is out
    np.testing.assert_array_equal(out.data, a.data)


def test_an_array_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(Diagnostic, match="`o` of `copied` cannot be written to"):
        copied(coded((16, 32)), Copied(marked((16, 32))))


@pl.jit
def starred(*a):
    return a


@pl.jit(target="a9")
def elsewhere(a, o: pl.Out):
    with pl.at(level=pl.Level.CORE_GROUP):
        o[:] = a
    return o


WRONG: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], str, str]] = {
    "a list": (linear, ([1, 2], W), {"bias": BIAS, "out": BIAS}, "a", "`a` of `linear` is a list"),
    "a string": (linear, (A, "w"), {"bias": BIAS, "out": BIAS}, "w", "`w` of `linear` is a str"),
    "None": (linear, (A, W), {"bias": None, "out": BIAS}, "bias", "`bias` of `linear` is None"),
    "complex": (copied, (np.zeros((4, 4), complex), BIAS), {}, "a", "an array of complex128"),
    "too few": (linear, (A,), {}, "linear", "missing a required argument: 'w'"),
    "too many": (copied, (A, A, A), {}, "copied", "too many positional arguments"),
    "unknown keyword": (copied, (A, A), {"c": 1}, "copied", "unexpected keyword argument 'c'"),
    "another extent": (rows, (coded((16, 31)), coded((16, 32))), {}, "x", "the argument is an array [16, 31]"),
    "another element type": (rows, (A[:16, :32], coded((16, 32))), {}, "x", "array [16, 32] of FP16"),
    "a number for a tensor": (rows, (3, coded((16, 32))), {}, "x", "`x` of `rows` is a int"),
    "star": (starred, (A,), {}, "a", "cannot be given a type"),
    "target": (elsewhere, (A, A), {}, "elsewhere", "unknown target 'a9'"),
}


@pytest.mark.parametrize(("kernel", "arguments", "keywords", "at", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument_is_named_at_its_parameter(
    kernel: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], at: str, words: str
) -> None:
    with pytest.raises(Diagnostic) as caught:
        kernel(*arguments, **keywords)
    problem = caught.value
    assert words in problem.message
    assert problem.location.file == __file__
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[problem.location.line - 1]
    assert line[problem.location.column - 1 :].startswith((at, f"def {at}", f"*{at}")), line


FILE = """
import pypto.language as pl
import numpy as np


@pl.jit
def scale(x, w, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
        out[:] = pl.mul(pl.matmul(x, w, out_dtype=pl.FP32), 2.0)
    return out
"""


def test_a_file_with_a_jit_kernel_takes_its_types_from_its_inputs(tmp_path: Path, run: Any) -> None:  # noqa: F811
    path = tmp_path / "scale.py"
    path.write_text(FILE + JUDGE, encoding="utf-8")
    code, out, _ = run("compile", path, "--no-timing")
    assert code == 0 and "equal" in out
    path.write_text(FILE, encoding="utf-8")
    code, _, err = run("compile", path, "--no-timing")
    assert code == 1
    assert "scale.py:7:1" in err and "define inputs()" in err


def test_a_function_of_the_host_is_refused_by_name() -> None:
    with pytest.raises(errors.UnsupportedFeatureError, match=r"pl\.jit\.host") as caught:

        @pl.jit.host
        def main(a):
            return a

    assert caught.value.instead == "@pl.jit"


def test_a_kernel_shows_its_name_and_documentation() -> None:
    assert linear.__name__ == "linear"
    assert inspect.getdoc(linear) == "A product, a gain, a bias."
