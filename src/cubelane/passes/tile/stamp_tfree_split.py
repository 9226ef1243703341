"""A free carries the transport code and the pipe of the pop whose slot it gives back (spec/passes.md 8)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.ir.diagnostic import Diagnostic, Location, refuse
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import as_property, python_value
from cubelane.ir.tile.channel import FreeOp, PopOp, transport_code
from cubelane.ir.walk import ops_in


class StampTfreeSplit(ModulePass):
    """Writes the code and the pipe id of every pop onto its free; refuses a free of anything but a pop."""

    name = "stamp-tfree-split"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in ops_in(op):
            if is_one(inner, FreeOp):
                stamp(inner)


def stamp(free: FreeOp) -> None:
    """Stamps one free."""
    pop = free.tile.owner
    if not is_one(pop, PopOp):
        raise refuse(
            free,
            f"`{free.tile.name_hint or 'this tile'}` was not popped, so there is no slot to give back",
            "a free names the popped tile itself, not a view or a copy of it",
            instead=f"pl.system.{free.SPELLING}(tile), with the tile that was popped",
            code="free-without-pop",
        )
    if pop.TO_LANES is not free.TO_LANES:
        raise _wrong_direction(free, pop)
    own, wanted = (python_value(o.properties.get("id")) for o in (free, pop))
    if own is not None and own != (wanted or 0):
        raise refuse(
            free,
            f"the free names pipe {own}, its tile was popped from pipe {wanted or 0} ({Location.of(pop)})",
            instead=f"pl.system.{free.SPELLING}({free.tile.name_hint or 'tile'}, id={wanted or 0})",
            code="free-of-other-pipe",
        )
    free.properties["split"] = as_property(transport_code(pop))
    if own is None and wanted is not None:
        free.properties["id"] = as_property(wanted)


def _wrong_direction(free: FreeOp, pop: PopOp) -> Diagnostic:
    right = "tfree_to_aic" if pop.TO_LANES else "tfree_to_aiv"
    return refuse(
        free,
        f"`{free.SPELLING}` cannot give back a slot of `{pop.SPELLING}` ({Location.of(pop)})",
        f"a tile that came through `{pop.SPELLING}` goes back with `{right}`",
        instead=f"pl.system.{right}({free.tile.name_hint or 'tile'})",
        code="free-direction",
    )
