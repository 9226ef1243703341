"""Emitted programs: they read well, run right, and know their origin."""

import numpy as np
import pytest
from programs import pair

from cubelane import language
from cubelane.analysis.tensor_handles import writes_of
from cubelane.check.execute import draw_inputs, run_group
from cubelane.emit.numpy_program import emit_module, print_numpy
from cubelane.ir.kernel import functions_of


def test_pair_adds_up_the_products():
    module = pair(trips=3)
    inputs = draw_inputs(module)
    result = run_group(module, inputs)
    want = 3 * (inputs["x"].astype(np.float32) @ inputs["w"].astype(np.float32))
    assert result.ok
    np.testing.assert_allclose(result.outputs["y"], want, rtol=1e-5)


def test_inputs_are_left_alone():
    module = pair()
    inputs = draw_inputs(module)
    run_group(module, inputs)
    assert (inputs["y"] == -77).all()


def test_emitted_text_is_python_with_a_line_table():
    programs = emit_module(pair())
    for program in programs.values():
        assert program.text.count("\n") == len(program.lines)
        compile(program.text, program.name, "exec")
    assert "while (v := pop(1, None, None, (16, 8), np.float32, (16, 8))) is None: yield" in print_numpy(pair())


TILES = """
import cubelane.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, n: pl.Scalar[pl.INT32], x: pl.Tensor[[16, 8], pl.FP32], a: pl.InOut[pl.Tensor[[16, 8], pl.FP32]],
          b: pl.InOut[pl.Tensor[[16, 8], pl.FP32]]):
        t = pl.tile.load(x, [0, 0], [16, 8])
        BODY
"""


def parsed(body: str, text: str = TILES):
    return language.parse(text.replace("BODY", body.replace("\n", "\n        ")), filename="k.py")


def test_a_reshape_is_written_where_its_shape_matters():
    body = """row = pl.tile.reshape(pl.tile.row_max(t, pl.tile.create([16, 8], pl.FP32)), [1, 16])
twice = pl.tile.exp(pl.tile.add(row, row))
column = pl.tile.reshape(twice, [16, 1])
o = pl.tile.store(pl.tile.row_expand_mul(t, column), [0, 0], a)
"""
    assert ".reshape(" not in print_numpy(parsed(body))
    body += "q = pl.tile.store(twice, [0, 0], b)"
    wide = TILES.replace("b: pl.InOut[pl.Tensor[[16, 8], pl.FP32]]", "b: pl.InOut[pl.Tensor[[1, 16], pl.FP32]]")
    module = parsed(body, wide)
    assert print_numpy(module).count(".reshape((1, 16))") == 1
    x = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    outputs = run_group(module, {"n": 0, "x": x, "a": np.zeros_like(x), "b": np.zeros((1, 16), np.float32)}).outputs
    column = np.exp(2 * x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(outputs["a"], x * column, rtol=1e-6)
    np.testing.assert_allclose(outputs["b"], column.T, rtol=1e-6)


def test_windows_that_only_products_read_come_in_their_type():
    text = print_numpy(pair())
    assert text.count("window(") == 2 and text.count("None, np.float32)") == 2


@pytest.mark.parametrize("body, kept", [("s = pl.tile.add(v, v)\nFREE", False), ("FREE\ns = pl.tile.add(v, v)", True)])
def test_only_tiles_that_are_read_after_their_free_are_copied(body, kept):
    lanes = """
        ring = pl.system.reserve_buffer(name="ring", size=2048, base=-1)
        pl.system.aiv_initialize_pipe(ring, pl.const(0, pl.INT32), dir_mask=1, slot_size=1024, slot_num=2)
        v: pl.Tile[[16, 8], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0)
        BODY
        o = pl.tile.store(s, [0, 0], a)
"""
    text = TILES.split("        t = ")[0] + lanes
    printed = print_numpy(parsed(body.replace("FREE", "pl.system.tfree_to_aic(v)"), text))
    assert ("(16, 8), True)) is None: yield" in printed) == kept


@pytest.mark.parametrize(
    "body, written",
    [
        ("o = pl.tile.store(t, [0, 0], a)", {2}),
        ("for i in pl.range(3):\n    a = pl.tile.store(t, [0, 0], a)\nb = pl.tile.store(t, [0, 0], b)", {2, 3}),
        ("if n > 0:\n    a = pl.tile.store(t, [0, 0], a)", {2}),
        (
            "if n > 0:\n    o = pl.tile.store(t, [0, 0], a)\nelse:\n    o = pl.tile.store(t, [0, 0], b)\n"
            "q = pl.tile.store(t, [0, 0], o)",
            {0, 1, 2, 3},
        ),
    ],
)
def test_what_a_program_may_write_is_found_or_taken_to_be_all(body, written):
    functions = {f.sym_name.data: f for f in functions_of(parsed(body))}
    assert writes_of(functions)["k"] == written


def test_a_tensor_that_is_read_and_written_is_read_as_it_was():
    module = parsed("o = pl.tile.store(pl.tile.adds(t, 1.0), [0, 0], a)\nu = pl.tile.load(o, [0, 0], [16, 8])\n"
                    "o2 = pl.tile.store(t, [0, 0], o)\nq = pl.tile.store(u, [0, 0], b)")  # fmt: skip
    x = np.arange(128, dtype=np.float32).reshape(16, 8)
    outputs = run_group(module, {"n": 0, "x": x, "a": x, "b": x}).outputs
    np.testing.assert_array_equal(outputs["a"], x)
    np.testing.assert_array_equal(outputs["b"], x + 1)
    np.testing.assert_array_equal(x, np.arange(128).reshape(16, 8))
