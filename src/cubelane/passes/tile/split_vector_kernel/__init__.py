"""The programs of the lanes learn how they are dispatched; hand-written pairs are halved (spec/passes.md 7)."""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from cubelane.ir.kernel import (
    DUAL_DISPATCH,
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
from cubelane.passes.tile.split_vector_kernel.replay import replay_on_lane_1
from cubelane.targets import TARGETS


class SplitVectorKernel(ModulePass):
    """Stamps what pass 20 halved, halves hand-written pairs, and gives lane 1 of an unsplit kernel its replay."""

    name = "split-vector-kernel"
    required: ClassVar = frozenset({"SSAForm", "MixedKernelExpanded"})
    produced: ClassVar = frozenset({"SSAForm", "VectorKernelSplit"})
    invalidated: ClassVar = frozenset[str]()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TARGETS.get(target_name(op) or "")
        for function in functions_of(op):
            kind = kind_of(function)
            if kind not in (FunctionKind.AIC, FunctionKind.AIV) or function.is_declaration:
                continue
            if flag(function, SPLIT_AIV):
                stamp(function, split_of(function))
            elif (mode := standalone_mode(function)) is not SplitMode.NONE:
                halve(function, mode)
                stamp(function, mode)
            elif kind is FunctionKind.AIV and flag(function, DUAL_DISPATCH):
                if target is not None and target.replays_on_lane_1:
                    replay_on_lane_1(function)


def stamp(function: FuncOp, mode: SplitMode) -> None:
    """The mode stays on the function; a program of the lanes runs on both of them (spec/passes.md 7.2)."""
    if mode is not SplitMode.NONE:
        function.attributes[SPLIT] = SplitAttr.of(mode)
    set_flag(function, DUAL_DISPATCH, kind_of(function) is FunctionKind.AIV)
