"""Names with letters that other texts do not know: variables keep working, a parameter is refused at its place."""

import pytest

from cubelane.check.compiled import compile_program
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.language.parser import parse
from cubelane.language.printing.programs import print_program

KERNEL = """
import pypto.language as pl

@pl.program
class Prüfung:
    @pl.function
    def main(self, x: pl.Tensor[[32, 32], pl.FP16], w: pl.Tensor[[32, 16], pl.FP16],
             out: pl.Out[pl.Tensor[[32, 16], pl.FP32]]) -> pl.Tensor[[32, 16], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            größe = pl.matmul(x, w, out_dtype=pl.FP32)
            for ïndex, (summé,) in pl.range(2, init_values=(größe,)):
                summé = pl.yield_(pl.mul(summé, 2.0))
            行 = pl.add(summé, 1.0)
            out = pl.assemble(out, 行, [0, 0])
        return out
"""


def test_variables_may_have_any_letters():
    program = parse(KERNEL, "kernel.py")
    printed = print_program(program)
    assert print_program(parse(printed)) == printed
    compiled = compile_program(parse(KERNEL, "kernel.py"), "a2a3")
    print_program(compiled.module)


def test_a_parameter_has_ascii_letters_and_the_advice_works():
    text = KERNEL.replace("self, x:", "self, größe:").replace("matmul(x,", "matmul(größe,")
    with pytest.raises(Diagnostic, match="ASCII letters") as caught:
        parse(text, "kernel.py")
    assert caught.value.location == Location("kernel.py", 7, 20)
    instead = caught.value.instead
    assert instead is not None
    parse(text.replace("self, größe:", f"self, {instead}:").replace("matmul(größe,", f"matmul({instead},"))
