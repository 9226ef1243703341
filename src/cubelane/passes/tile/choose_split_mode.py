"""Replaces the author's split mode: every scope with a split, and every core kernel, takes the chosen one."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.ir.kernel import SPLIT, FunctionKind, ScopeOp, SplitAttr, functions_of, kind_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.types import SplitMode
from cubelane.ir.walk import ops_in

MODES: dict[str, SplitMode] = {mode.name.lower(): mode for mode in SplitMode}
"""Split modes by their name on a command line."""


@dataclass(frozen=True)
class ChooseSplitMode(ModulePass):
    """Not part of the pipeline: what `--mode` does before it. Scopes and kernels without a split stay without."""

    name = "choose-split-mode"
    mode: str = "none"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split = SplitAttr.of(MODES[self.mode])
        for inner in ops_in(op):
            if is_one(inner, ScopeOp) and inner.split is not None:
                inner.split = split
        for function in functions_of(op):
            if kind_of(function) is FunctionKind.INCORE and SPLIT in function.attributes:
                function.attributes[SPLIT] = split
