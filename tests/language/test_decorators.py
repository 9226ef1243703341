"""Kernels in Python files: read from their source, with the names around them; nothing is executed."""

import subprocess
import sys

import numpy as np
import pytest

import cubelane.language as pl
from cubelane.ir import kernel
from cubelane.language import errors, parse
from tests.language.kernels import in_core, ops

N = 32


@pl.inline
def half(x):
    return pl.mul(x, 0.5)


@pl.function(type=pl.FunctionType.InCore)
def copy(a: pl.Tensor[[N, N], pl.FP32], o: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    t = pl.load(a, [0, 0], [N, N])
    o = pl.store(half(t), [0, 0], o)
    return o


def program_of(width: int):
    @pl.program
    class Local:
        @pl.function
        def main(self, a: pl.Tensor[[N, N], pl.FP32], o: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
            for _i in pl.range(width):
                o = copy(a, o)
            return o

    return Local


def test_a_program_takes_constants_and_kernels_from_around_it() -> None:
    program = program_of(3)
    assert [f.sym_name.data for f in kernel.functions_of(program)] == ["copy", "main"]
    assert "pl.range(3, init_values" in program.as_python()
    assert ops(program, "tile.muls")


def test_places_are_those_of_the_file() -> None:
    (store,) = ops(copy.program, "tile.store")
    assert __file__ in str(store.location)


def test_a_kernel_is_not_executed() -> None:
    with pytest.raises(TypeError, match="kernel"):
        copy(1, 2)
    with pytest.raises(TypeError, match="read, not executed"):
        pl.load(1, 2, 3)


def test_a_jit_kernel_takes_its_types_from_the_arguments() -> None:
    @pl.jit
    def scaled(a, factor, o: pl.Out):
        with pl.at(level=pl.Level.CORE_GROUP):
            o[:] = pl.mul(a, factor)
        return o

    array = np.zeros((8, 16), np.float32)
    text = scaled.specialize(array, 0.25, array).as_python()
    assert "a: pl.Tensor[[8, 16], pl.FP32]" in text
    assert "o: pl.Out[pl.Tensor[[8, 16], pl.FP32]]" in text
    assert "0.25" in text
    with pytest.raises(errors.ParserTypeError, match="missing"):
        scaled.specialize(array)


def test_nothing_of_a_text_is_executed(tmp_path) -> None:
    mark = tmp_path / "mark"
    parse(f"import os\nos.system('touch {mark}')\nN = open({str(mark)!r}, 'w')\n" + in_core("pass"))
    assert not mark.exists()


def test_operations_have_signatures_and_documentation() -> None:
    assert "load" in dir(pl) and "load" in dir(pl.tile)
    assert list(pl.tile.load.__signature__.parameters)[:3] == ["source", "offsets", "shapes"]
    assert "global memory" in (pl.load.__doc__ or "")
    with pytest.raises(AttributeError, match="row_max"):
        pl.tile.row_mux  # noqa: B018


def test_the_other_package_resolves_to_this_one() -> None:
    code = (
        "from cubelane import compat; compat.install()\n"
        "import pypto.language as pl\nfrom pypto import ir, passes, DataType\n"
        "assert DataType.FP32 is pl.FP32 and callable(ir.python_print)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_language_loads_no_dialect() -> None:
    code = "import sys, cubelane.language\nassert not [m for m in sys.modules if m.startswith(('xdsl', 'numpy'))]"
    subprocess.run([sys.executable, "-c", code], check=True)
