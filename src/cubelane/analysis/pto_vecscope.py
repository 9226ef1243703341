"""Which ops of a block form a vector scope, and which values would leave it (spec/pto.md 7.1)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, OpResult
from xdsl.traits import IsTerminator

from cubelane.analysis.pto_evidence import effect_of
from cubelane.ir.pto.decl import Effect
from cubelane.ir.pto.evidence import touches_registers
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import ScopeOp
from cubelane.ir.pto.types import is_register
from cubelane.ir.traits import has_trait


class Part(Enum):
    """What an op is to scope inference."""

    BOUNDARY = "ends a scope"
    VECTOR = "must lie in a scope"
    SCALAR = "may lie in a scope or before it"
    QUERY = "stays before a scope"


@dataclass
class Cluster:
    """A maximal run of ops without a boundary that holds vector work."""

    block: Block
    ops: list[Operation] = field(default_factory=list[Operation])

    def inside(self) -> list[Operation]:
        """The ops that go into the scope: vector ops, and scalars that only they use."""
        chosen: set[Operation] = set()
        for op in reversed(self.ops):
            part = part_of(op)
            if part is Part.VECTOR:
                chosen.add(op)
            elif part is Part.SCALAR and op.results:
                users = [self.member_of(use.operation) for result in op.results for use in result.uses]
                if users and all(user in chosen for user in users):
                    chosen.add(op)
        return [op for op in self.ops if op in chosen]

    def member_of(self, op: Operation) -> Operation | None:
        """The op of this block that is `op` or holds it."""
        return ancestor_in(op, self.block)


def ancestor_in(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that is `op` or holds it."""
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def part_of(op: Operation) -> Part:
    """What an op is to scope inference."""
    if isinstance(op, ScopeOp | func.CallOp) or "llvm.loop.aivector_scope" in op.attributes:
        return Part.BOUNDARY
    if has_trait(op, IsTerminator):
        return Part.BOUNDARY
    if op.regions:
        return _part_of_region(op)
    if isinstance(op, PtoOp):
        if "scope_boundary" in op.decl.tags:
            return Part.BOUNDARY
        if "vector_state" in op.decl.tags or touches_registers(op):
            return Part.VECTOR
        if "query" in op.decl.tags:
            return Part.QUERY
    return Part.SCALAR if effect_of(op) is Effect.NONE else Part.BOUNDARY


def _part_of_region(op: Operation) -> Part:
    if not isinstance(op, scf.ForOp | scf.IfOp):
        return Part.BOUNDARY
    parts = [
        part_of(nested)
        for region in op.regions
        for block in region.blocks
        for nested in block.ops
        if not has_trait(nested, IsTerminator)
    ]
    is_vector = Part.VECTOR in parts and not {Part.BOUNDARY, Part.QUERY} & set(parts)
    return Part.VECTOR if is_vector else Part.BOUNDARY


def clusters(block: Block) -> list[Cluster]:
    """The clusters of one block, in order."""
    found: list[Cluster] = []
    current = Cluster(block)
    for op in block.ops:
        if part_of(op) is not Part.BOUNDARY:
            current.ops.append(op)
            continue
        found.append(current)
        current = Cluster(block)
    found.append(current)
    return [cluster for cluster in found if any(part_of(op) is Part.VECTOR for op in cluster.ops)]


def scopes_of(block: Block) -> Iterator[Block]:
    """The block and all blocks nested in it whose clusters get scopes of their own, outermost first."""
    yield block
    for op in block.ops:
        if op.regions and not isinstance(op, ScopeOp) and part_of(op) is Part.BOUNDARY:
            for region in op.regions:
                for nested in region.blocks:
                    yield from scopes_of(nested)


@dataclass(frozen=True)
class Escape:
    """A use of a scope's value outside the scope. `clonable` says that the value can be made again there."""

    value: OpResult
    user: Operation

    @property
    def clonable(self) -> bool:
        """Registers from ops without effects can be made again, next to a user that is vector work."""
        is_vector_use = part_of(self.user) is Part.VECTOR and isinstance(self.user, PtoOp)
        return is_register(self.value.type) and is_vector_use and can_remake(self.value)


def can_remake(value: OpResult) -> bool:
    """Whether the op of a value, and what it needs from registers, has no effect and no region."""
    op = value.op
    if op.regions or effect_of(op) is not Effect.NONE:
        return False
    needed = [operand for operand in op.operands if is_register(operand.type)]
    return all(isinstance(operand, OpResult) and can_remake(operand) for operand in needed)


def escapes(block: Block) -> list[Escape]:
    """The uses that leave the scopes of a block."""
    found: list[Escape] = []
    for cluster in clusters(block):
        inside = set(cluster.inside())
        for op in inside:
            for result in op.results:
                for use in result.uses:
                    if cluster.member_of(use.operation) not in inside:
                        found.append(Escape(result, use.operation))
    return found
