"""The law of the split: nothing lost, nothing doubled, order kept, or a located refusal (issue 6)."""

import os
from collections import Counter

from hypothesis import HealthCheck, event, given, settings
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.pto_emission import findings
from cubelane.analysis.pto_purity import foreign_work
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.attrs import kind_of
from cubelane.ir.pto.text import print_pto, read_pto, verify_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, VPTO, run

from .generator import kernels

EXAMPLES = int(os.environ.get("CUBELANE_PTO_EXAMPLES", "150"))
MAY_REPEAT = ("pto.load_scalar",)


def idents(root: Operation) -> list[int]:
    """The ids of the ops below root, in order; ops that both cores may run are left out."""
    found = [op.attributes.get("id") for op in root.walk() if op.name not in MAY_REPEAT]
    return [attribute.value.data for attribute in found if isinstance(attribute, IntegerAttr)]


def check_dominance(op: Operation, known: set[SSAValue]) -> None:
    for operand in op.operands:
        assert operand in known, f"{op.name} uses a value that is not visible"
    for region in op.regions:
        for block in region.blocks:
            inner = known | set(block.args)
            for nested in block.ops:
                check_dominance(nested, inner)
                inner |= set(nested.results)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_every_op_lands_on_one_core_in_order_or_the_module_is_refused(text: str):
    program = read_pto(text, "r.pto")
    before = idents(program)
    printed = print_pto(program)
    try:
        run(NORMALIZATION[:2], program)
    except Diagnostic as problem:
        event(f"refused: {problem.code}")
        assert problem.location.line > 0 and problem.instead
        assert print_pto(program) == printed
        return
    assert Counter(idents(program)) == Counter(before)
    try:
        run((NORMALIZATION[2], *VPTO[:3]), program)
    except Diagnostic as problem:
        event(f"refused: {problem.code}")
        assert problem.location.line > 0
        assert problem.code in ("value-crosses-section", "kindless-module")
        return
    event(f"split into {len(program.body.block.ops)}")
    verify_pto(program)
    position = {ident: index for index, ident in enumerate(before)}
    landed: list[int] = []
    for child in program.body.block.ops:
        assert isinstance(child, ModuleOp)
        kind = kind_of(child.attributes)
        assert kind is not None and not list(foreign_work(child, kind))
        check_dominance(child, set())
        order = [position[ident] for ident in idents(child)]
        assert order == sorted(order)
        landed += idents(child)
    assert Counter(landed) == Counter(before)
    assert print_pto(read_pto(print_pto(program))) == print_pto(program)


def test_block_arguments_count_as_visible():
    program = read_pto("func.func @f(%a: i64) {\n  return\n}\n")
    check_dominance(program, set())
    assert isinstance(next(iter(program.body.block.ops)), FuncOp)
    assert isinstance(program.body.block, Block)


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_vpto_of_a_random_module_is_clean_or_the_module_is_refused(text: str):
    program = read_pto(text, "r.pto")
    try:
        run((*NORMALIZATION, *VPTO), program)
    except Diagnostic as problem:
        assert problem.location.line > 0
        return
    verify_pto(program)
    assert not list(findings(program))
    for child in program.body.block.ops:
        check_dominance(child, set())
    assert print_pto(read_pto(print_pto(program))) == print_pto(program)
