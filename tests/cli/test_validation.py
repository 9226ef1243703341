"""`compile --validate` names the pass that broke a program, the element, the lane and the source line."""

import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32
from xdsl.dialects.func import FuncOp

from cubelane.ir.kernel import FunctionKind, kind_of
from cubelane.passes import pipeline


@pytest.fixture
def kernel(good):
    """The kernel file."""
    return good


def lines(run, kernel, how, code=1):
    got, out, err = run("compile", kernel, "--no-timing", "--validate", how)
    assert got == code, out + err
    return out + err


def faulty(monkeypatch, name, change):
    """The pass does its work and then something wrong."""
    rewrite = pipeline.pass_named(name).rewrite
    real = type(rewrite).apply

    def apply(self, context, module):
        real(self, context, module)
        change(module)

    monkeypatch.setattr(type(rewrite), "apply", apply)


def third_of_a_number(module):
    """Every FP32 constant becomes 3."""
    for op in module.walk():
        if isinstance(op, ConstantOp) and op.result.type == f32:
            op.properties["value"] = FloatAttr(3.0, f32)


def lane_1_elsewhere(module):
    """The second lane stores one row further up."""
    for function in module.walk():
        if isinstance(function, FuncOp) and kind_of(function) is FunctionKind.AIV:
            for op in function.walk():
                if isinstance(op, ConstantOp) and op.value == IntegerAttr.from_index_int_value(16):
                    if any(u.operation.name == "arith.muli" for u in op.result.uses):
                        op.properties["value"] = IntegerAttr(15, op.result.type)


@pytest.mark.parametrize("name", ["convert-tensor-to-tile", "infer-tile-memory-space"])
def test_a_pass_before_the_lanes_are_told_apart(run, kernel, monkeypatch, name):
    faulty(monkeypatch, name, third_of_a_number)
    said = lines(run, kernel, "each")
    assert f"differs from the meaning before {name}: out: " in said
    assert "first [0, 0]: " in said or "first [0, 1]: " in said
    assert "out is written by tile.store at " in said and kernel.name in said


def test_a_pass_behind_names_the_lane_and_the_line(run, kernel, monkeypatch):
    faulty(monkeypatch, "expand-mixed-kernel", third_of_a_number)
    said = lines(run, kernel, "each")
    assert "differs from the meaning before expand-mixed-kernel: out: " in said and "first [0, " in said
    line = next(n for n, text in enumerate(kernel.read_text().splitlines(), 1) if "pl.assemble" in text)
    (who,) = [text for text in said.splitlines() if "was written last by" in text]
    assert "out[0, " in who and "AIV0" in who and f"{kernel.name}:{line}:" in who


def test_the_end_names_the_lane_and_the_line_too(run, kernel, monkeypatch):
    faulty(monkeypatch, "expand-mixed-kernel", third_of_a_number)
    said = lines(run, kernel, "end")
    assert "differs from the oracle: out: " in said and "first [0, " in said
    assert "was written last by AIV0 at " in said and "meaning before" not in said


def test_what_a_run_finds_is_told_with_the_pass(run, kernel, monkeypatch):
    faulty(monkeypatch, "expand-mixed-kernel", lane_1_elsewhere)
    said = lines(run, kernel, "each")
    assert "race" in said or "unordered" in said or "both" in said
    assert "the program behind expand-mixed-kernel does this" in said


def test_off_looks_at_nothing(run, kernel, monkeypatch):
    faulty(monkeypatch, "expand-mixed-kernel", lane_1_elsewhere)
    assert "not run" in " ".join(lines(run, kernel, "off", code=0).split())
