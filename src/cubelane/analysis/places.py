"""On which core each op of a mixed body runs, those included that either core could run (spec/passes.md 2.4; D06).

A shared op without effect is copied wherever its result is needed. One that changes memory or must run once runs on one
core only: where its operands and the conditions around it are known; else, an op that must run once on the core of the
store it stands behind, so that it stays after the data it announces, and a write on the core that uses the tensor.
"""

from collections.abc import Iterable

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import MemoryWriteEffect

from cubelane.analysis.boundaries import boundary_of, place_of
from cubelane.analysis.projection import has_effect
from cubelane.analysis.tensor_handles import TensorHandles
from cubelane.analysis.value_flow import joins_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.traits import RunsOnce, has_trait
from cubelane.ir.types import TensorType
from cubelane.ir.walk import ops_in


class Places:
    """The core of every op of a function: `places(op)`."""

    def __init__(self, function: FuncOp):
        self.function = function
        self._places: dict[Operation, Affinity] = {}
        self._values: dict[SSAValue, Affinity] = {}
        self._announced: dict[Operation, Affinity] = {}
        self._users: dict[SSAValue, Affinity] | None = None
        self._handles: TensorHandles
        last = Affinity.VECTOR
        for op in ops_in(function):
            if has_trait(op, RunsOnce):
                self._announced[op] = last
            elif has_trait(op, MemoryWriteEffect) and place_of(op) in (Affinity.CUBE, Affinity.VECTOR):
                last = place_of(op) if is_value(getattr(op, "target", None)) else last

    def __call__(self, op: Operation) -> Affinity:
        place = self._places.get(op)
        if place is None:
            place = self._places[op] = self._place(op)
        return place

    def _place(self, op: Operation) -> Affinity:
        place = place_of(op)
        if place is not Affinity.SHARED or op.regions or not has_effect(op):
            return place
        bound = self._of_all([*op.operands, *self._headers(op)])
        if bound in (Affinity.CUBE, Affinity.VECTOR):
            return bound
        if op in self._announced:
            return self._announced[op]
        target = getattr(op, "target", None)
        return self._user_of(target) if is_value(target) and isinstance(target.type, TensorType) else place

    def _user_of(self, tensor: SSAValue) -> Affinity:
        """The core that alone uses the memory of a tensor; the vector side where both do, or none."""
        if self._users is None:
            handles = self._handles = TensorHandles(self.function.body.block)
            self._users = {}
            for op in ops_in(self.function):
                core = place_of(op)
                roots = {handles[v] for v in op.operands if isinstance(v.type, TensorType)} - {None}
                if core in (Affinity.CUBE, Affinity.VECTOR):
                    for root in roots:
                        assert root is not None
                        self._users[root] = self._users.get(root, Affinity.SHARED).combine(core)
        root = self._handles[tensor]
        used = self._users.get(root, Affinity.SHARED) if root is not None else Affinity.SHARED
        return Affinity.CUBE if used is Affinity.CUBE else Affinity.VECTOR

    def _headers(self, op: Operation) -> Iterable[SSAValue]:
        """The conditions and bounds around an op."""
        parent = op.parent_op()
        while parent is not None and parent is not self.function:
            if is_one(parent, ForOp):
                yield from (parent.lb, parent.ub, parent.step)
            elif is_one(parent, IfOp):
                yield parent.cond
            elif is_one(parent, WhileOp):
                end = parent.before_region.block.last_op
                assert isinstance(end, ConditionOp)
                yield end.condition
            parent = parent.parent_op()

    def _of_all(self, values: Iterable[SSAValue]) -> Affinity:
        total = Affinity.SHARED
        for value in values:
            total = total.combine(self.of(value))
        return total

    def of(self, value: SSAValue) -> Affinity:
        """Which core can know a value; tensors are handles that both have."""
        if value in self._values:
            return self._values[value]
        self._values[value] = Affinity.SHARED
        result = self._found(value)
        self._values[value] = result
        return result

    def _found(self, value: SSAValue) -> Affinity:
        if isinstance(value.type, TensorType):
            return Affinity.SHARED
        if is_one(value, BlockArgument):
            return self._argument(value)
        assert isinstance(value, OpResult)
        op = value.op
        if op.regions:
            arrives = [s.value for join in joins_of(op) if value in join.targets for s in join.sources]
            return self._of_all([*arrives, *op.operands] if is_one(op, IfOp) else arrives)
        if (boundary := boundary_of(op)) is not None:
            return Affinity.VECTOR if boundary.to_lanes else Affinity.CUBE
        place = place_of(op)
        return self._of_all(op.operands) if place is Affinity.SHARED else place

    def _argument(self, value: BlockArgument) -> Affinity:
        parent = value.block.parent_op()
        if is_one(parent, ForOp) and value.index == 0:
            return self._of_all((parent.lb, parent.ub, parent.step))
        if is_one(parent, (ForOp, WhileOp)):
            return self._of_all(s.value for join in joins_of(parent) if value in join.targets for s in join.sources)
        return Affinity.SHARED
