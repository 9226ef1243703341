"""How a PTO op shows its core: traits for the table (spec/pto.md 4.4 to 4.8).

`CoreAffinity.of` answers CUBE, VECTOR or SHARED; `cores` answers more finely which cores could run the op at all.
A sync op whose queue exists on both cores is SHARED here and is placed later by its neighbours.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from cubelane.ir.affinity import Affinity
from cubelane.ir.pto.attrs import EventAttr
from cubelane.ir.pto.pipe_text import DST_PIPE, EVENT, PIPE, SRC_PIPE, pipe_property
from cubelane.ir.pto.spaces import CUBE_ONLY, EITHER, VECTOR_ONLY, Cores, Pipe, Space
from cubelane.ir.pto.types import is_register, space_of
from cubelane.ir.traits import CoreAffinity

CUBE_SPACES = frozenset({Space.L1, Space.L0A, Space.L0B, Space.L0C, Space.BT, Space.FB})


def only(cores: Cores) -> Affinity:
    """The affinity of an op that just these cores can run."""
    return next(iter(cores)) if len(cores) == 1 else Affinity.SHARED


def _set_of(core: Affinity) -> Cores:
    return {Affinity.CUBE: CUBE_ONLY, Affinity.VECTOR: VECTOR_ONLY}.get(core, EITHER)


@dataclass(frozen=True)
class ByMove(CoreAffinity):
    """A memory transfer belongs to a core by its spaces, source first (spec/pto.md 4.6 rules 2 to 6)."""

    def of(self, op: Operation) -> Affinity:
        spaces = [space_of(value) for value in op.operands[:2]]
        source, target = (*spaces, None, None)[:2]
        if source is Space.L0C:
            return Affinity.CUBE
        if source is Space.UB:
            return Affinity.VECTOR
        if target in CUBE_SPACES:
            return Affinity.CUBE
        return Affinity.VECTOR if target is Space.UB else Affinity.SHARED


@dataclass(frozen=True)
class Sync(CoreAffinity):
    """A sync op belongs to the core that has its own queue (spec/pto.md 4.7).

    `own` names the property of the queue that executes it, `peer` that of the queue at the other end.
    """

    own: str
    peer: str | None = None

    def of(self, op: Operation) -> Affinity:
        return only(self.cores(op))

    def cores(self, op: Operation) -> Cores:
        """The cores that have the queue which executes the op."""
        pipe = pipe_property(op, self.own)
        return EITHER if pipe is None else pipe.cores

    def peer_cores(self, op: Operation) -> Cores:
        """The cores that have the queue at the other end; a consistency filter."""
        pipe = None if self.peer is None else pipe_property(op, self.peer)
        return EITHER if pipe is None else pipe.cores

    def event(self, op: Operation) -> tuple[str, str, str] | None:
        """What a set and its wait share: both queues and the event; None for run-time events and signals."""
        event = op.properties.get(EVENT)
        source, target = pipe_property(op, SRC_PIPE), pipe_property(op, DST_PIPE)
        if isinstance(event, EventAttr) and source is not None and target is not None:
            return (str(source), str(target), event.word.data)
        return None

    def signal(self, op: Operation) -> int | None:
        """The number of a cross-core signal, when it is a constant."""
        event = op.properties.get(EVENT)
        return event.value.data if isinstance(event, IntegerAttr) else None


SETS_FLAG = Sync(SRC_PIPE, DST_PIPE)
WAITS_FLAG = Sync(DST_PIPE, SRC_PIPE)
ON_PIPE = Sync(PIPE)


@dataclass(frozen=True)
class Placeable(CoreAffinity):
    """A neutral op; the memory it touches or the unit it configures may still rule a core out."""

    on: Affinity = Affinity.SHARED

    def of(self, op: Operation) -> Affinity:
        return Affinity.SHARED

    def cores(self, op: Operation) -> Cores:
        """The cores that can run the op."""
        return _set_of(self.on) if self.on is not Affinity.SHARED else reachable_from(op)


def reachable_from(op: Operation) -> Cores:
    """The cores whose scalar unit reaches every memory the operands of an op point to."""
    cores = EITHER
    for value in op.operands:
        space = space_of(value)
        if space is Space.UB:
            cores &= VECTOR_ONLY
        elif space in CUBE_SPACES:
            cores &= CUBE_ONLY
    return cores


@dataclass(frozen=True)
class ByTiles(CoreAffinity):
    """A tile op belongs to the core of its tiles, else of its pipe (spec/pto.md 4.8 rules 3 to 6).

    `deciding` is the operand that alone decides (the destination of a load, the source of a store).
    """

    pipe: Pipe | None
    deciding: int | None = None

    def of(self, op: Operation) -> Affinity:
        spaces = [space for value in (*op.operands, *op.results) if (space := space_of(value)) is not None]
        if self.deciding is not None and op.operands:
            chosen = space_of(op.operands[self.deciding])
            spaces = [] if chosen is None else [chosen]
        if any(space.is_l0 for space in spaces) or (self.deciding is not None and Space.L1 in spaces):
            return Affinity.CUBE
        if Space.UB in spaces:
            return Affinity.VECTOR
        return self._by_pipe(Space.L1 in spaces)

    def _by_pipe(self, touches_l1: bool) -> Affinity:
        if self.pipe in (Pipe.M, Pipe.MTE1):
            return Affinity.CUBE
        if self.pipe in (Pipe.V, Pipe.V2, Pipe.S):
            return Affinity.VECTOR
        return Affinity.CUBE if touches_l1 and self.pipe is None else Affinity.SHARED


def tile_pipe(pipe: Pipe | None, op: Operation) -> Pipe | None:
    """The pipe of a tile op: the declared one, or by the spaces of source and destination (spec/pto.md 4.5)."""
    if pipe is not None:
        return pipe
    spaces = [space for value in op.operands if (space := space_of(value)) is not None]
    if not spaces:
        return None
    if spaces[0] is Space.L0C:
        return Pipe.FIX
    if spaces[0] is Space.UB:
        return Pipe.V
    return Pipe.MTE1 if spaces[-1].is_l0 else None


def touches_registers(op: Operation) -> bool:
    """Whether an op takes or gives a value that lives in the vector unit."""
    return any(is_register(value.type) for value in (*op.operands, *op.results))
