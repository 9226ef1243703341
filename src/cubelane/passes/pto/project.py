"""Projection of a program to one core: keep what that core needs, in valid SSA, with its control flow (design 1.3).

`foreign` says which ops another core runs. `clone_without` gives a copy without them, `erase_foreign` removes them
in place; both then drop the shared ops that only foreign ops needed. What was already unused stays.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from cubelane.analysis.pto_evidence import effect_of
from cubelane.ir.pto.decl import Effect

Foreign = Callable[[Operation], bool]


@dataclass
class _Copy:
    """A copy under way: where values and blocks of the original went, and what foreign ops used."""

    foreign: Foreign
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    blocks: dict[Block, Block] = field(default_factory=dict[Block, Block])
    loose: list[Operation] = field(default_factory=list[Operation])

    def copy(self, op: Operation) -> Operation:
        new = op.clone_without_regions(self.values, self.blocks)
        for region, new_region in zip(op.regions, new.regions, strict=True):
            for block in region.blocks:
                copied = Block(arg_types=block.arg_types)
                new_region.add_block(copied)
                self.blocks[block] = copied
                for old_arg, new_arg in zip(block.args, copied.args, strict=True):
                    self.values[old_arg] = new_arg
                    new_arg.name_hint, new_arg.location = old_arg.name_hint, old_arg.location
        for region in op.regions:
            for block in region.blocks:
                self._copy_block(block, self.blocks[block], new)
        return new

    def _copy_block(self, block: Block, copied: Block, parent: Operation) -> None:
        for nested in block.ops:
            if not self.foreign(nested):
                copied.add_op(self.copy(nested))
                continue
            self.loose.append(parent)
            for value in used_from_outside(nested):
                owner = self.values.get(value, value).owner
                if isinstance(owner, Operation) and value in self.values:
                    self.loose.append(owner)


def used_from_outside(op: Operation) -> Iterable[SSAValue]:
    """The operands of an op and of all that is nested in it, inner values included."""
    for nested in op.walk():
        yield from nested.operands


def clone_without(op: Operation, foreign: Foreign) -> Operation:
    """A copy of `op` without the foreign ops inside it, nor the shared ops only they needed."""
    work = _Copy(foreign)
    new = work.copy(op)
    drop_unneeded(work.loose)
    return new


def erase_foreign(op: Operation, foreign: Foreign) -> None:
    """Erases the foreign ops inside `op`, and the shared ops only they needed."""
    loose: list[Operation] = []
    for nested in _outermost(op, foreign):
        parent = nested.parent_op()
        owners = [value.owner for value in used_from_outside(nested)]
        inside = set(nested.walk())
        loose += [owner for owner in owners if isinstance(owner, Operation) and owner not in inside]
        loose += [] if parent is None else [parent]
        nested.detach()
        nested.erase(safe_erase=False)
    drop_unneeded(loose)


def _outermost(op: Operation, foreign: Foreign) -> list[Operation]:
    found: list[Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for nested in block.ops:
                found += [nested] if foreign(nested) else _outermost(nested, foreign)
    return found


def drop_unneeded(candidates: list[Operation]) -> None:
    """Erases those of the ops that have no effect and no user any more, and then what only they needed."""
    work = list(dict.fromkeys(candidates))
    gone: set[Operation] = set()
    while work:
        op = work.pop()
        if op in gone or op.parent is None or not _is_unneeded(op):
            continue
        gone.add(op)
        parent = op.parent_op()
        work += [owner for value in used_from_outside(op) if isinstance(owner := value.owner, Operation)]
        work += [] if parent is None else [parent]
        op.detach()
        op.erase()


def _is_unneeded(op: Operation) -> bool:
    if op.has_trait(IsTerminator) or any(result.first_use is not None for result in op.results):
        return False
    if not op.regions:
        return effect_of(op) is not Effect.WRITE
    return isinstance(op, scf.ForOp | scf.IfOp) and all(
        nested is op or nested.has_trait(IsTerminator) or (not nested.regions and effect_of(nested) is not Effect.WRITE)
        for nested in op.walk()
    )


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
