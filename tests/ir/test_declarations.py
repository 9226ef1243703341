"""Every op class declares all that passes, emitter and oracle will ask of it."""

import re

import pytest

from cubelane.ir.context import DIALECTS
from cubelane.ir.surface import OPERAND_KINDS, PROPERTY_KINDS, RESULT_FACTS, SurfaceOp
from cubelane.ir.traits import CoreAffinity, Cost, Meaning, PtoSpelling, Spaces, Split, Splits

OPS = [op for dialect in DIALECTS for op in dialect.operations if issubclass(op, SurfaceOp)]


def names_of(op: type[SurfaceOp]) -> set[str]:
    definition = op.get_irdl_definition()
    return {name for name, _ in definition.operands} | set(definition.properties)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
class TestEveryOp:
    def test_has_a_docstring_and_a_spelling(self, op: type[SurfaceOp]):
        assert op.__doc__ and op.__doc__.strip()
        assert op.SPELLING and op.NAMESPACE in ("tile", "tensor", "system")

    @pytest.mark.parametrize("trait", [CoreAffinity, Splits, Meaning, PtoSpelling, Cost, Spaces])
    def test_has_each_trait(self, op: type[SurfaceOp], trait):
        assert op.get_trait(trait) is not None

    def test_parameters_name_operands_properties_or_facts_of_the_result(self, op: type[SurfaceOp]):
        fields = names_of(op)
        for parameter in op.PARAMETERS:
            if parameter.kind in OPERAND_KINDS | PROPERTY_KINDS:
                assert parameter.name in fields, parameter
            else:
                assert parameter.kind in RESULT_FACTS, parameter

    def test_every_operand_and_property_can_be_written(self, op: type[SurfaceOp]):
        written = {parameter.name for parameter in op.PARAMETERS}
        assert names_of(op) - {"operandSegmentSizes"} <= written

    def test_meaning_names_only_what_the_op_has(self, op: type[SurfaceOp]):
        meaning = op.get_trait(Meaning)
        known = {p.name for p in op.PARAMETERS} | {"shape", "dtype"}
        text = meaning.value + (meaning.valid or "")
        for name in re.findall(r"\{(\w+)\}", text):
            assert name.removesuffix("_valid") in known, name

    def test_scratch_and_input_spaces_name_operands(self, op: type[SurfaceOp]):
        fields = names_of(op)
        assert set(op.get_trait(Splits).scratch) <= fields
        assert set(op.get_trait(Spaces).inputs) <= fields

    def test_reductions_name_their_axis(self, op: type[SurfaceOp]):
        splits = op.get_trait(Splits)
        if splits.behaviour in (Split.REDUCES, Split.CONCATENATES):
            assert splits.axis in (-1, 0, 1)


def test_ir_names_are_unique():
    names = [op.name for op in OPS]
    assert len(names) == len(set(names))


def test_spellings_are_unique_in_their_namespace():
    spelled = [(op.NAMESPACE, op.SPELLING) for op in OPS]
    assert len(spelled) == len(set(spelled))
