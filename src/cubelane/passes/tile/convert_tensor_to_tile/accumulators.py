"""Accumulators that start from zeros made in the vector buffer: the first product overwrites instead (3.8, Vec init).

There is no way from the vector buffer into the accumulator, so `acc = full(0)` before a loop of `matmul_acc` becomes an
undefined accumulator and a first trip that overwrites it.
"""

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from cubelane.analysis.value_flow import terminator
from cubelane.ir.diagnostic import refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import constant_of
from cubelane.ir.tile.making import CreateOp, FullOp
from cubelane.ir.types import MemorySpace, TileType
from cubelane.passes.tile.placement import base_name, build, insert

Retype = Callable[[SSAValue, TileType], SSAValue]


def is_zero(value: SSAValue) -> bool:
    """Whether a tile is made of zeros."""
    maker = value.owner
    return is_one(maker, FullOp) and maker.bound()["value"] == 0


def runs_at_least_once(loop: scf.ForOp) -> bool:
    """Whether the bounds of a loop are constants that admit a trip."""
    low, high = constant_of(loop.lb), constant_of(loop.ub)
    return low is not None and high is not None and low < high


class Accumulators:
    """Turns carried accumulators of zeros into accumulators that the first trip overwrites."""

    def __init__(self, retype: Retype):
        self._retype = retype

    def first_trip(self, op: Operation, acc: SSAValue) -> SSAValue | None:
        """The condition under which the product `op` overwrites `acc`; None when it always adds."""
        loop = acc.owner.parent_op() if is_one(acc, BlockArgument) else None
        if not is_one(acc, BlockArgument) or not is_one(loop, scf.ForOp) or acc.index == 0:
            return None
        slot = acc.index + 2
        if not is_zero(loop.operands[slot]):
            return None
        carried = terminator(loop, 0).operands[acc.index - 1]
        if op.parent is not acc.owner or not acc.has_one_use() or carried is not op.results[0]:
            return None
        name = base_name(acc)
        if not runs_at_least_once(loop):
            raise refuse(
                op,
                f"`{name}` starts as zeros and the loop around this product may run no trip",
                "an accumulator lives on the cube core; zeros made on the lanes cannot be moved there",
                instead=f"start with the first block: {name} = pl.matmul(...), then loop over the others",
                code="accumulator-of-zeros",
            )
        self._start_undefined(loop, slot, acc, name)
        equal = arith.CmpiOp(loop.body.block.args[0], loop.lb, "eq")
        return insert(equal, op, f"{name}__first").results[0]

    def _start_undefined(self, loop: scf.ForOp, slot: int, acc: BlockArgument, name: str) -> None:
        zeros = loop.operands[slot].type
        assert isinstance(zeros, TileType)
        result = loop.results[acc.index - 1]
        arguments = {"shape": zeros.shape, "dtype": zeros.dtype, "target_memory": MemorySpace.ACC}
        undefined = build(CreateOp, loop, f"{name}__tile", arguments)
        loop.operands[slot] = undefined
        type_ = undefined.type
        assert isinstance(type_, TileType)
        self._retype(acc, type_)
        self._retype(result, type_)
