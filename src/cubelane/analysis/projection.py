"""What one core needs of a mixed body, and the clone that keeps just that (design chapter 1, spec/passes.md 5.5, 5.8).

`Needs` is a backward liveness: it starts at what the core itself does to the world (its stores, its ends of the
crossings) and follows operands, loop carries, branch results and the headers of everything around them. A crossing is
a *leaf*: the core takes some values into it, or gets its result out of it, and nothing is followed through it.
`Projector` then copies the needed ops in order, so the result is in valid SSA by construction.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from xdsl.dialects.func import ReturnOp
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsTerminator, MemoryWriteEffect

from cubelane.analysis.affinity import classify
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.kernel import PLACEMENT
from cubelane.ir.narrowing import is_one
from cubelane.ir.traits import RunsOnce, has_trait, trait_of_class
from cubelane.ir.types import TensorType, TileType

Place = Callable[[Operation], Affinity]
"""Which core an op belongs to; SHARED ops may be copied to both."""


class Leaf(NamedTuple):
    """What a crossing is on one core: the values it takes, and whether its results are there afterwards."""

    takes: tuple[SSAValue, ...] = ()
    gives: bool = False


def has_effect(op: Operation) -> bool:
    """Whether an op changes something that others see, so that it stays even when nobody reads its result."""
    return _changes_something(op.__class__)


@cache
def _changes_something(kind: type[Operation]) -> bool:
    return trait_of_class(kind, MemoryWriteEffect) is not None or trait_of_class(kind, RunsOnce) is not None


def yielded(region: Region) -> "tuple[SSAValue, ...]":
    """The values a branch or loop body hands to the op around it; none for an absent branch."""
    if not region.blocks:
        return ()
    last = region.block.last_op
    if is_one(last, ConditionOp):
        return tuple(last.args)
    return tuple(last.operands) if last is not None else ()


class Needs:
    """The ops and values that `core` needs of `body`.

    `leaves` are the crossings as this core sees them, `anchors` ops beside which the core does something (only their
    surroundings are needed), `returns` whether the values of the return are wanted. `stand_in` gives the value that
    both cores have for one made on the other core (the parameter whose memory a tensor names), or None.
    """

    def __init__(
        self,
        body: Region,
        core: Affinity,
        leaves: Mapping[Operation, Leaf],
        *,
        place: Place = classify,
        stand_in: Callable[[SSAValue], SSAValue | None] = lambda value: None,
        anchors: Iterable[Operation] = (),
        extra: Iterable[SSAValue] = (),
        returns: bool = False,
        passive: Callable[[Operation], bool] = lambda op: False,
    ):
        self.body, self.core, self.leaves = body, core, leaves
        self.place, self.stand_in = place, stand_in
        self.ops: set[Operation] = set()
        self.values: set[SSAValue] = set()
        self.stand_ins: dict[SSAValue, SSAValue] = {}
        self._todo: list[tuple[SSAValue, Operation]] = []
        self._spans: dict[Operation, Affinity] = {}
        self._root = body.parent_op()
        self._seed(body, returns, passive)
        for anchor in anchors:
            self._surroundings(anchor)
        for value in extra:
            owner = value.owner
            self._todo.append((value, owner if isinstance(owner, Operation) else _parent(owner)))
        self._settle()

    def _seed(self, body: Region, returns: bool, passive: Callable[[Operation], bool]) -> Affinity:
        """Collects what the core does by itself; gives the cores that the region spans."""
        total = Affinity.SHARED
        for block in body.blocks:
            for op in block.ops:
                total = total.combine(self._seed_op(op, returns, passive))
        return total

    def _seed_op(self, op: Operation, returns: bool, passive: Callable[[Operation], bool]) -> Affinity:
        if op in self.leaves:
            self._need_op(op)
            self._want(self.leaves[op].takes, op)
            return Affinity.MIXED
        if is_one(op, ReturnOp):
            if returns:
                self._want(op.operands, op)
            return Affinity.SHARED
        if op.regions:
            span = Affinity.SHARED
            for region in op.regions:
                span = span.combine(self._seed(region, returns, passive))
            self._spans[op] = span
            return span
        place = self.place(op)
        if place in (self.core, Affinity.SHARED) and has_effect(op) and not passive(op):
            self._need_op(op)
        return place

    def _want(self, values: Iterable[SSAValue], reader: Operation) -> None:
        self._todo += [(value, reader) for value in values]

    def _surroundings(self, op: Operation) -> None:
        parent = op.parent_op()
        if parent is not None and parent is not self._root:
            self._need_op(parent)

    def _need_op(self, op: Operation) -> None:
        if op in self.ops:
            return
        self.ops.add(op)
        self._surroundings(op)
        if op in self.leaves:
            return
        if not op.regions:
            self._want(op.operands, op)
        elif is_one(op, ForOp):
            self._want((op.lb, op.ub, op.step), op)
        elif is_one(op, WhileOp):
            last = op.before_region.block.last_op
            assert isinstance(last, ConditionOp)
            self._want((last.condition,), op)
        else:
            self._want(op.operands, op)

    def _settle(self) -> None:
        while self._todo:
            value, reader = self._todo.pop()
            if value in self.values or value in self.stand_ins:
                continue
            if (origin := self._elsewhere(value, reader)) is not None:
                self.stand_ins[value] = origin
                self._todo.append((origin, reader))
                continue
            self.values.add(value)
            self._follow(value, reader)

    def _elsewhere(self, value: SSAValue, reader: Operation) -> SSAValue | None:
        """The value that stands for one made on the other core; None when this core makes it itself."""
        if not is_one(value, OpResult):
            return None
        op = value.op
        if op in self.leaves:
            if self.leaves[op].gives:
                return None
        elif self._spans.get(op) not in (None, Affinity.MIXED, self.core) or self._names_parameter(value):
            return self.stand_in(value)
        elif op in self._spans or self.place(op) in (self.core, Affinity.SHARED):
            return None
        origin = self.stand_in(value)
        if origin is None:
            raise self._missing(value, op, reader)
        return origin

    def _names_parameter(self, value: OpResult) -> bool:
        """Whether a branch hands on a parameter unchanged; a tensor it gives is then that parameter on every path."""
        if value.op not in self._spans or not is_one(value.op, IfOp):
            return False
        handed = (yielded(region)[value.index] for region in value.op.regions if region.blocks)
        return any(is_one(v, BlockArgument) and v.block.parent_op() is self._root for v in handed)

    def _missing(self, value: SSAValue, op: Operation, reader: Operation) -> Diagnostic:
        here, there = ("cube", "vector") if self.core is Affinity.CUBE else ("vector", "cube")
        name = f"`{value.name_hint}`" if value.name_hint else "a value"
        if isinstance(value.type, TensorType):
            return refuse(
                reader,
                f"{name} is made inside the kernel on the {there} core, and the {here} core uses it too",
                f"it is made at {Location.of(op)}; each core would make a tensor of its own",
                instead="pass the tensor to the kernel as a parameter (pl.InOut or pl.Out)",
                code="tensor-on-both-cores",
            )
        if isinstance(value.type, TileType):
            space = "Mat" if self.core is Affinity.CUBE else "Vec"
            return refuse(
                reader,
                f"{reader.name} runs on the {here} core and needs {name}, a tile of the {there} core",
                f"it is made at {Location.of(op)}; only a move takes a tile from one core to the other",
                instead=f"pl.tile.move({value.name_hint or 'tile'}, target_memory=pl.Mem.{space}), and use its result",
                code="crossing-op",
            )
        return refuse(
            reader,
            f"{name} is computed on the {there} core but also needed on the {here} core",
            f"it is made at {Location.of(op)}; only tiles cross between the cores, scalars do not",
            instead="compute it from kernel parameters, loop counters or gm reads, which both cores can do",
            code="value-on-other-core",
        )

    def _follow(self, value: SSAValue, reader: Operation) -> None:
        if is_one(value, BlockArgument):
            parent = value.block.parent_op()
            if is_one(parent, ForOp) and value.index > 0:
                self._carry(parent, value.index - 1)
            elif is_one(parent, WhileOp):
                self._carry(parent, value.index)
            elif parent is not None and parent is not self._root:
                self._need_op(parent)
            return
        assert isinstance(value, OpResult)
        op = value.op
        if not op.regions:
            self._need_op(op)
            return
        if is_one(op, (ForOp, WhileOp)):
            self._carry(op, value.index)
            return
        self._need_op(op)
        if is_one(op, IfOp):
            for region in op.regions:
                self._want((yielded(region)[value.index],), op)

    def _carry(self, loop: ForOp | WhileOp, index: int) -> None:
        """A carried value needs its seed, what each trip hands on, and stands for the loop's result as well."""
        self._need_op(loop)
        if is_one(loop, ForOp):
            args = (loop.body.block.args[index + 1],)
            values = (loop.iter_args[index], yielded(loop.body)[index])
        else:
            args = (loop.before_region.block.args[index], loop.after_region.block.args[index])
            values = (
                loop.arguments[index],
                yielded(loop.before_region)[index],
                yielded(loop.after_region)[index],
            )
        self.values.update((*args, loop.results[index]))
        self._want(values, loop)

    def carries(self, loop: ForOp | WhileOp) -> list[int]:
        """The indices of the carried values that stay."""
        return [i for i, result in enumerate(loop.results) if result in self.values]

    def results(self, op: IfOp) -> list[int]:
        """The indices of the branch results that stay."""
        return [i for i, result in enumerate(op.results) if result in self.values]


def _parent(block: Block) -> Operation:
    parent = block.parent_op()
    assert parent is not None
    return parent


Emit = Callable[[Operation, "Projector"], None]
"""Appends to `projector.block` what one op becomes, and records the new values in `projector.map`."""


class Projector:
    """Copies what `needs` holds. `emit` writes the leaves, `before` and `after` what stands beside an op."""

    def __init__(
        self,
        needs: Needs,
        emit: Emit,
        before: Mapping[Operation, list[Callable[["Projector"], None]]] | None = None,
        after: Mapping[Operation, list[Callable[["Projector"], None]]] | None = None,
    ):
        self.needs, self.emit = needs, emit
        self.before, self.after = before or {}, after or {}
        self.map: dict[SSAValue, SSAValue] = {}
        self.block: Block = Block()

    def value(self, old: SSAValue) -> SSAValue:
        """What stands for a value of the original body on this core."""
        source = old
        while source not in self.map:
            source = self.needs.stand_ins[source]
        new = self.map[source]
        self.map[old] = new
        return new

    def add(self, op: Operation, like: Operation | None = None) -> Operation:
        """Appends a new op; it takes the location of the op it stands for."""
        if like is not None:
            op.location = like.location
        self.block.add_op(op)
        return op

    def run(self, source: Block, target: Block) -> None:
        """Copies a block without its terminator, which the caller writes."""
        outer, self.block = self.block, target
        for op in source.ops:
            for write in self.before.get(op, ()):
                write(self)
            if op in self.needs.ops and not has_trait(op, IsTerminator):
                self._copy(op)
            for write in self.after.get(op, ()):
                write(self)
        self.block = outer

    def _copy(self, op: Operation) -> None:
        if op in self.needs.leaves:
            self.emit(op, self)
        elif not op.regions:
            self._copy_leaf(op)
        elif is_one(op, ForOp):
            self._copy_for(op)
        elif is_one(op, WhileOp):
            self._copy_while(op)
        elif is_one(op, IfOp):
            self._copy_if(op)
        else:
            self._copy_leaf(op)

    def _copy_leaf(self, op: Operation) -> None:
        for operand in op.operands:
            self.value(operand)
        new = op.clone(self.map) if op.regions else op.clone_without_regions(self.map)
        new.attributes.pop(PLACEMENT, None)
        self.block.add_op(new)

    def _take_over(self, old: Operation, new: Operation, kept: list[int]) -> None:
        new.attributes = dict(old.attributes)
        self.add(new, old)
        for i, result in zip(kept, new.results, strict=True):
            result.name_hint = old.results[i].name_hint
            self.map[old.results[i]] = result

    def _open(self, source: Block, kept: list[int]) -> Block:
        """A block with the kept arguments of `source`."""
        block = Block(arg_types=[source.args[i].type for i in kept])
        for i, argument in zip(kept, block.args, strict=True):
            argument.name_hint = source.args[i].name_hint
            self.map[source.args[i]] = argument
        return block

    def _close(self, source: Region, block: Block, kept: list[int], like: Operation) -> None:
        values = yielded(source)
        end = YieldOp(*(self.value(values[i]) for i in kept))
        end.location = like.location
        block.add_op(end)

    def _copy_for(self, op: ForOp) -> None:
        kept = self.needs.carries(op)
        body = self._open(op.body.block, [0, *(i + 1 for i in kept)])
        self.run(op.body.block, body)
        self._close(op.body, body, kept, op)
        inits = [self.value(op.iter_args[i]) for i in kept]
        new = ForOp(self.value(op.lb), self.value(op.ub), self.value(op.step), inits, Region(body))
        self._take_over(op, new, kept)

    def _copy_while(self, op: WhileOp) -> None:
        kept = self.needs.carries(op)
        inits = [self.value(op.arguments[i]) for i in kept]
        before = self._open(op.before_region.block, kept)
        self.run(op.before_region.block, before)
        last = op.before_region.block.last_op
        assert isinstance(last, ConditionOp)
        condition = ConditionOp(self.value(last.condition), *(self.value(last.args[i]) for i in kept))
        condition.location = last.location
        before.add_op(condition)
        after = self._open(op.after_region.block, kept)
        self.run(op.after_region.block, after)
        self._close(op.after_region, after, kept, op)
        types = [op.results[i].type for i in kept]
        self._take_over(op, WhileOp(inits, types, Region(before), Region(after)), kept)

    def _copy_if(self, op: IfOp) -> None:
        kept = self.needs.results(op)
        regions: list[Region] = []
        for region in op.regions:
            if not region.blocks:
                regions.append(Region())
                continue
            block = Block()
            self.run(region.block, block)
            self._close(region, block, kept, op)
            regions.append(Region(block))
        new = IfOp(self.value(op.cond), [op.results[i].type for i in kept], regions[0], regions[1])
        self._take_over(op, new, kept)
