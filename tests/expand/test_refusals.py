"""Every refusal behind the split says where, what and what instead; the advised program runs and is equal."""

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import CallOp

import cubelane
from cubelane.check.execute import run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import TARGET, FunctionKind, ScopeOp, SplitAttr, kind_of
from cubelane.ir.types import SplitMode
from cubelane.language import parse
from cubelane.passes import pipeline
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from cubelane.passes.tile.outline_incore_scopes import OutlineIncoreScopes
from tests.expand.refusals import CASES, REGION, SCOPED, WHOLE, Case, golden, inputs
from tests.expand.stages import function, program
from tests.expand.test_programs import PAIR
from tests.split.test_refusals import codes_of

SOURCE = Path(cubelane.__file__).parent
MODULES = (
    SOURCE / "passes/tile/outline_incore_scopes.py",
    *SOURCE.glob("passes/tile/expand_mixed_kernel/*.py"),
    *SOURCE.glob("passes/tile/split_vector_kernel/*.py"),
    SOURCE / "passes/tile/inject_gm_pipe_buffer.py",
    SOURCE / "passes/tile/stamp_tfree_split.py",
    *(SOURCE / f"analysis/{name}.py" for name in ("boundaries", "levels", "projection", "gm_order", "places")),
)
ELSEWHERE = {
    "deferred-waiter": "tests/expand/test_signals.py",
    "split-scope-with-regions": "test_scope_with_a_split_and_regions_is_refused_by_the_outliner_too",
    "call-arguments": "test_call_of_a_member_with_other_arguments_is_refused",
    "transport-code": "test_unknown_transport_code_is_refused",
}
"""Codes that the language refuses first, so that no text leads to them, and where they are tested."""


def through(text: str, passes: tuple[str, ...], target: str):
    module = parse(text, filename="kernel.py")
    if target:
        module.attributes[TARGET] = StringAttr(target)
    if passes == (WHOLE,):
        return pipeline.run(module)
    for name in passes:
        pipeline.pass_named(name)(module)
    return module


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_refusal_says_where_what_why_and_what_instead(case: Case):
    with pytest.raises(Diagnostic) as caught:
        through(case.bad, case.passes, case.target)
    problem, told = caught.value, str(caught.value)
    assert problem.code == case.code, told
    line = case.bad.split("\n")[problem.location.line - 1]
    assert problem.location.file == "kernel.py" and line[problem.location.column - 1 :].strip()
    assert [word for word in case.words if word not in told] == [], told
    assert problem.instead


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_the_advised_program_is_equal(case: Case):
    module = through(case.advised, case.advised_passes or case.passes, case.target or "a5")
    module.verify()
    given = inputs(case.advised)
    result = run_group(module, given)
    assert not result.findings, result.findings[0]
    source = parse(case.advised)
    by_hand = any(kind_of(f) is FunctionKind.GROUP for f in source.walk() if f.name == "func.func")
    wanted = golden(case.advised, given) if by_hand else run_reference(source, given)
    for name, array in wanted.items():
        np.testing.assert_allclose(result.outputs[name], array, rtol=2e-3, atol=2e-2)


def test_every_code_of_the_passes_has_a_program_here():
    raised = {code for path in MODULES for code in codes_of(path)}
    assert raised == {case.code for case in CASES} | set(ELSEWHERE)


def test_scope_with_a_split_and_regions_is_refused_by_the_outliner_too():
    module = parse(SCOPED.format(split="", body=REGION), filename="kernel.py")
    scope = next(op for op in module.walk() if isinstance(op, ScopeOp))
    scope.split = SplitAttr.of(SplitMode.UP_DOWN)
    with pytest.raises(Diagnostic) as refusal:
        OutlineIncoreScopes().apply(Context(), module)
    problem = refusal.value
    assert problem.code == "split-scope-with-regions" and "UP_DOWN" in problem.message and problem.instead
    assert problem.location.line == 13


def test_slot_number_beside_regions_is_allowed():
    slots = ", optimizations=[pl.cross_core_slot(slot_num=3)]"
    text = SCOPED.format(split=slots, body=REGION)
    given = inputs(text)
    result = run_group(through(text, (WHOLE,), "a5"), given)
    assert not result.findings
    np.testing.assert_allclose(result.outputs["y"], run_reference(parse(text), given)["y"], rtol=2e-3, atol=2e-2)


def test_call_of_a_member_with_other_arguments_is_refused():
    module = program(PAIR.format(code=0))
    call = next(op for op in function(module, "p").walk() if isinstance(op, CallOp))
    call.operands = list(call.operands)[:1]
    with pytest.raises(Diagnostic) as refusal:
        ExpandMixedKernel().apply(Context(), module)
    problem = refusal.value
    assert problem.code == "call-arguments" and "`p_aic`" in problem.message and problem.instead
    assert problem.location.line > 0


def test_unknown_transport_code_is_refused():
    module = program(PAIR.format(code=1))
    push = next(op for op in module.walk() if op.name == "tile.tpush_to_aiv")
    push.properties["split"] = type(push.properties["split"])(7, push.properties["split"].type)
    with pytest.raises(Diagnostic) as refusal:
        pipeline.pass_named("split-vector-kernel")(module)
    problem = refusal.value
    assert problem.code == "transport-code" and "7" in problem.message and problem.instead
