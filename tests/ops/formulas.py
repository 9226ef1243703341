"""What every operator computes, cell by cell in plain Python: nothing of it is shared with what it judges.

A case is the expression in the language, the arrays of its operands, and the formula. Loaded are, as tiles or tensors:
x (FP32, both signs), y (FP32, positive), i and j (INT32, j not zero), v [rows, 1], h [1, columns], scratch t and ti.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ROWS, COLUMNS = 8, 16
FP32_MAX = 3.4028234663852886e38
ROW_MAJOR = "target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box"
LEFT = "pl.load(gx, [0, 0], [8, 16], target_memory=pl.Mem.Mat)"
ROW = "pl.load(gx, [0, 0], [1, 16], target_memory=pl.Mem.Mat)"
RIGHT = "pl.load(gw, [0, 0], [16, 16], target_memory=pl.Mem.Mat)"
BIAS = "pl.load(gh, [0, 0], [1, 16], target_memory=pl.Mem.Mat)"
Array = np.ndarray
Formula = Callable[..., Any]


def _data() -> dict[str, Array]:
    r, c = np.indices((ROWS, COLUMNS))
    x = ((5 * r + 3 * c) % 13 - 6) / 4 + 0.125
    y = ((7 * r + 2 * c) % 11 + 1) / 4
    i = (11 * r + 5 * c) % 61 - 30
    j = (3 * r + 7 * c) % 9 + 1
    return {
        "x": x.astype(np.float32),
        "y": y.astype(np.float32),
        "i": i.astype(np.int32),
        "j": (j * np.where((r + c) % 3 == 0, -1, 1)).astype(np.int32),
        "v": y[:, :1].astype(np.float32),
        "h": y[:1, :].astype(np.float32),
        "w": (((3 * np.indices((16, 16))[0] + 5 * np.indices((16, 16))[1]) % 7 - 3) / 2).astype(np.float32),
    }


DATA = _data()


def cells(formula: Formula) -> Formula:
    """A formula of single cells, applied to every cell; a column or a row is repeated."""

    def whole(*arrays: Array) -> Array:
        rows, columns = max(a.shape[0] for a in arrays), max(a.shape[1] for a in arrays)
        result = [
            [
                formula(*(a[r if a.shape[0] > 1 else 0, c if a.shape[1] > 1 else 0].item() for a in arrays))
                for c in range(columns)
            ]
            for r in range(rows)
        ]
        return np.array(result)

    return whole


def rows(formula: Callable[[list[Any]], Any]) -> Formula:
    """A formula of one row, to a column."""
    return lambda a: np.array([[formula(row)] for row in a.tolist()])


def columns(formula: Callable[[list[Any]], Any]) -> Formula:
    """A formula of one column, to a row."""
    return lambda a: np.array([[formula(column) for column in zip(*a.tolist(), strict=True)]])


def truncated(a: int, b: int) -> int:
    return int(a / b)


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def product(a: Array, b: Array) -> Array:
    return np.array(
        [[sum(a[r, k] * b[k, c] for k in range(a.shape[1])) for c in range(b.shape[1])] for r in range(a.shape[0])]
    )


def turned(flat: list[Any], width: int) -> list[list[Any]]:
    return [flat[at : at + width] for at in range(0, len(flat), width)]


def swapped(a: Array) -> list[list[Any]]:
    return [list(column) for column in zip(*a.tolist(), strict=True)]


def pasted(a: Array, b: Array) -> list[list[Any]]:
    return [[b[r - 2, c - 8] if 2 <= r < 6 and c >= 8 else a[r, c] for c in range(COLUMNS)] for r in range(ROWS)]


def filled(value: float) -> Formula:
    return lambda a: [[a[r, c] if r < 5 and c < 9 else value for c in range(COLUMNS)] for r in range(ROWS)]


def bits(value: float) -> int:
    return struct.unpack("<i", struct.pack("<f", value))[0]


@dataclass(frozen=True)
class Case:
    """`expression` over the operands `of`; `formula` of their arrays; element type and tolerance of the result."""

    expression: str
    of: str
    formula: Formula
    dtype: str = "FP32"
    shape: tuple[int, int] = (ROWS, COLUMNS)
    level: str = "both"

    @property
    def wanted(self) -> Array:
        return np.asarray(self.formula(*(DATA[name] for name in self.of.split())))


UNARY: dict[str, tuple[str, Callable[[float], float]]] = {
    "neg": ("x", lambda a: -a),
    "exp": ("x", math.exp),
    "sqrt": ("y", math.sqrt),
    "abs": ("x", math.fabs),
    "relu": ("x", lambda a: a if a > 0 else 0.0),
    "log": ("y", math.log),
    "recip": ("y", lambda a: 1 / a),
    "rsqrt": ("y", lambda a: 1 / math.sqrt(a)),
    "sin": ("x", math.sin),
    "cos": ("x", math.cos),
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": lambda a, b: a if a > b else b,
    "minimum": lambda a, b: a if a < b else b,
    "fmod": math.fmod,
}
SCALAR: dict[str, Callable[[float], float]] = {
    "adds": lambda a: a + 0.75,
    "subs": lambda a: a - 0.75,
    "muls": lambda a: a * 0.75,
    "divs": lambda a: a / 0.75,
    "maximums": lambda a: max(a, 0.75),
    "minimums": lambda a: min(a, 0.75),
    "fmods": lambda a: math.fmod(a, 0.75),
    "rems": lambda a: a - math.floor(a / 0.75) * 0.75,
    "lrelu": lambda a: a if a > 0 else a * 0.75,
    "expands": lambda a: 0.75,
}
BITS: dict[str, Callable[[int, int], int]] = {
    "and_": lambda a, b: a & b,
    "or_": lambda a, b: a | b,
}
SPREAD: dict[str, Callable[[float, float], float]] = {
    "": lambda a, b: b,
    "_add": lambda a, b: a + b,
    "_sub": lambda a, b: a - b,
    "_mul": lambda a, b: a * b,
    "_div": lambda a, b: a / b,
    "_max": max,
    "_min": min,
    "_expdif": lambda a, b: math.exp(a - b),
}
FOLD: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "max": max,
    "min": min,
    "prod": math.prod,
}
PLACE: dict[str, Callable[[list[float]], int]] = {
    "argmax": lambda row: row.index(max(row)),
    "argmin": lambda row: row.index(min(row)),
}


def _table() -> list[tuple[str, Case]]:
    found: list[tuple[str, Case]] = []
    found += [(n, Case(f"pl.{{s}}.{n}({of})", of, cells(f))) for n, (of, f) in UNARY.items()]
    found += [(n, Case(f"pl.{{s}}.{n}(x, y)", "x y", cells(f))) for n, f in BINARY.items()]
    found += [(n, Case(f"pl.{{s}}.{n}(x, 0.75)", "x", cells(f))) for n, f in SCALAR.items()]
    found += [(n, Case(f"pl.{{s}}.{n}(i, j)", "i j", cells(f), "INT32")) for n, f in BITS.items()]
    found += [
        (f"{n.strip('_')}s", Case(f"pl.{{s}}.{n.strip('_')}s(i, 13)", "i", cells(lambda a, f=f: f(a, 13)), "INT32"))
        for n, f in BITS.items()
    ]
    for per, vector in (("row", "v"), ("col", "h")):
        for n, f in SPREAD.items():
            found.append((f"{per}_expand{n}", Case(f"pl.{{s}}.{per}_expand{n}(x, {vector})", f"x {vector}", cells(f))))
    tmp = "{t}"
    for n, f in FOLD.items():
        found.append((f"row_{n}", Case(f"pl.{{s}}.row_{n}(y{tmp})", "y", rows(f), shape=(ROWS, 1))))
        found.append((f"col_{n}", Case(f"pl.{{s}}.col_{n}(y)", "y", columns(f), shape=(1, COLUMNS))))
    for n, f in PLACE.items():
        found.append((f"row_{n}", Case(f"pl.{{s}}.row_{n}(x{tmp})", "x", rows(f), "INT32", (ROWS, 1))))
        found.append((f"col_{n}", Case(f"pl.{{s}}.col_{n}(x{tmp})", "x", columns(f), "INT32", (1, COLUMNS))))
    for n, f in {"add": BINARY["add"], "mul": BINARY["mul"], "max": max, "min": min}.items():
        found.append((f"part_{n}", Case(f"pl.{{s}}.part_{n}(x, y)", "x y", cells(f))))
        part = f"pl.tile.part_{n}(x, pl.tile.set_validshape(y, 5, 9))"

        def partly(a: Array, b: Array, f: Callable[[float, float], float] = f) -> Array:
            both = cells(f)(a, b)
            return np.array([[both[r, c] if r < 5 and c < 9 else a[r, c] for c in range(COLUMNS)] for r in range(ROWS)])

        found.append((f"part_{n}", Case(part, "x y", partly, level="tile")))
    return found


CASES: list[tuple[str, Case]] = [
    *_table(),
    ("rem", Case("pl.{s}.rem(x, y{t})", "x y", cells(lambda a, b: a - math.floor(a / b) * b))),
    ("rem", Case("pl.{s}.rem(i, j{ti})", "i j", cells(lambda a, b: a - a // b * b), "INT32")),
    ("fmod", Case("pl.{s}.fmod(i, j)", "i j", cells(lambda a, b: a - truncated(a, b) * b), "INT32")),
    ("div", Case("pl.{s}.div(i, j)", "i j", cells(truncated), "INT32")),
    ("divs", Case("pl.{s}.divs(i, -7)", "i", cells(lambda a: truncated(a, -7)), "INT32")),
    ("xor", Case("pl.{s}.xor(i, j{ti})", "i j", cells(lambda a, b: (a | b) - (a & b)), "INT32")),
    ("xors", Case("pl.{s}.xors(i, 21{ti})", "i", cells(lambda a: (a | 21) - (a & 21)), "INT32")),
    ("not", Case("pl.{s}.not_(i)", "i", cells(lambda a: -a - 1), "INT32")),
    ("shl", Case("pl.{s}.shl(i, pl.{s}.abs(j))", "i j", cells(lambda a, b: wrapped(a * 2 ** abs(b))), "INT32")),
    ("shr", Case("pl.{s}.shr(i, pl.{s}.abs(j))", "i j", cells(lambda a, b: math.floor(a / 2 ** abs(b))), "INT32")),
    ("shls", Case("pl.{s}.shls(i, 3)", "i", cells(lambda a: a * 8), "INT32")),
    ("shrs", Case("pl.{s}.shrs(i, 2)", "i", cells(lambda a: math.floor(a / 4)), "INT32")),
    ("prelu", Case("pl.{s}.prelu(x, y{t})", "x y", cells(lambda a, b: a if a > 0 else a * b))),
    ("addc", Case("pl.{s}.addc(x, y, x)", "x y", cells(lambda a, b: a + b + a))),
    ("subc", Case("pl.{s}.subc(x, y, y)", "x y", cells(lambda a, b: a - b + b))),
    ("addsc", Case("pl.{s}.addsc(x, 2.5, y)", "x y", cells(lambda a, b: a + 2.5 + b))),
    ("subsc", Case("pl.{s}.subsc(x, 2.5, y)", "x y", cells(lambda a, b: a - 2.5 + b))),
    *(
        ("cast", Case(f"pl.{{s}}.cast(x, target_type=pl.INT32, mode='{mode}')", "x", cells(f), "INT32"))
        for mode, f in {
            "rint": round,
            "round": lambda a: math.floor(abs(a) + 0.5) * (1 if a > 0 else -1),
            "floor": math.floor,
            "ceil": math.ceil,
            "trunc": math.trunc,
            "odd": lambda a: int(a) if a == int(a) else next(n for n in (math.floor(a), math.ceil(a)) if n % 2),
        }.items()
    ),
    ("cast", Case("pl.{s}.cast(i, target_type=pl.FP32)", "i", cells(float))),
    *(
        (
            "sel",
            Case(
                f"pl.tile.sel(pl.tile.cmp(x, y, cmp_type={k}), x, y, t)",
                "x y",
                cells(lambda a, b, f=f: a if f(a, b) else b),
                level="tile",
            ),
        )
        for k, f in enumerate(
            (
                lambda a, b: a == b,
                lambda a, b: a != b,
                lambda a, b: a < b,
                lambda a, b: a <= b,
                lambda a, b: a > b,
                lambda a, b: a >= b,
            )
        )
    ),
    (
        "sels",
        Case(
            "pl.tile.sels(pl.tile.cmps(x, 0.5, cmp_type=4), x, t, 9.0)",
            "x",
            cells(lambda a: a if a > 0.5 else 9.0),
            level="tile",
        ),
    ),
    ("rsqrt", Case("pl.tile.rsqrt(y, t)", "y", cells(lambda a: 1 / math.sqrt(a)), level="tile")),
    ("col_sum", Case("pl.tile.col_sum(y, t)", "y", columns(math.fsum), shape=(1, COLUMNS), level="tile")),
    # windows, shapes, extents
    ("reshape", Case("pl.{s}.reshape(x, [16, 8])", "x", lambda a: turned(a.ravel().tolist(), 8), shape=(16, 8))),
    ("transpose", Case("pl.{s}.transpose(x, 0, 1)", "x", swapped, shape=(COLUMNS, ROWS))),
    (
        "transpose_view",
        Case(f"pl.tile.move(pl.tile.transpose_view(x), {ROW_MAJOR})", "x", swapped, shape=(16, 8), level="tile"),
    ),
    ("slice", Case("pl.{s}.slice(x, [4, 8], [3, 5])", "x", lambda a: [r[5:13] for r in a.tolist()[3:7]], shape=(4, 8))),
    (
        "extract",
        Case(
            "pl.tile.extract(x, 3, 5, [4, 8], target_memory=pl.Mem.Vec)",
            "x",
            lambda a: [r[5:13] for r in a.tolist()[3:7]],
            shape=(4, 8),
            level="tile",
        ),
    ),
    ("assemble", Case("pl.{s}.assemble(x + 0.0, pl.{s}.slice(y, [4, 8], [0, 0]), [2, 8])", "x y", pasted)),
    (
        "concat",
        Case(
            "pl.{s}.concat(x, y)",
            "x y",
            lambda a, b: [list(p) + list(q) for p, q in zip(a, b, strict=True)],
            shape=(8, 32),
        ),
    ),
    ("fillpad", Case("pl.{s}.fillpad(pl.{s}.set_validshape(x, 5, 9), pad_value=pl.PadValue.zero)", "x", filled(0.0))),
    (
        "fillpad",
        Case(
            "pl.tile.fillpad(pl.tile.set_validshape(x, 5, 9), pad_value=pl.PadValue.max)",
            "x",
            filled(FP32_MAX),
            level="tile",
        ),
    ),
    (
        "fillpad_inplace",
        Case(
            "pl.tile.fillpad_inplace(pl.tile.set_validshape(x, 5, 9), pad_value=pl.PadValue.min)",
            "x",
            filled(-FP32_MAX),
            level="tile",
        ),
    ),
    (
        "fillpad_expand",
        Case(
            "pl.tile.fillpad_expand(x, [16, 32])",
            "x",
            lambda a: [[a[r, c] if r < 8 and c < 16 else 0.0 for c in range(32)] for r in range(16)],
            shape=(16, 32),
            level="tile",
        ),
    ),
    (
        "set_validshape",
        Case(
            "pl.{s}.fillpad(pl.{s}.set_validshape(x, 8, 3))",
            "x",
            lambda a: [[a[r, c] if c < 3 else 0.0 for c in range(16)] for r in range(8)],
        ),
    ),
    ("reinterpret_view", Case("pl.{s}.reinterpret_view(x, dtype=pl.INT32)", "x", cells(bits), "INT32")),
    ("full", Case("pl.{s}.full([8, 16], dtype=pl.FP32, value=1.5)", "", lambda: [[1.5] * 16] * 8)),
    ("ci", Case("pl.{s}.ci(5, [1, 16], dtype=pl.INT32)", "", lambda: [list(range(5, 21))], "INT32", (1, 16))),
    (
        "ci",
        Case(
            "pl.{s}.ci(5, [1, 16], dtype=pl.INT32, descending=True)",
            "",
            lambda: [list(range(5, -11, -1))],
            "INT32",
            (1, 16),
        ),
    ),
    (
        "tri",
        Case(
            "pl.tile.tri(1, [8, 16], dtype=pl.FP32)",
            "",
            lambda: [[float(c <= r + 1) for c in range(16)] for r in range(8)],
            level="tile",
        ),
    ),
    (
        "tri",
        Case(
            "pl.tile.tri(1, [8, 16], dtype=pl.FP32, upper_or_lower=1)",
            "",
            lambda: [[float(c >= r + 1) for c in range(16)] for r in range(8)],
            level="tile",
        ),
    ),
    (
        "read",
        Case(
            "pl.tile.adds(x, pl.tile.read(y, [2, 3]))",
            "x y",
            lambda a, b: cells(lambda v: v + b[2, 3])(a),
            level="tile",
        ),
    ),
    (
        "read",
        Case(
            "pl.tensor.adds(x, pl.tensor.read(y, [2, 3]))",
            "x y",
            lambda a, b: cells(lambda v: v + b[2, 3])(a),
            level="tensor",
        ),
    ),
    (
        "write",
        Case(
            "pl.tile.write(x, [2, 3], 9.0)",
            "x",
            lambda a: [[9.0 if (r, c) == (2, 3) else a[r, c] for c in range(16)] for r in range(8)],
            level="tile",
        ),
    ),
    (
        "dim",
        Case(
            "pl.tensor.adds(x, pl.cast(pl.tensor.dim(y, 1), pl.FP32))", "x", cells(lambda v: v + 16.0), level="tensor"
        ),
    ),
    (
        "gather_row",
        Case(
            "pl.tile.gather_row(x, gy, [1, 0], [3, 4], [2, 12])",
            "x y",
            lambda a, b: [[b[r + 2, c + 4] if 1 <= r < 3 and c < 12 else a[r, c] for c in range(16)] for r in range(8)],
            level="tile",
        ),
    ),
    # the way in and out
    (
        "load",
        Case(
            "pl.tile.load(gx, [2, 4], [4, 8])",
            "x",
            lambda a: [r[4:12] for r in a.tolist()[2:6]],
            shape=(4, 8),
            level="tile",
        ),
    ),
    ("store", Case("x", "x", lambda a: a, level="tile")),
    ("move", Case(f"pl.tile.move(x, {ROW_MAJOR})", "x", lambda a: a, level="tile")),
    # products
    ("matmul", Case("pl.tensor.matmul(x, w)", "x w", product, level="tensor")),
    (
        "matmul",
        Case("pl.tensor.matmul(x, y, b_trans=True)", "x y", lambda a, b: product(a, b.T), shape=(8, 8), level="tensor"),
    ),
    (
        "matmul",
        Case(
            "pl.tensor.matmul(x, y, a_trans=True)", "x y", lambda a, b: product(a.T, b), shape=(16, 16), level="tensor"
        ),
    ),
    (
        "matmul_acc",
        Case(
            "pl.tensor.matmul_acc(pl.tensor.matmul(x, w), x, w)", "x w", lambda a, b: 2 * product(a, b), level="tensor"
        ),
    ),
    ("matmul", Case(f"pl.tile.matmul({LEFT}, {RIGHT})", "x w", product, level="tile")),
    (
        "matmul_acc",
        Case(
            f"pl.tile.matmul_acc(pl.tile.matmul({LEFT}, {RIGHT}), {LEFT}, {RIGHT})",
            "x w",
            lambda a, b: 2 * product(a, b),
            level="tile",
        ),
    ),
    (
        "matmul_bias",
        Case(f"pl.tile.matmul_bias({LEFT}, {RIGHT}, {BIAS})", "x w h", lambda a, b, d: product(a, b) + d, level="tile"),
    ),
    ("gemv", Case(f"pl.tile.gemv({ROW}, {RIGHT})", "x w", lambda a, b: product(a[:1], b), shape=(1, 16), level="tile")),
    (
        "gemv_acc",
        Case(
            f"pl.tile.gemv_acc(pl.tile.gemv({ROW}, {RIGHT}), {ROW}, {RIGHT})",
            "x w",
            lambda a, b: 2 * product(a[:1], b),
            shape=(1, 16),
            level="tile",
        ),
    ),
    (
        "gemv_bias",
        Case(
            f"pl.tile.gemv_bias({ROW}, {RIGHT}, {BIAS})",
            "x w h",
            lambda a, b, d: product(a[:1], b) + d,
            shape=(1, 16),
            level="tile",
        ),
    ),
]
