"""Control flow that is decided: branches with a known condition, loops with no trip or one (spec/front.md 3.3)."""

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.scalar_folding import number_of
from cubelane.analysis.scalar_ranges import Ranges
from cubelane.ir.narrowing import is_one
from cubelane.passes.tile.placement import replace


def decided(op: Operation, ranges: Ranges) -> Operation | None:
    """Removes control flow that is decided; where to go on, None if nothing was decided."""
    if is_one(op, scf.IfOp):
        condition = number_of(op.cond)
        if condition is None:
            return None
        region = op.true_region if condition else op.false_region
        return _inline(op, region.first_block, ())
    return _counted(op, ranges) if is_one(op, scf.ForOp) else None


def _counted(loop: scf.ForOp, ranges: Ranges) -> Operation | None:
    """A loop without attributes that is known to make no trip, or one."""
    trips = None if loop.attributes else known_trips(loop, ranges)
    if trips is None:
        return None
    if trips == 0:
        return _inline(loop, None, loop.iter_args)
    return _inline(loop, loop.body.block, (loop.lb, *loop.iter_args))


def known_trips(loop: scf.ForOp, ranges: Ranges) -> int | None:
    """0 or 1 if the loop is known to make so many trips, else None."""
    start, stop, step = ranges.of(loop.lb), ranges.of(loop.ub), ranges.of(loop.step)
    if step.low < 1:
        return None
    if stop.high <= start.low:
        return 0
    distance = ranges.difference(loop.ub, loop.lb)
    if distance is not None and distance <= step.low:
        return 0 if distance <= 0 else 1
    return None


def never_entered(loop: scf.WhileOp) -> Operation | None:
    """A `while` whose condition is false at once: its condition is computed, its body is not run; where to go on."""
    block = loop.before_region.block
    end = block.last_op
    if not is_one(end, scf.ConditionOp) or number_of(end.condition) != 0:
        return None
    return _inline(loop, block, loop.arguments, skip=1)


def _inline(op: Operation, block: Block | None, arguments: Sequence[SSAValue], skip: int = 0) -> Operation | None:
    """Puts the ops of a block in place of `op`; the first of them, or what follows.

    `arguments` take the place of those of the block, or without a block that of the results. The other results are the
    operands of the end of the block, but for the first `skip`.
    """
    following = op.next_op
    if block is None:
        replace(op, *arguments)
        return following
    end = block.last_op
    assert end is not None
    for old, new in zip(block.args, arguments, strict=True):
        if new.name_hint is None and not is_one(new.owner, arith.ConstantOp):
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    values = list(end.operands)[skip:]
    block.erase_op(end)
    first, parent = block.first_op, op.parent
    assert parent is not None
    for inner in list(block.ops):
        inner.detach()
        parent.insert_op_before(inner, op)
    replace(op, *values)
    return first or following
