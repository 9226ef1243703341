"""Which values are used outside the section that defines them (spec/pto.md 5.5)."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from cubelane.ir.pto.regions import SectionOp


@dataclass(frozen=True)
class Crossing:
    """A use of a value where the value cannot be: `definition` lies in `defined_in`, `user` does not."""

    definition: Operation
    user: Operation
    defined_in: SectionOp
    used_in: SectionOp | None


def crossings(root: Operation) -> Iterator[Crossing]:
    """All crossings below `root`, in program order of the users."""
    owner: dict[SSAValue, SectionOp] = {}
    yield from _visit(root, None, owner)


def _visit(op: Operation, around: SectionOp | None, owner: dict[SSAValue, SectionOp]) -> Iterator[Crossing]:
    for operand in op.operands:
        section = owner.get(operand)
        if section is not None and section is not around:
            definition = operand.owner
            source = definition.parent_op() if isinstance(definition, Block) else definition
            yield Crossing(source or section, op, section, around)
    if around is not None:
        for result in op.results:
            owner[result] = around
    inside = op if isinstance(op, SectionOp) else around
    for region in op.regions:
        for block in region.blocks:
            if inside is not None:
                for argument in block.args:
                    owner[argument] = inside
            for nested in block.ops:
                yield from _visit(nested, inside, owner)
