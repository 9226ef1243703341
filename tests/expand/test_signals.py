"""Side effects once (case D06): a notification runs on one core, behind its data; deferred waiters (5.15)."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import CallOp

from cubelane.check.execute import run_group, run_reference
from cubelane.ir.context import DIALECTS
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import RunsOnce
from cubelane.language import parse, print_program
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from cubelane.sim.group import Schedule
from tests.expand.stages import HEAD, TO_VEC, expanded, finished, kernel, lines, ops, product, program
from tests.expand.test_projection import block, inputs

NOTIFY = "pl.system.notify(target=sig, peer=1, offsets=[0, 0], value=1, op=pl.NotifyOp.AtomicAdd)\n"
VEC = f"v = {TO_VEC.format('acc')}\n"


def with_signal(text):
    return text.replace(
        "n: pl.Scalar[pl.INDEX],", "n: pl.Scalar[pl.INDEX],\n        sig: pl.InOut[pl.Tensor[[2, 1], pl.INT32]],"
    )


def announced(text, target, lower):
    """Runs under several schedules: the notifications, each behind every store that stands before it."""
    module = finished(with_signal(text), target, lower=lower)
    given = {**inputs(), "sig": np.zeros((2, 1), np.int32)}
    for seed in (None, *range(8)):
        result = run_group(module, given, schedule=Schedule(seed))
        assert not result.findings, result.findings[0]
        events = [(e.kind, e.location.line) for e in result.events if e.kind in ("notify", "store")]
        yield events, result.outputs


SPLIT = '"split": pl.SplitMode.UP_DOWN'


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("attrs", ["", SPLIT])
def test_notification_behind_a_store_of_the_lanes_comes_once_and_last(attrs, target):
    text = kernel(product() + VEC + "out = pl.tile.store(v, [0, 0], y)\n" + NOTIFY + "return out", attrs=attrs)
    for events, outputs in announced(text, target, bool(attrs)):
        assert [kind for kind, _ in events].count("notify") == 1 and events[-1][0] == "notify"
        assert np.array_equal(outputs["y"], block(inputs()))


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_notification_behind_a_store_of_the_cube_runs_on_the_cube(target):
    text = kernel(
        product()
        + "t1 = pl.tile.store(acc, [0, 0], t)\n"
        + NOTIFY
        + VEC
        + "out = pl.tile.store(v, [0, 0], y)\nreturn out",
        scratch=True,
    )
    module = finished(with_signal(text), target)
    assert "system.notify" in ops(module, "k_aic") and "system.notify" not in ops(module, "k_aiv")
    for events, _ in announced(text, target, False):
        kinds = [kind for kind, _ in events]
        assert kinds.count("notify") == 1 and "store" in kinds[: kinds.index("notify")]


@pytest.mark.parametrize("attrs", ["", SPLIT])
def test_one_notification_per_trip(attrs):
    text = kernel(
        "for k, (y_it,) in pl.range(3, init_values=(y,)):\n"
        + product(depth=1)
        + lines(VEC + "y1 = pl.tile.store(v, [0, 0], y_it)\n" + NOTIFY + "y2 = pl.yield_(y1)", 1)
        + "return y2",
        attrs=attrs,
    )
    stores = 2 if attrs else 1
    for events, _ in announced(text, "a5", bool(attrs)):
        kinds = [kind for kind, _ in events]
        assert kinds.count("notify") == 3
        for number in range(3):
            behind = [i for i, kind in enumerate(kinds) if kind == "notify"][number]
            assert kinds[:behind].count("store") >= stores * (number + 1)


def test_notification_of_a_value_that_only_a_lane_knows_runs_there():
    text = kernel(
        product() + VEC + "out = pl.tile.store(v, [0, 0], y)\ns = pl.tile.read(v, [0, 0])\n"
        "i = pl.cast(s, pl.INT32)\npl.system.notify(sig, 1, [0, 0], i, op=1)\nreturn out"
    )
    module = expanded(with_signal(text))
    assert "system.notify" in ops(module, "k_aiv") and "system.notify" not in ops(module, "k_aic")


def test_wait_runs_on_every_core_and_fails_where_no_peer_can_have_sent_the_signal():
    wait = "pl.system.wait(sig, [0, 0], 1)\n"
    text = with_signal(kernel(wait + product() + VEC + "out = pl.tile.store(v, [0, 0], y)\nreturn out"))
    module = finished(text, "a5")
    assert all("system.wait" in ops(module, name) for name in ("k_aic", "k_aiv"))
    for value, good in ((1, True), (0, False)):
        given = {**inputs(), "sig": np.full((2, 1), value, np.int32)}
        findings = run_group(module, given).findings
        assert (not findings) is good
        if not good:
            assert (
                findings[0].code == "signal"
                and findings[0].location.line == text.split("\n").index("        " + wait.strip()) + 1
            )
            with pytest.raises(Diagnostic, match="no peer"):
                run_reference(program(text), given)


def test_ops_that_must_not_run_twice_are_declared():
    known = [op for dialect in DIALECTS for op in dialect.operations if issubclass(op, SurfaceOp)]
    once = {op.name for op in known if op.has_trait(RunsOnce)}
    assert once == {"system.notify", "system.defer_wait"}


def test_text_of_signals_comes_back():
    text = with_signal(kernel(NOTIFY + "pl.system.wait(sig, [0, 0], 1, cmp='ge')\nreturn y"))
    module = parse(text, filename="kernel.py")
    assert print_program(parse(print_program(module))) == print_program(module)
    head = text.replace(
        "import pypto.language as pl", "import pypto.language as pl\nimport pypto.language.distributed as pld"
    )
    other = head.replace("pl.system", "pld.system").replace("pl.NotifyOp", "pld.NotifyOp")
    other = other.replace("pl.InOut[pl.Tensor[[2, 1]", "pl.InOut[pld.DistributedTensor[[2, 1]")
    assert print_program(parse(other)) == print_program(module)


WAITER = (
    HEAD
    + """    @pl.function(type=pl.FunctionType.{kind}{attrs})
    def wait_all(self, sig: pl.Tensor[[4, 1], pl.INT32], n: pl.Scalar[pl.INDEX]):
        {body}

    @pl.function(type=pl.FunctionType.{caller})
    def main(self, sig: pl.Tensor[[4, 1], pl.INT32], n: pl.Scalar[pl.INDEX]):
        self.wait_all(sig, n)
"""
)
REGISTER = "for i in pl.range(4):\n            pl.system.defer_wait(sig, [i, 0], 1)"
GOOD = {
    "kind": "InCore",
    "attrs": ', attrs={"deferred_waiter": True}',
    "body": REGISTER,
    "caller": "Orchestration",
}
WRONG = {
    "not marked": ({"attrs": ""}, "not marked"),
    "wrong kind": ({"kind": "AIC"}, "InCore or AIV"),
    "launch shape": ({"attrs": ', attrs={"deferred_waiter": True, "core_num": 2}'}, "core_num"),
    "does other work": (
        {"body": REGISTER + "\n        t = pl.tile.full([8, 8], dtype=pl.FP32, value=0.0)"},
        "tile.full",
    ),
    "writes": ({"body": REGISTER + "\n        sig = pl.write(sig, [0, 0], pl.const(1, pl.INT32))"}, "gm.write"),
    "started by a group": ({"caller": "Group"}, "orchestration"),
}


@pytest.mark.parametrize("kind", ["InCore", "AIV"])
def test_deferred_waiter_that_only_registers_is_accepted_and_runs(kind):
    module = program(WAITER.format(**{**GOOD, "kind": kind}))
    ExpandMixedKernel().apply(Context(), module)
    result = run_group(module, {"sig": np.zeros((4, 1), np.int32), "n": 0})
    assert not result.findings
    assert [e.detail for e in result.events if e.kind == "defer"] == [f"[{i}, 0] eq 1" for i in range(4)]
    assert len(functions_of(module)) == 2


@pytest.mark.parametrize("name", WRONG)
def test_every_rule_of_deferred_waiters_is_checked(name):
    changes, word = WRONG[name]
    with pytest.raises(Diagnostic) as refusal:
        ExpandMixedKernel().apply(Context(), program(WAITER.format(**{**GOOD, **changes})))
    problem = refusal.value
    assert problem.code == "deferred-waiter" and problem.location.line > 0 and problem.instead
    assert word in problem.message and "wait_all" in problem.message


@pytest.mark.parametrize("fact", ["allow_early_resolve", "predicate", "core_num"])
def test_deferred_waiter_has_no_launch_of_its_own(fact):
    module = program(WAITER.format(**GOOD))
    call = next(op for op in module.walk() if isinstance(op, CallOp))
    call.attributes[f"kernel.{fact}"] = UnitAttr()
    with pytest.raises(Diagnostic) as refusal:
        ExpandMixedKernel().apply(Context(), module)
    assert refusal.value.code == "deferred-waiter" and fact in refusal.value.message and refusal.value.instead
