"""Expressions: operators, promotions, literals, subscripts, calls (spec/front.md 1.7, 2.1)."""

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import errors, parse
from tests.language.kernels import in_core, opaque, ops, printed, round_trip

LOAD = "t = pl.load(x, [0, 0], [32, 64])\n"

SCALARS = {
    "add": "n + 1",
    "nothing is folded into a run-time value": "0 + n * 16",
    "literals fold": "n + (2 + 3) * 4",
    "floor division and remainder": "(n + 1) // 2 % 3",
    "shifts": "n << 1 >> 2",
    "bits": "n & 3 | n ^ 1",
    "invert": "~n",
    "minus": "-n",
    "power": "n ** 3",
    "abs": "abs(n - 8)",
    "min and max of Python": "min(n, 3) + max(n, 4, 5)",
    "min and max": "pl.min(pl.max(n, 0) - n, 8)",
    "right operand in parentheses": "n - (n - 1)",
    "left operand needs none": "n - 1 - 2",
    "product of a sum": "(n + 1) * 2",
    "cast": "pl.cast(w, pl.INDEX) + n",
    "mixed integers": "w + n",
    "typed constant": "pl.const(2, pl.INDEX) + pl.const(3, pl.INDEX)",
    "choice": "n if n > 3 else 3",
    "nested choice": "(n if b else 1) + 1",
    "function style": "pl.add(n, 1)",
    "tuple item": "(n, n + 1)[1]",
    "dtype size": "n * pl.FP16.get_byte()",
    "narrow cast": "pl.cast(pl.cast(n, pl.INT8), pl.INDEX)",
    "from a float": "pl.cast(f, pl.INDEX)",
    "float to unsigned": "pl.cast(pl.cast(f, pl.UINT8), pl.INDEX)",
}


@pytest.mark.parametrize("expression", SCALARS.values(), ids=SCALARS.keys())
def test_scalar_expression_comes_back(expression: str) -> None:
    round_trip(in_core(f"i = {expression}\n{LOAD}out = pl.store(t, [i, 0], out)\nreturn out"))


@pytest.mark.parametrize(
    "expression",
    ["u + 1", "u // 3 % 2", "u >> 1", "pl.min(u, 7)", "pl.cast(u, pl.UINT64) + 1", "u * u - u", "~u", "u ^ 5"],
)
def test_unsigned_arithmetic_comes_back(expression: str) -> None:
    round_trip(
        in_core(f"i = pl.cast({expression}, pl.INDEX)\nif u > 2:\n    pass\n{LOAD}out = pl.store(t, [i, 0], out)")
    )


@pytest.mark.parametrize(
    "condition",
    [
        "n > 1 and n < 8 or n == 9",
        "not n > 1",
        "not (n > 1 and b)",
        "b",
        "f > 0.5",
        "f != 2",
        "w == 0",
        "b & (n >= 2)",
        "b ^ True",
        "(n > 1) == b",
        "u <= 3",
        "n % 2 == 0",
    ],
)
def test_condition_comes_back(condition: str) -> None:
    round_trip(in_core(f"{LOAD}if {condition}:\n    t = pl.exp(t)\nout = pl.store(t, [0, 0], out)\nreturn out"))


def test_the_printed_text_has_the_operators_of_the_source() -> None:
    lines = printed(LOAD + "out = pl.store(t, [0 + n * 16, (n + 1) % 2], out)\nreturn out")
    assert "pl.tile.store(t, [0 + n * 16, (n + 1) % 2], out)" in lines[1]


REFUSED: dict[str, tuple[str, type[Diagnostic], str]] = {
    "name": ("i = unknown", errors.UndefinedVariableError, "unknown"),
    "misspelt name": ("i = nn", errors.UndefinedVariableError, "not defined"),
    "operation": ("t = pl.exq(x)", errors.InvalidOperationError, "pl.exq"),
    "tile operation": ("t = pl.tile.lode(x, [0, 0], [8, 8])", errors.InvalidOperationError, "lode"),
    "constant of the language": ("i = pl.FP33", errors.UndefinedVariableError, "FP33"),
    "integer division": ("i = n / 2", errors.UnsupportedFeatureError, "//"),
    "float floor division": ("i = f // 2.0", errors.UnsupportedFeatureError, "f / 2.0"),
    "int and float": ("i = n + f", errors.ParserTypeError, "nothing is converted"),
    "int and truth": ("i = n + b", errors.ParserTypeError, "does not fit"),
    "sum of truths": ("i = b + b", errors.ParserTypeError, "truth values"),
    "and of numbers": ("if n and b:\n    pass", errors.ParserTypeError, "truth value"),
    "chained": ("if 0 < n < 4:\n    pass", errors.ParserSyntaxError, "chained"),
    "is": ("if n is w:\n    pass", errors.UnsupportedFeatureError, "Is"),
    "division by zero": ("i = 1 // 0", errors.ParserSyntaxError, "cannot be computed"),
    "huge power": ("i = 9 ** 9 ** 9", errors.ParserSyntaxError, "cannot be computed"),
    "run-time power": ("i = n ** n", errors.UnsupportedFeatureError, "exponent"),
    "lambda": ("i = (lambda: 1)()", errors.InvalidOperationError, "called"),
    "comprehension": ("i = [j for j in x]", errors.UnsupportedFeatureError, "ListComp"),
    "f-string": ("i = f'{n}'", errors.UnsupportedFeatureError, "JoinedStr"),
    "dict": ("i = {}", errors.UnsupportedFeatureError, "Dict"),
    "walrus": ("i = (j := 1)", errors.UnsupportedFeatureError, "NamedExpr"),
    "bytes": ("i = b'x'", errors.UnsupportedFeatureError, "bytes"),
    "star in a call": ("t = pl.load(*x)", errors.InvalidOperationError, "*"),
    "attribute": ("i = x.shape", errors.UnsupportedFeatureError, "attribute"),
    "method": ("i = x.sum()", errors.InvalidOperationError, "called"),
    "too many": (LOAD + "s = pl.exp(t, t, t)", errors.InvalidOperationError, "at most"),
    "missing": (LOAD + "s = pl.tile.add(t)", errors.InvalidOperationError, "`rhs`"),
    "keyword": (LOAD + "s = pl.exp(t, speed=1)", errors.InvalidOperationError, "speed"),
    "twice": (LOAD + "s = pl.exp(t, tile=t)", errors.InvalidOperationError, "twice"),
    "tile reduction without scratch": (LOAD + "s = pl.row_max(t)", errors.InvalidOperationError, "scratch"),
    "run-time shape": ("t = pl.load(x, [0, 0], [n, 64])", errors.ParserTypeError, "known while"),
    "shape is no list": ("t = pl.load(x, [0, 0], 64)", errors.ParserTypeError, "list"),
    "offset is a float": ("t = pl.load(x, [0.5, 0], [8, 8])", errors.ParserTypeError, "index"),
    "space": ("t = pl.load(x, [0, 0], [8, 8], target_memory=3)", errors.ParserTypeError, "memory space"),
    "load into Acc": (
        "t = pl.load(x, [0, 0], [8, 8], target_memory=pl.Mem.Acc)",
        errors.InvalidOperationError,
        "Vec or Mat",
    ),
    "shapes do not fit": (LOAD + "s = pl.add(t, pl.slice(t, [8, 8], [0, 0]))", errors.InvalidOperationError, "fit"),
    "same type cast": (LOAD + "s = pl.cast(t, pl.FP32)", errors.InvalidOperationError, "already"),
    "index with a tile": (LOAD + "s = pl.mul(t, n)", errors.ParserTypeError, "index"),
    "pop without a type": ("s = pl.tile.tpop_from_aic(split=1)", errors.ParserTypeError, "pl.Tile"),
    "literal out of range": ("i = pl.const(300, pl.INT8)\nj = i + 1", errors.ParserTypeError, "300"),
    "matmul of two dtypes": (
        LOAD + "s = pl.tile.matmul(t, pl.cast(t, pl.FP16))",
        errors.InvalidOperationError,
        "element type",
    ),
    "const of a name": ("i = pl.const(n, pl.INT32)", errors.InvalidOperationError, "pl.const"),
}


@pytest.mark.parametrize(("body", "error", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_expression_is_refused_where_it_stands(body: str, error: type[Diagnostic], word: str) -> None:
    with pytest.raises(error) as caught:
        parse(in_core(body), "k.py")
    assert word in str(caught.value)
    assert caught.value.location.line > 0


SUBSCRIPTS: dict[str, tuple[str, list[str]]] = {
    "element": ("v = x[n, 3]", ["gm.read"]),
    "window": ("v = x[n * 8 : n * 8 + 8, :]", ["gm.slice"]),
    "window of shifted bounds": ("v = x[n + 8 : n + 24, 0:16]", ["gm.slice"]),
    "row": ("v = x[n, :]", ["gm.slice"]),
    "fewer indices": ("v = x[4:8]", ["gm.slice"]),
    "open end": ("v = x[8:, :32]", ["gm.slice"]),
    "store of a window": ("out[8:16, :] = x[0:8, :]", ["gm.slice", "gm.assemble"]),
    "store of all": ("out[:] = x", ["gm.assemble"]),
    "store of an element": ("out[n, 3] = f", ["gm.write"]),
    "store of a row": ("out[n, :] = x[0, :]", ["gm.slice", "gm.reshape", "gm.assemble"]),
}


@pytest.mark.parametrize(("body", "names"), SUBSCRIPTS.values(), ids=SUBSCRIPTS.keys())
def test_subscript_becomes_ops(body: str, names: list[str]) -> None:
    module = round_trip(opaque(body))
    assert [op.name for op in module.walk() if op.name.startswith("gm.")] == names


def test_a_dropped_axis_disappears() -> None:
    (window,) = ops(parse(opaque("v = x[n, 8:16]")), "gm.slice")
    assert "gm.tensor<8xf32>" in str(window.results[0].type)


@pytest.mark.parametrize(
    ("body", "error", "word"),
    [
        ("v = x[-1, 0]", errors.ParserSyntaxError, "negative"),
        ("v = x[0:8:2, :]", errors.UnsupportedFeatureError, "step"),
        ("v = x[..., 0]", errors.ParserTypeError, "..."),
        ("v = x[0, 0, 0]", errors.ParserTypeError, "3 indices"),
        ("v = x[n:w, :]", errors.ParserTypeError, "size of this window"),
        ("v = x[8:4, :]", errors.ParserTypeError, "-4 elements"),
        ("v = x[0:40, :]", errors.ParserTypeError, "ends at 40"),
        ("v = n[0]", errors.ParserTypeError, "indexed"),
        ("v = (n, n)[2]", errors.ParserSyntaxError, "no item 2"),
    ],
)
def test_subscript_is_refused(body: str, error: type[Diagnostic], word: str) -> None:
    with pytest.raises(error) as caught:
        parse(opaque(body))
    assert word in str(caught.value)


SHAPED: dict[str, tuple[str, list[str]]] = {
    "sum": ("t + t", ["tile.add"]),
    "difference": ("t - t", ["tile.sub"]),
    "scalar on the right": ("t * 2", ["tile.muls"]),
    "scalar on the left": ("2.0 * t", ["tile.muls"]),
    "scalar minus tile": ("1.0 - t", ["tile.neg", "tile.adds"]),
    "scalar by tile": ("1.0 / t", ["tile.recip", "tile.muls"]),
    "minus": ("-t", ["tile.neg"]),
    "power": ("t ** 3", ["tile.mul", "tile.mul"]),
    "root": ("t ** 0.5", ["tile.sqrt"]),
    "abs": ("abs(t)", ["tile.abs"]),
    "max with a number": ("max(t, 0.0)", ["tile.maximums"]),
    "min of tiles": ("min(t, t)", ["tile.minimum"]),
    "unified": ("pl.add(t, 1)", ["tile.adds"]),
    "maximum with a number": ("pl.maximum(t, 0.5)", ["tile.maximums"]),
    "run-time float": ("t * f", ["tile.muls"]),
}


@pytest.mark.parametrize(("expression", "names"), SHAPED.values(), ids=SHAPED.keys())
def test_python_operators_work_on_tiles(expression: str, names: list[str]) -> None:
    module = round_trip(in_core(LOAD + f"r = {expression}\nout = pl.store(r, [0, 0], out)\nreturn out"))
    found = [op.name for op in module.walk() if op.name.startswith("tile.")]
    assert found == ["tile.load", *names, "tile.store"]


def test_a_literal_adopts_the_element_type_of_the_tile() -> None:
    body = LOAD + "h = pl.cast(t, pl.BF16)\nr = pl.mul(h, 0.5)\nk = pl.cast(t, pl.INT32)\nq = pl.add(k, 1)"
    module = round_trip(in_core(body))
    assert str(ops(module, "tile.muls")[0].operands[1].type) == "bf16"
    assert str(ops(module, "tile.adds")[0].operands[1].type) == "i32"


def test_full_makes_a_tensor_and_tile_full_a_tile() -> None:
    module = round_trip(
        in_core("a = pl.full([8, 8], dtype=pl.FP32, value=0)\nc = pl.tile.full([8, 8], dtype=pl.FP32, value=-1e30)")
    )
    assert ops(module, "gm.full") and ops(module, "tile.full")


def test_run_time_extents_of_a_pop_are_operands() -> None:
    body = """
v: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[pl.min(n, 16), 64])] = pl.tile.tpop_from_aic(split=1)
out = pl.store(v, [0, 0], out)
pl.system.tfree_to_aic(v)
"""
    module = round_trip(in_core(body))
    (pop,) = ops(module, "tile.tpop_from_aic")
    assert len(pop.operands) == 1
    assert "valid_shape=[pl.min(n, 16), 64]" in printed(body)[0]


def test_a_valid_extent_that_says_no_more_than_the_box_is_left_out() -> None:
    module = parse(in_core("t = pl.load(x, [0, 0], [16, 64], [16, 64])\ns = pl.load(x, [0, 0], [16, 64], [5, None])"))
    whole, part = ops(module, "tile.load")
    assert len(whole.operands) == 3 and len(part.operands) == 5
