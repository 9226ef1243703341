"""Reading and printing: comments, places, names, both spellings of types, agreement with the lexer of xDSL."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.lexer import FrequentLexer
from cubelane.ir.pto.text import parse_pto, print_pto, read_pto

CORPUS = sorted((Path(__file__).parent / "corpus").rglob("*.pto"))
EMPTY = "func.func @f(%u: !pto.ptr<f32, ub>) {\n  return\n}\n"


def tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, int, int]] | str:
    found: list[tuple[MLIRTokenKind, int, int]] = []
    try:
        while True:
            token = lexer.lex()
            found.append((token.kind, token.span.start, token.span.end))
            if token.kind is MLIRTokenKind.EOF:
                return found
    except ParseError as error:
        return error.msg


@settings(max_examples=300)
@given(st.text(alphabet='%!#@^ab1.$-_ \n/"<>=(){}[]:,?|*+x0', max_size=30))
def test_the_frequent_lexer_reads_as_the_one_of_xdsl(text: str):
    assert tokens(FrequentLexer(Input(text, "t"))) == tokens(MLIRLexer(Input(text, "t")))


@pytest.mark.parametrize("path", CORPUS[::7], ids=lambda path: path.stem)
def test_the_frequent_lexer_reads_the_corpus_as_the_one_of_xdsl(path: Path):
    text = path.read_text()
    assert tokens(FrequentLexer(Input(text, "t"))) == tokens(MLIRLexer(Input(text, "t")))


@pytest.mark.parametrize("comment", ["// pto.mad_raw", "// end\n", "  // x", "\n// a\n// b"])
def test_a_comment_may_end_the_text(comment: str):
    assert print_pto(read_pto(EMPTY + comment)) == print_pto(read_pto(EMPTY))


def test_ops_know_their_line_and_column_and_loc_wins():
    program = parse_pto('func.func @f() {\n    %a = pto.get_block_idx : i64\n  return loc("k.py":7:3)\n}\n', "k.pto")
    query, end = [op for op in program.walk() if op.name in ("pto.get_block_idx", "func.return")]
    assert Location.of(query) == Location("k.pto", 2, 5)
    assert Location.of(end) == Location("k.py", 7, 3)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("!pto.ptr<f32>", "!pto.ptr<f32, gm>"),
        ("!pto.ptr<f16, left>", "!pto.ptr<f16, l0a>"),
        ("!pto.ptr<f32, acc>", "!pto.ptr<f32, l0c>"),
        ("!pto.ptr<!pto.hif8, mat>", "!pto.ptr<!pto.hif8, l1>"),
        ("!pto.tile_buf<loc=vec, dtype=f32, rows=8, cols=16>", "!pto.tile_buf<vec, 8x16xf32>"),
        (
            "!pto.tile_buf<loc=acc, dtype=f32, rows=8, cols=16, v_row=?, v_col=4, fractal=1024, pad=2>",
            "!pto.tile_buf<acc, 8x16xf32, valid=?x4, fractal=1024, pad=2>",
        ),
        ("!pto.tensor_view<?x?xbf16>", "!pto.tensor_view<?x?xbf16>"),
        ("memref<4xf32, #pto.address_space<ub>>", "memref<4xf32, #pto.address_space<vec>>"),
    ],
)
def test_types_print_canonically(written: str, printed: str):
    text = print_pto(read_pto(f"func.func @f(%a: {written}) {{\n  return\n}}\n"))
    assert f"%a: {printed})" in text
    assert print_pto(read_pto(text)) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("!pto.ptr<f32, ub>", "!pto.ptr<f32, gm>"),
        ("!pto.vreg<64xf32>", "!pto.vreg<128xf16>"),
        ("!pto.mask<b8>", "!pto.mask<b16>"),
        ("!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 8x32xf32>"),
        ("!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 8x16xf32, valid=4x16>"),
        ("!pto.tensor_view<?x?xf32>", "!pto.tensor_view<?x?xf16>"),
        ("!pto.partition_tensor_view<8x8xf32>", "!pto.partition_tensor_view<8x9xf32>"),
        ("!pto.vmi.reg<1>", "!pto.vmi.reg<2>"),
        ("!pto.struct<i32>", "!pto.struct<i64>"),
    ],
)
def test_types_with_other_parameters_are_not_equal(one: str, other: str):
    (function,) = read_pto(f"func.func @f(%a: {one}, %b: {other}, %c: {one}) {{\n  return\n}}\n").body.block.ops
    first, second, third = (argument.type for argument in function.regions[0].block.args)
    assert first == third and first != second


def test_attributes_with_other_words_are_not_equal():
    text = "func.func @f() {{\n  pto.barrier #pto.pipe<PIPE_{}>\n  return\n}}\n"
    one, other = (read_pto(text.format(pipe)) for pipe in ("V", "M"))
    assert not one.is_structurally_equivalent(other)


def test_an_op_without_operands_does_not_take_the_next_line():
    text = "func.func @f(%n: i64) {\n  pto.dsb\n  %a = arith.addi %n, %n : i64\n  return\n}\n"
    assert [op.name for op in read_pto(text).walk()][2:4] == ["pto.dsb", "arith.addi"]


def test_text_that_is_not_pto_is_a_diagnostic():
    for text in ("", "   ", "hello", "\x00", "module {", "module { } module", '"', "%", "!pto.ptr"):
        with pytest.raises(Diagnostic):
            parse_pto(text)


def test_nesting_without_end_is_a_diagnostic():
    with pytest.raises(Diagnostic, match="nested too deeply"):
        parse_pto("module {\n" * 5000 + "}\n" * 5000)
