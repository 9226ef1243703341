"""The texts of the reference: ours have the same ops in the same order, but for the differences listed here."""

import difflib
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_program
from cubelane.emit.pto_program import pto_modules
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.text import print_pto, read_pto

SHARED = Path(__file__).parents[3] / "shared" / "conformance"
ROOT = Path(os.environ.get("CUBELANE_CONFORMANCE", SHARED)) / "tensor"
TEXTS = sorted(ROOT.glob("*/expected/*/kernel.pto"))
QUIET = ("arith.", "func.", "scf.yield", "pto.alloc_tile", "pto.set_validshape")
"""Arithmetic is shared here and repeated there; handles follow from it."""

DIFFERENCES = {
    "-pto.make_tensor_view": "a view of a parameter that nobody reads",
    "-pto.tmov": "a copy of a carry or branch result that is made in its place here",
    "-pto.subview -pto.tmov": "a paste into a tile that is in place here",
    "-pto.make_tensor_view -pto.subview -pto.tmov": "both",
    "+pto.tcolexpandadd -pto.tadd": "a row beside a tile is spread",
    "+scf.if": "a store of lanes that may be empty is guarded",
}
UNROLLED = {"column_blocks_pipeline_ud", "pure_cube_with_split"}
"""Pipelined loops are unrolled by stages there, large products cut into other blocks."""

REFUSED = {"region_none_colsum"}
"""Kernels that the seed has refused (docs/deviations.md)."""


def ops(function):
    return [op.name for op in function.walk() if not op.name.startswith(QUIET)]


def functions(module):
    return {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp)}


@pytest.mark.skipif(not TEXTS, reason="the conformance set is not here")
def test_texts_have_the_ops_of_the_reference():
    tally: Counter[str] = Counter()
    unexpected: list[str] = []
    for path in TEXTS:
        case, target = path.parents[2], path.parent.name
        theirs = functions(read_pto(path.read_text(), str(path)))
        try:
            compiled = compile_program(read_program(str(case / "kernel.py")), target)
        except Diagnostic:
            wanted = json.loads((case / "case.json").read_text())["want"]
            assert wanted != "structural" or case.name in REFUSED, case.name
            tally["refused here"] += 1
            continue
        ours = {n: f for m in pto_modules(compiled.module).values() for n, f in functions(m).items()}
        assert ours.keys() == theirs.keys()
        for name, function in ours.items():
            delta = difflib.unified_diff(ops(theirs[name]), ops(function), lineterm="", n=0)
            changed = " ".join(sorted({d for d in delta if not d.startswith(("---", "+++", "@@"))}))
            if not changed:
                tally["same"] += 1
            elif changed in DIFFERENCES:
                tally[DIFFERENCES[changed]] += 1
            elif case.name in UNROLLED:
                tally["unrolled or cut otherwise"] += 1
            else:
                unexpected.append(f"{case.name} {target} {name}: {changed}")
    print()
    for what, count in tally.most_common():
        print(f"{count:4} {what}")
    assert not unexpected
    assert tally["same"] >= 174


@pytest.mark.skipif(not TEXTS, reason="the conformance set is not here")
def test_texts_of_the_reference_read_back_as_printed():
    for path in TEXTS:
        module = read_pto(path.read_text(), str(path))
        for full in (False, True):
            text = print_pto(module, full=full)
            assert print_pto(read_pto(text), full=full) == text
