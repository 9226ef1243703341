"""The op table: complete, extendable, and refused by name outside of it."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from cubelane.ir.affinity import Affinity
from cubelane.ir.pto import table
from cubelane.ir.pto.decl import Effect, Role, declare
from cubelane.ir.pto.kinds import KINDS
from cubelane.ir.pto.regions import REGION_OPS
from cubelane.ir.pto.table import BUILT_IN, op_classes
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.ir.traits import CoreAffinity, Fixed, OnVector

from .snippets import C, kernel
from .stages import kinds, refusal


@pytest.mark.parametrize("name", sorted(op_classes()))
def test_every_op_declares_core_and_effect(name: str):
    op = op_classes()[name]
    assert op.get_trait(CoreAffinity) is not None
    assert all(slot.kind in KINDS for slot in (*op.decl.operands, *op.decl.results))
    if op.decl.raw is not None:
        assert f"pto.{op.decl.raw}" in op_classes()


def test_every_op_with_a_body_declares_a_core():
    assert all(op.traits for op in REGION_OPS)


def test_names_are_unique():
    names = [entry.name for entry in BUILT_IN]
    assert len(names) == len(set(names)) > 400


@pytest.mark.parametrize("entry", [e for e in BUILT_IN if e.lanes], ids=lambda e: e.name)
def test_the_meaning_on_lanes_evaluates(entry):
    integers = any(sign in entry.lanes for sign in ("&", "|", "^", "~", "<<", ">>", "["))
    lane = np.arange(1, 9, dtype=np.int32 if integers else np.float32)
    values = {slot.name: lane % 4 if slot.kind == "vreg" and integers else lane for slot in entry.operands}
    values |= {slot.name: lane > 3 for slot in entry.operands if slot.kind == "mask"}
    values |= {slot.name: 2 for slot in entry.operands if slot.kind == "scalar"}
    result = eval(entry.lanes, {name: getattr(np, name) for name in dir(np)} | values)
    assert np.shape(result) in ((8,), ())


@pytest.fixture
def own_op(monkeypatch: pytest.MonkeyPatch):
    entry = declare("vteam", "src:vreg -> result:vreg", affinity=OnVector, role=Role.CARRIER, effect=Effect.NONE)
    monkeypatch.setattr("tests.pto.test_table.OWN", [entry], raising=False)
    point = EntryPoint("team", "tests.pto.test_table:OWN", table.ENTRY_POINTS)
    monkeypatch.setattr(table, "entry_points", lambda group: [point] if group == table.ENTRY_POINTS else [])
    op_classes.cache_clear()
    yield
    op_classes.cache_clear()


OWN: list[object] = []
TEAM = (
    "    %v = pto.vlds %u[%i0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
    "    %w = pto.vteam %v : !pto.vreg<64xf32> -> !pto.vreg<64xf32>\n"
)


def test_a_package_adds_an_op_through_the_entry_point(own_op: None):
    text = kernel(TEAM, C)
    assert "pto.vteam %v : " in print_pto(read_pto(text))
    assert kinds(text) == ["vector", "cube"]


def test_without_the_package_the_op_is_refused_by_name():
    problem = refusal(kernel(TEAM, C))
    assert problem.message == "unknown operation 'pto.vteam'" and problem.code == "unknown-op"


def test_affinities_of_the_specification_table():
    cube = [e.name for e in BUILT_IN if isinstance(e.affinity, Fixed) and e.affinity.affinity is Affinity.CUBE]
    assert {"mad", "mad_raw", "mte_ub_l1", "mte_l1_ub", "copy_ubuf_to_cbuf", "tmatmul", "tpush_to_aiv"} <= set(cube)
