"""Which ops of a whole program anybody needs, found without the projection, and which of them no core runs."""

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, MemoryWriteEffect

from cubelane.analysis.affinity import classify
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Location
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import Cost, CostClass, RunsOnce


def lost_ops(whole: ModuleOp, expanded: ModuleOp) -> Iterator[str]:
    """The needed tile ops of the kernels of `whole` that stand in no program of a core, in words."""
    kept = {_name(op) for f in functions_of(expanded) for op in f.walk()}
    for function in functions_of(whole):
        if kind_of(function) is not FunctionKind.INCORE or not function.body.blocks:
            continue
        needed = _Needed(function.body.block).ops
        for op in function.walk():
            if op in needed and _does_work(op) and _name(op) not in kept:
                yield f"{op.name} ({Location.of(op)})"


def _name(op: Operation) -> tuple[str, Location]:
    return op.name, Location.of(op)


def _does_work(op: Operation) -> bool:
    """Tile work that one core must do; crossings become transports, scratch tiles may be made anew."""
    cost = op.get_trait(Cost)
    return (
        isinstance(op, SurfaceOp)
        and classify(op) in (Affinity.CUBE, Affinity.VECTOR)
        and cost is not None
        and (cost.cost is not CostClass.FREE)
    )


class _Needed:
    """Marks from the effects backwards: operands, loop carries, branch results, conditions."""

    def __init__(self, block: Block):
        self.ops: set[Operation] = set()
        self.values: set[SSAValue] = set()
        for op in block.walk():
            if op.has_trait(MemoryWriteEffect) or op.has_trait(RunsOnce) or op.name == "func.return":
                self.need(op)

    def need(self, op: Operation) -> None:
        """An op, all it reads, and what decides whether it runs."""
        todo: list[Operation | SSAValue] = [op]
        while todo:
            item = todo.pop()
            if isinstance(item, Operation):
                if item in self.ops:
                    continue
                self.ops.add(item)
                todo.extend(self._of_op(item))
            elif item not in self.values:
                self.values.add(item)
                todo.extend(_sources(item))

    def _of_op(self, op: Operation) -> Iterator[Operation | SSAValue]:
        parent = op.parent_op()
        if parent is not None and parent.name != "func.func":
            yield parent
        if isinstance(op, scf.ForOp):
            yield from (op.lb, op.ub, op.step)
        elif isinstance(op, scf.WhileOp):
            condition = op.before_region.block.last_op
            assert isinstance(condition, scf.ConditionOp)
            yield condition.condition
        elif isinstance(op, scf.IfOp):
            yield op.cond
        elif not op.regions and (not op.has_trait(IsTerminator) or op.name == "func.return"):
            yield from op.operands


def _sources(value: SSAValue) -> Iterator[Operation | SSAValue]:
    """What a value is made of."""
    if isinstance(value, OpResult):
        op, index = value.op, value.index
        yield op
        for region in op.regions:
            if not region.blocks:
                continue
            last = region.block.last_op
            handed = list(last.args) if isinstance(last, scf.ConditionOp) else list(last.operands) if last else []
            if index < len(handed) and not (isinstance(op, scf.WhileOp) and region is op.after_region):
                yield handed[index]
        return
    assert isinstance(value, BlockArgument)
    op = value.block.parent_op()
    if isinstance(op, scf.ForOp):
        if value.index > 0:
            yield op.iter_args[value.index - 1]
            yield op.body.block.last_op.operands[value.index - 1]  # type: ignore[union-attr]
    elif isinstance(op, scf.WhileOp):
        before, after = op.before_region.block, op.after_region.block
        last = after.last_op
        assert last is not None
        if value.block is before:
            yield op.arguments[value.index]
            yield last.operands[value.index]
        else:
            condition = before.last_op
            assert isinstance(condition, scf.ConditionOp)
            yield condition.args[value.index]
