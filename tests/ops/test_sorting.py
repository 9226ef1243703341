"""Sorting and picking, from the language to the three cores and to PTO text, against plain Python."""

from textwrap import indent
from typing import Any

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from tests.pto_text.texts import run_text

TOKENS, DEPTH, EXPERTS, K = 16, 32, 128, 4

GATING = f"""
logits = pl.move(pl.matmul(pl.load(a, [0, 0], [16, 32], target_memory=pl.Mem.Mat),
                           pl.load(w, [0, 0], [32, 128], target_memory=pl.Mem.Mat)), target_memory=pl.Mem.Vec)
numbers = pl.tile.ci(0, [1, 128], dtype=pl.UINT32)
runs = pl.tile.sort32(pl.add(logits, pl.load(bias, [0, 0], [1, 128])), numbers)
best = pl.slice(pl.tile.mrgsort_format1(runs, block_len=64), [16, {2 * K}], [0, 0])
scores = pl.store(pl.tile.gather_mask(best, mask_pattern=1), [0, 0], scores)
experts = pl.store(pl.tile.gather_mask(best, mask_pattern=2, output_dtype=pl.INT32), [0, 0], experts)
"""


def program(body: str, parameters: str, mode: str, returns: str) -> str:
    attribute = "" if mode == "NONE" else f'pl.func_attr({{"split": pl.SplitMode.{mode}}})\n'
    return (
        "import pypto.language as pl\n@pl.program\nclass P:\n    @pl.function(type=pl.FunctionType.InCore)\n"
        f"    def k(self, {parameters}):\n" + indent(f"{attribute}{body.strip(chr(10))}\nreturn {returns}", "        ")
    )


def check(text: str, target: str, given: dict[str, Any], wanted: dict[str, Any]) -> None:
    parsed = parse(text)
    arrays = {**given, **{name: np.full_like(array, 77) for name, array in wanted.items()}}
    oracle = run_reference(parsed, arrays)
    compiled = compile_program(parsed, target)
    results = [run_group(compiled.module, arrays), run_text(compiled, arrays)]
    for result in results:
        assert not result.findings, result.findings[0]
    for name, array in wanted.items():
        for outputs in (oracle, *(result.outputs for result in results)):
            np.testing.assert_array_equal(outputs[name], array)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("mode", ["NONE", "UP_DOWN"])
def test_top_k_gating(mode: str, target: str) -> None:
    numbers = np.random.default_rng(7)
    given = {
        "a": numbers.integers(-2, 3, (TOKENS, DEPTH)).astype(np.float16),
        "w": numbers.integers(-2, 3, (DEPTH, EXPERTS)).astype(np.float16),
        "bias": numbers.integers(-3, 4, (1, EXPERTS)).astype(np.float32),
    }
    logits = given["a"].astype(np.float32) @ given["w"].astype(np.float32) + given["bias"]
    order = [sorted(range(EXPERTS), key=lambda e, row=row: (-row[e], e))[:K] for row in logits.tolist()]
    assert any(len({logits[t, e] for e in row}) < K for t, row in enumerate(order)), "ties are part of the test"
    wanted = {
        "scores": np.array([[logits[t, e] for e in row] for t, row in enumerate(order)], np.float32),
        "experts": np.array(order, np.int32),
    }
    parameters = (
        "a: pl.Tensor[[16, 32], pl.FP16], w: pl.Tensor[[32, 128], pl.FP16], bias: pl.Tensor[[1, 128], pl.FP32], "
        f"scores: pl.Out[pl.Tensor[[16, {K}], pl.FP32]], experts: pl.Out[pl.Tensor[[16, {K}], pl.INT32]]"
    )
    check(program(GATING, parameters, mode, "scores, experts"), target, given, wanted)


def test_a_sort_along_the_split_axis_is_refused_with_a_mode_that_works() -> None:
    parameters = (
        "a: pl.Tensor[[16, 32], pl.FP16], w: pl.Tensor[[32, 128], pl.FP16], bias: pl.Tensor[[1, 128], pl.FP32], "
        f"scores: pl.Out[pl.Tensor[[16, {K}], pl.FP32]], experts: pl.Out[pl.Tensor[[16, {K}], pl.INT32]]"
    )
    body = GATING.replace("pl.tile.ci(0, [1, 128], dtype=pl.UINT32)", "pl.load(order, [0, 0], [1, 128])")
    text = program(body, f"order: pl.Tensor[[1, 128], pl.UINT32], {parameters}", "LEFT_RIGHT", "scores")
    with pytest.raises(Diagnostic, match=r"tile\.sort32 works along the split axis") as refused:
        compile_program(parse(text), "a2a3")
    assert refused.value.location.line > 0
    assert refused.value.instead == "split by rows: pl.SplitMode.UP_DOWN"
    compile_program(parse(text.replace("LEFT_RIGHT", "UP_DOWN")), "a2a3")


@pytest.mark.parametrize("count", [2, 3, 4])
def test_sorted_tiles_are_merged(count: int) -> None:
    numbers = np.random.default_rng(count)
    scores = numbers.integers(-9, 10, (2, 32 * count)).astype(np.float32)
    parts = [
        f"pl.tile.sort32(pl.load(x, [0, {32 * n}], [2, 32]), pl.load(i, [0, {32 * n}], [1, 32]))" for n in range(count)
    ]
    body = f"""
all = pl.tile.mrgsort_format2({", ".join(parts)})
out = pl.store(pl.tile.gather_mask(all, mask_pattern=1), [0, 0], out)
at = pl.store(pl.tile.gather_mask(all, mask_pattern=2, output_dtype=pl.UINT32), [0, 0], at)
"""
    size = 32 * count
    parameters = (
        f"x: pl.Tensor[[2, {size}], pl.FP32], i: pl.Tensor[[1, {size}], pl.UINT32], "
        f"out: pl.Out[pl.Tensor[[2, {size}], pl.FP32]], at: pl.Out[pl.Tensor[[2, {size}], pl.UINT32]]"
    )
    names = np.arange(100, 100 + size, dtype=np.uint32)[None, :]
    order = [sorted(range(size), key=lambda c, row=row: (-row[c], c)) for row in scores.tolist()]
    wanted = {
        "out": np.array([[scores[r, c] for c in row] for r, row in enumerate(order)], np.float32),
        "at": np.array([[names[0, c] for c in row] for row in order], np.uint32),
    }
    check(program(body, parameters, "NONE", "out, at"), "a2a3", {"x": scores, "i": names}, wanted)


@pytest.mark.parametrize("pattern", range(1, 8))
def test_columns_of_a_mask_pattern(pattern: int) -> None:
    x = np.arange(4 * 64, dtype=np.float32).reshape(4, 64)
    kept = {1: [0, 2], 2: [1, 3], 3: [0], 4: [1], 5: [2], 6: [3], 7: [0, 1, 2, 3]}[pattern]
    columns = [c for c in range(64) if c % 4 in kept]
    body = f"out = pl.store(pl.tile.gather_mask(pl.load(x, [0, 0], [4, 64]), mask_pattern={pattern}), [0, 0], out)"
    parameters = f"x: pl.Tensor[[4, 64], pl.FP32], out: pl.Out[pl.Tensor[[4, {len(columns)}], pl.FP32]]"
    check(program(body, parameters, "NONE", "out"), "a5", {"x": x}, {"out": x[:, columns]})


GATHER = "out = pl.store(pl.tile.gather(pl.load(x, [0, 0], [8, 32]), pl.load(i, [0, 0], [16, 16])), [0, 0], out)"
GIVEN = "x: pl.Tensor[[8, 32], pl.FP32], i: pl.Tensor[[16, 16], pl.INT32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]"
CROSSING = """
y = pl.matmul(pl.load(a, [0, 0], [16, 32], target_memory=pl.Mem.Mat),
              pl.load(b, [0, 0], [32, 16], target_memory=pl.Mem.Mat))
g = pl.tile.gather(pl.load(x, [0, 0], [8, 32]), pl.load(i, [0, 0], [16, 16]))
out = pl.store(pl.add(y, g), [0, 0], out)
"""


@pytest.mark.parametrize("mode", ["NONE", "UP_DOWN", "LEFT_RIGHT"])
def test_cells_are_gathered_from_all_of_a_tile(mode: str) -> None:
    numbers = np.random.default_rng(5)
    x, i = numbers.random((8, 32), np.float32), numbers.integers(0, 256, (16, 16)).astype(np.int32)
    picked = np.array([[x[p // 32, p % 32] for p in row] for row in i.tolist()], np.float32)
    check(program(GATHER, GIVEN, "NONE", "out"), "a2a3", {"x": x, "i": i}, {"out": picked})
    a = numbers.integers(-2, 3, (16, 32)).astype(np.float16)
    b = np.zeros((32, 16), np.float16)
    text = program(CROSSING, "a: pl.Tensor[[16, 32], pl.FP16], b: pl.Tensor[[32, 16], pl.FP16], " + GIVEN, mode, "out")
    check(text, "a2a3", {"a": a, "b": b, "x": x, "i": i}, {"out": picked})


def test_a_gather_from_what_the_lanes_share_out_is_refused() -> None:
    body = CROSSING.replace("pl.load(x, [0, 0], [8, 32])", "pl.add(y, y)")
    text = program(body, "a: pl.Tensor[[16, 32], pl.FP16], b: pl.Tensor[[32, 16], pl.FP16], " + GIVEN, "UP_DOWN", "out")
    with pytest.raises(Diagnostic, match="each lane holds only its part") as refused:
        compile_program(parse(text), "a2a3")
    assert refused.value.location.line > 0 and "function without split" in (refused.value.instead or "")
    compile_program(parse(text.replace('pl.func_attr({"split": pl.SplitMode.UP_DOWN})', "")), "a2a3")


def test_a_place_outside_of_the_tile_is_found() -> None:
    arrays = {"x": np.zeros((8, 32), np.float32), "i": np.full((16, 16), 256, np.int32)}
    module = compile_program(parse(program(GATHER, GIVEN, "NONE", "out")), "a2a3").module
    result = run_group(module, {**arrays, "out": np.zeros((16, 16), np.float32)})
    assert "cell 256 is gathered from a tile of 256" in result.findings[0].message


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("pl.tile.sort32(pl.load(x, [0, 0], [8, 16]), pl.tile.ci(0, [1, 16], dtype=pl.UINT32))", "32 cells at a time"),
        ("pl.tile.sort32(pl.load(x, [0, 0], [8, 32]), pl.load(i, [0, 0], [16, 16]))", "`idx` must have"),
        ("pl.tile.sort32(pl.load(i, [0, 0], [16, 16]), pl.load(i, [0, 0], [16, 16]))", "sorts FP32"),
        ("pl.tile.sort32(pl.load(x, [0, 0], [8, 32], [8, 30]), pl.tile.ci(0, [1, 32], dtype=pl.UINT32))", "be valid"),
        ("pl.tile.mrgsort_format1(pl.load(x, [0, 0], [8, 32]), block_len=32)", "multiple of 64"),
        ("pl.tile.mrgsort_format1(pl.load(x, [0, 0], [8, 32]), block_len=64)", "no whole number of 4 runs"),
        ("pl.tile.gather_mask(pl.load(x, [0, 0], [8, 32]), mask_pattern=8)", "no mask pattern 8"),
        ("pl.tile.gather(pl.load(x, [0, 0], [8, 32]), pl.load(x, [0, 0], [8, 32]))", "INT32 or UINT32"),
    ],
)
def test_what_cannot_be_sorted_or_gathered_is_refused(expression: str, word: str) -> None:
    with pytest.raises(Diagnostic, match=word) as refused:
        parse(program(f"t = {expression}", GIVEN, "NONE", "out"))
    assert refused.value.location.line > 0
