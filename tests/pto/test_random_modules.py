"""The law of the split: nothing lost, nothing doubled, order kept, or a located refusal (issue 6)."""

import os
from collections import Counter

from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.pto_emission import findings
from cubelane.analysis.pto_purity import foreign_work
from cubelane.ir.collector import paused
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.attrs import kind_of
from cubelane.ir.pto.text import print_pto, read_pto, verify_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, VPTO, run

from .generator import kernels
from .stamps import stamped

EXAMPLES = int(os.environ.get("CUBELANE_PTO_EXAMPLES", "60"))
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


def judge(program: ModuleOp) -> str:
    """Splits a program and checks the law; gives what happened to it."""
    before, untouched = idents(program), program.clone()
    try:
        run(NORMALIZATION[:2], program)
    except Diagnostic as problem:
        assert problem.location.line > 0 and problem.instead
        assert program.is_structurally_equivalent(untouched)
        return f"refused: {problem.code}"
    assert Counter(idents(program)) == Counter(before)
    try:
        run((NORMALIZATION[2], *VPTO[:3]), program)
    except Diagnostic as problem:
        assert problem.location.line > 0
        assert problem.code in ("value-crosses-section", "kindless-module")
        return f"refused: {problem.code}"
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
    return f"split into {len(program.body.block.ops)}"


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels())
def test_every_op_lands_on_one_core_in_order_or_the_module_is_refused(text: str):
    program = read_pto(text, "r.pto")
    outcome = judge(program)
    event(outcome)
    if outcome.startswith("split"):
        verify_pto(program)
        assert print_pto(read_pto(print_pto(program))) == print_pto(program)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_five_thousand_modules_made_in_memory_keep_the_law(seed: int):
    with paused():
        for number in range(seed, seed + 100):
            try:
                judge(stamped(number))
            except AssertionError:
                note(print_pto(stamped(number)))
                raise


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
