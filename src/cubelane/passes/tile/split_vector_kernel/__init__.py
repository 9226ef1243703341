"""The programs of the lanes learn how they are dispatched; hand-written pairs are halved (spec/passes.md 7)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from cubelane.ir.kernel import (
    DUAL_DISPATCH,
    EXTERNAL,
    SPLIT,
    SPLIT_AIV,
    FunctionKind,
    SplitAttr,
    flag,
    functions_of,
    kind_of,
    set_flag,
    split_of,
    target_name,
)
from cubelane.ir.types import SplitMode
from cubelane.passes.tile.split_vector_kernel.pairs import halve, standalone_mode
from cubelane.passes.tile.split_vector_kernel.replay import is_replayed, replay_on_lane_1
from cubelane.targets import TARGETS


class SplitVectorKernel(ModulePass):
    """Stamps what pass 20 halved, halves hand-written pairs, and gives lane 1 of an unsplit kernel its replay.

    A program that it gave its form is passed through, so running it twice is running it once.
    """

    name = "split-vector-kernel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        for function in functions_of(op):
            kind = kind_of(function)
            if kind not in (FunctionKind.AIC, FunctionKind.AIV):
                continue
            if EXTERNAL in function.attributes:
                stamp_external(function, kind)
            elif function.is_declaration or is_split(function):
                continue
            elif flag(function, SPLIT_AIV):
                stamp(function, split_of(function))
            elif (mode := standalone_mode(function)) is not SplitMode.NONE:
                halve(function, mode)
                stamp(function, mode)
            elif kind is FunctionKind.AIV and flag(function, DUAL_DISPATCH):
                if target is not None and target.replays_on_lane_1:
                    replay_on_lane_1(function)


def stamp_external(function: FuncOp, kind: FunctionKind) -> None:
    """A program whose body is written elsewhere is only told how it runs (spec/passes.md 7.1)."""
    if kind is FunctionKind.AIV and (split_of(function) is not SplitMode.NONE or flag(function, SPLIT_AIV)):
        stamp(function, split_of(function))


def is_split(function: FuncOp) -> bool:
    """Whether this pass gave the program of the lanes its form already; it is passed through then.

    No pass before this one tells both lanes to run a program with a mode, and none writes the form of the replay.
    """
    if kind_of(function) is not FunctionKind.AIV or not flag(function, DUAL_DISPATCH):
        return False
    return split_of(function) is not SplitMode.NONE or flag(function, SPLIT_AIV) or is_replayed(function)


def stamp(function: FuncOp, mode: SplitMode) -> None:
    """The mode stays on the function; a program of the lanes runs on both of them (spec/passes.md 7.2)."""
    if mode is not SplitMode.NONE:
        function.attributes[SPLIT] = SplitAttr.of(mode)
    set_flag(function, DUAL_DISPATCH, kind_of(function) is FunctionKind.AIV)
