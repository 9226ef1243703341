"""Statements: each form that is accepted, each rule that refuses (spec/front.md 1.5)."""

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import LOOP, STAGE
from cubelane.language import errors, parse
from tests.language.kernels import in_core, opaque, ops, round_trip, statements

LOAD = "t = pl.load(x, [0, 0], [32, 64])\n"
END = "out = pl.store(t, [0, 0], out)\nreturn out"

ACCEPTED = {
    "annotated assignment": "t: pl.Tile[[32, 64], pl.FP32, pl.Mem.Vec] = pl.load(x, [0, 0], [32, 64])",
    "string annotation imposes nothing": 't: "whatever" = pl.load(x, [0, 0], [32, 64])',
    "reassignment": LOAD + "t = pl.exp(t)",
    "tuple assignment": "a, c = n + 1, n + 2\n" + LOAD,
    "subscript store": "out[0:32, :] = x",
    "subscript store of a row": "out[n, :] = pl.reshape(pl.slice(x, [1, 64], [n, 0]), [64])",
    "if without else": LOAD + "if n > 1:\n    t = pl.exp(t)",
    "if with yields": LOAD + "if n > 1:\n    r = pl.yield_(t)\nelse:\n    e = pl.exp(t)\n    r = pl.yield_(e)\nt = r",
    "elif": LOAD + "if n > 1:\n    t = pl.exp(t)\nelif n > 0:\n    t = pl.neg(t)\nelse:\n    t = pl.abs(t)",
    "natural while": LOAD + "i = n\nwhile i > 0:\n    t = pl.exp(t)\n    i = i - 1",
    "explicit while": LOAD
    + "for (i, c) in pl.while_(init_values=(0, t)):\n    pl.cond(i < n)\n    d = pl.exp(c)\n"
    + "    i2, t = pl.yield_(i + 1, d)",
    "for with carries": LOAD + "for i, (c,) in pl.range(4, init_values=(t,)):\n    d = pl.exp(c)\n    t = pl.yield_(d)",
    "for with a list of carries": LOAD
    + "for i, (c,) in pl.range(4, init_values=[t]):\n    d = pl.exp(c)\n    t = pl.yield_(d)",
    "plain for": LOAD + "for i in pl.range(1, n, 2):\n    t = pl.exp(t)",
    "parallel": LOAD + "for i in pl.parallel(4):\n    s = pl.exp(t)",
    "unroll": LOAD + "for i in pl.unroll(4):\n    t = pl.exp(t)",
    "pipeline": LOAD + "for i in pl.pipeline(4, stage=2, attrs={'overlap': False}):\n    t = pl.exp(t)",
    "carries without a yield": LOAD + "for i, (c,) in pl.range(4, init_values=(t,)):\n    c = pl.exp(c)",
    "static_print": LOAD + "pl.static_print('shape', t)",
    "static_assert": LOAD + "pl.static_assert(32 * 2 == 64, 'sizes')",
    "pass": LOAD + "if n > 0:\n    pass",
    "comment and string": LOAD + "# a comment\n'a string'",
    "continue": LOAD + "for i in pl.range(4):\n    if i == n:\n        continue\n    t = pl.exp(t)",
    "break": LOAD + "for i in pl.range(4):\n    if i == n:\n        break\n    t = pl.exp(t)",
    "break in while": LOAD + "i = n\nwhile i > 0:\n    i = i - 1\n    if i == 3:\n        break\n    t = pl.exp(t)",
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_statement_is_read_and_comes_back_from_print(body: str) -> None:
    tail = END if "t = " in body or "t: " in body else "return out"
    make = opaque if "out[" in body else in_core
    round_trip(make(f"{body}\n{tail}"))


REFUSED: dict[str, tuple[str, type[Diagnostic], str]] = {
    "augmented": ("i = n\ni += 1", errors.UnsupportedFeatureError, "AugAssign"),
    "del": ("i = n\ndel i", errors.UnsupportedFeatureError, "Delete"),
    "try": ("try:\n    pass\nfinally:\n    pass", errors.UnsupportedFeatureError, "Try"),
    "nested def": ("def g():\n    pass", errors.UnsupportedFeatureError, "FunctionDef"),
    "import": ("import os", errors.UnsupportedFeatureError, "Import"),
    "two targets": ("i = j = n", errors.UnsupportedFeatureError, "targets"),
    "annotated subscript": ("x[0]: pl.Scalar[pl.INDEX] = n", errors.ParserSyntaxError, "name"),
    "annotation alone": ("i: pl.Scalar[pl.INDEX]", errors.ParserSyntaxError, "value"),
    "bare dtype": ("i: pl.INDEX = n", errors.ParserTypeError, "Incomplete type annotation"),
    "wrong annotation": (LOAD + "s: pl.Tile[[16, 64], pl.FP32] = pl.exp(t)", errors.ParserTypeError, "annotated"),
    "wrong dtype": (LOAD + "s: pl.Tile[[32, 64], pl.FP16] = pl.exp(t)", errors.ParserTypeError, "annotated"),
    "second type": (LOAD + "t = n", errors.ParserTypeError, "Cannot reassign 't' with a different type"),
    "count": ("a, c = n, n, n", errors.ParserSyntaxError, "3 values"),
    "unpack": ("a, c = n", errors.ParserTypeError, "unpacked"),
    "store into a call": ("pl.exp(x)[0:1, :] = x", errors.ParserSyntaxError, "named variable"),
    "store of another size": ("out[0:16, :] = x", errors.ParserTypeError, "window"),
    "store of a tile": (LOAD + "out[:, :] = t", errors.ParserTypeError, "cannot take"),
    "number as condition": ("if n:\n    pass", errors.ParserTypeError, "truth value"),
    "tile as condition": (LOAD + "if t:\n    pass", errors.ParserTypeError, "truth value"),
    "one arm yields": (LOAD + "if n > 0:\n    r = pl.yield_(t)", errors.ParserSyntaxError, "other one does not"),
    "arms yield other names": (
        LOAD + "if n > 0:\n    r = pl.yield_(t)\nelse:\n    s = pl.yield_(t)",
        errors.ParserSyntaxError,
        "arms yield",
    ),
    "one arm only": ("if n > 0:\n    i = n\nj = i", errors.UndefinedVariableError, "one arm"),
    "in a loop only": ("for i in pl.range(4):\n    j = i\nk = j", errors.UndefinedVariableError, "inside a loop"),
    "python range": ("for i in range(4):\n    pass", errors.UnsupportedFeatureError, "iterator"),
    "no bounds": ("for i in pl.range():\n    pass", errors.ParserSyntaxError, "bounds"),
    "zero step": ("for i in pl.range(0, 4, 0):\n    pass", errors.ParserSyntaxError, "step"),
    "loop keyword": ("for i in pl.range(4, chunk=2):\n    pass", errors.ParserSyntaxError, "chunk"),
    "stage of a range": ("for i in pl.range(4, stage=2):\n    pass", errors.ParserSyntaxError, "stage"),
    "pipeline without stage": ("for i in pl.pipeline(4):\n    pass", errors.ParserSyntaxError, "stage"),
    "stage zero": ("for i in pl.pipeline(4, stage=0):\n    pass", errors.ParserSyntaxError, "at least 1"),
    "unroll of a run-time bound": ("for i in pl.unroll(n):\n    pass", errors.ParserSyntaxError, "constant bounds"),
    "carries without names": ("for i in pl.range(4, init_values=(n,)):\n    pass", errors.ParserSyntaxError, "names"),
    "names without carries": ("for i, (c,) in pl.range(4):\n    pass", errors.ParserSyntaxError, "init_values"),
    "carry count": (
        "for i, (c, d) in pl.range(4, init_values=(n,)):\n    pass",
        errors.ParserSyntaxError,
        "1 initial values for 2",
    ),
    "bare yield": (
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    pl.yield_(c)",
        errors.ParserSyntaxError,
        "assigned to a name",
    ),
    "yield count": (
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    a, d = pl.yield_(c, c)",
        errors.ParserSyntaxError,
        "carries 1",
    ),
    "yield without carries": ("for i in pl.range(4):\n    a = pl.yield_(n)", errors.ParserSyntaxError, "init_values"),
    "yield outside": ("a = pl.yield_(n)", errors.ParserSyntaxError, "belongs into"),
    "yield of another type": (
        LOAD
        + "for i, (c,) in pl.range(4, init_values=(t,)):\n    d = pl.slice(c, [16, 64], [0, 0])\n    e = pl.yield_(d)",
        errors.ParserTypeError,
        "on one way",
    ),
    "header name after the loop": (
        "for i, (c,) in pl.range(4, init_values=(n,)):\n    d = pl.yield_(c + 1)\ne = c",
        errors.UndefinedVariableError,
        "`c`",
    ),
    "while_ without cond": (
        "for (i,) in pl.while_(init_values=(0,)):\n    j = pl.yield_(i)",
        errors.ParserSyntaxError,
        "condition",
    ),
    "while_ with a bound": (
        "for (i,) in pl.while_(4, init_values=(0,)):\n    pl.cond(i < n)",
        errors.ParserSyntaxError,
        "init_values",
    ),
    "while_ without values": ("for i in pl.while_():\n    pl.cond(i < n)", errors.ParserSyntaxError, "init_values"),
    "cond elsewhere": ("pl.cond(n > 0)", errors.InvalidOperationError, "cond"),
    "break in parallel": ("for i in pl.parallel(4):\n    break", errors.InvalidOperationError, "parallel"),
    "continue in unroll": ("for i in pl.unroll(4):\n    continue", errors.InvalidOperationError, "unroll"),
    "break in a region": (
        "for i in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n    break",
        errors.InvalidOperationError,
        "split_aiv",
    ),
    "for else": ("for i in pl.range(4):\n    pass\nelse:\n    pass", errors.UnsupportedFeatureError, "else"),
    "return in a loop": ("for i in pl.range(4):\n    return out", errors.UnsupportedFeatureError, "return"),
    "after a return": ("return out\ni = n", errors.ParserSyntaxError, "return"),
    "no effect": ("n + 1", errors.ParserSyntaxError, "no effect"),
    "result of a call without one": ("s = pl.tile.tpush_to_aic(t, split=0)", errors.UndefinedVariableError, "`t`"),
    "static_assert": ("pl.static_assert(1 == 2, 'never')", errors.ParserError, "never"),
    "static_assert of a run-time value": ("pl.static_assert(n == 2)", errors.InvalidOperationError, "constant"),
    "late func_attr": ("i = n\npl.func_attr({'slot_num': 2})", errors.ParserSyntaxError, "first"),
}


@pytest.mark.parametrize(("body", "error", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_statement_is_refused_where_it_stands(body: str, error: type[Diagnostic], word: str) -> None:
    text = in_core(body)
    with pytest.raises(error) as caught:
        parse(text, "k.py")
    problem = caught.value
    assert word in str(problem)
    assert problem.location.file == "k.py"
    assert 0 < problem.location.line <= len(text.splitlines())
    line = text.splitlines()[problem.location.line - 1]
    assert 1 <= problem.location.column <= len(line) + 1


def test_second_assignment_is_refused_under_strict_ssa() -> None:
    text = in_core(LOAD + "t = pl.exp(t)").replace("@pl.program", "@pl.program(strict_ssa=True)")
    with pytest.raises(errors.SSAViolationError, match="twice"):
        parse(text)


def test_a_carried_name_becomes_a_carry_and_a_local_one_does_not() -> None:
    module = parse(in_core(LOAD + "for i in pl.range(4):\n    s = pl.exp(t)\n    t = pl.add(s, t)\n" + END))
    (loop,) = ops(module, "scf.for")
    assert len(loop.results) == 1
    assert loop.results[0].name_hint == "t"


def test_a_name_that_is_rebound_before_every_read_is_no_carry() -> None:
    body = LOAD + "s = pl.exp(t)\nfor i in pl.range(4):\n    s = pl.neg(t)\n    t = pl.add(s, t)\n" + END
    (loop,) = ops(parse(in_core(body)), "scf.for")
    assert [r.name_hint for r in loop.results] == ["t"]


def test_an_if_gives_only_what_is_read_later() -> None:
    body = LOAD + "if n > 0:\n    s = pl.exp(t)\n    t = s\nelse:\n    s = pl.neg(t)\n" + END
    (branch,) = ops(parse(in_core(body)), "scf.if")
    assert [r.name_hint for r in branch.results] == ["t"]


def test_a_store_guarded_by_an_if_leaves_the_parameter() -> None:
    body = LOAD + "if n > 0:\n    o = pl.store(t, [0, 0], out)\nreturn o"
    module = round_trip(in_core(body))
    returned = ops(module, "func.return")[0].operands[0]
    assert returned.name_hint == "out"


def test_a_loop_keeps_its_flavour() -> None:
    module = parse(in_core(ACCEPTED["pipeline"] + "\n" + END))
    (loop,) = ops(module, "scf.for")
    assert "pipeline" in str(loop.attributes[LOOP])
    assert "2" in str(loop.attributes[STAGE])
    assert "kernel.overlap" in loop.attributes


def test_early_returns_become_one() -> None:
    module = round_trip(in_core(LOAD + "if n > 0:\n    return out\nt = pl.exp(t)\n" + END))
    assert len(ops(module, "func.return")) == 1
    assert "scf.if" in statements(module)


def test_every_op_has_the_place_of_its_call() -> None:
    module = parse(in_core(LOAD + END), "k.py")
    (load,) = ops(module, "tile.load")
    line = in_core(LOAD + END).splitlines().index("        t = pl.load(x, [0, 0], [32, 64])") + 1
    assert f"{line}" in str(load.location) and "k.py" in str(load.location)
