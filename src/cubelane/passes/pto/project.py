"""The part of a sectioned function that one core runs, by the projection both levels share (`analysis.projection`).

To the projection a section of this core is a leaf that takes the values it captures; one of the other core is work
of that core. Bodies of sections belong to one core each, so they are moved, not copied.
"""

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from cubelane.analysis.projection import Leaf, Needs, Projector, has_effect
from cubelane.analysis.pto_evidence import effect_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.decl import Effect
from cubelane.ir.pto.regions import SectionOp, section_around
from cubelane.ir.traits import has_trait

KindsByName = Mapping[str, frozenset[Affinity]]
"""The cores of the functions that are split; other functions belong to all."""
BOTH = frozenset({Affinity.CUBE, Affinity.VECTOR})


def project_module(module: ModuleOp, core: Affinity, kinds_of: KindsByName) -> ModuleOp:
    """A module with what `core` runs. Sections of that core leave `module`."""
    ops: list[Operation] = []
    for op in module.body.block.ops:
        if not isinstance(op, FuncOp) or op.is_declaration or op.sym_name.data not in kinds_of:
            ops.append(op.clone())
        elif core in kinds_of[op.sym_name.data]:
            ops.append(project_function(op, core, kinds_of))
    projected = ModuleOp(ops, attributes=dict(module.attributes))
    projected.location = module.location
    return projected


def project_function(function: FuncOp, core: Affinity, kinds_of: KindsByName) -> FuncOp:
    """A copy of the function with what `core` runs."""

    def place(op: Operation) -> Affinity:
        section = section_around(op)
        if section is not None:
            return section.kind
        return Affinity.SHARED if core in _kinds_of_call(op, kinds_of) else _other(core)

    leaves = dict(_leaves(function, core, kinds_of))
    ends = [block.last_op for block in function.body.blocks if block.last_op is not None]
    wanted = [value for end in ends for value in end.operands]
    needs = Needs(function.body, core, leaves, place=place, extra=wanted)
    projector = Projector(needs, _emit)
    projected = function.clone_without_regions()
    blocks: dict[Block, Block] = {}
    for block in function.body.blocks:
        blocks[block] = Block(arg_types=block.arg_types)
        projected.body.add_block(blocks[block])
        for old, new in zip(block.args, blocks[block].args, strict=True):
            new.name_hint = old.name_hint
            projector.map[old] = new
    for source, target in blocks.items():
        projector.run(source, target)
        if source.last_op is not None and has_trait(source.last_op, IsTerminator):
            target.add_op(source.last_op.clone(projector.map, blocks))
    return projected


def _leaves(function: FuncOp, core: Affinity, kinds_of: KindsByName) -> Iterator[tuple[Operation, Leaf]]:
    for op in function.walk():
        if isinstance(op, SectionOp) and op.kind is core:
            yield op, Leaf(tuple(captured(op)))
        elif isinstance(op, CallOp) and core in _kinds_of_call(op, kinds_of) and section_around(op) is None:
            yield op, Leaf(tuple(op.operands), gives=True)
        elif _acts_unnoticed(op) and section_around(op) is None:
            yield op, Leaf(tuple(op.operands), gives=True)


def _acts_unnoticed(op: Operation) -> bool:
    """An op of another dialect that does not declare its effects: it stays on both cores."""
    if op.regions or has_effect(op) or has_trait(op, IsTerminator) or isinstance(op, CallOp):
        return False
    return effect_of(op) is Effect.WRITE


def _kinds_of_call(op: Operation, kinds_of: KindsByName) -> frozenset[Affinity]:
    return kinds_of.get(op.callee.string_value(), BOTH) if isinstance(op, CallOp) else BOTH


def _other(core: Affinity) -> Affinity:
    return Affinity.VECTOR if core is Affinity.CUBE else Affinity.CUBE


def captured(section: SectionOp) -> Iterator[SSAValue]:
    """The values from outside that a section uses."""
    inner: set[SSAValue] = set()
    for op in section.walk():
        yield from (value for value in op.operands if value not in inner)
        inner.update(op.results)
        for region in op.regions:
            for block in region.blocks:
                inner.update(block.args)


def _emit(op: Operation, projector: Projector) -> None:
    """Moves the body of a section into place; copies a call."""
    if not isinstance(op, SectionOp):
        projector.block.add_op(op.clone(projector.map))
        return
    for nested in list(op.body.ops):
        nested.detach()
        projector.block.add_op(nested)
        for inner in nested.walk():
            if any(value in projector.map for value in inner.operands):
                inner.operands = [projector.map.get(value, value) for value in inner.operands]


def inline_body(op: Operation) -> None:
    """Replaces an op with a one-block body by the ops of the body."""
    block = op.parent
    assert block is not None
    for nested in list(op.regions[0].block.ops):
        nested.detach()
        block.insert_op_before(nested, op)
    op.detach()
    op.erase()


def functions_in(op: Operation) -> list[FuncOp]:
    """The functions with a body directly in a module."""
    return [f for f in op.regions[0].block.ops if isinstance(f, FuncOp) and not f.is_declaration]
