"""LowerAutoVectorSplit: mixed functions with a split mode, and `pl.split_aiv` regions, become the explicit form.

Vector work is halved along the split axis, cube work stays full width, and what crosses between them goes through
`tile.aiv_shard` and `tile.aic_gather` (spec/passes.md 4; docs/lower_auto_vector_split.md).
"""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from cubelane.analysis.lane_access import may_conflict
from cubelane.analysis.levels import refuse_tensors
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import functions_of, split_of
from cubelane.ir.types import SplitMode
from cubelane.passes.tile.lower_auto_vector_split import regions, whole_function

NAME = "LowerAutoVectorSplit"


class LowerAutoVectorSplit(ModulePass):
    """Tells the two lanes apart: tiles are halved, addresses moved; functions it does not concern stay untouched."""

    name = "lower-auto-vector-split"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers every function of the program in place."""
        for function in functions_of(op):
            try:
                _lower(function)
            except Diagnostic as problem:
                mode = split_of(function)
                share = f" ({mode.name}, axis {mode.axis})" if mode is not SplitMode.NONE else ""
                problem.notes = (*problem.notes, f"refused by {NAME} in '{function.sym_name.data}'{share}")
                raise

    def __call__(self, program: ModuleOp) -> ModuleOp:
        """Lowers a program; the same object, and an unchanged one where nothing applies."""
        self.apply(Context(), program)
        return program


def _lower(function: FuncOp) -> None:
    if function.is_declaration:
        return
    by_hand = regions.applies_to(function)
    if not by_hand and not whole_function.applies_to(function):
        return
    refuse_tensors(function)
    if by_hand:
        regions.lower(function)
    else:
        whole_function.lower(function)
    if may_conflict(function, by_hand):
        _refuse_conflicts(function)


def _refuse_conflicts(function: FuncOp) -> None:
    """The lanes run unordered: what one writes, the other must neither write nor read."""
    from cubelane.analysis.lane_windows import lane_conflicts  # integer sets load slowly and are seldom needed

    for problem in lane_conflicts(function):
        raise problem
