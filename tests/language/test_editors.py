"""What editors, type checkers and notebooks know of the language."""

import ast
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cubelane.language as pl
from cubelane.language import catalogue, stub
from cubelane.language.registry import OPERATIONS
from tests.language.kernels import in_core

PYRIGHT = shutil.which("pyright", path=str(Path(sys.executable).parent))


def test_the_stub_is_made_from_the_catalogue() -> None:
    """`python -m cubelane.language.stub` writes it anew."""
    assert stub.STUB.read_text(encoding="utf-8") == stub.stub()


def test_the_stub_names_what_the_module_has() -> None:
    tree = ast.parse(stub.stub())
    named = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    named |= {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    named |= {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    assert set(pl.__all__) <= named
    assert {n for n in catalogue.names() if n not in named} == set()
    assert all(hasattr(pl, name) for name in named - {"Any", "Sequence", "TypeAlias", "range_"})


@pytest.mark.parametrize("name", sorted(catalogue.names()))
def test_every_operation_has_a_signature_and_says_what_it_does(name: str) -> None:
    operation = getattr(pl, name)
    if name in ("tile", "tensor", "system"):
        assert sorted(dir(operation)) == dir(operation) != []
        return
    assert inspect.signature(operation).parameters is not None
    assert inspect.getdoc(operation)
    with pytest.raises(TypeError):
        operation(1, 2)


def test_a_call_of_either_form_fits_the_signature_of_the_word() -> None:
    matmul, row_sum = inspect.signature(pl.matmul), inspect.signature(pl.row_sum)
    matmul.bind("a", "b", out_dtype=pl.FP32, b_trans=True)
    matmul.bind("a", "b")
    row_sum.bind("x")
    row_sum.bind("t", "tmp")
    with pytest.raises(TypeError):
        matmul.bind("a", "b", transposed=True)
    assert set(OPERATIONS) >= {("tile", "matmul"), ("tensor", "matmul")}


USER = """
import cubelane.language as pl
pl.load(1, [0, 0], [8, 8], target_memory=pl.Mem.Vec)
pl.matmul(1, 2, out_dtype=pl.FP32, b_trans=True)
pl.cast(1, pl.FP16)
for i in pl.range(4):
    pass
pl.laod(1)
pl.load(1, [0, 0], [8, 8], target=3)
pl.tile.row_sum(1)
"""


@pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed")
def test_a_type_checker_knows_the_operations(tmp_path: Path) -> None:
    path = tmp_path / "user.py"
    path.write_text(USER, encoding="utf-8")
    command = [str(PYRIGHT), "--pythonpath", sys.executable, str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    lines = {int(line.split(":")[1]) for line in shown.splitlines() if " - error:" in line}
    assert lines == {8, 9, 10}, shown


def test_a_notebook_shows_the_program() -> None:
    program = pl.parse(in_core("t = pl.load(x, [0, 0], [8, 8])\nif n < 3:\n    t = pl.exp(t)\nreturn out"))
    bundle = program._repr_mimebundle_()
    assert bundle["text/plain"] == program.as_python()
    assert bundle["text/html"] == program._repr_html_()
    assert "n &lt; 3" in bundle["text/html"] and "n < 3" not in bundle["text/html"]
    assert set(program._repr_mimebundle_(include=["text/plain"])) == {"text/plain"}


@pl.function(type=pl.FunctionType.InCore)
def copied(a: pl.Tensor[[8, 8], pl.FP32]):
    return a


@pl.jit
def later(a):
    return a


def test_a_notebook_shows_kernels() -> None:
    assert "def copied(" in copied._repr_mimebundle_()["text/plain"]
    shown = later._repr_mimebundle_()["text/plain"]
    assert shown.startswith("@pl.jit\ndef later(a):") or "def later(a):" in shown
    assert later._repr_html_().startswith("<pre")
