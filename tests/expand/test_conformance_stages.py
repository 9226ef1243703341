"""The conformance set at the three printed stages: from each printed stage to the next, and through all passes."""

import runpy
from collections import Counter

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr

from cubelane.analysis.equality import structurally_equal
from cubelane.check.execute import run_group
from cubelane.check.protocol import check_protocol
from cubelane.ir.diagnostic import Diagnostic
from cubelane.language import parse
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit
from cubelane.passes.tile.verify_mixed_kernel_expanded import findings
from tests.expand.stages import LATER, ROOT, case_facts, stage

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="the conformance set is not here")

CASES = sorted(path.parent.name for path in ROOT.glob("*/case.json"))
STRUCTURAL = [name for name in CASES if case_facts(name)["want"] == "structural"]

DEVIATES = {
    "expanded": {
        "nosplit_branch_keeps_carry": "a carry that the cube does not read is not carried there",
        "ud_store_in_nested_loops": "a carry that the cube does not read is not carried there",
        "nosplit_first_trip_branch": "a popped tile that outlives its trip is copied out of its slot",
        "ud_loop_tail_rows": "a crossing whose valid rows are known at run time only travels whole",
    },
    "split": {},
}
"""Structural cases whose next stage is another program on purpose (docs/deviations.md)."""

STEPS = {"expanded": ("lowered", (ExpandMixedKernel,)), "split": ("expanded", LATER)}


@pytest.mark.parametrize("which", STEPS)
def test_each_printed_stage_leads_to_the_next(which):
    source, passes = STEPS[which]
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for name in STRUCTURAL:
        try:
            module, wanted = stage(name, source), stage(name, which)
        except Diagnostic as problem:
            ill_typed = name in DEVIATES[which] and "not consistent" in str(problem)
            counts["ill-typed in print" if ill_typed else "not read"] += 1
            if not ill_typed:
                wrong[name] = str(problem)
            continue
        assert module is not None and wanted is not None
        for kind in passes:
            kind().apply(Context(), module)
        module.verify()
        difference = structurally_equal(module, wanted)
        counts["equal" if difference is None else "deviates"] += 1
        if (difference is None) == (name in DEVIATES[which]):
            wrong[name] = str(difference)
    print(f"\n{which}: {dict(counts)}")
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


def test_whole_pipeline_gives_the_golden_or_refuses_where_it_may():
    counts: Counter[tuple[str, str]] = Counter()
    proofs: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for name in CASES:
        case = case_facts(name)
        golden = ROOT / name / "golden.py"
        if not golden.exists():
            continue
        word, why = outcome(name, case, runpy.run_path(str(golden)), proofs)
        counts[case["want"], word] += 1
        allowed = {"equal"} | ({"refused"} if case["want"] in ("golden_or_refuse", "refuse") else set())
        if word not in allowed and not name.startswith("region_none_"):
            wrong[name] = f"{case['want']}: {word} {why}"
    print(f"\n{dict(counts)}\nprotocol: {dict(proofs)}")
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())
    assert not proofs["violated"] and not proofs["not proven"]


def outcome(name, case, judge, proofs):
    try:
        module = parse((ROOT / name / "kernel.py").read_text(encoding="utf-8"), filename=f"{name}/kernel.py")
        module.attributes["kernel.target"] = StringAttr(case["backend"])
        for kind in (LowerAutoVectorSplit, ExpandMixedKernel, *LATER):
            kind().apply(Context(), module)
    except Diagnostic as problem:
        return "refused", str(problem)
    module.verify()
    assert not findings(module)
    for verdict in check_protocol(module):
        proofs[verdict.proof.value] += 1
        assert not verdict.findings, f"{name}: {verdict.findings[0]}"
    inputs = judge["inputs"]()
    run = run_group(module, inputs)
    if run.findings:
        return "finding", str(run.findings[0])
    tolerance = case.get("tolerance") or {}
    for output, want in judge["golden"](inputs).items():
        got, want = np.asarray(run.outputs[output], np.float64), np.asarray(want, np.float64)
        if not np.allclose(got, want, rtol=tolerance.get("rtol", 0), atol=tolerance.get("atol", 0)):
            return "differs", output
    return "equal", ""
