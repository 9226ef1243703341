"""Programs for the tests of this folder: small kernels as text, and the printed stages of the conformance set."""

import json
import os
import re
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from cubelane.ir.kernel import TARGET, functions_of
from cubelane.language import parse
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from cubelane.passes.tile.inject_gm_pipe_buffer import InjectGMPipeBuffer
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit
from cubelane.passes.tile.split_vector_kernel import SplitVectorKernel
from cubelane.passes.tile.stamp_tfree_split import StampTfreeSplit

ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance")) / "tile"

LATER = (InjectGMPipeBuffer, SplitVectorKernel, StampTfreeSplit)

HEAD = """import pypto.language as pl


@pl.program
class Prog:
"""
KERNEL = """    @pl.function(type=pl.FunctionType.InCore{attrs})
    def k(
        self,
        x: pl.Tensor[[16, 64], pl.FP16],
        w: pl.Tensor[[64, 32], pl.FP16],
        t: pl.{t}Tensor[[16, 32], pl.FP32]{t_end},
        n: pl.Scalar[pl.INDEX],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ) -> pl.Tensor[[16, 32], pl.FP32]:
{body}
"""
PRODUCT = """xm = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
xl = pl.tile.move(xm, target_memory=pl.Mem.Left)
wm = pl.tile.load(w, [0, 0], [16, 32], target_memory=pl.Mem.Mat)
wr = pl.tile.move(wm, target_memory=pl.Mem.Right)
{acc} = pl.tile.matmul(xl, wr)
"""
TO_VEC = "pl.tile.move({0}, target_memory=pl.Mem.Vec, blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box)"


def lines(text: str, depth: int) -> str:
    """Text indented by `depth` levels of the kernel's body."""
    return "".join(f"{'    ' * depth}{line}\n" for line in text.strip("\n").split("\n"))


def product(acc: str = "acc", depth: int = 0) -> str:
    """Loads and a matmul, whose result is `acc`."""
    return lines(PRODUCT.format(acc=acc), depth)


def kernel(body: str, *, attrs: str = "", scratch: bool = False) -> str:
    """A kernel over x [16, 64], w [64, 32], t and y [16, 32] and a scalar n; `t` is an output if `scratch`."""
    wrap = ("Out[pl.", "]") if scratch else ("", "")
    facts = f", attrs={{{attrs}}}" if attrs else ""
    return HEAD + KERNEL.format(attrs=facts, t=wrap[0], t_end=wrap[1], body=lines(body, 2).rstrip())


def program(text: str, target: str = "a5") -> ModuleOp:
    """The parsed text, for a target."""
    module = parse(text, filename="kernel.py")
    module.attributes[TARGET] = StringAttr(target)
    return module


def expanded(text: str, target: str = "a5", *, lower: bool = False, **options: Any) -> ModuleOp:
    """After ExpandMixedKernel; with `lower` after LowerAutoVectorSplit too."""
    module = program(text, target)
    if lower:
        LowerAutoVectorSplit().apply(Context(), module)
    ExpandMixedKernel(**options).apply(Context(), module)
    module.verify()
    return module


def finished(text: str, target: str = "a5", *, lower: bool = False) -> ModuleOp:
    """The three programs, ready to run."""
    module = expanded(text, target, lower=lower)
    for stage in LATER:
        stage().apply(Context(), module)
    module.verify()
    return module


def function(module: ModuleOp, name: str) -> FuncOp:
    """A function by name."""
    return next(f for f in functions_of(module) if f.sym_name.data == name)


def ops(module: ModuleOp, name: str) -> list[str]:
    """The names of the ops of a function in order, without scalars and terminators."""
    return [
        op.name
        for op in function(module, name).walk()
        if not op.name.startswith(("arith.", "func.", "scf.yield", "scf.condition"))
    ]


def case_facts(name: str) -> dict[str, Any]:
    """`case.json` of a conformance case."""
    return json.loads((ROOT / name / "case.json").read_text(encoding="utf-8"))


def stage(name: str, which: str) -> ModuleOp | None:
    """A printed stage of a case, None where there is none."""
    path = ROOT / name / "expected" / f"{which}.py"
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8")
    module = parse(joined_returns(text) if which == "split" else text, filename=f"{name}/{which}.py")
    module.attributes[TARGET] = StringAttr(case_facts(name)["backend"])
    return module


_RETURN = re.compile(r"^            return (.+)$")


def joined_returns(text: str) -> str:
    """`return` at the end of both branches of a lane test, written as yields and one return behind them."""
    result: list[str] = []
    pending = ""
    for line in text.split("\n"):
        match = _RETURN.match(line)
        if match is None:
            if pending and (line.startswith("    @") or not line.strip()):
                result.append(f"        return {pending}")
                pending = ""
            result.append(line)
            continue
        pending = ", ".join(f"joined_{i}" for i in range(match[1].count(",") + 1))
        result.append(f"            {pending} = pl.yield_({match[1]})")
    if pending:
        result.append(f"        return {pending}")
    return "\n".join(result)
