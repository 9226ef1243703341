"""The tokens that carry an order through global memory from one core to the other (spec/passes.md 5.7)."""

from collections import defaultdict
from collections.abc import Callable

from xdsl.ir import Operation

from cubelane.analysis.gm_order import Fence
from cubelane.analysis.projection import Projector
from cubelane.ir.affinity import Affinity
from cubelane.ir.surface import Bound
from cubelane.ir.tile.channel import PopFromCubeOp, PopFromLanesOp, PushToCubeOp, PushToLanesOp
from cubelane.ir.types import MemorySpace, TileType
from cubelane.passes.tile.expand_mixed_kernel.crossings import PipeOf, nz_layout, staging_move
from cubelane.targets import Target

Write = Callable[[Projector], None]


class FenceWriter:
    """Hooks for a projector: the push right after the first access, the pop before the second."""

    def __init__(self, fences: list[Fence], core: Affinity, target: Target, pipe_of: PipeOf):
        self.target, self.pipe_of = target, pipe_of
        self.before: dict[Operation, list[Write]] = defaultdict(list)
        self.after: dict[Operation, list[Write]] = defaultdict(list)
        for fence in fences:
            if fence.producer is core:
                self.after[fence.after].append(self._pushes(fence))
            else:
                self.before[fence.before].append(self._pops(fence))

    def _pushes(self, fence: Fence) -> Write:
        def push(projector: Projector) -> None:
            tile = projector.value(fence.tile)
            kind = fence.tile.type
            assert isinstance(kind, TileType)
            if not fence.to_lanes and self.target.stages_nz_before_push:
                tile = staging_move(projector, tile, nz_layout(kind, MemorySpace.MAT), fence.after)
            op = PushToLanesOp if fence.to_lanes else PushToCubeOp
            call = Bound({"tile": tile, "split": 0, "id": self.pipe_of(kind)})
            projector.add(op.from_call(call), fence.after)

        return push

    def _pops(self, fence: Fence) -> Write:
        def pop(projector: Projector) -> None:
            kind = fence.tile.type
            assert isinstance(kind, TileType)
            side = MemorySpace.VEC if fence.to_lanes else MemorySpace.MAT
            token = TileType.make(kind.shape, kind.dtype, side)
            op = PopFromCubeOp if fence.to_lanes else PopFromLanesOp
            call = Bound({"split": 0, "valid": [], "id": self.pipe_of(kind)})
            new = op.from_call(call, token if fence.to_lanes else nz_layout(token, side))
            new.results[0].name_hint = f"{fence.name}_gm_sync"
            projector.add(new, fence.reader)

        return pop
