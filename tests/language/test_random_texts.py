"""Whatever the text: `parse` gives a program or a Diagnostic; what it gives comes back from print."""

import random
import re
import warnings

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubelane.analysis.equality import structurally_equal
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse, print_program
from tests.language.kernels import in_core, opaque, round_trip

NAMES = ("x", "y", "t", "n", "w", "u", "f", "b", "out", "s", "unknown", "pl", "self")
WORDS = (
    *("add", "exp", "mul", "load", "store", "slice", "row_max", "matmul", "cast", "reshape", "full", "assemble"),
    *("min", "max", "const", "read", "write", "transpose", "concat", "fillpad", "set_validshape", "aiv_shard", "nope"),
    *("tile.load", "tile.row_sum", "tile.full", "tile.tpop_from_aic", "system.tfree_to_aic", "tensor.dim", "yield_"),
)
ENUMS = ("pl.FP16", "pl.FP32", "pl.INT32", "pl.Mem.Vec", "pl.Mem.Acc", "pl.PadValue.zero", "pl.TileLayout.row_major")
LITERALS = ("0", "1", "8", "-3", "0.5", "1e999", "True", "None", "'s'", "2 ** 70", "[]", "()", "0x10", "...", "1j")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@", "<", "==", "and", "or", "is", "in")

atoms = st.sampled_from((*NAMES, *ENUMS, *LITERALS))


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
    calls = st.tuples(st.sampled_from(WORDS), st.lists(inner, max_size=4)).map(
        lambda pair: f"pl.{pair[0]}({', '.join(pair[1])})"
    )
    keyword = st.sampled_from(("split", "dtype", "value", "target_memory", "shape", "tmp", "attrs"))
    named = st.tuples(st.sampled_from(WORDS), inner, keyword, inner).map(lambda p: f"pl.{p[0]}({p[1]}, {p[2]}={p[3]})")
    binary = st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    unary = st.tuples(st.sampled_from(("-", "not ", "~", "+")), inner).map("".join)
    index = st.tuples(st.sampled_from(NAMES), inner, inner).map(lambda p: f"{p[0]}[{p[1]} : {p[2]}]")
    cell = st.tuples(st.sampled_from(NAMES), inner, inner).map(lambda p: f"{p[0]}[{p[1]}, {p[2]}]")
    choice = st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})")
    return st.one_of(lists, calls, named, binary, unary, index, cell, choice)


expressions = st.recursive(atoms, _compound, max_leaves=8)
targets = st.sampled_from(("t", "s", "out", "n", "a, c", "out[0:8, :]", "t[n, 0]", "s: pl.Scalar[pl.INT64]", "x.y"))
assignments = st.tuples(targets, expressions).map(lambda p: f"{p[0]} = {p[1]}")
simple = st.one_of(
    assignments, expressions, st.sampled_from(("pass", "break", "continue", "return out", "return", "x += 1"))
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    heads = st.one_of(
        expressions.map(lambda e: f"if {e}:"),
        expressions.map(lambda e: f"while {e}:"),
        expressions.map(lambda e: f"for i in pl.range({e}):"),
        expressions.map(lambda e: f"for i, (c,) in pl.range(4, init_values=({e},)):"),
        expressions.map(lambda e: f"for (i,) in pl.while_(init_values=({e},)):"),
        st.sampled_from(
            (
                "with pl.at(level=pl.Level.CORE_GROUP):",
                "for l in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):",
                "for i in pl.pipeline(4, stage=2):",
                "with x:",
            )
        ),
    )
    bodies = st.lists(inner, min_size=1, max_size=3)
    return st.tuples(heads, bodies).map(
        lambda p: p[0] + "\n" + "\n".join("    " + line for part in p[1] for line in part.splitlines())
    )


statements = st.recursive(simple, _blocks, max_leaves=5)
bodies = st.lists(statements, min_size=1, max_size=6).map("\n".join)


# programs that are meant to be accepted: every name is bound to a value of one type throughout

indices = st.recursive(
    st.sampled_from(("n", "i", "j", "0", "1", "3", "pl.const(2, pl.INDEX)")),
    lambda e: st.one_of(
        st.tuples(e, st.sampled_from(("+", "-", "*", "//", "%", "<<", "&", "|", "^")), e).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})" if p[1] not in ("//", "%", "<<") else f"({p[0]} {p[1]} 2)"
        ),
        st.tuples(st.sampled_from(("pl.min", "pl.max", "max")), e, e).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        e.map(lambda x: f"-{x}"),
        e.map(lambda x: f"~(n + {x})"),
        st.tuples(e, e).map(lambda p: f"({p[0]} if b else {p[1]} + n)"),
        st.sampled_from(("w", "u")).map(lambda x: f"pl.cast({x} + 1, pl.INDEX)"),
    ),
    max_leaves=5,
)
conditions = st.recursive(
    st.one_of(
        st.tuples(indices, st.sampled_from(("<", ">", "==", "!=", ">=", "<=")), indices)
        .map(" ".join)
        .map("({})".format),
        st.sampled_from(("b", "(f > 0.5)", "(u > 3)", "(w != 0)")),
    ),
    lambda e: st.one_of(
        st.tuples(e, st.sampled_from((" and ", " or ")), e).map("".join).map("({})".format), e.map("(not {})".format)
    ),
    max_leaves=3,
)
tiles = st.recursive(
    st.sampled_from(("t", "s")),
    lambda e: st.one_of(
        st.tuples(st.sampled_from(("pl.exp", "pl.neg", "abs", "-")), e).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(("pl.add", "pl.mul", "max")), e, e).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        st.tuples(e, st.sampled_from(("*", "+", "-")), st.sampled_from(("0.5", "2", "f", "s"))).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        indices.map("pl.load(x, [{}, 0], [8, 8])".format),
    ),
    max_leaves=3,
)
sound = st.one_of(
    st.tuples(st.sampled_from(("t", "s")), tiles).map(" = ".join),
    st.tuples(st.sampled_from(("i", "j")), indices).map(lambda p: f"{p[0]} = n + {p[1]}"),
    st.tuples(tiles, indices).map(lambda p: f"out = pl.store({p[0]}, [{p[1]}, 0], out)"),
    st.tuples(tiles, indices).map(lambda p: f"o2 = pl.store({p[0]}, [{p[1]}, 0], out)"),
)


def _indented(parts: list[str]) -> str:
    return "\n".join("    " + line for part in parts for line in part.splitlines())


def _sound_blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, min_size=1, max_size=3).map(_indented)
    jumps = st.tuples(conditions, st.sampled_from(("break", "continue"))).map(lambda p: f"if {p[0]}:\n    {p[1]}")
    jumping = st.tuples(bodies, jumps, bodies).map(lambda p: f"{p[0]}\n{_indented([p[1]])}\n{p[2]}")
    loops = st.one_of(
        indices.map("for k in pl.range({}):".format),
        st.tuples(indices, indices).map(lambda p: f"for k in pl.range({p[0]}, {p[1]}, 2):"),
        conditions.map("while {}:".format),
    )
    return st.one_of(
        st.tuples(conditions, bodies, bodies).map(lambda p: f"if {p[0]}:\n{p[1]}\nelse:\n{p[2]}"),
        st.tuples(conditions, bodies).map(lambda p: f"if {p[0]}:\n{p[1]}"),
        st.tuples(loops, st.one_of(bodies, jumping)).map("\n".join),
        st.tuples(bodies, tiles).map(
            lambda p: (
                f"for k, (c,) in pl.pipeline(4, stage=2, init_values=(t,)):\n{p[0]}\n    t = pl.yield_(c + {p[1]})"
            )
        ),
        st.tuples(conditions, bodies, tiles).map(
            lambda p: f"if {p[0]}:\n{p[1]}\n    r = pl.yield_({p[2]})\nelse:\n    r = pl.yield_(t)\ns = r"
        ),
        bodies.map(lambda p: f"for k in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n{p}"),
    )


sound_bodies = st.lists(st.recursive(sound, _sound_blocks, max_leaves=8), min_size=1, max_size=5).map("\n".join)
START = "t = pl.load(x, [0, 0], [8, 8])\ns = pl.neg(t)\ni = n + 1\nj = n * 2\n"


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(sound_bodies)
def test_random_programs_come_back(body: str) -> None:
    text = in_core(START + body + "\nout = pl.store(pl.add(t, s), [i + j, 0], out)\nreturn out")
    try:
        parse(text)
    except Diagnostic as problem:
        assert "nest" in str(problem) or "region" in str(problem) or "pl.yield_" in str(problem), str(problem)
        return
    round_trip(text)


def outcome(text: str) -> None:
    """A program that comes back, or a Diagnostic that can be shown."""
    try:
        parse(text)
    except Diagnostic as problem:
        assert str(problem)
        assert problem.as_json()
        return
    round_trip(text)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies)
def test_random_bodies_give_a_program_or_a_diagnostic(body: str) -> None:
    outcome(in_core("t = pl.load(x, [0, 0], [8, 8])\n" + body))
    outcome(opaque(body))


# five thousand texts: small programs, and what a few slips of the hand make of each

FEW = """x: pl.Tensor[[32, 64], pl.FP32], n: pl.Scalar[pl.INDEX], f: pl.Scalar[pl.FP32], b: pl.Scalar[pl.BOOL],
    out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]"""
EXAMPLES, SLIPS = 360, 13
TOKENS = re.compile(r"\w+|[^\w\s]")
POOL = (*NAMES, *(f"pl.{w}" for w in WORDS), *ENUMS, *LITERALS, *OPERATORS, ":", ",", ")", "for", "if", "=")

small_statements = st.one_of(
    st.sampled_from(
        (
            "t = pl.exp(s)",
            "s = pl.add(t, s)",
            "t = t * 0.5",
            "i = n + 1",
            "out = pl.store(t, [i, 0], out)",
            "t: pl.Tile[[8, 8], pl.FP32, pl.Mem.Vec] = pl.neg(s)",
            "s = pl.load(x, [i, 0], [8, 8])",
            "i = i * 2 if b else n",
            "# a comment",
        )
    ),
    st.tuples(st.sampled_from(("i", "j")), st.sampled_from(("n + 3", "i % 4", "max(n, i)", "-n", "n // 2"))).map(
        " = ".join
    ),
)
small_blocks = st.tuples(
    st.sampled_from(
        (
            "for k in pl.range(n):",
            "for k in pl.range(7, 0, -2):",
            "while i > 3:",
            "if b:",
            "if n > 2 and not b:",
            "for k, (c,) in pl.range(4, init_values=(t,)):",
            "for l in pl.split_aiv(2, mode=pl.SplitMode.NONE):",
        )
    ),
    st.lists(small_statements, min_size=1, max_size=2),
).map(lambda p: p[0] + "\n" + _indented(p[1]))
small_bodies = st.lists(st.one_of(small_statements, small_blocks), min_size=1, max_size=3).map("\n".join)


def slipped(text: str, dice: random.Random) -> str:
    """A text with a token or a line lost, doubled, exchanged or replaced."""
    if dice.random() < 0.25:
        lines = text.splitlines()
        at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
        match dice.randrange(4):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case _:
                lines[at] = "    " + lines[at]
        return "\n".join(lines)
    places = [m.span() for m in TOKENS.finditer(text)]
    start, end = dice.choice(places)
    with_what = dice.choice(("", dice.choice(POOL), dice.choice(POOL), text[slice(*dice.choice(places))]))
    return text[:start] + with_what + text[end:]


def test_five_thousand_texts_give_a_program_that_comes_back_or_a_diagnostic() -> None:
    count = {"texts": 0, "programs": 0}

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(small_bodies, st.integers(0, 2**32))
    def check(body: str, seed: int) -> None:
        dice = random.Random(seed)
        text = in_core(SMALL + body + "\nout = pl.store(t, [i, 0], out)\nreturn out", FEW)
        for position in range(SLIPS + 1):
            count["texts"] += 1
            count["programs"] += comes_back(slipped(text, dice) if position else text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
    print(f"{count['texts']} texts, {count['programs']} programs")
    assert count["texts"] >= 5000
    assert count["programs"] >= 600


SMALL = "t = pl.load(x, [0, 0], [8, 8])\ns = pl.neg(t)\ni = n + 1\n"


def comes_back(text: str) -> bool:
    """Whether a text is a program; one that is comes back from print."""
    try:
        module = parse(text)
    except Diagnostic as problem:
        assert str(problem) and problem.as_json()
        return False
    again = parse(print_program(module))
    difference = structurally_equal(module, again)
    assert difference is None, f"{difference}\n{text}"
    return True


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60), st.integers(0, 400))
def test_a_damaged_text_gives_a_program_or_a_diagnostic(damage: str, position: int) -> None:
    text = in_core("t = pl.load(x, [0, 0], [8, 8])\nfor i in pl.range(n):\n    t = pl.exp(t)\nreturn out")
    outcome(text[:position] + damage + text[position + len(damage) :])


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(("(", "[", "-", "not ", "n + (", "pl.exp(", "x[", "{")), st.integers(1, 5000))
def test_deep_nesting_is_a_diagnostic(opening: str, depth: int) -> None:
    closing = {"(": ")", "[": "]", "n + (": ")", "pl.exp(": ")", "x[": "]", "{": "}"}.get(opening, "")
    outcome(in_core(f"i = {opening * depth}n{closing * depth}"))


def test_a_long_sum_and_deep_blocks_are_read_or_refused() -> None:
    outcome(in_core("i = n" + " + n" * 3000))
    outcome(in_core("\n".join("    " * i + "if n > 0:" for i in range(90)) + "\n" + "    " * 90 + "pass"))
    outcome("x = " + "[" * 100000)
    outcome("\0")
