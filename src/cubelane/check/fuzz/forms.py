"""One kernel in two forms, split by the mode of its function and as a region with a full-width body: one answer."""

import ast

from cubelane import language
from cubelane.check.compare import compare
from cubelane.check.execute import run_group
from cubelane.check.fuzz.program import TOLERANCE
from cubelane.check.fuzz.setting import FILE, Arrays, targeted
from cubelane.ir.diagnostic import Diagnostic
from cubelane.passes import pipeline

LANE_PASSES = ("lower-auto-vector-split", "expand-mixed-kernel", "split-vector-kernel", "stamp-tfree-split")
"""The passes that tell the lanes apart, on a kernel written with memory spaces."""


def as_region(text: str) -> str | None:
    """The text of a tile-level kernel that is split by a mode, with its vector part in a region of that mode.

    None where that is not possible: no mode, a region already, or cube work behind the first crossing.
    """
    tree = ast.parse(text)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    if len(functions) != 1 or "split_aiv" in text:
        return None
    (function,) = functions
    marks = next((n for n in ast.walk(function.decorator_list[0]) if isinstance(n, ast.Dict)), None)
    mode = None if marks is None else dict(zip(_words(marks.keys), marks.values, strict=True)).get("split")
    crossing = next((n for n, s in enumerate(function.body) if _crosses(s)), None)
    if marks is None or mode is None or crossing is None or not isinstance(function.body[-1], ast.Return):
        return None
    inside = function.body[crossing:-1]
    if any("matmul" in ast.dump(s) for s in inside):
        return None
    marks.keys.append(ast.Constant("split_aiv"))
    marks.values.append(ast.Constant(True))
    head = ast.parse("for lane in pl.split_aiv(2):\n    pass").body[0]
    assert isinstance(head, ast.For) and isinstance(head.iter, ast.Call)
    head.iter.keywords.append(ast.keyword("mode", mode))
    head.body = inside
    function.body[crossing:-1] = [head]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _words(keys: list[ast.expr | None]) -> list[str]:
    return [str(k.value) if isinstance(k, ast.Constant) else "" for k in keys]


def _crosses(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and "attr='Vec'" in ast.dump(statement) and "'move'" in ast.dump(statement)


def answer(text: str, target: str, given: Arrays, expected: Arrays) -> str:
    """`equal`, `refused: CODE`, or what is wrong, after the passes that tell the lanes apart."""
    module = targeted(language.parse(text, FILE), target)
    try:
        for name in LANE_PASSES:
            pipeline.pass_named(name)(module)
    except Diagnostic as problem:
        return f"refused: {problem.code}"
    run = run_group(module, given)
    if run.findings:
        return f"{run.findings[0].code}: {run.findings[0].message}"
    comparison = compare(run.outputs, expected, rtol=TOLERANCE, atol=TOLERANCE)
    return "equal" if comparison.equal else str(comparison)
