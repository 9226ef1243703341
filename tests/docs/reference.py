"""The reference pages, made from the code: ops, passes, refusals, codes. `python -m tests.docs.reference` writes them.

A test compares the files with what this module makes, so they cannot fall behind.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import cubelane
from cubelane import language
from cubelane.ir.context import DIALECTS
from cubelane.ir.kernel import TARGET
from cubelane.ir.surface import REQUIRED, Parameter, SurfaceOp
from cubelane.ir.traits import (
    ByFirstTile,
    ByMove,
    ByResultMemory,
    CoreAffinity,
    Cost,
    Fixed,
    InPlace,
    Meaning,
    PtoSpelling,
    RunsOnce,
    Splits,
)
from cubelane.passes import pipeline
from cubelane.report.diff import difference
from tests.split.kernels import Kernel
from tests.split.refusals import AUTOMATIC, REGIONS, Case

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
SOURCE = Path(cubelane.__file__).parent
MADE = "<!-- made by `python -m tests.docs.reference`; edits are lost -->\n\n"


def pages() -> dict[str, str]:
    """All pages by file name."""
    return {"ops.md": ops(), "passes.md": passes(), "refusals.md": refusals(), "errors.md": errors()}


# --- ops ----------------------------------------------------------------------------------------------------

NAMESPACES = {
    "tensor": "Ops on tensors in global memory. Inside a scope they become tile ops.",
    "tile": "Ops on tiles: what a kernel written at the tile level uses, and what the passes make of tensor ops.",
    "system": "Frees, pipes, signals and fences.",
}


def ops() -> str:
    """Every op of the language, from its declaration."""
    declared = [op for dialect in DIALECTS for op in dialect.operations if issubclass(op, SurfaceOp)]
    parts = [
        MADE + "# Ops\n\nMade from the declarations of the ops. *Split* says what happens to an op when its tile is "
        "shared out between the lanes, *meaning* is the NumPy expression that the oracle and the emitter read.\n"
    ]
    for namespace, about in NAMESPACES.items():
        found = sorted((op for op in declared if op.NAMESPACE == namespace), key=lambda op: op.SPELLING)
        parts.append(f"\n## pl.{namespace}\n\n{about}\n")
        parts += [op_text(op) for op in found]
    return "".join(parts)


def op_text(op: type[SurfaceOp]) -> str:
    """One op."""
    call = f"pl.{op.NAMESPACE}.{op.SPELLING}({', '.join(parameter_text(p) for p in op.PARAMETERS)})"
    about = " ".join(inspect.cleandoc(op.__doc__ or "").split())
    about = re.sub(r"\s*\((?:spec/[^)]*)\)", "", about)
    rows = [("core", core_text(op)), ("cost", op.get_trait(Cost).cost.value), ("split", split_text(op))]
    meaning, spelling = op.get_trait(Meaning), op.get_trait(PtoSpelling)
    rows.append(("meaning", f"`{meaning.value}`" if meaning is not None and meaning.value else "none"))
    if spelling is not None and spelling.name:
        rows.append(("PTO", f"`{spelling.name}`"))
    if (in_place := op.get_trait(InPlace)) is not None:
        rows.append(("memory", f"works in the buffer of `{in_place.operand}`"))
    if op.get_trait(RunsOnce) is not None:
        rows.append(("runs", "once: on one core, one lane"))
    facts = "; ".join(f"*{name}* {value}" for name, value in rows)
    return f"\n### {op.NAMESPACE}.{op.SPELLING}\n\n`{call}`\n\n{about}\n\n{facts}.\n"


def parameter_text(parameter: Parameter) -> str:
    """A parameter as a signature shows it."""
    star = "*, " if parameter.keyword and parameter.default is REQUIRED else ""
    return star + parameter.label + ("" if parameter.default is REQUIRED else f"={parameter.default!r}")


def core_text(op: type[SurfaceOp]) -> str:
    """Where an op runs."""
    match op.get_trait(CoreAffinity):
        case Fixed(affinity):
            return affinity.value
        case ByResultMemory():
            return "the core that owns the space of the result"
        case ByFirstTile():
            return "the core that owns the space of the first tile"
        case ByMove():
            return "the core of the source; a crossing when source and result lie on two cores"
        case _:
            return "either"


def split_text(op: type[SurfaceOp]) -> str:
    """What happens to an op when its tile is shared out."""
    splits = op.get_trait(Splits)
    axis = "" if splits.axis is None else f" (axis {splits.axis})"
    return splits.behaviour.value.replace("`axis`", "the axis").replace(";", ",") + axis


# --- passes -------------------------------------------------------------------------------------------------

SAMPLE = """
import cubelane.language as pl

@pl.program
class Sample:
    @pl.function
    def main(self, x: pl.Tensor[[64, 64], pl.FP16], w: pl.Tensor[[64, 32], pl.FP16],
             out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]) -> pl.Tensor[[64, 32], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.matmul(x, w, out_dtype=pl.FP32)
            out = pl.assemble(out, pl.row_expand_mul(pl.exp(y), pl.row_max(y)), [0, 0])
        return out
""".lstrip()


def passes() -> str:
    """Every pass: what it says of itself, and what it changes of one small kernel."""
    parts = [
        MADE + "# Passes\n\nIn the order they run. Each page part is the pass's own description and what it changes of "
        f"this kernel on a2a3 (`cubelane lower FILE --diff`):\n\n```python\n{SAMPLE}```\n"
    ]
    changes = dict(sample_changes())
    for stage in pipeline.PASSES:
        properties = [
            ("needs", stage.required),
            ("gives", stage.produced),
            ("ends", stage.invalidated),
            ("machines", stage.targets or frozenset()),
        ]
        facts = "; ".join(f"{name} {', '.join(sorted(values))}" for name, values in properties if values)
        lines = changes.get(stage.name, [])
        shown = "```diff\n" + "\n".join(lines) + "\n```\n" if lines else "It changes nothing of the kernel above.\n"
        parts.append(f"\n## {stage.name}\n\n{pass_text(stage.module)}\n\n{facts}.\n\n{shown}")
    return "".join(parts)


def pass_text(module: str) -> str:
    """What the module of a pass says it does."""
    text = inspect.cleandoc(import_module(module).__doc__ or "")
    return re.sub(r"\s*\((?:spec|design)[^)]*\)", "", text)


def sample_changes() -> Iterator[tuple[str, list[str]]]:
    """What each pass changes of the sample."""
    module = language.parse(SAMPLE, "sample.py")
    module.attributes[TARGET] = cubelane_target("a2a3")
    texts = [("as written", language.print_program(module))]
    pipeline.run(module, after=lambda stage, now: texts.append((stage.name, language.print_program(now))))
    for (before, old), (name, new) in pairwise(texts):
        lines = difference(before, name, old, new).lines
        yield name, [shortened(line) for line in lines if line[:1] in "+-"]


def cubelane_target(name: str) -> Any:
    """The attribute that names a machine."""
    return import_module("xdsl.dialects.builtin").StringAttr(name)


def shortened(line: str) -> str:
    """A line without the details of layouts, which are long."""
    return re.sub(r", pl\.TileView\([^()]*\)", "", line)


# --- refusals -----------------------------------------------------------------------------------------------


def refusals() -> str:
    """Every refused case of the lane split with its message and the rewrite that a test compiles and runs."""
    parts = [
        MADE + "# Refused cases and their rewrites\n\nEvery refusal of LowerAutoVectorSplit, with a kernel that meets "
        "it. `acc` is a product on the cube, `v` the same tile on the vector lanes, `y` the output. The rewrite below "
        "each message was compiled, run and compared by the tests. "
        "[The guide](../guide.md) explains the common ones.\n"
    ]
    cases: list[Case] = [*AUTOMATIC, *REGIONS]
    for code in dict.fromkeys(case.code for case in cases):
        parts.append(f"\n## {code}\n")
        for case in (c for c in cases if c.code == code):
            problem = case.bad.refusal()
            said = "\n".join([problem.message, *(f"   {n}" for n in problem.notes), f"   instead: {problem.instead}"])
            mode = "" if case.bad.form == "none" else f" ({case.bad.mode})"
            parts.append(
                f"\nRefused{mode}:\n\n```python\n{body_of(case.bad)}\n```\n\n```text\n{said}\n```\n\n"
                f"Instead{changed_frame(case)}:\n\n```python\n{body_of(case.advised)}\n```\n"
            )
    return "".join(parts)


def body_of(kernel: Kernel) -> str:
    """The part of a kernel that matters, and what stands behind the region."""
    tail = getattr(kernel, "tail", "")
    return dedent(kernel.body).strip() + (f"\n# behind the region:\n{dedent(tail).strip()}" if tail else "")


def changed_frame(case: Case) -> str:
    """What else the rewrite changes."""
    bad, good = case.bad, case.advised
    notes = [f"{good.mode}"] if good.mode != bad.mode and good.form != "none" else []
    if (good.rows, good.columns) != (bad.rows, bad.columns):
        notes.append(f"with a tile of {good.rows} x {good.columns} instead of {bad.rows} x {bad.columns}")
    return f", {', '.join(notes)}" if notes else ""


# --- codes --------------------------------------------------------------------------------------------------

ROOMS = {
    "language": "The language",
    "ptodsl": "The tracing language",
    "ir": "Types and ops",
    "analysis": "Analyses",
    "passes": "Passes",
    "emit": "Texts of the programs",
    "sim": "The simulators",
    "check": "The checkers",
    "compat": "Running scripts",
    "dropin": "Scripts that import the other package",
}


def errors() -> str:
    """Every code a diagnostic can have, with the messages it comes with."""
    parts = [
        MADE + "# Codes of diagnostics\n\nEvery diagnostic has a place, a message, reasons, as a rule a rewrite, and a "
        "code; `--format json` shows it. Below are all codes with the messages they come with; `…` stands for names, "
        "lines and numbers of your kernel. Codes of the lane split have [kernels and rewrites](refusals.md).\n"
    ]
    found = list(raised())
    for room, title in ROOMS.items():
        codes = sorted({code for where, code, *_ in found if where == room})
        if not codes:
            continue
        parts.append(f"\n## {title}\n")
        for code in codes:
            messages = sorted({(m, i) for where, c, m, i in found if (where, c) == (room, code) and m})
            parts.append(f"\n### {code}\n\n" + ("" if messages else "The message is that of the part that failed.\n"))
            for message, instead in messages:
                parts.append(f"* {message}" + (f"  \n  instead: {instead}" if instead else "") + "\n")
    return "".join(parts)


def raised() -> Iterator[tuple[str, str, str, str]]:
    """Room, code, message and advice of every place in the source that makes a diagnostic with a code."""
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in ("cli", "report"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                keywords = {k.arg: k.value for k in node.keywords}
                code = code_of(keywords.get("code"), constants)
                if code is not None:
                    words = [text for a in node.args if (text := template(a)) is not None]
                    instead = template(keywords.get("instead")) or ""
                    yield room, code, words[0] if words else "", instead


def code_of(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    """The code an argument states."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def template(node: ast.expr | None) -> str | None:
    """A text with `…` where a value is put in; None for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return escaped(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [escaped(p.value) if isinstance(p, ast.Constant) else "…" for p in node.values]
        return re.sub(r"…+", "…", "".join(parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = template(node.left), template(node.right)
        return None if left is None and right is None else (left or "…") + (right or "…")
    return None


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([*_<>\[\]|#])", r"\\\1", " ".join(text.split(" ")))


def main() -> None:
    """Writes the pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
