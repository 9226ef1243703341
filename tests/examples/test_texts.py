"""Both texts of a program, the DSL and MLIR, parse back to the same program after every pass, on every example."""

import pytest
from xdsl.parser import Parser

from cubelane import language
from cubelane.analysis.equality import structurally_equal
from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_program
from cubelane.ir.context import shared_context
from cubelane.targets import TARGETS
from tests.examples.files import FILES


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_print_then_parse_is_the_identity_after_every_pass(path, target):
    compiled = compile_program(read_program(str(path)), target, keep_stages=True)
    seen: set[str] = set()
    for stage in compiled.stages:
        text = language.print_program(stage.module)
        if text in seen:
            continue
        seen.add(text)
        assert structurally_equal(stage.module, language.parse(text)) is None, stage.name
        mlir = str(stage.module)
        assert str(Parser(shared_context(), mlir).parse_module()) == mlir, stage.name
    assert len(seen) >= 5
