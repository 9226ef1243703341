"""Pushes to the cube that the author wrote take the layout the target needs (spec/passes.md 5.14)."""

from xdsl.dialects.func import FuncOp

from cubelane.ir.diagnostic import refuse
from cubelane.ir.surface import Bound
from cubelane.ir.tile.channel import PushToCubeOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.types import MemorySpace, TileType
from cubelane.ir.walk import ops_of
from cubelane.passes.tile.expand_mixed_kernel.crossings import nz_layout
from cubelane.targets import Target


def stage_pushes(function: FuncOp, target: Target | None) -> None:
    """Puts a move to NZ order in front of each push to the cube that does not have it yet (a5)."""
    for push in ops_of(function, PushToCubeOp):
        if target is None:
            raise refuse(
                push,
                "how a lane hands a tile to the cube depends on the target",
                instead='choose one: cl.compile(kernel, target="a2a3") or "a5"',
                code="no-target",
            )
        if target.stages_nz_before_push:
            _stage(push)


def _stage(push: PushToCubeOp) -> None:
    tile = push.tile.type
    assert isinstance(tile, TileType)
    wanted = nz_layout(tile, MemorySpace.VEC)
    if wanted == tile.replaced(memory=MemorySpace.VEC):
        return
    move = MoveOp.from_call(Bound({"tile": push.tile}), wanted)
    move.results[0].name_hint = f"{push.tile.name_hint or 'tile'}_nz"
    move.location = push.location
    block = push.parent_block()
    assert block is not None
    block.insert_op_before(move, push)
    push.operands[0] = move.results[0]
