"""Emitted programs: they read well, run right, and know their origin."""

import numpy as np
from programs import pair

from cubelane.check.execute import draw_inputs, run_group
from cubelane.emit.numpy_program import emit_module, print_numpy


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
