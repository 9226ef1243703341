"""Refused kernels of LowerAutoVectorSplit, one at least for every code, each with its advice applied."""

from dataclasses import dataclass, replace
from typing import Any

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
COLUMNS = Kernel("q = pl.tile.gather_mask(v, mask_pattern=1)" + STORE, mode="LEFT_RIGHT", outputs={"y": (32, 12)})
PLACES = "n = pl.tile.full([32, 24], dtype=pl.INT32, value=3)\n"
LOADED = {"t": "pl.Tensor[[32, 24], pl.FP32]"}

AUTOMATIC = [
    Case("reduce-on-split-axis", COLUMN_SUM, ("tile.col_sum", "'v'", "axis 0", "UP_DOWN"), swapped(COLUMN_SUM)),
    Case("reduce-on-split-axis", ROW_SUM, ("tile.row_sum", "'v'", "axis 1", "LEFT_RIGHT"), swapped(ROW_SUM)),
    Case("window-on-split-axis", WINDOW, ("tile.slice", "'v'", "8 of 32", "axis 0"), swapped(WINDOW)),
    Case("row-on-split-axis", COLUMNS, ("tile.gather_mask", "'v'", "axis 1", "LEFT_RIGHT"), swapped(COLUMNS)),
    Case(
        "gather-from-part",
        Kernel(PLACES + "q = pl.tile.gather(v, n)" + STORE),
        ("tile.gather", "'v'", "UP_DOWN"),
        Kernel(
            PLACES + "r = pl.tile.load(t, [0, 0], [1, 24])\nq = pl.tile.add(v, pl.tile.gather(r, n))" + STORE,
            parameters=LOADED,
        ),
    ),
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


class TileResult(Kernel):
    """A kernel that returns a tile."""

    @property
    def text(self) -> str:
        return super().text.replace(f"-> pl.Tensor[[{self.rows}, {self.columns}], pl.FP32]", self.returned)

    @property
    def returned(self) -> str:
        return f"-> pl.Tile[[{self.rows}, {self.columns}], pl.FP32, pl.Mem.Vec]"


STORE_V = "o = pl.tile.store(v, [0, 0], y)\nreturn o"
MASKED = """
s = pl.tile.create([32, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)
n = pl.tile.neg(v)
{mask}
q = pl.tile.sel(m, v, n, s)
o = pl.tile.store(q, [0, 0], y)
return o
"""
BITS = (
    "a = pl.tile.load(t, [0, 0], [32, 32], target_memory=pl.Mem.Vec)\nm = pl.tile.reinterpret_view(a, dtype=pl.UINT8)"
)
HALF_BITS = {"t": "pl.Tensor[[32, 32], pl.FP16]"}
TRANSPOSED = Kernel("q = pl.tile.transpose(v, 0, 1)" + STORE, outputs={"y": (24, 32)})
CUBE = {"t": "pl.Tensor[[2, 16, 24], pl.FP32]"}
JOINED = """
if n > 3:
    a = pl.tile.set_validshape(acc, 32, n)
    k = pl.yield_(a)
else:
    b = pl.tile.set_validshape(acc, 32, n + 1)
    k = pl.yield_(b)
{state}
u = pl.tile.move({k}, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box)
o = pl.tile.store(u, [0, 0], y)
return o
"""

WHOLE_WORDS = """
a = pl.tile.load(t, [0, 0], [32, 42], target_memory=pl.Mem.Vec)
{first}
b = {view}
c = pl.tile.maximum(h, b)
o = pl.tile.store(v, [0, 0], y)
return o
"""
ODD: dict[str, Any] = {"columns": 21, "mode": "LEFT_RIGHT", "parameters": {"t": "pl.Tensor[[32, 42], pl.INT16]"}}

SCOPED = "with pl.at(level=pl.Level.CORE_GROUP):\n    q = pl.tile.neg({0})\n    o = pl.tile.store(q, {1}, y)\nreturn o"

AUTOMATIC += [
    Case(
        "halved-result",
        TileResult("q = pl.tile.neg(v)\nreturn q"),
        ("'q'", "neg q", "UP_DOWN", "axis 0"),
        Kernel("q = pl.tile.neg(v)" + STORE),
    ),
    Case(
        "mask-on-split-axis",
        Kernel(
            "n = pl.tile.neg(v)\nm = pl.tile.cmp(v, n, cmp_type=4)\no = pl.tile.store(m, [0, 0], u)\nreturn o",
            columns=64,
            mode="LEFT_RIGHT",
            outputs={"u": (32, 32)},
        ),
        ("tile.store", "'m'", "LEFT_RIGHT", "axis 1"),
        Kernel(MASKED.format(mask="m = pl.tile.cmp(v, n, cmp_type=4)"), columns=64, mode="LEFT_RIGHT"),
    ),
    Case(
        "mask-on-split-axis",
        Kernel(MASKED.format(mask=BITS), columns=64, mode="LEFT_RIGHT", parameters=HALF_BITS),
        ("tile.sel", "'m'", "LEFT_RIGHT", "axis 1"),
        Kernel(MASKED.format(mask="m = pl.tile.cmp(v, n, cmp_type=4)"), columns=64, mode="LEFT_RIGHT"),
    ),
    Case(
        "boundary-in-auto-body",
        Kernel("q = pl.tile.aiv_shard(acc, split=1)" + STORE),
        ("tile.aiv_shard", "UP_DOWN", "'q'", "axis 0"),
        Kernel("q = v" + STORE),
    ),
    Case(
        "channel-in-auto-body",
        Kernel("pl.tile.tpush_to_aic(v, split=0)\n" + STORE_V),
        ("tile.tpush_to_aic", "UP_DOWN", "'v'", "axis 0"),
        Kernel("h = pl.tile.move(v, target_memory=pl.Mem.Mat)\n" + STORE_V),
    ),
    Case(
        "transpose-of-split-axis",
        TRANSPOSED,
        ("tile.transpose", "'q'", "'v'", "UP_DOWN", "axis 0"),
        Kernel(
            "q = pl.tile.load(t, [0, 0], [24, 32], target_memory=pl.Mem.Vec)" + STORE,
            parameters={"t": "pl.Tensor[[24, 32], pl.FP32]"},
            outputs={"y": (24, 32)},
        ),
    ),
    Case(
        "crossing-rank",
        Kernel(
            "a = pl.tile.load(t, [0, 0, 0], [2, 16, 24], target_memory=pl.Mem.Mat)\n"
            "b = pl.tile.move(a, target_memory=pl.Mem.Vec)\n" + STORE_V,
            parameters=CUBE,
        ),
        ("tile.move", "'b'", "3 axes", "UP_DOWN"),
        Kernel(
            "a = pl.tile.load(t, [0, 0, 0], [2, 16, 24], target_memory=pl.Mem.Mat)\n"
            "c = pl.tile.reshape(a, [32, 24])\nb = pl.tile.move(c, target_memory=pl.Mem.Vec)\n" + STORE_V,
            parameters=CUBE,
        ),
    ),
    Case(
        "gather-axis",
        Kernel(
            "b = pl.tile.load(t, [0, 0, 0], [2, 16, 24], target_memory=pl.Mem.Vec)\n"
            "c = pl.tile.move(b, target_memory=pl.Mem.Mat)\n" + STORE_V,
            parameters=CUBE,
        ),
        ("tile.move", "'b'", "axis 0", "UP_DOWN"),
        Kernel(
            "b = pl.tile.load(t, [0, 0, 0], [2, 16, 24], target_memory=pl.Mem.Vec)\n"
            "d = pl.tile.reshape(b, [32, 24])\nc = pl.tile.move(d, target_memory=pl.Mem.Mat)\n" + STORE_V,
            parameters=CUBE,
        ),
    ),
    Case(
        "unknown-extent",
        Kernel(JOINED.format(state="", k="k"), n=5),
        ("tile.move", "'k'", "axis 1", "UP_DOWN"),
        Kernel(JOINED.format(state="r = pl.tile.set_validshape(k, 32, n)", k="r"), n=5),
    ),
    Case(
        "scope-in-split-body",
        Kernel(SCOPED.format("v", "[0, 0]")),
        ("'kernel'", "scope", "UP_DOWN"),
        Kernel("q = pl.tile.neg(v)" + STORE),
    ),
    Case(
        "two-split-axes",
        Kernel(WHOLE_WORDS.format(first="h = pl.tile.reinterpret_view(v, dtype=pl.INT16)", view="a"), **ODD),
        ("'a'", "axis 1", "LEFT_RIGHT", "22", "21"),
        Kernel(
            WHOLE_WORDS.format(
                first="h = pl.tile.reinterpret_view(v, dtype=pl.INT16)",
                view="pl.tile.reinterpret_view(a, dtype=pl.INT16)",
            ).replace("[32, 42]", "[32, 21]"),
            columns=21,
            mode="LEFT_RIGHT",
            parameters={"t": "pl.Tensor[[32, 21], pl.FP32]"},
        ),
    ),
]


class InBody(Kernel):
    """A region kernel with lines behind the region, the return among them."""

    tail: str = ""

    @property
    def text(self) -> str:
        head = super().text.rstrip().rpartition("\n        return ")[0]
        return f"{head}\n{indented(self.tail)}"


def indented(text: str) -> str:
    """Lines in the body of the kernel."""
    return "".join(f"        {line}\n" for line in text.strip().split("\n"))


def with_tail(tail: str, body: str, **facts: Any) -> InBody:
    """A region kernel that goes on behind its region."""
    kernel = InBody(body, **facts)
    kernel.tail = tail
    return kernel


class Widened(Kernel):
    """A kernel with its product at hand as a fully valid tile, `wide`."""

    @property
    def text(self) -> str:
        product = "        acc = pl.tile.matmul(xl, wr)\n"
        return super().text.replace(product, f"{product}        wide = pl.tile.set_validshape(acc, 16, 24)\n")


class Behind(Kernel):
    """A region kernel whose region stands in a scope."""

    @property
    def text(self) -> str:
        lines = super().text.split("\n")
        start = next(i for i, line in enumerate(lines) if "pl.split_aiv" in line)
        end = next(i for i, line in enumerate(lines) if line.startswith("        return"))
        scoped = ["        with pl.at(level=pl.Level.CORE_GROUP):", *("    " + line for line in lines[start:end])]
        return "\n".join([*lines[:start], *scoped, *lines[end:]])


BOTH = {"y": (32, 24), "u": (32, 24)}
PRODUCT = """
fl = pl.tile.move(f, target_memory=pl.Mem.Left)
um = pl.tile.load(b, [0, 0], [24, 16], target_memory=pl.Mem.Mat)
ur = pl.tile.move(um, target_memory=pl.Mem.Right)
p = pl.tile.matmul(fl, ur)
o = pl.tile.store(p, [0, 0], y)
return o
"""
CAST = "c = pl.tile.cast(g, pl.FP16)\nf = pl.aic_gather(c)\nreturn o"
JOINS: dict[str, Any] = {"parameters": {"b": "pl.Tensor[[24, 16], pl.FP16]"}, "outputs": {"y": (32, 16)}}
H = "q = pl.tile.neg(h)\no = pl.tile.store(q, [lane * 16, 0], y)\nreturn o"
TAKEN = {"t": "pl.Tensor[[32, 24], pl.FP32]"}
CARRIED = """
{seed}
for k, (c,) in pl.range(3, init_values=(z,)):
    c1 = pl.tile.add(h, c)
    q = pl.yield_(c1)
o = pl.tile.store(q, [lane * 8, 0], y)
return o
"""
RAGGED: dict[str, Any] = {"rows": 16, "valid": 5, "form": "explicit"}

REGIONS = [
    Case(
        "halved-value-leaves-region",
        with_tail(
            "e = pl.tile.store(q, [0, 0], u)\nreturn o, e", "q = pl.tile.neg(v)" + STORE, form="region", outputs=BOTH
        ),
        ("'q'", "UP_DOWN", "axis 0", "neg q"),
        Kernel("q = pl.tile.neg(v)\ne = pl.tile.store(q, [0, 0], u)" + STORE + ", e", form="region", outputs=BOTH),
    ),
    Case(
        "halved-value-leaves-region",
        with_tail("e = pl.tile.store(q, [0, 0], u)\nreturn o, e", H, form="explicit", outputs=BOTH),
        ("'q'", "UP_DOWN", "axis 0"),
        Kernel(
            "q = pl.tile.neg(h)\ne = pl.tile.store(q, [lane * 16, 0], u)\n" + H + ", e", form="explicit", outputs=BOTH
        ),
    ),
    Case(
        "mixed-width-region",
        Kernel(
            "a = pl.tile.load(t, [0, 0], [32, 24], target_memory=pl.Mem.Vec)\n" + H, form="explicit", parameters=TAKEN
        ),
        ("tile.load", "'a'", "UP_DOWN", "axis 0"),
        Kernel(
            "a = pl.tile.load(t, [lane * 16, 0], [16, 24], target_memory=pl.Mem.Vec)\n" + H,
            form="explicit",
            parameters=TAKEN,
        ),
    ),
    Case(
        "transpose-of-split-axis",
        Kernel(
            "a = pl.tile.transpose(h, 0, 1)\no = pl.tile.store(a, [0, lane * 16], y)\nreturn o",
            form="explicit",
            outputs={"y": (24, 32)},
        ),
        ("tile.transpose(h)", "'a'", "UP_DOWN", "axis 0"),
        Kernel("a = pl.tile.slice(h, [16, 8], [0, 0])\n" + H, form="explicit"),
    ),
    Case(
        "reduce-on-split-axis",
        Kernel(
            "q = pl.tile.col_sum(h)\no = pl.tile.store(q, [lane, 0], y)\nreturn o",
            form="explicit",
            outputs={"y": (2, 24)},
        ),
        ("tile.col_sum", "'h'", "UP_DOWN", "axis 0"),
        Kernel(
            "s = pl.tile.create([16, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)\nq = pl.tile.row_sum(h, s)\n"
            "o = pl.tile.store(q, [lane * 16, 0], y)\nreturn o",
            form="explicit",
            outputs={"y": (32, 1)},
        ),
    ),
    Case(
        "crossing-under-lane-test",
        Kernel(
            "if lane < 1:\n    k = pl.aiv_shard(acc)\n    p = pl.tile.store(k, [0, 0], y)\n    o = pl.yield_(p)\n"
            "else:\n    o = pl.yield_(y)\nreturn o",
            form="explicit",
        ),
        ("tile.aiv_shard", "'k'", "lane index", "UP_DOWN", "axis 0"),
        Kernel(
            "k = pl.aiv_shard(acc)\nif lane < 1:\n    p = pl.tile.store(k, [0, 0], y)\n    o = pl.yield_(p)\n"
            "else:\n    o = pl.yield_(y)\nreturn o",
            form="explicit",
        ),
    ),
    Case(
        "ragged-bands",
        with_tail(PRODUCT, "g = pl.tile.set_validshape(h, 5, 24)\n" + CAST, form="explicit", **JOINS),
        ("tile.aic_gather", "'c'", "UP_DOWN", "axis 0"),
        with_tail(
            PRODUCT, "e = pl.tile.set_validshape(h, 5, 24)\ng = pl.tile.fillpad(e)\n" + CAST, form="explicit", **JOINS
        ),
    ),
    Case(
        "ragged-bands",
        with_tail(
            PRODUCT,
            "for k, (d,) in pl.range(2, init_values=(h,)):\n    m = pl.tile.set_validshape(d, n - 20, 24)\n"
            "    g = pl.yield_(m)\n" + CAST,
            form="explicit",
            valid="n",
            n=32,
            **JOINS,
        ),
        ("tile.aic_gather", "'c'", "UP_DOWN", "axis 0"),
        with_tail(
            PRODUCT,
            "for k, (d,) in pl.range(2, init_values=(h,)):\n    m = pl.tile.set_validshape(d, n - 20, 24)\n"
            "    e = pl.yield_(m)\ng = pl.tile.fillpad(e)\n" + CAST,
            form="explicit",
            valid="n",
            n=32,
            **JOINS,
        ),
    ),
    Case(
        "carried-extent",
        Widened(CARRIED.format(seed="m = pl.aiv_shard(wide)\nz = pl.tile.set_validshape(m, 3, 24)"), **RAGGED),
        ("'z'", "'c'", "UP_DOWN", "axis 0"),
        Kernel(CARRIED.format(seed="z = pl.tile.muls(h, 0.0)"), **RAGGED),
    ),
    Case(
        "boundary-without-axis",
        Kernel("h = pl.aiv_shard(acc)\nq = pl.tile.neg(h)\no = pl.tile.store(q, [0, 0], y)\nreturn o", form="none"),
        ("tile.aiv_shard", "'h'", "NONE"),
        Kernel(H, form="explicit"),
    ),
    Case(
        "lane-index-in-auto-region",
        Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [lane * 16, 0], y)\nreturn o", form="region"),
        ("'lane'", "UP_DOWN", "axis 0"),
        Kernel("q = pl.tile.neg(v)" + STORE, form="region"),
    ),
    Case(
        "scope-in-region-function",
        Kernel(SCOPED.format("v", "[0, 0]"), form="region"),
        ("'kernel'", "scope"),
        Kernel("q = pl.tile.neg(v)" + STORE, form="region"),
    ),
    Case(
        "region-behind-scope",
        Behind("q = pl.tile.neg(v)" + STORE, form="region"),
        ("scope", "region"),
        Kernel("q = pl.tile.neg(v)" + STORE, form="region"),
    ),
]
