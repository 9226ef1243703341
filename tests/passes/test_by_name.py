"""Every pass by its function, as scripts write it: `passes.lower_auto_vector_split()(program)`."""

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from cubelane import language, passes
from cubelane.ir.diagnostic import Diagnostic
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


def test_pipeline_in_another_order_is_refused_by_the_properties(monkeypatch):
    stages = list(pipeline.PASSES)
    place = next(i for i, s in enumerate(stages) if s.name == "lower-auto-vector-split")
    stages[place], stages[place + 1] = stages[place + 1], stages[place]
    outline = next(i for i, s in enumerate(stages) if s.name == "outline-incore-scopes")
    for order in (stages[:outline] + stages[outline + 1 :], [s for s in stages if pipeline.SPACES not in s.produced]):
        monkeypatch.setattr(pipeline, "PASSES", tuple(order))
        with pytest.raises(Diagnostic) as refusal:
            pipeline.run(program())
        assert refusal.value.code == "pass-order" and "needs a program with" in refusal.value.message


def test_a_program_that_needs_no_lowering_comes_back_as_the_same_object():
    module = pipeline.run(program())
    assert passes.lower_auto_vector_split()(module) is module
