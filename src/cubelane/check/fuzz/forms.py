"""One kernel in two forms, split by the mode of its function and as a region with a full-width body: one answer.

A kernel at the tensor level is compared as what it is lowered to, the tile program that the lanes are told apart in.
"""

import ast
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import MemoryWriteEffect

from cubelane import language
from cubelane.analysis.affinity import classify
from cubelane.check.compare import compare
from cubelane.check.execute import run_group
from cubelane.check.fuzz.program import TOLERANCE
from cubelane.check.fuzz.setting import FILE, Arrays, targeted
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.passes import pipeline

LANE_PASSES = ("lower-auto-vector-split", "expand-mixed-kernel", "split-vector-kernel", "stamp-tfree-split")
"""The passes that tell the lanes apart, on a kernel written with memory spaces."""


def tile_form(source: ModuleOp, target: str) -> str | None:
    """The text of a program with memory spaces, from which a region can be made; None where the passes refuse it."""
    if all(kind_of(f) is FunctionKind.INCORE for f in functions_of(source)):
        return language.print_program(source)
    module = targeted(source.clone(), target)
    try:
        pipeline.run(module, pipeline.TILE_STAGE)
    except Diagnostic:
        return None
    return language.print_program(module)


def as_region(text: str) -> str | None:
    """The text of a tile-level kernel that is split by a mode, with its vector part in a region of that mode.

    None where that is not possible: no mode, a region already, no cube work, some behind the first vector work, or a
    cell that is written, once in a split function and by both lanes beside a region.
    """
    if "split_aiv" in text:
        return None
    tree, program = ast.parse(text), language.parse(text, FILE)
    functions = {f.sym_name.data: f for f in functions_of(program)}
    changed = False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in functions and (marks := _marks(node)) is not None:
            if not _put_into_region(node, functions[node.name], marks):
                return None
            changed = True
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if changed else None


def _marks(function: ast.FunctionDef) -> ast.Dict | None:
    """The attributes of a function that is split by a mode, as its decorator or its first statement says them."""
    for place in (*function.decorator_list, *function.body):
        for node in ast.walk(place):
            if isinstance(node, ast.Dict) and any(
                isinstance(k, ast.Constant) and k.value == "split" for k in node.keys
            ):
                return node
    return None


def _put_into_region(node: ast.FunctionDef, function: FuncOp, marks: ast.Dict) -> bool:
    """Wraps all statements from the first vector work on, except the return; False where that cannot be."""
    leaves = [list(_leaves(function, statement)) for statement in node.body]
    lanes = (Affinity.VECTOR, Affinity.MIXED)
    first = next((n for n, ops in enumerate(leaves) if any(classify(op) in lanes for op in ops)), None)
    if first is None or not isinstance(node.body[-1], ast.Return):
        return False
    cube = [n for n, ops in enumerate(leaves) if any(classify(op) is Affinity.CUBE for op in ops)]
    if not cube or cube[-1] >= first:  # without cube work a function is not split, whatever its mode
        return False
    if any(_writes_once(op) for ops in leaves for op in ops):
        return False
    words = [k.value if isinstance(k, ast.Constant) else None for k in marks.keys]
    mode = marks.values[words.index("split")]
    marks.keys.append(ast.Constant("split_aiv"))
    marks.values.append(ast.Constant(True))
    head = ast.parse("for lane in pl.split_aiv(2):\n    pass").body[0]
    assert isinstance(head, ast.For) and isinstance(head.iter, ast.Call)
    head.iter.keywords.append(ast.keyword("mode", mode))
    head.body = node.body[first:-1]
    node.body[first:-1] = [head]
    return True


def _writes_once(op: Operation) -> bool:
    return op.has_trait(MemoryWriteEffect) and classify(op) is Affinity.SHARED


def _leaves(function: FuncOp, statement: ast.stmt) -> Iterator[Operation]:
    """The ops of a statement, those of its body included."""
    last = statement.end_lineno or statement.lineno
    for op in function.walk():
        if op is not function and not op.regions and statement.lineno <= Location.of(op).line <= last:
            yield op


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
