"""AllocateMemoryAddr: every tile and every ring of a core gets its address (spec/front.md 4.1).

Requires that no copy is due any more (MaterializeSemanticAliases). Guarantees that tiles that are needed at once
share no byte, that everything lies within the capacity of its space, and that a tile lies where its author placed it
with a `pl.MemRef`; what does not fit is refused as the memory budget does. A tile in a slot of a ring, and one inside
another tile, get no address of their own.
"""

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from cubelane.analysis.address_plan import AddressPlan, address_plan
from cubelane.analysis.kept import kept
from cubelane.analysis.memory_budget import Usage, usages
from cubelane.analysis.placed_tiles import misplaced
from cubelane.analysis.tile_buffers import TileBuffers
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, target_name
from cubelane.passes.tile.placement import place
from cubelane.targets import TARGETS, Target


def allocate(function: FuncOp, target: Target) -> None:
    """Writes the addresses of the plan into the types of the tiles and the bases of the rings."""
    buffers = kept((TileBuffers, function, target.name), lambda: TileBuffers(function, target))
    for copy in buffers.copies:
        raise refuse(copy.op, f"{copy.reason}; run materialize-semantic-aliases first", code="needs-copy")
    rows = usages(function, target, buffers)
    _refuse_overflows(rows)
    plan = address_plan(function, buffers, target)
    for problem in misplaced(function, buffers, plan, target):
        raise problem
    for row in rows:
        row.reach = plan.high_water(row.space)
    _refuse_overflows(rows)
    _write(buffers, plan)


def _refuse_overflows(rows: list[Usage]) -> None:
    for row in rows:
        if (finding := row.finding()) is not None:
            raise finding


def _write(buffers: TileBuffers, plan: AddressPlan) -> None:
    for ring, base in plan.rings.items():
        ring.properties["base"] = IntegerAttr(base, i64)
    lifetimes = buffers.lifetimes
    for content in list(lifetimes):
        buffer = buffers.of(content)
        at = None if buffer is None else plan.buffers[buffer]
        for value in (content.root, *content.views):
            place(value, at if lifetimes.is_whole(value) else None)


class AllocateMemoryAddr(ModulePass):
    """Addresses for the tiles and rings of every core; nothing while no machine is chosen."""

    name = "allocate-memory-addr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        if target is None:
            return
        for function in functions_of(op):
            if kind_of(function) in (FunctionKind.AIC, FunctionKind.AIV) and not function.is_declaration:
                allocate(function, target)
