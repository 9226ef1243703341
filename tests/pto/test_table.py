"""The op table: complete, extendable, and refused by name outside of it."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

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

from .snippets import C, V, kernel
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


PACKAGE = """
from cubelane.ir.pto.decl import Effect, Role, declare
from cubelane.ir.traits import OnCube

OPS = [declare("team.rotate", "src:l1 by:i64", affinity=OnCube, role=Role.CARRIER, effect=Effect.WRITE)]
"""
ROTATE = "    pto.team.rotate %l1, %n : !pto.ptr<f16, l1>, i64\n"


def assemble(text: str, path: Path) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own that sees the packages in `path`."""
    command = [sys.executable, "-m", "cubelane.cli.main", "ptoas", "--emit-vpto", "-"]
    environment = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=False)


def install(path: Path, content: str) -> None:
    """What an installer leaves: a module and the metadata of its package."""
    (path / "team_ops.py").write_text(content)
    metadata = path / "team_ops-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: team-ops\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[cubelane.pto_ops]\nteam = team_ops:OPS\n")


def test_ops_of_an_installed_package_parse_and_are_placed(tmp_path: Path):
    install(tmp_path, PACKAGE)
    found = assemble(kernel(ROTATE, V), tmp_path)
    assert found.returncode == 0, found.stderr
    vector, cube = found.stdout.split("pto.kernel_kind<cube>")
    assert "pto.team.rotate" in cube and "pto.team.rotate" not in vector
    missing = assemble(kernel(ROTATE, V), tmp_path / "elsewhere")
    assert missing.returncode == 1
    assert "unknown operation 'pto.team.rotate'" in missing.stderr and "cubelane.pto_ops" in missing.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("OPS = 1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("OPS = ['vadd']", "names 'vadd', which is no op declaration"),
        (PACKAGE.replace("team.rotate", "vadd"), "declares pto.vadd a second time"),
    ],
    ids=["broken", "no declaration", "built in"],
)
def test_a_wrong_package_is_named_and_is_no_bug_of_ours(tmp_path: Path, content: str, message: str):
    install(tmp_path, content)
    found = assemble(kernel(C), tmp_path)
    assert found.returncode == 1
    assert f"the extension 'team = team_ops:OPS' of cubelane.pto_ops {message}" in found.stderr


def test_without_the_package_the_op_is_refused_by_name():
    problem = refusal(kernel(TEAM, C))
    assert problem.message == "unknown operation 'pto.vteam'" and problem.code == "unknown-op"


def test_affinities_of_the_specification_table():
    cube = [e.name for e in BUILT_IN if isinstance(e.affinity, Fixed) and e.affinity.affinity is Affinity.CUBE]
    assert {"mad", "mad_raw", "mte_ub_l1", "mte_l1_ub", "copy_ubuf_to_cbuf", "tmatmul", "tpush_to_aiv"} <= set(cube)
