"""Both vector lanes side by side: one program over tiles with a lane axis in front (`emit/numpy_pair`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cubelane.sim.core import Board, Core
from cubelane.sim.primitives import Array

LANES = 2


class PairOfLanes:
    """The words of a program that runs on both lanes.

    Each lane accesses global memory on its own. Ring operations are made, and noted in the log, once for both, at the
    one end that a paired ring has on this side.
    """

    def __init__(self, group: Board, agent: int):
        self.both = Core(group, agent, "AIV0", 0)
        self.each = [Core(group, agent + lane, f"AIV{lane}", lane) for lane in range(LANES)]
        for core in self.each:
            core.callers = 2

    def words(self) -> dict[str, Any]:
        """What both lanes offer an emitted program."""
        return {**self.both.words(), "lane": self.lane, "window": self.window, "put": self.put}

    def lane(self) -> Any:
        """The number of each lane."""
        return np.arange(LANES)

    def window(
        self,
        tensor: Array,
        offsets: Sequence[Any],
        shape: Sequence[int],
        valid: Sequence[int] | None,
        wide: Any = None,
    ) -> Array:
        """The windows of the lanes."""
        first, second = self.each
        one = first.window(tensor, _of_lane(offsets, 0), shape, valid, wide)
        return np.stack((one, second.window(tensor, _of_lane(offsets, 1), shape, valid, wide)))

    def put(
        self, tensor: Array, offsets: Sequence[Any], tile: Array, shapes: Sequence[int] | None, atomic: int | None
    ) -> Array:
        """Each lane writes its part of the tile to its window."""
        for i, core in enumerate(self.each):
            core.put(tensor, _of_lane(offsets, i), tile[i], shapes, atomic)
        return tensor


def _of_lane(offsets: Sequence[Any], lane: int) -> tuple[int, ...]:
    """The offsets of one lane; those that are the same for both are plain numbers."""
    return tuple(int(o[lane]) if isinstance(o, np.ndarray) else o for o in offsets)
