"""Batched products, from the language to the three cores and to PTO text, against sums written out in plain Python."""

from textwrap import indent

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from tests.language.kernels import ops
from tests.pto_text.texts import run_text

B, M, K, N = 2, 16, 32, 64
SHAPES = {"a": (B, M, K), "w": (B, K, N), "b": (B, M, N), "one": (1, K, N), "flat": (K, N), "turned": (B, N, K)}
HALF = ("a", "w", "one", "flat", "turned")


def data() -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(3)
    return {
        name: numbers.integers(-4, 5, shape).astype(np.float16 if name in HALF else np.float32) / 2
        for name, shape in SHAPES.items()
    }


def products(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Every cell as a sum over the inner axis; a batch of one serves all."""
    return np.array(
        [
            [
                [sum(float(a[i, m, k]) * float(w[i % len(w), k, n]) for k in range(K)) for n in range(N)]
                for m in range(M)
            ]
            for i in range(B)
        ]
    )


def tensors(body: str, mode: str, shape: tuple[int, ...] = (B, M, N)) -> str:
    """A kernel of tensors in a scope."""
    split = "" if mode == "NONE" else f", optimizations=[pl.split(pl.SplitMode.{mode})]"
    scope = f"with pl.at(level=pl.Level.CORE_GROUP{split}):\n" + indent(body.strip("\n"), "    ") + "\nreturn out"
    return _program(scope, shape, "@pl.function")


def tiles(body: str, mode: str, shape: tuple[int, ...] = (B, M, N)) -> str:
    """A kernel of tiles, in a function whose lanes share them out."""
    attribute = "" if mode == "NONE" else f'pl.func_attr({{"split": pl.SplitMode.{mode}}})\n'
    return _program(attribute + body.strip("\n") + "\nreturn out", shape, "@pl.function(type=pl.FunctionType.InCore)")


def _program(body: str, shape: tuple[int, ...], decorator: str) -> str:
    given = [f"{name}: pl.Tensor[{list(box)}, pl.{'FP16' if name in HALF else 'FP32'}]" for name, box in SHAPES.items()]
    given.append(f"out: pl.Out[pl.Tensor[{list(shape)}, pl.FP32]]")
    return (
        "import pypto.language as pl\n@pl.program\nclass P:\n"
        f"    {decorator}\n    def k(self, {', '.join(given)}):\n" + indent(body, "        ") + "\n"
    )


LOADED = """
ta = pl.load(a, [0, 0, 0], [2, 16, 32], target_memory=pl.Mem.Mat)
tw = pl.load(w, [0, 0, 0], [2, 32, 64], target_memory=pl.Mem.Mat)
"""
TILES = {
    "beside a tile of the lanes": LOADED
    + """
tb = pl.load(b, [0, 0, 0], [2, 16, 64])
c = pl.tile.batch_matmul(ta, tw)
out = pl.store(pl.add(c, tb), [0, 0, 0], out)
""",
    "added up in a loop": LOADED
    + """
tb = pl.load(b, [0, 0, 0], [2, 16, 64])
zero = pl.create_tile([2, 16, 64], dtype=pl.FP32, target_memory=pl.Mem.Acc)
for k, (acc,) in pl.range(2, init_values=(zero,)):
    pa = pl.load(a, [0, 0, k * 16], [2, 16, 16], target_memory=pl.Mem.Mat)
    pw = pl.load(w, [0, k * 16, 0], [2, 16, 64], target_memory=pl.Mem.Mat)
    total = pl.yield_(pl.tile.batch_matmul_acc(acc, pa, pw, k == 0))
out = pl.store(pl.add(total, tb), [0, 0, 0], out)
""",
    "in one arm of a branch": LOADED
    + """
tb = pl.load(b, [0, 0, 0], [2, 16, 64])
for k in pl.range(2):
    if k == 0:
        c = pl.yield_(pl.tile.batch_matmul(ta, tw))
    else:
        c = pl.yield_(pl.tile.batch_matmul_acc(pl.tile.batch_matmul(ta, tw), ta, tw, True))
    out = pl.store(pl.add(c, tb), [0, 0, 0], out)
""",
    "one matrix at a time on the lanes": LOADED
    + """
c = pl.tile.batch_matmul(ta, tw)
first = pl.reshape(pl.slice(c, [1, 16, 64], [0, 0, 0]), [16, 64])
out = pl.store(pl.add(first, pl.load(b, [0, 0, 0], [16, 64])), [0, 0, 0], out, [1, 16, 64])
second = pl.reshape(pl.slice(c, [1, 16, 64], [1, 0, 0]), [16, 64])
out = pl.store(pl.add(second, pl.load(b, [1, 0, 0], [16, 64])), [1, 0, 0], out, [1, 16, 64])
""",
}
TENSORS = {
    "product and sum": ("pl.matmul(a, w, out_dtype=pl.FP32)", "w"),
    "one right factor for all": ("pl.matmul(a, one, out_dtype=pl.FP32)", "one"),
    "a right factor without leading axes": ("pl.matmul(a, flat, out_dtype=pl.FP32)", "flat"),
    "a turned right factor": ("pl.matmul(a, turned, out_dtype=pl.FP32, b_trans=True)", "turned"),
    "a sum of two products": ("pl.matmul_acc(pl.matmul(a, w, out_dtype=pl.FP32), a, one)", "w one"),
}
WHERE = [("NONE", "a2a3"), ("UP_DOWN", "a2a3"), ("LEFT_RIGHT", "a2a3"), ("UP_DOWN", "a5"), ("LEFT_RIGHT", "a5")]


def factor(name: str, given: dict[str, np.ndarray]) -> np.ndarray:
    return given[name].swapaxes(-1, -2) if name == "turned" else given[name].reshape(-1, K, N)


def check(text: str, target: str, wanted: np.ndarray) -> None:
    program = parse(text)
    arrays = {**data(), "out": np.full(wanted.shape, -77, np.float32)}
    np.testing.assert_array_equal(run_reference(program, arrays)["out"], wanted)
    compiled = compile_program(program, target)
    result = run_group(compiled.module, arrays)
    assert not result.findings, result.findings[0]
    np.testing.assert_array_equal(result.outputs["out"], wanted)
    run = run_text(compiled, arrays)
    assert not run.findings, run.findings[0]
    np.testing.assert_array_equal(run.outputs["out"], wanted)


@pytest.mark.parametrize(("mode", "target"), WHERE)
@pytest.mark.parametrize("name", TILES)
def test_batched_product_of_tiles(name: str, mode: str, target: str) -> None:
    given = data()
    check(tiles(TILES[name], mode), target, products(given["a"], given["w"]) + given["b"])


@pytest.mark.parametrize(("mode", "target"), WHERE)
@pytest.mark.parametrize("name", TENSORS)
def test_batched_product_of_tensors(name: str, mode: str, target: str) -> None:
    given = data()
    expression, factors = TENSORS[name]
    body = f"y = {expression}\nout[:, :, :] = pl.add(pl.mul(y, 2.0), b)"
    wanted = 2 * sum(products(given["a"], factor(f, given)) for f in factors.split()) + given["b"]
    check(tensors(body, mode), target, wanted)


@pytest.mark.parametrize("mode", ["UP_DOWN", "LEFT_RIGHT"])
def test_what_the_lanes_computed_is_a_factor(mode: str) -> None:
    given = data()
    body = "y = pl.matmul(pl.mul(a, 2.0), w, out_dtype=pl.FP32)\nout[:, :, :] = pl.sub(y, b)"
    check(tensors(body, mode), "a2a3", 2 * products(given["a"], given["w"]) - given["b"])


def test_what_works_on_several_matrices_gets_them_as_rows() -> None:
    given = data()
    body = "y = pl.matmul(a, w, out_dtype=pl.FP32)\nout[:, :] = pl.reshape(pl.mul(y, 0.5), [64, 32])"
    wanted = (products(given["a"], given["w"]) / 2).reshape(64, 32)
    check(tensors(body, "NONE", (64, 32)), "a2a3", wanted)
    with pytest.raises(Diagnostic, match=r"k\(|reshape|assemble|rows") as refused:
        check(tensors(body, "UP_DOWN", (64, 32)), "a2a3", wanted)
    assert refused.value.location.line > 0 and refused.value.instead


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("mode", ["UP_DOWN", "LEFT_RIGHT"])
def test_a_region_takes_one_matrix_at_a_time(mode: str, target: str) -> None:
    given = data()
    offset = "i, lane * 8, 0" if mode == "UP_DOWN" else "i, 0, lane * 32"
    half = "8, 64" if mode == "UP_DOWN" else "16, 32"
    body = LOADED + "c = pl.tile.batch_matmul(ta, tw)\n"
    for i in range(B):
        at = offset.replace("i", str(i), 1)
        body += f"""
m{i} = pl.reshape(pl.slice(c, [1, 16, 64], [{i}, 0, 0]), [16, 64])
for lane in pl.split_aiv(2, mode=pl.SplitMode.{mode}):
    part = pl.aiv_shard(m{i})
    tb = pl.load(b, [{at}], [{half}])
    out = pl.store(pl.add(part, tb), [{at}], out, [1, {half}])
"""
    text = tiles(body, "NONE")
    text = text.replace(
        "        ta =", '        pl.func_attr({"split_aiv": True, "split": pl.SplitMode.MODE})\n        ta ='
    )
    check(text.replace("MODE", mode), target, products(given["a"], given["w"]) + given["b"])


def test_a_batch_of_one_without_leading_axes_is_a_product() -> None:
    body = """
ta = pl.load(a, [0, 0, 0], [16, 32], target_memory=pl.Mem.Mat)
tw = pl.load(w, [0, 0, 0], [32, 64], target_memory=pl.Mem.Mat)
c = pl.tile.batch_matmul(ta, tw)
out = pl.store(pl.tile.batch_matmul_acc(c, ta, tw), [0, 0], out)
"""
    given = data()
    text = tiles(body, "NONE", (M, N))
    check(text, "a5", 2 * products(given["a"], given["w"])[0])
    module = compile_program(parse(text)).module
    assert len(list(ops(module, "tile.matmul"))) == len(list(ops(module, "tile.matmul_acc"))) == 1


@pytest.mark.parametrize(
    ("factors", "word"),
    [
        ("pl.load(a, [0, 0, 0], [2, 16, 32]), pl.load(w, [0, 0, 0], [2, 16, 64])", "inner extents"),
        ("pl.load(a, [0, 0, 0], [2, 16, 32]), pl.load(b, [0, 0, 0], [2, 16, 64])", "hold"),
        ("pl.create_tile([3, 16, 32], dtype=pl.FP16), pl.load(w, [0, 0, 0], [2, 32, 64])", "do not fit together"),
    ],
)
def test_batches_that_do_not_fit_are_refused(factors: str, word: str) -> None:
    with pytest.raises(Diagnostic, match=word) as refused:
        parse(tiles(f"c = pl.tile.batch_matmul({factors})", "NONE"))
    assert refused.value.location.line > 0
