"""Why a value is what it is: its share of the lanes and the chain from the crossing to it, for the page."""

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.lane_share import Replicated, Split, axis_word
from cubelane.analysis.rebalance import rebalanced_stride
from cubelane.analysis.split_axis import SplitAxes
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of, split_of
from cubelane.ir.types import DYNAMIC, TensorType, TileType
from cubelane.language.printing.types import type_text
from cubelane.passes.tile.lower_auto_vector_split.whole_function import applies_to
from cubelane.report.ir_lines import core_of, crosses, why_core

Facts = dict[str, Any]

LinkRow = tuple[str, str, int, int]
"""One link of a chain: name, op, line, and the number of the link before it (-1: the crossing itself)."""


class Why:
    """Facts about values and ops. Shares are those of the program just before the lanes are told apart.

    Chains share their links: a fact names its last link, each link the one before it, so that a chain of n values
    takes n links and not n * n.
    """

    def __init__(self, before_split: ModuleOp | None):
        self.links: list[LinkRow] = []
        self._numbers: dict[SSAValue, int] = {}
        self._exact: dict[SSAValue, Facts] = {}
        self._shares: dict[tuple[int, str, str], Facts] = {}
        for function in functions_of(before_split) if before_split is not None else []:
            if applies_to(function):
                self._analyse(function)

    def _analyse(self, function: FuncOp) -> None:
        mode, block = split_of(function), function.body.block
        try:
            axes = SplitAxes.of(function, mode)
            if (stride := rebalanced_stride(axes, block)) is not None:
                axes = SplitAxes.of(function, mode, stride)
        except Diagnostic:
            return
        for op in block.walk():
            arguments = [a for region in op.regions for b in region.blocks for a in b.args]
            for value in (*op.results, *arguments):
                if isinstance(value.type, TileType):
                    facts = self._exact[value] = self._share(axes, value)
                    self._keep(op, value, facts)

    def _share(self, axes: SplitAxes, value: SSAValue) -> Facts:
        facts = _share(axes, value)
        if isinstance(axes[value], Split):
            facts["chain"] = self._chain(axes, value)
        return facts

    def _chain(self, axes: SplitAxes, value: SSAValue) -> int:
        """The number of the last link of a value's chain."""
        new: list[SSAValue] = []
        current: SSAValue | None = value
        while current is not None and current not in self._numbers and isinstance(axes[current], Split):
            new.append(current)
            current = axes.cause(current)
        before = self._numbers.get(current, -1) if current is not None else -1
        for link_value in reversed(new):
            link = axes.link(link_value)
            if link is not None:
                self.links.append((link.name, link.op.name, link.location.line, before))
                before = len(self.links) - 1
            self._numbers[link_value] = before
        return before

    def _keep(self, op: Operation, value: SSAValue, facts: Facts) -> None:
        """For later passes, which make new values: by line, op and name, and by line and name where that is clear."""
        line, name = Location.of(op).line, value.name_hint or ""
        self._shares.setdefault((line, op.name, name), facts)
        known = self._shares.setdefault((line, "", name), facts)
        if known is not facts and known != facts:
            self._shares[line, "", name] = {}

    def _share_of(self, value: SSAValue, op: Operation, line: int) -> Facts:
        name = value.name_hint or ""
        found = self._exact.get(value) or self._shares.get((line, op.name, name))
        return found or self._shares.get((line, "", name), {})

    def of(self, op: Operation, kind: FunctionKind) -> Facts:
        """What the page says about the op of a line and the value it makes."""
        facts: Facts = {
            "op": op.name,
            "line": Location.of(op).line,
            "core": core_of(op, kind),
            "coreWhy": why_core(op, kind),
            "boundary": crosses(op),
        }
        values = [v for v in (op.results or op.operands) if isinstance(v.type, TileType | TensorType)]
        if values:
            value = values[0]
            facts |= {"name": value.name_hint or "", "type": type_text(value.type)}
            facts |= self._share_of(value, op, facts["line"])
        return facts


def _share(axes: SplitAxes, value: SSAValue) -> Facts:
    share = axes[value]
    if not isinstance(share, Split):
        held = "both lanes hold all of it" if isinstance(share, Replicated) else "not a lane's value: full width"
        return {"share": held}
    assert isinstance(value.type, TileType)
    facts: Facts = {
        "share": f"shared out by {axis_word(share.axis)} (axis {share.axis}, {axes.mode.name})",
        "box": share.box,
        "stride": share.stride,
        "extent": share.extent,
    }
    valid = value.type.valid[share.axis]
    facts["valid"] = list(share.lanes(valid)) if valid != DYNAMIC else f"known at run time, at most {share.stride}"
    return facts


def kind_behind(op: Operation) -> FunctionKind:
    """The kind of the function an op stands in."""
    current: Operation | None = op
    while current is not None and not isinstance(current, FuncOp):
        current = current.parent_op()
    return kind_of(current) if isinstance(current, FuncOp) else FunctionKind.OPAQUE
