"""Every refusal: place, op, variable, axis and mode in the message; the advised rewrite compiles and is equal."""

from dataclasses import dataclass, replace

import pytest

from .kernels import Kernel

STORE = "\no = pl.tile.store(q, [0, 0], y)\nreturn o"


@dataclass(frozen=True)
class Case:
    """A refused kernel, words its message must hold, and the kernel with the advice applied."""

    code: str
    bad: Kernel
    words: tuple[str, ...]
    advised: Kernel


def swapped(kernel: Kernel) -> Kernel:
    """The advice "split by the other axis"."""
    return replace(kernel, mode={"UP_DOWN": "LEFT_RIGHT", "LEFT_RIGHT": "UP_DOWN"}[kernel.mode])


COLUMN_SUM = Kernel("q = pl.tile.col_sum(v)" + STORE, outputs={"y": (1, 24)})
ROW_SUM = Kernel(
    "s = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)\nq = pl.tile.row_sum(v, s)" + STORE,
    mode="LEFT_RIGHT",
    outputs={"y": (32, 1)},
)
WINDOW = Kernel("q = pl.tile.slice(v, [8, 24], [8, 0])" + STORE, outputs={"y": (8, 24)})
CONCAT = Kernel("t = pl.tile.neg(v)\nq = pl.tile.concat(v, t)" + STORE, mode="LEFT_RIGHT", outputs={"y": (32, 48)})
RESHAPE = Kernel("q = pl.tile.reshape(v, [24, 32])" + STORE, mode="LEFT_RIGHT", outputs={"y": (24, 32)})
LOADED = {"t": "pl.Tensor[[32, 24], pl.FP32]"}

CASES = [
    Case("reduce-on-split-axis", COLUMN_SUM, ("tile.col_sum", "'v'", "axis 0", "UP_DOWN"), swapped(COLUMN_SUM)),
    Case("reduce-on-split-axis", ROW_SUM, ("tile.row_sum", "'v'", "axis 1", "LEFT_RIGHT"), swapped(ROW_SUM)),
    Case("window-on-split-axis", WINDOW, ("tile.slice", "'v'", "8 of 32", "axis 0"), swapped(WINDOW)),
    Case("concat-on-split-axis", CONCAT, ("tile.concat", "'v'", "axis 1", "LEFT_RIGHT"), swapped(CONCAT)),
    Case(
        "reshape-regroups",
        Kernel("q = pl.tile.reshape(v, [3, 16])" + STORE, rows=6, columns=8, outputs={"y": (3, 16)}),
        ("tile.reshape", "'v'", "'q'", "axis 0", "UP_DOWN"),
        Kernel("q = pl.tile.reshape(v, [2, 24])" + STORE, rows=6, columns=8, outputs={"y": (2, 24)}),
    ),
    Case(
        "reshape-ragged",
        Kernel("q = pl.tile.reshape(v, [14, 4])" + STORE, rows=7, columns=8, outputs={"y": (14, 4)}),
        ("tile.reshape", "'v'"),
        Kernel("q = pl.tile.reshape(v, [16, 4])" + STORE, rows=8, columns=8, outputs={"y": (16, 4)}),
    ),
    Case(
        "cell-of-halved-tile",
        Kernel("a = pl.tile.read(v, [5, 3])\nq = pl.tile.adds(v, a)" + STORE),
        ("tile.read", "'v'", "axis 0", "UP_DOWN"),
        Kernel("a = pl.tensor.read(t, [5, 3])\nq = pl.tile.adds(v, a)" + STORE, parameters=LOADED),
    ),
    Case(
        "positional-generator",
        Kernel("m = pl.tile.tri(0, [32, 24], dtype=pl.FP32)\nq = pl.tile.mul(v, m)" + STORE),
        ("tile.tri", "'m'", "axis 0", "UP_DOWN"),
        Kernel(
            "m = pl.tile.load(t, [0, 0], [32, 24], target_memory=pl.Mem.Vec)\nq = pl.tile.mul(v, m)" + STORE,
            parameters=LOADED,
        ),
    ),
    Case(
        "two-split-axes",
        Kernel(
            "s = pl.tile.create([24, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)\nm = pl.tile.row_max(v, s)\n"
            "r = pl.tile.reshape(m, [1, 24])\nq = pl.tile.col_expand_mul(v, r)" + STORE,
            rows=24,
        ),
        ("'r'", "rows", "columns"),
        Kernel(
            "s = pl.tile.create([24, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)\nm = pl.tile.row_max(v, s)\n"
            "q = pl.tile.row_expand_mul(v, m)" + STORE,
            rows=24,
        ),
    ),
    Case(
        "full-width-gather",
        Kernel(
            "b = pl.tile.load(t, [0, 0], [1, 24], target_memory=pl.Mem.Vec)\n"
            "p = pl.tile.move(b, target_memory=pl.Mem.Mat)\no = pl.tile.store(v, [0, 0], y)\nreturn o",
            parameters={"t": "pl.Tensor[[1, 24], pl.FP32]"},
        ),
        ("'b'", "full-width vector operand", "UP_DOWN"),
        Kernel(
            "b = pl.tile.load(t, [0, 0], [1, 24], target_memory=pl.Mem.Vec)\no = pl.tile.store(v, [0, 0], y)\nreturn o",
            parameters={"t": "pl.Tensor[[1, 24], pl.FP32]"},
        ),
    ),
    Case(
        "odd-gather",
        Kernel("p = pl.tile.move(v, target_memory=pl.Mem.Mat)\no = pl.tile.store(v, [0, 0], y)\nreturn o", rows=15),
        ("'v'", "8 and 7", "split axis"),
        Kernel("p = pl.tile.move(v, target_memory=pl.Mem.Mat)\no = pl.tile.store(v, [0, 0], y)\nreturn o", rows=16),
    ),
    Case(
        "halved-cube-operand",
        Kernel("p = pl.tile.cast(v, pl.FP16)\nz = pl.tile.matmul(p, wr)\nq = v" + STORE, rows=32, columns=16),
        ("tile.matmul", "'p'", "cube"),
        Kernel(
            "p = pl.tile.cast(v, pl.FP16)\nl = pl.tile.move(p, target_memory=pl.Mem.Left)\nz = pl.tile.matmul(l, wr)\n"
            "o = pl.tile.store(v, [0, 0], y)\nreturn o",
            rows=32,
            columns=16,
        ),
    ),
    Case(
        "not-crossed",
        Kernel("q = pl.tile.add(acc, acc)\no = pl.tile.store(q, [0, 0], y)\nreturn o"),
        ("tile.add", "'acc'", "cube"),
        Kernel("q = pl.tile.add(v, v)\no = pl.tile.store(q, [0, 0], y)\nreturn o"),
    ),
    Case(
        "lane-conflict",
        Kernel(
            "e = pl.tile.store(v, [0, 0], y)\nq = pl.tile.load(e, [16, 0], [16, 24], target_memory=pl.Mem.Vec)\n"
            "o = pl.tile.store(q, [0, 0], u)\nreturn e, o",
            outputs={"y": (32, 24), "u": (16, 24)},
        ),
        ("lane 0", "lane 1", "rows 16..23", "'y'"),
        Kernel(
            "e = pl.tile.store(v, [0, 0], y)\nq = pl.tile.load(e, [0, 0], [32, 24], target_memory=pl.Mem.Vec)\n"
            "o = pl.tile.store(q, [0, 0], u)\nreturn e, o",
            outputs={"y": (32, 24), "u": (32, 24)},
        ),
    ),
    Case(
        "reinterpret-regroups",
        Kernel(
            "r = pl.tile.reinterpret_view(v, dtype=pl.INT16, shape=[16, 96])\no = pl.tile.store(v, [0, 0], y)\nreturn o"
        ),
        ("tile.reinterpret_view", "UP_DOWN"),
        Kernel("r = pl.tile.reinterpret_view(v, dtype=pl.INT16)\no = pl.tile.store(v, [0, 0], y)\nreturn o"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_refusal_says_where_what_why_and_what_instead(case: Case) -> None:
    problem = case.bad.refusal()
    assert problem.code == case.code
    assert str(problem.location).startswith("kernel.py:") and problem.location.column > 0
    assert all(word in str(problem) for word in case.words), str(problem)
    assert problem.instead and "LowerAutoVectorSplit" in str(problem)
    case.advised.check()


def test_the_chain_names_every_op_from_the_crossing_on() -> None:
    body = "a = pl.tile.exp(v)\nb = pl.tile.neg(a)\nq = pl.tile.col_max(b)" + STORE
    problem = Kernel(body, outputs={"y": (1, 24)}).refusal()
    story = next(note for note in problem.notes if "->" in note)
    assert [part.split(" ")[0] for part in story.split(": ", 1)[1].split(" -> ")] == ["move", "exp", "neg"]
