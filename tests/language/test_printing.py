"""Print -> parse is the identity: on the conformance kernels, on the examples, on the reference's printed IR."""

import os
from pathlib import Path

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse, print_program
from cubelane.language.printing import literals
from tests.language.kernels import in_core, printed, round_trip

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
KERNELS = sorted(ROOT.glob("*/*/kernel.py"))
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.skipif(not KERNELS, reason="the conformance set is not here")
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.parent.name)
def test_conformance_kernel_comes_back(path: Path) -> None:
    round_trip(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_comes_back(path: Path) -> None:
    round_trip(path.read_text(encoding="utf-8"))


def test_printed_ir_of_the_reference_parses() -> None:
    """At least nine in ten of its texts; the others contradict their own types, or use what is out of scope."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("*/*/expected/**/*.py"))]
    texts = [text for text in texts if "__FREE_VAR" not in text]
    if not texts:
        pytest.skip("the conformance set is not here")
    refused: list[str] = []
    for text in texts:
        try:
            module = parse(text)
        except Diagnostic as problem:
            refused.append(problem.message)
            continue
        again = print_program(module)
        assert print_program(parse(again)) == again
    print(f"\nprinted IR of the reference: {len(texts) - len(refused)} of {len(texts)} texts parse")
    assert len(refused) < len(texts) / 10


def test_names_are_made_unique_in_the_order_of_definition() -> None:
    lines = printed("t = pl.load(x, [0, 0], [8, 8])\nt = pl.exp(t)\nt = pl.neg(t)")
    assert [line.split(":")[0] for line in lines] == ["t", "t_1", "t_2"]


def test_a_scalar_with_a_name_is_a_statement_and_one_without_is_written_in_place() -> None:
    lines = printed("i = n * 2\nt = pl.load(x, [i, n + 1], [8, 8])")
    assert lines[0] == "i: pl.Scalar[pl.INDEX] = n * 2"
    assert "pl.tile.load(x, [i, n + 1], [8, 8]" in lines[1]


def test_run_time_extents_are_none_and_the_layout_only_where_it_is_not_implied() -> None:
    lines = printed("t = pl.load(x, [0, 0], [16, 64], [n, 64])\ns = pl.exp(t)\nc = pl.load(x, [0, 0], [8, 1])")
    assert "pl.TileView(valid_shape=[None, 64])" in lines[1]
    assert "[n, 64]" in lines[0]
    assert "TileView" not in lines[2]


@pytest.mark.parametrize(
    ("value", "text"), [(0.1, "0.1"), (1e20, "1e+20"), (0.5, "0.5"), (3.0, "3.0"), (float("-inf"), "-1e999")]
)
def test_floats_are_as_short_as_they_can_be(value: float, text: str) -> None:
    assert literals.real(literals.FP32.round(value), literals.FP32) == text  # pyright: ignore


@pytest.mark.parametrize("number", ["0.1", "1e-7", "3.4e38", "1e999", "-0.0", "16777217.0"])
def test_a_float_comes_back_bit_by_bit(number: str) -> None:
    round_trip(
        in_core(f"t = pl.load(x, [0, 0], [8, 8])\ns = pl.mul(t, {number})\nh = pl.mul(pl.cast(t, pl.FP16), 0.1)")
    )


def test_a_keyword_as_a_name_hint_gets_an_underscore() -> None:
    module = parse(in_core("t = pl.load(x, [0, 0], [8, 8])"))
    load = next(op for op in module.walk() if op.name == "tile.load")
    load.results[0].name_hint = "class"
    assert "class_: pl.Tile" in print_program(module)


def test_an_expression_that_grows_is_cut_into_names() -> None:
    text = "n" + " + n" * 60
    module = round_trip(in_core(f"i = {text}\nt = pl.load(x, [i, 0], [8, 8])"))
    assert max(len(line) for line in print_program(module).splitlines()) < 300
