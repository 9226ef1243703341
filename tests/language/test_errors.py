"""Refusals: class, line and column, the user's names, and a rewrite that is accepted; nothing of a text runs."""

from pathlib import Path

import pytest

from cubelane.analysis.equality import structurally_equal
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import errors, parse
from tests.language.kernels import in_core, round_trip

LOAD = "t = pl.load(x, [0, 0], [8, 8])\n"
JUMP = "\n    if i > 2:\n        break\n    t = pl.exp(t)"

# the mark ^ stands before the place of the refusal and is taken out of the text
PLACED: dict[str, tuple[str, type[Diagnostic], tuple[str, ...]]] = {
    "name": ("i = n + ^unknown", errors.UndefinedVariableError, ("`unknown`",)),
    "call": (LOAD + "s = ^pl.exq(t)", errors.InvalidOperationError, ("pl.exq",)),
    "statement": ("i = n\n^i += 1", errors.UnsupportedFeatureError, ("AugAssign",)),
    "reassignment": (LOAD + "^t = n", errors.ParserTypeError, ("'t'", "scalar of INDEX")),
    "condition": ("if ^n:\n    pass", errors.ParserTypeError, ("truth value",)),
    "iterator": ("for i in ^range(4):\n    pass", errors.UnsupportedFeatureError, ("iterator",)),
    "after text that is not ASCII": ("s = 'é'; i = ^unknown", errors.UndefinedVariableError, ("`unknown`",)),
    "after a line separator in a comment": ("# \u2028\ni = ^unknown", errors.UndefinedVariableError, ("`unknown`",)),
    "break: no bounds": (LOAD + "for i in ^pl.range():" + JUMP, errors.ParserSyntaxError, ("0 are given",)),
    "break: four bounds": (LOAD + "for i in ^pl.range(0, 4, 1, 9):" + JUMP, errors.ParserSyntaxError, ("4 are",)),
    "break: Python's range": (LOAD + "for i in ^range(4):" + JUMP, errors.UnsupportedFeatureError, ("iterator",)),
    "break: spmd": (LOAD + "for i in pl.spmd(4):\n    ^break", errors.InvalidOperationError, ("pl.parallel",)),
    "break: zero step": (LOAD + "for i in pl.range(4, 0, ^0):" + JUMP, errors.ParserSyntaxError, ("zero",)),
    "a tuple that changes in a loop": (
        LOAD + "p = (n, n)\n^for i in pl.range(4):\n    out = pl.store(t, [p[0], 0], out)\n    p = (p[1], n)",
        errors.UnsupportedFeatureError,
        ("`p`", "tuple"),
    ),
    "a constant from outside that changes in a loop": (
        LOAD + "^for i in pl.range(4):\n    out = pl.store(t, [N, 0], out)\n    N = n",
        errors.UndefinedVariableError,
        ("`N`", "before the loop"),
    ),
    "one carry name twice": (
        "for ^i, (c, c) in pl.range(4, init_values=(n, n)):\n    pass",
        errors.ParserSyntaxError,
        ("`c` twice",),
    ),
    "carry named as the loop variable": (
        "for ^i, (i,) in pl.range(4, init_values=(n,)):\n    pass",
        errors.ParserSyntaxError,
        ("`i` twice",),
    ),
    "starred yield": (
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    ^a, *q = pl.yield_(c)",
        errors.ParserSyntaxError,
        ("names",),
    ),
    "yield of something else": (
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    a = ^x.yield_(c)",
        errors.InvalidOperationError,
        ("x.yield_",),
    ),
    "condition of something else": (
        "for (i,) in pl.while_(init_values=(0,)):\n    ^x.cond(i < n)\n    j = pl.yield_(i)",
        errors.ParserSyntaxError,
        ("condition",),
    ),
    "keyword of min": ("i = ^min(n, 3, key=5)", errors.ParserTypeError, ("`min`", "keywords")),
    "two operands of abs": ("i = ^abs(1, 2)", errors.ParserTypeError, ("`abs`", "2 operands")),
}


@pytest.mark.parametrize(("body", "error", "words"), PLACED.values(), ids=PLACED.keys())
def test_refusal_has_class_place_and_the_names_of_the_user(
    body: str, error: type[Diagnostic], words: tuple[str, ...]
) -> None:
    marked = in_core(body, head="N = 4")
    before = marked[: marked.index("^")]
    with pytest.raises(error) as caught:
        parse(marked.replace("^", "", 1), "k.py")
    problem = caught.value
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (problem.location.file, problem.location.line, problem.location.column) == ("k.py", line, column)
    assert all(word in str(problem) for word in words), str(problem)


# what is refused, what the hint names, and the body with the hint applied
REWRITES: dict[str, tuple[str, str, str]] = {
    "augmented": ("i = n\ni += 1", "i = i + 1", "i = n\ni = i + 1"),
    "iterator": ("for i in range(4):\n    pass", "pl.range", "for i in pl.range(4):\n    pass"),
    "chained": ("if 0 < n < 4:\n    pass", "0 < n and n < 4", "if 0 < n and n < 4:\n    pass"),
    "division": ("i = n / 2", "n // 2", "i = n // 2"),
    "truth": ("if n:\n    pass", "n != 0", "if n != 0:\n    pass"),
    "conversion": ("i = n + f", "pl.cast", "i = pl.cast(n, pl.FP32) + f"),
    "stage": ("for i in pl.pipeline(4):\n    pass", "stage=2", "for i in pl.pipeline(4, stage=2):\n    pass"),
    "second type": (LOAD + "t = n", "t_2 = ...", LOAD + "t_2 = n"),
    "misspelt": ("out = pl.store(t, [0, 0], outt)", "", LOAD + "out = pl.store(t, [0, 0], out)"),
}


@pytest.mark.parametrize(("refused", "hint", "accepted"), REWRITES.values(), ids=REWRITES.keys())
def test_the_rewrite_of_a_hint_is_accepted(refused: str, hint: str, accepted: str) -> None:
    with pytest.raises(Diagnostic) as caught:
        parse(in_core(refused))
    assert hint in (caught.value.instead or "")
    round_trip(in_core(accepted))


def test_a_text_is_not_executed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    head = f"import os\nos.system('touch {trace}')\nopen({str(trace)!r}, 'w').write('x')\nV = open({str(trace)!r}, 'w')"
    parse(in_core("return out", head=head))
    assert not trace.exists()


SIZED = "import pypto.language as pl\n{}\n@pl.program\nclass P:\n    {}\n    @pl.function\n    def k(self, x: {}):\n"
SIZED += "        return x\n"
ROWS = "pl.Tensor[[N, 8], pl.FP32]"


@pytest.mark.parametrize("head", ["N = 8\nN += 8", "N = 8\nif True:\n    N = 16", "N = 4\n(N := 8)", "N = 4\ndel N"])
def test_a_constant_that_a_statement_may_have_changed_is_not_believed(head: str) -> None:
    with pytest.raises(errors.ParserTypeError, match="dimension"):
        parse(SIZED.format(head, "", ROWS))


def test_constants_have_the_value_of_the_place_of_the_kernel() -> None:
    plain = parse(SIZED.format("N = 8", "", ROWS))
    assert structurally_equal(parse(SIZED.format("N = 8", "", ROWS) + "N = 3\n"), plain) is None
    pair = SIZED.format("", "N, M = 8, 5", ROWS)
    assert structurally_equal(parse(pair), plain) is None
    free = f"import pypto.language as pl\nN = 8\n@pl.function\ndef k(x: {ROWS}):\n    return x\nN = 3\n"
    assert structurally_equal(parse(free), plain) is None


def test_an_import_of_the_language_may_stand_in_a_try() -> None:
    text = SIZED.format("N = 8", "", ROWS).removeprefix("import pypto.language as pl\n")
    parse("try:\n    import pypto.language as pl\nexcept ImportError:\n    import cubelane.language as pl\n" + text)


def test_a_break_leaves_the_names_of_the_user_alone() -> None:
    body = "i_next_1 = n\ngoing_1 = w\n" + LOAD + "for i in pl.range(8):\n    if i > 3:\n        break\n"
    body += "    out = pl.store(t, [i_next_1, 0], out)\nreturn out"
    other = body.replace("i_next_1", "first").replace("going_1", "second")
    assert structurally_equal(parse(in_core(body)), parse(in_core(other))) is None


def test_the_step_of_a_loop_with_break_is_taken_once() -> None:
    body = LOAD + "st = n\nfor i in pl.range(0, 8, {}):\n    if i > 3:\n        break\n    st = st + 1\n"
    body += "    t = pl.load(x, [st, 0], [8, 8])\nout = pl.store(t, [0, 0], out)\nreturn out"
    changing = round_trip(in_core(body.format("st")))
    assert structurally_equal(changing, parse(in_core(body.format("n")))) is None


def test_a_run_time_extent_can_have_another_name_and_change() -> None:
    body = "m = M\nwhile m > 0:\n    m = m - 8\nk: pl.Scalar[pl.INDEX] = M\nfor i in pl.range(m, k):\n    pass"
    round_trip(in_core(body, "x: pl.Tensor[[M, 8], pl.FP32]", 'M = pl.dynamic("M")'))


def test_a_memory_space_can_have_a_name() -> None:
    body = "m = pl.Mem.Mat\nt: pl.Tile[[16, 16], pl.FP32, m] = pl.load(x, [0, 0], [16, 16], target_memory=m)"
    plain = "t = pl.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)"
    assert structurally_equal(round_trip(in_core(body)), parse(in_core(plain))) is None


def test_an_inline_function_can_break_and_return_early() -> None:
    inline = "@pl.inline\ndef g(a, n):\n    for i in pl.range(n):\n        if i > 2:\n            break\n"
    inline += "        a = pl.exp(a)\n    if n > 3:\n        return pl.neg(a)\n    return a"
    round_trip(in_core(LOAD + "t = g(t, n)\nout = pl.store(t, [0, 0], out)\nreturn out", head=inline))


def test_jumps_that_multiply_the_text_are_refused() -> None:
    steps = "".join(
        f"    if n > {j}:\n        if i > {j}:\n            continue\n    t = pl.exp(t)\n" for j in range(24)
    )
    with pytest.raises(errors.UnsupportedFeatureError, match="too many"):
        parse(in_core(LOAD + "for i in pl.range(4):\n" + steps))
    returns = "".join(f"if n > {j}:\n    if w > {j}:\n        return out\nt = pl.exp(t)\n" for j in range(24))
    with pytest.raises(errors.UnsupportedFeatureError, match="too many"):
        parse(in_core(LOAD + returns + "return out"))
