"""What all tile-level ops share, and the type rules that several of them follow (spec/front.md 2.1)."""

from typing import ClassVar

from xdsl.ir import Attribute, SSAValue

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.surface import Bound, SurfaceOp
from cubelane.ir.types import DYNAMIC, MemorySpace, TileType, dtype_name, is_float, promote


class TileOp(SurfaceOp):
    """An op of the DSL namespace `pl.tile`."""

    NAMESPACE: ClassVar[str] = "tile"


def wrong(message: str, *notes: str, instead: str | None = None, code: str = "wrong-type") -> Diagnostic:
    """A type error; the caller that knows the place adds it."""
    return Diagnostic(message, notes=notes, instead=instead, code=code)


def same_as(tile: TileType, **changes: object) -> TileType:
    """The tile's shape, element type, valid extent and layout, in the vector buffer."""
    return tile.replaced(memory=MemorySpace.VEC, **changes)


def broadcast(lhs: TileType, rhs: TileType) -> tuple[int, ...]:
    """NumPy broadcasting of two physical shapes."""
    return broadcast_extents(lhs.shape, rhs.shape)


def broadcast_extents(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy broadcasting of two lists of extents."""
    rank = max(len(lhs), len(rhs))
    a, b = (1,) * (rank - len(lhs)) + lhs, (1,) * (rank - len(rhs)) + rhs
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise wrong(f"the shapes {list(lhs)} and {list(rhs)} do not fit together", code="wrong-shape")
    return tuple(max(x, y) for x, y in zip(a, b, strict=True))


def broadcast_result(call: Bound, lhs: str = "lhs", rhs: str = "rhs") -> TileType:
    """Broadcast shape, promoted element type; layout and, where it fits, valid extent of the first operand."""
    a, b = call.tile(lhs), call.tile(rhs)
    box = broadcast(a, b)
    dtype = promote(a.dtype, b.dtype)
    if box == a.shape:
        return same_as(a, dtype=dtype)
    valid = b.valid if box == b.shape else box
    return TileType.make(box, dtype, MemorySpace.VEC, valid)


def first_space(value: SSAValue, default: MemorySpace | None) -> MemorySpace | None:
    """The space of a tile value, or `default` if it has none yet."""
    memory = value.type.memory if isinstance(value.type, TileType) else None
    return memory or default


def need_rank(tile: TileType, rank: int, name: str) -> None:
    """Refuses a tile of another rank."""
    if len(tile.shape) != rank:
        raise wrong(f"`{name}` must have {rank} axes, it has the shape {list(tile.shape)}", code="wrong-shape")


def need_dtype(tile: TileType, dtype: Attribute, name: str) -> None:
    """Refuses a tile of another element type."""
    if tile.dtype != dtype:
        raise wrong(
            f"`{name}` must have the element type {dtype_name(dtype)}, it has {dtype_name(tile.dtype)}",
            code="wrong-dtype",
        )


def need_integers(spelling: str, dtype: Attribute, name: str) -> None:
    """Refuses an operand of floats for an op that works on bits."""
    if is_float(dtype):
        raise wrong(
            f"`{spelling}` works on integers, `{name}` holds {dtype_name(dtype)}",
            instead="pl.cast(..., target_type=pl.INT32)",
            code="wrong-dtype",
        )


def cut_extent(valid: int, offset: int | None, box: int) -> int:
    """The part of a valid extent that falls into a window of `box` cells at `offset` (None: run time)."""
    if valid == DYNAMIC or offset is None:
        return DYNAMIC
    return max(0, min(valid - offset, box))
