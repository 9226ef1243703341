"""MaterializeSemanticAliases: copies where tiles that must end in one buffer are needed at once (spec/front.md 5.4).

Requires SSA in programs of one core. Guarantees that the carry of a loop, the result of a branch and what is added to
in place have one buffer each, and that every view of a tile can be read from the bytes it views.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.tile_buffers import Copy, TileBuffers
from cubelane.analysis.tile_lifetimes import Lifetimes, is_view, view_problem, viewed
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, target_name
from cubelane.ir.tile.channel import FreeOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.traits import Split, Splits, trait_of
from cubelane.ir.types import Layout, MemorySpace, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import build, insert
from cubelane.targets import TARGETS, Target

CODE = "needs-copy"


def copied(value: SSAValue, anchor: Operation, reason: str, layout: Layout | None = None) -> SSAValue:
    """A copy of a tile before `anchor`; only the vector buffer can copy within itself."""
    kind = value.type
    assert isinstance(kind, TileType)
    remade = _remade(value, anchor)
    if remade is not None:
        return remade
    name = (value.name_hint or "t").split("__")[0]
    if kind.memory is not MemorySpace.VEC:
        space = "no space yet" if kind.memory is None else kind.memory.dsl
        raise refuse(
            anchor,
            f"`{name}` would have to be copied within {space}, which no instruction does",
            reason,
            instead="read the tile (move, store or push it) before the next one is made in its place",
            code=CODE,
        )
    if layout is not None:
        kind = kind.replaced(blayout=layout, slayout=Layout.NONE_BOX, fractal=512)
    facts = {"tile": value, "target_memory": MemorySpace.VEC}
    return build(MoveOp, anchor, f"{value.name_hint or 't'}_mv", facts, kind.replaced(address=None))


def _remade(value: SSAValue, anchor: Operation) -> SSAValue | None:
    """The tile made once more, for one that is made from nothing: cheaper than a copy, and possible anywhere."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.operands:
        return None
    trait = trait_of(owner, Splits)
    if trait is None or trait.behaviour is not Split.GENERATES:
        return None
    return insert(owner.clone(), anchor, value.name_hint).results[0]


def _anchor(copy: Copy, lifetimes: Lifetimes) -> Operation:
    """Where the copy goes: to the op that needs it, but before the slot that it lies in is given back."""
    for use in lifetimes[copy.value].root.uses:
        free = use.operation
        if not isinstance(free, FreeOp) or free.parent is not copy.op.parent:
            continue
        if lifetimes.enter[free] < lifetimes.enter[copy.op]:
            return free
    return copy.op


def _free_views(buffers: TileBuffers, function: FuncOp) -> bool:
    """Copies the operands of views that could not be read from their bytes; whether there were any."""
    found = False
    for op in [inner for inner in ops_in(function) if is_view(inner)]:
        source = viewed(op)
        problem = view_problem(op, buffers.lifetimes.is_whole(source))
        if problem is not None:
            what = (source.name_hint or "t").split("__")[0]
            reason = f"{op.name.split('.')[1]} of `{what}`: {problem}"
            index = next(i for i, operand in enumerate(op.operands) if operand is source)
            op.operands[index] = copied(source, op, reason, Layout.ROW_MAJOR)
            found = True
    return found


def materialize(function: FuncOp, target: Target) -> None:
    """Inserts copies until none is due. A copy of what other copies read takes two rounds."""
    buffers = TileBuffers(function, target)
    if _free_views(buffers, function):
        buffers = TileBuffers(function, target)
        assert not _free_views(buffers, function)
    while buffers.copies:
        for copy in buffers.copies:
            name = (copy.value.name_hint or "t").split("__")[0]
            reason = f"`{name}` is kept in one place with other tiles, and {copy.reason}"
            anchor = _anchor(copy, buffers.lifetimes)
            copy.op.operands[copy.index] = copied(copy.value, anchor, reason)
        buffers = TileBuffers(function, target)


@dataclass(frozen=True)
class MaterializeSemanticAliases(ModulePass):
    """Gives every carry, every result of a branch and every accumulator one buffer."""

    name = "materialize-semantic-aliases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        if target is None:
            return
        for function in functions_of(op):
            if kind_of(function) in (FunctionKind.AIC, FunctionKind.AIV) and not function.is_declaration:
                materialize(function, target)
