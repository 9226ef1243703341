"""What each core keeps: no more than it needs, and everything it needs (cases C)."""

import numpy as np
import pytest
from xdsl.context import Context

from cubelane.check.execute import run_group
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of
from cubelane.language import parse
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from tests.expand.stages import TO_VEC, expanded, finished, function, kernel, lines, ops, product


def inputs(n=2):
    rng = np.random.default_rng(1)
    return {
        "x": rng.integers(-2, 3, (16, 64)).astype(np.float16),
        "w": rng.integers(-2, 3, (64, 32)).astype(np.float16),
        "t": np.full((16, 32), 3, np.float32),
        "n": n,
        "y": np.full((16, 32), -777, np.float32),
    }


def run(text, target, n=2):
    given = inputs(n)
    result = run_group(finished(text, target), given)
    assert not result.findings, result.findings[0]
    return given, result.outputs


def block(given):
    return given["x"][:, :16].astype(np.float32) @ given["w"][:16].astype(np.float32)


CARRIED = kernel(
    "s0 = pl.tile.full([16, 32], dtype=pl.FP32, value=0.0)\n"
    "for k, (s,) in pl.range(3, init_values=(s0,)):\n"
    + product(depth=1)
    + lines(f"v = {TO_VEC.format('acc')}\ns1 = pl.tile.add(s, v)\ns2 = pl.yield_(s1)", 1)
    + "out = pl.tile.store(s2, [0, 0], y)\nreturn out"
)


def test_accumulator_of_the_lanes_is_not_carried_on_the_cube():
    module = expanded(CARRIED)
    cube = function(module, "k_aic")
    loop = next(op for op in cube.walk() if op.name == "scf.for")
    assert not loop.results and "tile.full" not in ops(module, "k_aic")
    assert "tile.full" in ops(module, "k_aiv")


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_carried_accumulator_sums_all_trips(target):
    given, outputs = run(CARRIED, target)
    assert np.array_equal(outputs["y"], 3 * block(given))


def test_seed_is_made_again_in_the_loop_level_where_the_author_made_it():
    text = kernel(
        "for i, (y_it,) in pl.range(2, init_values=(y,)):\n"
        + lines("s0 = pl.tile.full([16, 32], dtype=pl.FP32, value=1.0)", 1)
        + lines("for k, (s,) in pl.range(2, init_values=(s0,)):", 1)
        + product(depth=2)
        + lines(f"v = {TO_VEC.format('acc')}\ns1 = pl.tile.add(s, v)\ns2 = pl.yield_(s1)", 2)
        + lines("y1 = pl.tile.store(s2, [0, 0], y_it)\ny2 = pl.yield_(y1)", 1)
        + "return y2"
    )
    given, outputs = run(text, "a5")
    assert np.array_equal(outputs["y"], 1 + 2 * block(given))
    assert ops(expanded(text), "k_aiv").index("scf.for") < ops(expanded(text), "k_aiv").index("tile.full")


PHI = kernel(
    "if n > 16:\n    b = pl.yield_(n - 1)\nelse:\n    b = pl.yield_(0)\n"
    "if b < 64:\n"
    + product(depth=1)
    + lines(f"v = {TO_VEC.format('acc')}\ny1 = pl.tile.store(v, [0, 0], y)", 1)
    + "return y"
)


@pytest.mark.parametrize("n", [0, 16, 17, 64, 65, 100])
def test_scalar_result_of_a_branch_steers_both_cores_the_same_way(n):
    given, outputs = run(PHI, "a2a3", n)
    taken = (n - 1 if n > 16 else 0) < 64
    assert np.array_equal(outputs["y"], block(given) if taken else given["y"])


def test_result_of_a_branch_over_parameters_stays_on_both_cores():
    module = expanded(PHI)
    for name in ("k_aic", "k_aiv"):
        first = next(op for op in function(module, name).walk() if op.name == "scf.if")
        assert len(first.results) == 1


def test_condition_that_only_a_lane_knows_is_refused_with_its_place():
    text = kernel(
        "tv = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
        "s = pl.tile.read(tv, [0, 0])\n"
        "if s > 0.0:\n"
        + product(depth=1)
        + lines(f"v = {TO_VEC.format('acc')}\ny1 = pl.tile.store(v, [0, 0], y)", 1)
        + "return y"
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text)
    assert refusal.value.code == "value-on-other-core" and refusal.value.location.line > 0
    assert "`s`" in refusal.value.message and "vector" in refusal.value.message


def test_gap_23_while_condition_counts_as_a_use_of_the_carry():
    """Gap 23: the carry that only the condition reads stays on both cores."""
    text = kernel(
        "i0 = 0\nfor (i, y_it) in pl.while_(init_values=(i0, y)):\n"
        + lines("pl.cond(i < n)", 1)
        + product(depth=1)
        + lines(f"v = {TO_VEC.format('acc')}\ny1 = pl.tile.store(v, [0, 0], y_it)\ni2, y2 = pl.yield_(i + 1, y1)", 1)
        + "return y2"
    )
    module = expanded(text)
    loop = next(op for op in function(module, "k_aic").walk() if op.name == "scf.while")
    assert len(loop.results) == 1
    given, outputs = run(text, "a2a3", 3)
    assert np.array_equal(outputs["y"], block(given))


def test_every_op_of_the_programs_has_the_place_of_what_it_stands_for():
    module = finished(CARRIED, "a2a3")
    for op in module.walk():
        if op.name.startswith(("tile.", "system.")):
            assert "unknown" not in str(op.location), op


def test_pure_functions_get_the_type_of_their_core_and_lose_their_split():
    text = kernel(
        "tv = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
        "out = pl.tile.store(tv, [0, 0], y)\nreturn out",
        attrs='"split": pl.SplitMode.UP_DOWN',
    )
    only = functions_of(expanded(text))
    assert len(only) == 1 and str(only[0].attributes["kernel.kind"]).endswith("<aiv>")
    assert "kernel.split" not in only[0].attributes


def test_missing_target_is_said_at_the_kernel():
    with pytest.raises(Diagnostic) as refusal:
        ExpandMixedKernel().apply(Context(), parse(CARRIED, filename="kernel.py"))
    assert refusal.value.code == "no-target" and refusal.value.location.line > 0


def test_scalar_write_of_a_cell_runs_on_the_lanes_only():
    text = kernel(
        product()
        + f"v = {TO_VEC.format('acc')}\n"
        + "s = pl.tile.read(v, [0, 0])\nt2 = pl.write(t, [0, 0], s)\nout = pl.tile.store(v, [0, 0], y)\nreturn out",
        scratch=True,
    )
    module = expanded(text)
    assert "gm.write" not in ops(module, "k_aic") and "gm.write" in ops(module, "k_aiv")
