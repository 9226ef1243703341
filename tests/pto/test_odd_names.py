"""Names and words with odd letters: they print as text that reads back, or they are refused where they are made."""

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.names import value_name
from cubelane.ir.pto.attrs import LayoutAttr
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.ir.pto.types import MaskType, TileBufType
from cubelane.ptodsl import pto

ODD = ["é", "a b", 'a"b', "\\", "x\n", "", "0x", "%", "a-b", "$", "１", "b32\n"]
SIGNAL = "func.func @k() {{\n  pto.sync.set <PIPE_FIX>, 3 {{{}}}\n  return\n}}\n"


def reads_back(text: str) -> bool:
    program = read_pto(text)
    printed = print_pto(program)
    return print_pto(read_pto(printed)) == printed and read_pto(printed).is_structurally_equivalent(program)


@pytest.mark.parametrize("name", ["ß = 1 : i32", '"ß" = 1 : i32', '"a b" = 1 : i32', 'a = "ß"', 'a = "\\FF\\00"'])
def test_attributes_with_odd_letters_read_back(name: str):
    assert reads_back(SIGNAL.format(name))


def test_escaped_letters_are_text_and_other_bytes_stay_bytes():
    text, raw = (read_pto(SIGNAL.format(f'a = "{s}"')) for s in ("\\C3\\9F", "\\FF"))
    (letters,), (data,) = ([op.attributes["a"] for op in p.walk() if "a" in op.attributes] for p in (text, raw))
    assert letters == StringAttr("ß")
    assert data.name == "bytes"


@pytest.mark.parametrize("symbol", ["@ß", '@"ß"', '@"a b"', '@"\\22"'])
def test_symbols_with_odd_letters_read_back(symbol: str):
    assert reads_back(f"func.func {symbol}() {{\n  return\n}}\n")


def test_a_shape_without_extents_is_refused():
    for kind in ("!pto.tile_buf<vec, f32>", "!pto.tensor_view<f32>", "!pto.partition_tensor_view<none>"):
        with pytest.raises(Diagnostic, match="an extent for each axis"):
            read_pto(f"func.func @k(%a: {kind}) {{\n  return\n}}\n")


@pytest.mark.parametrize("word", [word for word in ODD if word not in ("0x", "$")] + ["0x", "$"])
def test_words_of_types_and_attributes_are_checked_when_they_are_made(word: str):
    tile = read_pto("func.func @k(%a: !pto.tile_buf<vec, 8x8xf32>) {\n  return\n}\n").body.block.first_op
    assert tile is not None
    kind = tile.regions[0].block.args[0].type
    assert isinstance(kind, TileBufType)
    with pytest.raises(VerifyException):
        MaskType(StringAttr(word))
    with pytest.raises(VerifyException):
        LayoutAttr(StringAttr(word))
    with pytest.raises(VerifyException):
        TileBufType.new((*kind.parameters[:4], type(kind.layout)([StringAttr(f"{word}=1")])))


@pytest.mark.parametrize("name", ODD)
def test_kernels_and_parameters_of_any_name_read_back(name: str):
    @pto.jit(name=name, mode="explicit")
    def kernel(größe: pto.ptr(pto.f32, "gm"), ß: pto.i64):
        é = pto.const(1, dtype=pto.i64)
        for _ in range(0, ß):
            é = é + 1
        pto.store_scalar(1.0, größe, é)

    assert reads_back(kernel.compile().mlir_text())


def test_different_python_names_stay_different():
    names = ["ß", "é", "𝔘", "xdf", "größe", "grosse"]
    assert len({value_name(name) for name in names}) == len(names)
    assert value_name("plain_1") == "plain_1"


def ub() -> Any:
    return pto.castptr(0, pto.ptr(pto.f32, "ub"))


def acc() -> Any:
    return pto.castptr(0, pto.ptr(pto.f32, "acc"))


def product(**modes: Any) -> None:
    left, right = (pto.castptr(0, pto.ptr(pto.f16, space)) for space in ("left", "right"))
    pto.mad(left, right, acc(), 16, 16, 16, **modes)


def moved(x: Any, **modes: Any) -> None:
    pto.mte_l0c_gm(acc(), x, 16, 16, 16, 16, 0, 0, **modes)


WORDS: dict[str, Callable[[Any, str], object]] = {
    "load": lambda x, word: pto.vlds(ub(), 0, dist=word),
    "store": lambda x, word: pto.vsts(pto.vlds(ub(), 0), ub(), 0, pto.pset_b32("ALL"), dist=word),
    "pattern": lambda x, word: pto.pset_b32(word),
    "comparison": lambda x, word: pto.vcmp(pto.vlds(ub(), 0), pto.vlds(ub(), 0), pto.pset_b32("ALL"), word),
    "rounding": lambda x, word: pto.vcvt(pto.vlds(ub(), 0), pto.f16, pto.pset_b32("ALL"), rnd=word),
    "part": lambda x, word: pto.vcvt(pto.vlds(ub(), 0), pto.f16, pto.pset_b32("ALL"), part=word),
    "pipe": lambda x, word: pto.set_flag(word, "V"),
    "mask": lambda x, word: pto.mask_type(word),
    "barrier": lambda x, word: pto.mem_bar(word),
    "unit flag": lambda x, word: product(unit_flag=word or "?"),
    "tf32": lambda x, word: product(tf32_mode=word or "?"),
    "quantisation": lambda x, word: moved(x, pre_quant=(1.0, word)),
    "layout": lambda x, word: moved(x, layout=word),
    "saturation": lambda x, word: moved(x, sat=word),
    "atomic": lambda x, word: moved(x, atomic=(word, word)),
}


@pytest.mark.parametrize("what", list(WORDS))
@pytest.mark.parametrize("word", ODD)
def test_an_odd_word_is_refused_at_its_call(what: str, word: str):
    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        WORDS[what](x, word)

    with pytest.raises(Diagnostic) as caught:
        kernel.compile()
    assert caught.value.location.file == __file__
