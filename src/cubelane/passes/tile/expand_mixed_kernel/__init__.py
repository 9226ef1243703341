"""One mixed function becomes the programs of the cube and of the lanes, joined by rings (spec/passes.md 5)."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from cubelane.analysis.affinity import roll_up
from cubelane.analysis.levels import refuse_tensors
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import (
    KIND,
    PLACEMENT,
    SPLIT,
    FunctionKind,
    KindAttr,
    functions_of,
    kind_of,
    target_name,
)
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.expand_mixed_kernel.callers import HandWrittenGroups, callers_by_kind, rewrite_group_calls
from cubelane.passes.tile.expand_mixed_kernel.hand_written import stage_pushes
from cubelane.passes.tile.expand_mixed_kernel.programs import Expansion, Programs
from cubelane.passes.tile.expand_mixed_kernel.transposes import refuse_transposes
from cubelane.passes.tile.expand_mixed_kernel.waiters import refuse_wrong_waiters
from cubelane.targets import TARGETS, Target


def target_of(module: ModuleOp) -> Target | None:
    """The target the program is compiled for; None while nobody chose one."""
    name = target_name(module)
    return TARGETS.get(name) if name is not None else None


@dataclass(frozen=True)
class ExpandMixedKernel(ModulePass):
    """Projects every mixed kernel on its two cores and connects them; other kernels get the type of their core.

    `pipe_per_size` opens one pipe per size of crossing tile instead of one for all.
    """

    name = "expand-mixed-kernel"

    pipe_per_size: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        refuse_wrong_waiters(op)
        groups, others = callers_by_kind(op)
        expanded: dict[str, Programs] = {}
        for function in functions_of(op):
            if kind_of(function) is not FunctionKind.INCORE:
                continue
            core = roll_up(function.body)
            if core is not Affinity.MIXED:
                _type(function, core)
                continue
            name = function.sym_name.data
            expanded[name] = self._expand(function, target)
            _replace(function, expanded[name], only_groups=name in groups and name not in others)
        rewrite_group_calls(op, expanded)
        HandWrittenGroups(op, target).run()
        for function in functions_of(op):
            for inner in ops_in(function):
                inner.attributes.pop(PLACEMENT, None)
            if kind_of(function) is FunctionKind.AIV:
                stage_pushes(function, target)

    def _expand(self, function: FuncOp, target: Target | None) -> Programs:
        refuse_tensors(function)
        refuse_transposes(function)
        if target is None:
            raise refuse(
                function,
                f"`{function.sym_name.data}` runs on both cores, and how they exchange tiles depends on the target",
                instead='choose one: cl.compile(kernel, target="a2a3") or "a5"',
                code="no-target",
            )
        return Expansion(function, target, self.pipe_per_size).run()


def _type(function: FuncOp, core: Affinity) -> None:
    """A kernel of one core keeps its body and loses its split mode (spec/passes.md 5.2)."""
    kind = FunctionKind.AIC if core is Affinity.CUBE else FunctionKind.AIV
    function.attributes[KIND] = KindAttr(kind)
    function.attributes.pop(SPLIT, None)


def _replace(function: FuncOp, programs: Programs, only_groups: bool) -> None:
    block = function.parent_block()
    assert block is not None
    for new in (programs.cube, programs.lanes, *(() if only_groups else (programs.group,))):
        block.insert_op_before(new, function)
    block.erase_op(function)
