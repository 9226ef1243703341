"""Do the two lanes keep out of each other's way, and do they write what the full-width program wrote (lane windows).

The program right behind LowerAutoVectorSplit is compared with the one in front of it, tensor by tensor. A conflict or a
gap is a finding with its rows; what could not be decided is said with the reason and is no finding.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from cubelane.analysis.lane_windows import LaneWindows, incomparable
from cubelane.check.compiled import CompiledKernel
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import SPLIT_AIV, FunctionKind, flag, functions_of, kind_of

BEFORE, AFTER = "resolve-backend-op-layouts", "lower-auto-vector-split"
"""The stages that are compared."""


@dataclass
class LaneVerdict:
    """What is known about the two lanes on one tensor that they write."""

    kernel: str
    tensor: str
    apart: str = ""
    """Why it is not proven that no lane disturbs the other; empty where it is."""
    complete: str = ""
    """Why it is not proven that the lanes write what the full-width program writes; empty where it is."""
    by_hand: bool = False
    """Whether the author placed the windows of the lanes; there is no full-width program to compare with then."""
    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def proven(self) -> bool:
        """Whether nothing is left open and nothing is wrong."""
        return not (self.apart or self.complete or self.findings)

    def __str__(self) -> str:
        if self.findings:
            return self.findings[0].message
        if self.apart:
            return f"not proven: {self.apart}"
        if self.complete:
            return f"apart; not proven that nothing is missing: {self.complete}"
        return "apart, as the author placed them" if self.by_hand else "apart and complete"


def check_lanes(compiled: CompiledKernel) -> list[LaneVerdict]:
    """A verdict for every tensor that two lanes write. Needs the stages to have been kept."""
    stages = {stage.name: stage.module for stage in compiled.stages}
    return lane_verdicts(stages[BEFORE], stages[AFTER])


def lane_verdicts(before: ModuleOp, after: ModuleOp) -> list[LaneVerdict]:
    """A verdict for every tensor of every function whose lanes were told apart between two stages."""
    sources = {f.sym_name.data: f for f in functions_of(before)}
    lowered = [f for f in functions_of(after) if kind_of(f) is FunctionKind.INCORE and flag(f, SPLIT_AIV)]
    return [verdict for f in lowered for verdict in _of_function(sources[f.sym_name.data], f)]


def _of_function(source: FuncOp, lowered: FuncOp) -> Iterator[LaneVerdict]:
    full, lanes = LaneWindows(source), LaneWindows(lowered)
    conflicts, gaps = list(lanes.conflicts()), list(lanes.missing(full))
    for known in lanes.verdicts():
        wanted = full.written.get(known.tensor, [])
        by_hand = any(window.by_lane for window in wanted)
        complete = "" if by_hand else incomparable(wanted, lanes.written.get(known.tensor, []))
        named = f"'{known.tensor}'"
        found = [f for f in (*conflicts, *(() if by_hand else gaps)) if named in f.message]
        yield LaneVerdict(lowered.sym_name.data, known.tensor, known.reason, complete, by_hand, found)
