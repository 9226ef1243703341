"""Order through global memory between the cores (spec/passes.md 5.7). For now: none."""

from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.boundaries import Boundary
from cubelane.ir.affinity import Affinity


@dataclass(frozen=True)
class Fence:
    """A token: pushed right after `after`, popped right before `before`; `reader` is the access that waits."""

    to_lanes: bool
    tile: SSAValue
    name: str
    after: Operation
    before: Operation
    reader: Operation

    @property
    def producer(self) -> Affinity:
        """The core that pushes."""
        return Affinity.CUBE if self.to_lanes else Affinity.VECTOR


def fences_of(function: FuncOp, boundaries: dict[Operation, Boundary]) -> list[Fence]:
    """The tokens a mixed body needs."""
    return []
