"""The protocol checker: every removed or doubled transport is found, no good program is accused (cases D, H)."""

from collections import Counter
from pathlib import Path

import pytest
from xdsl.dialects.builtin import StringAttr

from cubelane.analysis.channel_protocol import core_groups
from cubelane.check.compiled import compile_program
from cubelane.check.faults import seed_faults
from cubelane.check.kernel_file import read_program
from cubelane.check.protocol import Bounds, Proof, check_group, check_protocol
from cubelane.ir.kernel import SLOT_NUM, TARGET, ScopeOp, functions_of
from cubelane.ir.surface import as_property
from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp
from cubelane.passes import pipeline
from tests.expand.stages import TO_VEC, finished, kernel, lines, product

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
TRANSPORT = ("push dropped", "pop dropped", "free dropped")


def loop(trips="5"):
    return kernel(
        f"for k, (y_it,) in pl.range({trips}, init_values=(y,)):\n"
        + product(depth=1)
        + lines(f"v = {TO_VEC.format('acc')}\ny1 = pl.tile.store(v, [0, 0], y_it)\ny2 = pl.yield_(y1)", 1)
        + "return y2"
    )


def only(module, bounds=None):
    (verdict,) = check_protocol(module, bounds)
    return verdict


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_constant_loop_is_explored(target):
    verdict = only(finished(loop(), target))
    assert verdict.proof is Proof.EXPLORED and verdict.states > 10


def test_loop_of_unknown_length_is_proven_by_argument():
    assert only(finished(loop("n"), "a2a3")).proof is Proof.ARGUED


def test_large_program_is_proven_by_argument():
    assert only(finished(loop("100000"))).proof is Proof.ARGUED


def test_free_left_out_is_a_located_deadlock_with_its_way():
    module = finished(loop())
    free = next(op for op in module.walk() if isinstance(op, FreeOp))
    free.detach()
    free.erase()
    (finding,) = only(module).findings
    assert finding.code == "deadlock" and finding.location.line > 0
    told = str(finding)
    assert "AIC" in told and "slot 0" in told and "AIV0" in told and "shortest way" in told and "kernel.py:" in told


def test_use_of_codes_that_differ_is_found():
    module = finished(loop(), "a2a3")
    pop = next(op for op in module.walk() if isinstance(op, PopOp))
    pop.properties["split"] = as_property(1)
    assert only(module).findings[0].code == "transport-code"


def test_frees_out_of_order_are_found():
    text = kernel(
        product("g")
        + "u = pl.tile.matmul(xl, wr)\n"
        + f"gv = {TO_VEC.format('g')}\nuv = {TO_VEC.format('u')}\nm = pl.tile.mul(gv, uv)\n"
        + "out = pl.tile.store(m, [0, 0], y)\nreturn out"
    )
    module = finished(text)
    first, second = (op for op in module.walk() if isinstance(op, FreeOp))
    first.operands[0], second.operands[0] = second.operands[0], first.operands[0]
    assert only(module).findings[0].code == "free-order"


def double(module):
    """Each transport written twice, in a copy of its own."""
    for number, op in enumerate(module.walk()):
        if isinstance(op, PushOp | PopOp | FreeOp):
            copy = module.clone()
            victim = next(o for i, o in enumerate(copy.walk()) if i == number)
            victim.parent_block().insert_op_after(victim.clone(), victim)
            yield victim.name, copy


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_every_transport_removed_or_doubled_in_every_example_is_found(target):
    caught: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    missed = []
    for path in EXAMPLES:
        module = compile_program(read_program(str(path)), target).module
        broken = [(fault.kind, fault.module) for fault in seed_faults(module, TRANSPORT)]
        broken += [(f"{name} doubled", copy) for name, copy in double(module)]
        for kind, copy in broken:
            tried[kind] += 1
            if any(verdict.findings for verdict in check_protocol(copy)):
                caught[kind] += 1
            else:
                missed.append((path.stem, kind))
    print(f"\n{target}: caught {sum(caught.values())} / tried {sum(tried.values())}")
    assert not missed


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_no_example_is_accused_at_any_trip_count_and_depth(target):
    """H01: trips 0, 1, depth-1, depth, depth+1 at the depths 1 to 4; each depth compiled for itself."""
    checked = 0
    for path in EXAMPLES:
        source = read_program(str(path))
        for depth in (1, 2, 3, 4):
            module = with_depth(source, depth)
            module.attributes[TARGET] = StringAttr(target)
            pipeline.run(module, until="stamp-tfree-split")  # before loops are skewed and memory is laid out
            for group in core_groups(module):
                assert set(group.depths.values()) <= {depth}
                for trip in sorted({0, 1, depth - 1, depth, depth + 1}):
                    verdict = check_group(group, Bounds(trip=trip, states=20_000))
                    assert not verdict.findings, f"{path.stem} depth {depth} trip {trip}: {verdict.findings[0]}"
                    checked += 1
    print(f"\n{target}: {checked} combinations, no finding")
    assert checked >= 4 * 3 * len(EXAMPLES)


def with_depth(source, depth):
    """A copy of a program whose rings have `depth` slots."""
    module = source.clone()
    for op in module.walk():
        if isinstance(op, ScopeOp):
            op.slot_num = as_property(depth)
    for function in functions_of(module):
        if str(function.attributes.get("kernel.kind", "")).endswith("<incore>"):
            function.attributes[SLOT_NUM] = as_property(depth)
    return module
