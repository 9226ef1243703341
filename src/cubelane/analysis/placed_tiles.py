"""Tiles that their author placed with a `pl.MemRef`: what is wrong with the places (spec/front.md 1.4, 4.1)."""

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp

from cubelane.analysis.address_plan import AddressPlan, Range, home_space, lowest, overlap
from cubelane.analysis.affinity import classify
from cubelane.analysis.tile_buffers import Buffer, TileBuffers
from cubelane.analysis.tile_lifetimes import is_view, is_window, same_box, viewed
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import kind_of
from cubelane.ir.surface import python_value
from cubelane.ir.types import MemorySpace, TileType
from cubelane.ir.walk import ops_in
from cubelane.targets import Target

CODE = "memory-place"


def unplaceable(function: FuncOp) -> Iterator[Diagnostic]:
    """Placed tiles that lie where something else puts them: what crosses to another core, and parts of other tiles."""
    for op in ops_in(function):
        kind = op.results[0].type if len(op.results) == 1 else None
        if not isinstance(kind, TileType) or kind.address is None:
            continue
        name = (op.results[0].name_hint or "the tile").split("__")[0]
        if classify(op) is Affinity.MIXED and kind.memory in (MemorySpace.VEC, MemorySpace.MAT):
            yield Diagnostic(
                f"`{name}` is placed at {kind.address:,}, but it arrives in a slot of the ring between the cores",
                Location.of(op),
                ("a tile that crosses is read where its slot lies",),
                "leave the pl.MemRef out",
                code=CODE,
            )
        elif is_view(op) and is_window(op) and not same_box(viewed(op), op.results[0]):
            yield Diagnostic(
                f"`{name}` is placed at {kind.address:,}, but it is a part of another tile",
                Location.of(op),
                ("a window lies inside its tile",),
                "leave the pl.MemRef out, and place the tile",
                code=CODE,
            )


def misplaced(function: FuncOp, buffers: TileBuffers, plan: AddressPlan, target: Target) -> Iterator[Diagnostic]:
    """Every place that cannot be: outside the space, between its steps, in a ring, or over another placed tile."""
    core, home = kind_of(function).dsl, home_space(function)
    rings = {python_value(op.buffer_name): (at, at + python_value(op.size)) for op, at in plan.rings.items()}
    before: list[Buffer] = []
    for buffer in buffers:
        if buffer.place is None:
            continue
        space = buffer.space
        step, capacity = target.alignment.get(space, 32), target.capacity.get(space, 0)
        mine = _range(buffer)
        taken = list(rings.values()) if space is home else []
        others = [other for other in before if other.space is space and buffer.excludes(other)]
        better = lowest([*taken, *map(_range, others)], buffer.size, step)
        instead = f"{better}" if better + buffer.size <= capacity else "leave the pl.MemRef out"
        for value in buffer.placed_elsewhere():
            assert isinstance(value.type, TileType)
            message = f"`{value.name_hint or 'a view'}` is placed at {value.type.address:,}, but shows the cells of "
            yield _problem(buffer, f"{message}`{_name(buffer)}`, placed at {mine[0]:,}", instead=f"{mine[0]}")
        if mine[0] % step:
            yield _problem(
                buffer,
                f"{_words(buffer)}, which is no multiple of {step}",
                f"tiles in {space.dsl} begin at multiples of {step} bytes",
                instead=f"{mine[0] - mine[0] % step}",
            )
        if mine[1] > capacity:
            message = f"{_words(buffer)} and ends at {mine[1]:,}: {space.dsl} of {core} has {capacity:,} bytes"
            yield _problem(buffer, message, instead=instead)
        for name, ring in rings.items() if space is home else ():
            if overlap(mine, ring):
                note = f"the slots take the bytes {ring[0]:,} to {ring[1]:,}"
                yield _problem(buffer, f"{_words(buffer)}, in the ring {name}", note, instead=instead)
        for other in others:
            together = mine[0] == _range(other)[0] and buffer.can_stand_in_for(other)
            if overlap(mine, _range(other)) and not together:
                theirs = f"`{_name(other)}` ({Location.of(other.op)})" if other.op is not None else f"`{_name(other)}`"
                yield _problem(
                    buffer,
                    f"{_words(buffer)}, over `{_name(other)}`",
                    f"{theirs} takes the bytes {_range(other)[0]:,} to {_range(other)[1]:,} and is needed at the "
                    "same time",
                    instead=instead,
                )
        before.append(buffer)


def _range(buffer: Buffer) -> Range:
    assert buffer.place is not None
    return buffer.place, buffer.place + buffer.size


def _name(buffer: Buffer) -> str:
    return (buffer.value.name_hint or "a tile").split("__")[0]


def _words(buffer: Buffer) -> str:
    return f"`{_name(buffer)}` is placed at {buffer.place:,}"


def _problem(buffer: Buffer, message: str, *notes: str, instead: str) -> Diagnostic:
    place = Location.of(buffer.op) if buffer.op is not None else Location()
    return Diagnostic(message, place, notes, instead, code=CODE)
