"""What an op costs in the timing model: its pipe, its cycles, its bytes, from its declaration and the target's rates.

The op says its cost class (`Cost`) and how it uses its operands (`Splits`); the rates say the rest. No op is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from cubelane.ir.tile.channel import FreeOp, PopOp, PushOp
from cubelane.ir.traits import Cost, CostClass, InPlace, Split, Splits
from cubelane.ir.types import DYNAMIC, MemorySpace, TensorType, TileType, bit_width
from cubelane.targets.rates import Path, Pipe, Rates

Extents = Sequence[int] | None
"""Valid extents known from the run; None where the type says them."""


@dataclass(frozen=True)
class Price:
    """One op: the unit that works, for how long, the bytes it moves and the path they take."""

    pipe: Pipe
    cycles: int
    size: int = 0
    path: str = ""


def extents_of(value: SSAValue, known: Extents = None) -> tuple[int, ...]:
    """The extents of the part of a tile that means something; the box where nobody knows."""
    kind = value.type
    assert isinstance(kind, TileType)
    stated = known if known is not None and len(known) == len(kind.shape) else kind.valid
    return tuple(box if extent == DYNAMIC else extent for extent, box in zip(stated, kind.shape, strict=True))


def cells_of(extents: Sequence[int]) -> int:
    """How many cells a part has."""
    cells = 1
    for extent in extents:
        cells *= max(extent, 0)
    return cells


def bytes_of_part(value: SSAValue, known: Extents = None) -> int:
    """Bytes of the valid part of a tile."""
    kind = value.type
    assert isinstance(kind, TileType)
    return (cells_of(extents_of(value, known)) * bit_width(kind.dtype) + 7) // 8


def is_free_of_charge(op: Operation) -> bool:
    """Whether an op only renames or describes memory."""
    cost = op.get_trait(Cost)
    if cost is None or cost.cost is CostClass.FREE:
        return True
    return cost.cost is CostClass.CHANNEL and not isinstance(op, PushOp | PopOp | FreeOp)


class Pricing:
    """Prices of ops under the rates of one machine. `known` maps operands and results to extents seen in the run."""

    def __init__(self, rates: Rates):
        self.rates = rates

    def of(self, op: Operation, known: dict[SSAValue, Extents]) -> Price:
        """The price of one execution."""
        if isinstance(op, PushOp | PopOp):
            return self._channel(op, known)
        if isinstance(op, FreeOp):
            return Price(Pipe.SCALAR, 0)
        cost = op.get_trait(Cost)
        assert cost is not None
        match cost.cost:
            case CostClass.MATMUL:
                return self._matmul(op, known)
            case CostClass.TRANSFER:
                return self._transfer(op, known)
            case CostClass.SCALAR:
                return Price(Pipe.SCALAR, self.rates.scalar)
            case _:
                return self._vector(op, cost.cost, known)

    def moved(self, path: Path, size: int, way: str) -> Price:
        """The price of moving bytes along a path."""
        return Price(path.pipe, path.latency + -(-size // path.rate), size, way)

    def _channel(self, op: PushOp | PopOp, known: dict[SSAValue, Extents]) -> Price:
        push, pop = self.rates.ring_to_lanes if op.TO_LANES else self.rates.ring_to_cube
        value = op.tile if isinstance(op, PushOp) else op.result
        way = "ring cube to lanes" if op.TO_LANES else "ring lanes to cube"
        path = push if isinstance(op, PushOp) else pop
        return self.moved(path, bytes_of_part(value, known.get(value)), way)

    def _matmul(self, op: Operation, known: dict[SSAValue, Extents]) -> Price:
        tiles = [o for o in op.operands if isinstance(o.type, TileType)]
        in_place = op.get_trait(InPlace)
        if in_place is not None:
            tiles = [t for t in tiles if t is not getattr(op, in_place.operand)]
        lhs, rhs = tiles[0], tiles[1]
        assert isinstance(lhs.type, TileType)
        rows, inner = extents_of(lhs, known.get(lhs))[-2:]
        columns = extents_of(rhs, known.get(rhs))[-1]
        width = max(1, bit_width(lhs.type.dtype) // 8)
        macs = self.rates.macs.get(width, min(self.rates.macs.values()))
        depth = max(1, self.rates.block_bytes // width)
        blocks = -(-rows // 16) * -(-columns // 16) * -(-inner // depth)
        return Price(Pipe.CUBE, self.rates.cube_startup + -(-blocks * 256 * depth // macs))

    def _transfer(self, op: Operation, known: dict[SSAValue, Extents]) -> Price:
        source, target, moving = ends_of(op)
        size = bytes_of_part(moving, known.get(moving)) if moving is not None else 0
        return self.moved(self.rates.path(source, target), size, f"{source.dsl} to {target.dsl}")

    def _vector(self, op: Operation, cost: CostClass, known: dict[SSAValue, Extents]) -> Price:
        splits = op.get_trait(Splits)
        scratch = [getattr(op, name) for name in splits.scratch] if splits is not None else []
        values = [v for v in (*op.operands, *op.results) if isinstance(v.type, TileType)]
        sizes = [bytes_of_part(v, known.get(v)) for v in values if not any(v is s for s in scratch)]
        repeats = -(-max(sizes, default=0) // self.rates.vector_bytes)
        return Price(Pipe.VECTOR, self.rates.vector_startup + repeats * self.rates.passes.get(cost.value, 1))


def ends_of(op: Operation) -> tuple[MemorySpace, MemorySpace, SSAValue | None]:
    """From where to where a transfer goes, and the tile whose valid part is moved."""
    tiles = [o for o in op.operands if isinstance(o.type, TileType)]
    result = op.results[0] if op.results else None
    if result is not None and isinstance(result.type, TileType):
        target = result.type.memory or MemorySpace.VEC
        gathers = (splits := op.get_trait(Splits)) is not None and splits.behaviour is Split.GATHERS_ROWS
        if any(isinstance(o.type, TensorType) for o in op.operands):
            return MemorySpace.DDR, target, tiles[0] if gathers and tiles else result
        return _space(tiles[0]) if tiles else MemorySpace.DDR, target, result
    return _space(tiles[0]) if tiles else MemorySpace.DDR, MemorySpace.DDR, tiles[0] if tiles else None


def _space(value: SSAValue) -> MemorySpace:
    kind = value.type
    assert isinstance(kind, TileType)
    return kind.memory or MemorySpace.VEC
