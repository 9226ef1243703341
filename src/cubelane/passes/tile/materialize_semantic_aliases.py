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

from cubelane.analysis.kept import keep
from cubelane.analysis.tile_buffers import Copy, TileBuffers
from cubelane.analysis.tile_lifetimes import Lifetimes, is_view, view_problem, viewed
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, target_name
from cubelane.ir.narrowing import is_one
from cubelane.ir.tile.channel import FreeOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.traits import InPlace, Split, Splits, trait_of
from cubelane.ir.types import Layout, MemorySpace, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.placement import build, insert
from cubelane.targets import TARGETS, Target

CODE = "needs-copy"
ROUNDS = 8
"""More rounds of copies than any nest of exchanged tiles takes."""


def user_name(value: SSAValue) -> str:
    """The name of a tile as the user wrote it."""
    return (value.name_hint or "t").split("__")[0]


@dataclass(frozen=True)
class Why:
    """Why a tile must be copied, and what to write where no copy is possible."""

    message: str
    note: str
    instead: str


def copied(value: SSAValue, anchor: Operation, why: Why, layout: Layout | None = None) -> SSAValue:
    """A copy of a tile before `anchor`; only the vector buffer can copy within itself."""
    kind = value.type
    assert isinstance(kind, TileType)
    remade = _remade(value, anchor)
    if remade is not None:
        return remade
    if kind.memory is not MemorySpace.VEC:
        space = "a tile without a space" if kind.memory is None else kind.memory.dsl
        raise refuse(
            anchor, why.message, why.note, f"no instruction copies within {space}", instead=why.instead, code=CODE
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
        if not is_one(free, FreeOp) or free.parent is not copy.op.parent:
            continue
        if lifetimes.enter[free] < lifetimes.enter[copy.op]:
            return free
    return copy.op


def _why_of_view(op: Operation, problem: str) -> Why:
    source, result = viewed(op), op.results[0].type
    assert isinstance(result, TileType)
    name, word = user_name(source), op.name.split(".")[1]
    return Why(
        f"{word} of `{name}` would have to move cells",
        problem,
        f"load `{name}` in the shape {list(result.shape)}, or bring it to the lanes first: pl.mul({name}, 1.0)",
    )


def _why_of_copy(copy: Copy) -> Why:
    name = user_name(copy.value)
    if copy.op.has_trait(InPlace):
        message = f"`{name}` is added to in place and needed again afterwards"
        return Why(message, copy.reason, f"add on the lanes: pl.add({name}, pl.matmul(...))")
    kind = copy.value.type
    if isinstance(kind, TileType) and kind.memory is MemorySpace.ACC:
        return Why(
            f"`{name}` would change its accumulator from trip to trip or from branch to branch",
            copy.reason,
            "add on the lanes, where tiles can change places: pl.add(acc, pl.matmul(...)) for pl.matmul_acc(acc, ...)",
        )
    message = f"`{name}` has to share one buffer with other tiles and cannot"
    return Why(message, copy.reason, f"keep it on the lanes: {name} = pl.mul({name}, 1.0)")


def _free_views(buffers: TileBuffers, function: FuncOp) -> bool:
    """Copies the operands of views that could not be read from their bytes; whether there were any."""
    found = False
    for op in [inner for inner in ops_in(function) if is_view(inner)]:
        source = viewed(op)
        problem = view_problem(op, buffers.lifetimes.is_whole(source))
        if problem is not None:
            index = next(i for i, operand in enumerate(op.operands) if operand is source)
            op.operands[index] = copied(source, op, _why_of_view(op, problem), Layout.ROW_MAJOR)
            found = True
    return found


def materialize(function: FuncOp, target: Target) -> None:
    """Inserts copies until none is due. A copy of what other copies read takes two rounds."""
    buffers = TileBuffers(function, target)
    if _free_views(buffers, function):
        buffers = TileBuffers(function, target)
        assert not _free_views(buffers, function)
    for _ in range(ROUNDS):
        if not buffers.copies:
            return keep((TileBuffers, function, target.name), buffers)
        for copy in buffers.copies:
            anchor = _anchor(copy, buffers.lifetimes)
            copy.op.operands[copy.index] = copied(copy.value, anchor, _why_of_copy(copy))
        buffers = TileBuffers(function, target)
    raise AssertionError(f"{function.sym_name.data}: copies do not come to an end")


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
