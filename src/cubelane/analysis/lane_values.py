"""What depends on the lane inside a hand-written body: scalars of the lane index, tiles of half width (spec 4.8 a)."""

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp, WhileOp
from xdsl.ir import Block, Operation, SSAValue

from cubelane.analysis.affinity import classify
from cubelane.analysis.split_axis import flows
from cubelane.ir.affinity import Affinity
from cubelane.ir.narrowing import is_one, is_value
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import SubblockIdxOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import TensorType, TileType
from cubelane.ir.walk import ops_in

READ_ADDRESS: dict[Split, tuple[str, ...]] = {
    Split.LOADS: ("offsets",),
    Split.SLICES: ("offsets", "row", "column"),
    Split.GATHERS_ROWS: ("source_offsets",),
}
"""The operands that place what an op reads; a lane index in them proves per-lane work."""

_GENERATORS = frozenset({Split.GENERATES, Split.POSITIONAL})


class LaneValues:
    """The lane scalars and half-width tiles of a body, and the vector ops that are neither (`offenders`).

    A tile is half width when it comes from `aiv_shard`, from another half-width tile, or is read at an address that
    depends on the lane. A tile of extent 1 on the split axis is whole on both lanes and no offender.
    """

    def __init__(self, block: Block, axis: int):
        self.axis = axis
        self.scalars: set[SSAValue] = set()
        self.halves: set[SSAValue] = set()
        self.offenders: list[Operation] = []
        ops = ops_in(block)
        size = -1
        while size != len(self.scalars) + len(self.halves):
            size = len(self.scalars) + len(self.halves)
            self.offenders = [op for op in ops if self._visit(op)]

    def _visit(self, op: Operation) -> bool:
        for source, target in flows(op):
            for group in (self.scalars, self.halves):
                if source in group:
                    group.add(target)
        if is_one(op, SubblockIdxOp):
            self.scalars.update(op.results)
            return False
        if op.regions:
            return False
        result = op.results[0].type if op.results else None
        if not isinstance(result, TileType):
            if any(operand in self.scalars for operand in op.operands):
                self.scalars.update(r for r in op.results if not isinstance(r.type, TileType))
            return False
        return self._tile(op, result)

    def _tile(self, op: Operation, result: TileType) -> bool:
        """Classifies a tile-producing op; True for an offender."""
        splits = trait_of(op, Splits)
        if splits is None:
            return False
        if splits.behaviour is Split.BOUNDARY:
            if result.memory is None or not result.memory.is_cube:
                self.halves.update(op.results)
            return False
        if splits.behaviour in _GENERATORS:
            return False
        if any(operand in self.halves for operand in op.operands) or self._reads_by_lane(op, splits.behaviour):
            self.halves.update(op.results)
            return False
        singleton = self.axis >= len(result.shape) or result.shape[self.axis] == 1
        return classify(op) is Affinity.VECTOR and not singleton

    def _reads_by_lane(self, op: Operation, behaviour: Split) -> bool:
        for name in READ_ADDRESS.get(behaviour, ()):
            held = getattr(op, name, ())
            values: list[SSAValue] = [held] if is_value(held) else list(held)
            if any(value in self.scalars for value in values):
                return True
        return False


def values_by_lane(function: FuncOp) -> set[SSAValue]:
    """All values that may differ between the two lanes of a function that tells them apart.

    They start at the lane index, at a crossing that hands each lane its part, and at a read whose address depends on
    the lane, and spread through operands, carries, and results of branches that the lanes may take differently.
    """
    found: set[SSAValue] = set()
    ops = ops_in(function.body)
    size = -1
    while size != len(found):
        size = len(found)
        for op in ops:
            _spread(op, found)
    return found


def _spread(op: Operation, found: set[SSAValue]) -> None:
    splits = trait_of(op, Splits)
    parts = splits is not None and splits.behaviour is Split.BOUNDARY and python_value(op.properties.get("split"))
    if is_one(op, SubblockIdxOp) or parts:
        found.update(op.results)
    for source, target in flows(op):
        if source in found:
            found.add(target)
    own = any(value in found for value in control_of(op))
    if own or (not op.regions and any(operand in found for operand in op.operands)):
        found.update(result for result in op.results if not isinstance(result.type, TensorType))


def control_of(op: Operation) -> list[SSAValue]:
    """The values that decide whether, or how often, the body of a compound runs."""
    match op:
        case IfOp():
            return [op.cond]
        case ForOp():
            return [op.lb, op.ub, op.step]
        case WhileOp():
            end = op.before_region.block.last_op
            return [] if end is None else [end.operands[0]]
        case _:
            return []
