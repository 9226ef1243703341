"""Every pass by its function, as scripts write it: `passes.lower_auto_vector_split()(program)`."""

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane import language, passes
from cubelane.ir.kernel import TARGET
from cubelane.passes import pipeline
from tests.cli.conftest import GOOD


def program() -> ModuleOp:
    module = language.parse(GOOD)
    module.attributes[TARGET] = StringAttr("a2a3")
    return module


@pytest.mark.parametrize("stage", pipeline.PASSES, ids=lambda stage: stage.name)
def test_every_pass_can_be_called_by_name_also_after_it_was_loaded(stage):
    pipeline.run(program())
    function = getattr(passes, stage.name.replace("-", "_"))
    assert function() is pipeline.BY_NAME[stage.name]


def test_passes_one_by_one_give_what_the_pipeline_gives():
    module = program()
    for stage in pipeline.PASSES:
        module = getattr(passes, stage.name.replace("-", "_"))()(module)
    assert str(module) == str(pipeline.run(program()))


def test_a_program_that_needs_no_lowering_comes_back_as_the_same_object():
    module = pipeline.run(program())
    assert passes.lower_auto_vector_split()(module) is module
