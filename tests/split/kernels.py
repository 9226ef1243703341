"""Kernels for the tests of the lane split: a matmul in front, a body behind it, run against the oracle."""

import re
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import TARGET, functions_of
from cubelane.language import parse
from cubelane.passes import pipeline
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit

MARK = -777.0
LANE_PASSES = ("lower-auto-vector-split", "expand-mixed-kernel", "split-vector-kernel", "stamp-tfree-split")


def code(*shape: int, dtype: Any = np.float32) -> Any:
    """Index-coded values: a row or column that lands in the wrong place shows, and FP16 products stay exact."""
    i = np.indices(shape)
    return ((5 * i[0] + 3 * i[-1] + i[0] * i[-1] // 3) % 13 - 6).astype(dtype)


@dataclass
class Kernel:
    """`v` is the product of x [rows, 16] and w [16, columns], on the vector side; `body` goes on from there.

    `valid` is the number of valid rows (a number, or the scalar `n`). In region form the body stands in a region, and
    starts from `h`, the lane's half, when `explicit`.
    """

    body: str
    rows: int = 32
    columns: int = 24
    mode: str = "UP_DOWN"
    valid: int | str | None = None
    columns_valid: int | None = None
    parameters: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    form: str = "function"
    n: int = 0
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The program."""
        m, n = self.rows, self.columns
        outputs = self.outputs or {"y": (m, n)}
        marks = "" if self.form == "none" else f'"split": pl.SplitMode.{self.mode}, '
        marks += "" if self.form == "function" else '"split_aiv": True'
        parameters = {"x": f"pl.Tensor[[{m}, 16], pl.FP16]", "w": f"pl.Tensor[[16, {n}], pl.FP16]"}
        parameters |= {name: text for name, text in self.parameters.items()}
        parameters |= {"n": "pl.Scalar[pl.INDEX]"} if self.needs_n else {}
        parameters |= {name: f"pl.Out[pl.Tensor[{list(shape)}, pl.FP32]]" for name, shape in outputs.items()}
        kinds = ", ".join(f"pl.Tensor[{list(shape)}, pl.FP32]" for shape in outputs.values())
        rows = "" if self.valid is None else f", [{self.valid}, 16]"
        columns = "" if self.columns_valid is None else f", [16, {self.columns_valid}]"
        head = [
            f"xm = pl.tile.load(x, [0, 0], [{m}, 16]{rows}, target_memory=pl.Mem.Mat)",
            "xl = pl.tile.move(xm, target_memory=pl.Mem.Left)",
            f"wm = pl.tile.load(w, [0, 0], [16, {n}]{columns}, target_memory=pl.Mem.Mat)",
            "wr = pl.tile.move(wm, target_memory=pl.Mem.Right)",
            "acc = pl.tile.matmul(xl, wr)",
        ]
        crossing = {
            "function": [
                "v = pl.tile.move(acc, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, "
                "slayout=pl.TileLayout.none_box)"
            ],
            "explicit": ["h = pl.aiv_shard(acc)"],
            "none": [],
        }
        crossing["region"] = crossing["function"]
        inner = [*crossing[self.form], *dedent(self.body).strip().split("\n")]
        if self.form != "function":
            mode = "NONE" if self.form == "none" else self.mode
            returned = inner.pop() if inner[-1].startswith("return") else None
            inner = [f"for lane in pl.split_aiv(2, mode=pl.SplitMode.{mode}):", *("    " + line for line in inner)]
            inner += [returned] if returned else []
        returns = kinds if len(outputs) == 1 else f"tuple[{kinds}]"
        return "\n".join(
            [
                "import pypto.language as pl",
                "",
                "@pl.program",
                "class Prog:",
                f"    @pl.function(type=pl.FunctionType.InCore, attrs={{{marks}}})",
                f"    def kernel(self, {', '.join(f'{k}: {t}' for k, t in parameters.items())}) -> {returns}:",
                *("        " + line for line in [*head, *inner]),
                "",
            ]
        )

    @property
    def needs_n(self) -> bool:
        """Whether the kernel has a scalar parameter n."""
        return self.valid == "n" or "n:" in self.body or self.n > 0

    @property
    def inputs(self) -> dict[str, Any]:
        """Index-coded inputs, marker-filled outputs."""
        made: dict[str, Any] = {
            "x": code(self.rows, 16, dtype=np.float16),
            "w": code(16, self.columns, dtype=np.float16),
            "n": self.n,
        }
        for name, text in self.parameters.items():
            match = re.search(r"Tensor\[\[([\d, ]+)\], pl\.(\w+)\]", text)
            if match:
                dtype = {"FP32": np.float32, "FP16": np.float16, "INT32": np.int32, "INT16": np.int16}[match[2]]
                made[name] = code(*(int(d) for d in match[1].split(",")), dtype=dtype)
        for name, shape in (self.outputs or {"y": (self.rows, self.columns)}).items():
            made[name] = np.full(shape, MARK, np.float32)
        return made | self.values

    def parsed(self) -> ModuleOp:
        """The program as written."""
        module = parse(self.text, filename="kernel.py")
        module.attributes[TARGET] = StringAttr("a5")
        return module

    def lowered(self) -> ModuleOp:
        """The program after the pass, verified."""
        module = LowerAutoVectorSplit()(self.parsed())
        module.verify()
        return module

    def check(self) -> ModuleOp:
        """Lowers, runs the three programs and compares with the oracle; gives the lowered program."""
        wanted = run_reference(self.parsed(), self.inputs)
        module = self.parsed()
        for name in LANE_PASSES:
            pipeline.pass_named(name)(module)
        run = run_group(module, self.inputs)
        assert not run.findings, [str(f) for f in run.findings]
        for name, array in wanted.items():
            np.testing.assert_allclose(run.outputs[name], array, rtol=1e-3, atol=1e-3, err_msg=name)
        return self.lowered()

    def refusal(self) -> Diagnostic:
        """The refusal of the pass."""
        module = self.parsed()
        try:
            LowerAutoVectorSplit()(module)
        except Diagnostic as problem:
            return problem
        raise AssertionError(f"not refused:\n{module}")


def ops(module: ModuleOp, name: str) -> list[Any]:
    """All ops of a name, in order."""
    return [op for function in functions_of(module) for op in function.body.walk() if op.name == name]


def value(module: ModuleOp, name: str) -> Any:
    """The last value of a name."""
    found = [
        v
        for function in functions_of(module)
        for op in function.body.walk()
        for v in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args))
        if v.name_hint == name
    ]
    assert found, name
    return found[-1]
