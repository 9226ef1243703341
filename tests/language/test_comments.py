"""Comments ride on the statement that follows them, come back from print, and count in no comparison."""

import io
import tokenize
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cubelane.language as pl
from cubelane.analysis.equality import structurally_equal
from cubelane.ir.kernel import comments_of
from cubelane.language import parse, print_program
from cubelane.language.comments import CommentDropped
from cubelane.language.comments import comments_of as comments_in
from cubelane.language.errors import ParserError
from cubelane.language.source import read
from cubelane.language.statements import OutParamWriteDropped
from cubelane.passes import pipeline
from tests.language.kernels import in_core, opaque, printed, round_trip

TEXT = '''
import pypto.language as pl
# of the file
@pl.program
class P:
    # of the class
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[32, 64], pl.FP32],  # the input
          n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        """What it does,
           with a "quoted # mark".
        """
        pl.func_attr({"slot_num": 2})
        # load
        t = pl.load(x, [0, 0], [8, 8])  # the corner
        i = 3  # a constant has no line of its own
        j = n + i
        for k in pl.range(  # header
            n
        ):
            # in the loop
            t = pl.exp(t)
            #   indented text
            if k > 3:
                t = pl.neg(t)  # only some
            # for the others
            else:
                t = pl.exp(t)
        while j > 3:  # as long as
            j = j - 1
        "a bare string"
        out = pl.store(t, [j, 0], out)
        # the end
        return out
'''
WANTED = [
    ("the input", "t"),
    ("What it does,", "t"),
    ('with a "quoted # mark".', "t"),
    ("load", "t"),
    ("the corner", "t"),
    ("a constant has no line of its own", "j"),
    ("header", "for"),
    ("in the loop", "t_2"),
    ("indented text", "if"),
    ("only some", "t_4"),
    ("for the others", "t_5"),
    ("as long as", "for"),
    ("a bare string", "out_1"),
    ("the end", "return"),
]


def commented(text: str) -> list[tuple[str, str]]:
    """Every comment of a printed program with the first word of the statement behind it."""
    found: list[tuple[str, str]] = []
    waiting: list[str] = []
    for line in text.splitlines()[1:]:
        if line.lstrip().startswith("#"):
            waiting.append(line.strip().removeprefix("# "))
        elif waiting:
            found += [(comment, line.split()[0].rstrip(":")) for comment in waiting]
            waiting = []
    return found


def test_a_comment_stands_before_its_statement_after_print() -> None:
    module = round_trip(TEXT)
    assert commented(print_program(module)) == WANTED
    assert commented(print_program(parse(print_program(module)))) == WANTED


def test_comments_count_in_no_comparison_and_harm_no_pass() -> None:
    bare = "\n".join(line.split("  #")[0] for line in TEXT.splitlines() if not line.strip().startswith(("#", '"')))
    bare = bare.replace('           with a "quoted # mark".\n', "")
    module = parse(TEXT)
    assert structurally_equal(module, parse(bare)) is None
    assert structurally_equal(pipeline.run(parse(TEXT)), pipeline.run(parse(bare))) is None


def test_comments_of_a_decorated_kernel() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def k(x: pl.Tensor[[8, 8], pl.FP32]):
        """Documentation."""
        t = pl.load(x, [0, 0], [8, 8])  # here
        # and there
        s = pl.exp(t)
        return s

    comments = [c for op in k.program.walk() for c in comments_of(op)]
    assert comments == ["Documentation.", "here", "and there"]


def test_a_yield_keeps_its_comment() -> None:
    body = "for i, (c,) in pl.range(4, init_values=(n,)):\n    # carried on\n    d = pl.yield_(c + 1)\nj = d + 1"
    lines = printed(body)
    assert lines[1:3] == ["    # carried on", "    d: pl.Scalar[pl.INDEX] = pl.yield_(c + 1)"]


@pytest.mark.parametrize(
    "body",
    [
        "t = pl.load(x, [0, 0], [8, 8])\n# behind",
        "for i in pl.range(4):\n    t = pl.load(x, [0, 0], [8, 8])\n    # behind\nj = n + 1",
    ],
)
def test_a_comment_at_the_end_of_a_block_is_dropped_with_a_warning(body: str) -> None:
    with pytest.warns(CommentDropped, match=r"k\.py:\d+:\d+: a comment at the end"):
        parse(in_core(body), "k.py")


def test_what_only_looks_like_a_comment_is_none() -> None:
    text = in_core("pl.static_print(\"# no comment\", '# nor this')\nt = pl.load(x, [0, 0], [8, 8])  # one\nreturn out")
    assert [c for op in parse(text).walk() for c in comments_of(op)] == ["one"]
    after = text + "\n\ndef golden(inputs):\n        # far behind\n    return {}\n".replace("        #", "    #")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(after)


def test_an_out_parameter_that_is_bound_to_a_new_tensor_is_told() -> None:
    with pytest.warns(OutParamWriteDropped, match=r"`out` is a new tensor.*`out\[:\] = \.\.\.` writes it"):
        parse(opaque("out = pl.exp(x)\nreturn out"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(opaque("out[:] = pl.exp(x)\nreturn out"))
        parse(opaque("out = pl.assemble(out, pl.exp(x), [0, 0])\nreturn out"))
        parse(opaque("y2 = pl.exp(x)\nreturn y2"))


PIECES = (
    "x = 1",
    "# one",
    "  # two ##",
    '"a # b"',
    "'it''s # no'",
    '"""doc\n# inside\n"""',
    "'''\n\\''' # still inside\n'''",
    'r"\\" # no"',
    '"back\\\n# no"',
    "x = 1 + \\\n    2",
    'f"{x} # no"',
    "rb'#'",
    "(1,  # three\n 2)",
    "('a'  # four\n 'b')",
    "\n",
)


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(("\n", " ", "; ")))
def test_comments_are_those_of_the_tokenizer(pieces: list[str], between: str) -> None:
    text = between.join(pieces) + "\n"
    try:
        source = read(text)
    except ParserError:
        return
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    wanted = [(*t.start, t.string.lstrip("#").strip()) for t in tokens if t.type == tokenize.COMMENT]
    assert [(c.line, c.column, c.text) for c in comments_in(source)] == wanted
