"""Barriers inside one core: what follows starts when what precedes has ended (spec/front.md 2.6).

The simulated cores run in order, so a barrier orders nothing that is not ordered already. It stays where it stands.
"""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from cubelane.ir.surface import Bound, Parameter, SurfaceOp
from cubelane.ir.traits import (
    CoreAffinity,
    Cost,
    CostClass,
    Meaning,
    OnBoth,
    OnCube,
    OnVector,
    PtoSpelling,
    Spaces,
    Split,
    Splits,
)


class BarrierOp(SurfaceOp):
    """Waits for a pipe of the core. `PIPE` names it in PTO IR."""

    NAMESPACE: ClassVar[str] = "system"
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = ()
    PIPE: ClassVar[str]

    @classmethod
    def result_type(cls, call: Bound) -> None:
        return None


def _barrier(spelling: str, pipe: str, core: CoreAffinity, pto: str, doc: str) -> type[BarrierOp]:
    traits = (
        MemoryReadEffect(),
        MemoryWriteEffect(),
        core,
        Splits(Split.NONE),
        Meaning("0"),
        PtoSpelling(pto),
        Cost(CostClass.FREE),
        Spaces(),
    )
    body = {"__doc__": doc, "__module__": __name__, "name": f"system.{spelling}", "traits": traits_def(*traits)}
    op = irdl_op_definition(type("".join(map(str.title, spelling.split("_"))) + "Op", (BarrierOp,), body))
    op.SPELLING, op.PIPE = spelling, pipe
    return op


BARRIER_OPS: tuple[type[BarrierOp], ...] = (
    _barrier("bar_v", "PIPE_V", OnVector, "pto.barrier", "Waits for the vector pipe of a lane."),
    _barrier("bar_m", "PIPE_M", OnCube, "pto.barrier", "Waits for the matrix pipe of the cube."),
    _barrier("bar_all", "PIPE_ALL", OnBoth, "pto.barrier", "Waits for all pipes of the core."),
    _barrier("fence", "PIPE_ALL", OnBoth, "pto.fence.barrier_all", "Orders what the core does with global memory."),
)
