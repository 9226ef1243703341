"""The program after a pass as lines of text that know the op they stand for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.analysis.boundaries import place_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.kernel import FunctionKind, functions_of, kind_of
from cubelane.ir.traits import (
    ByFirstTile,
    ByMove,
    ByResultMemory,
    CoreAffinity,
    Fixed,
    Split,
    Splits,
)
from cubelane.ir.types import TileType
from cubelane.language.printing.functions import FunctionText

CUBE, VECTOR, SHARED, MIXED = "cube", "vector", "shared", "mixed"
_CROSSING = (Split.BOUNDARY, Split.CHANNEL)


@dataclass(frozen=True)
class IrLine:
    """One line: its text, its op, the source line, the core, whether something crosses between the cores here."""

    text: str
    op: Operation | None
    line: int
    core: str
    boundary: bool


class _Recorder(FunctionText):
    """Writes a function and notes the op behind every line."""

    def __init__(self, function: FuncOp):
        super().__init__(function)
        self.ops: list[Operation] = []
        self.current: Operation = function

    def _statement(self, op: Operation) -> None:
        outer, self.current = self.current, op
        super()._statement(op)
        self.current = outer

    def _line(self, text: str) -> None:
        super()._line(text)
        self.catch_up()

    def catch_up(self) -> None:
        """Lines written since the last call (comments come before the line they belong to) are of the current op."""
        self.ops += [self.current] * (len(self.lines) - len(self.ops))


def lines_of(module: ModuleOp) -> list[IrLine]:
    """All functions of a program, in order."""
    result: list[IrLine] = []
    for function in functions_of(module):
        recorder = _Recorder(function)
        try:
            recorder.text()
            recorder.catch_up()
        except Diagnostic as problem:
            result.append(IrLine(f"# {function.sym_name.data}: {problem.message}", function, 0, SHARED, False))
            continue
        kind = kind_of(function)
        for text, op in zip(recorder.lines, recorder.ops, strict=True):
            result.append(IrLine(text, op, Location.of(op).line, core_of(op, kind), crosses(op)))
    return result


def core_of(op: Operation, kind: FunctionKind) -> str:
    """The core an op runs on, as the page names it."""
    if kind is FunctionKind.AIC:
        return CUBE
    if kind is FunctionKind.AIV:
        return VECTOR
    if op.regions or isinstance(op, FuncOp):
        return SHARED
    return {Affinity.CUBE: CUBE, Affinity.VECTOR: VECTOR, Affinity.MIXED: MIXED}.get(place_of(op), SHARED)


def crosses(op: Operation) -> bool:
    """Whether a tile goes from one core to another here."""
    trait = op.get_trait(Splits)
    if trait is not None and trait.behaviour in _CROSSING:
        return any(isinstance(v.type, TileType) for v in (*op.operands, *op.results))
    return not op.regions and place_of(op) is Affinity.MIXED


def why_core(op: Operation, kind: FunctionKind) -> str:
    """One sentence: why the op runs where it does."""
    if kind in (FunctionKind.AIC, FunctionKind.AIV):
        return f"it is part of the program of {kind.dsl}"
    match op.get_trait(CoreAffinity):
        case Fixed(affinity) if affinity is Affinity.MIXED:
            return "the op is a crossing between the cores by declaration"
        case Fixed(affinity) if affinity is Affinity.SHARED:
            return "the op fixes no core; it runs wherever its result is needed"
        case Fixed(affinity):
            return f"the op belongs to the {affinity.value} core by declaration"
        case ByResultMemory():
            return f"its result lies in {_space(op, True)}"
        case ByFirstTile():
            return f"its first tile lies in {_space(op, False)}"
        case ByMove():
            return f"it moves from {_space(op, False)} to {_space(op, True)}"
        case _:
            return "it runs wherever its result is needed"


def _space(op: Operation, result: bool) -> str:
    for value in op.results if result else op.operands:
        if isinstance(value.type, TileType):
            return value.type.memory.dsl if value.type.memory is not None else "no space yet"
    return "no tile memory"


def changed(before: Sequence[IrLine], after: Sequence[IrLine]) -> tuple[list[bool], int]:
    """Which lines are new against the program before the pass, and how many of the old ones are gone."""
    old = Counter(line.text.strip() for line in before)
    fresh: list[bool] = []
    for line in after:
        text = line.text.strip()
        fresh.append(old[text] <= 0)
        old[text] -= 1
    return fresh, sum(count for count in old.values() if count > 0)
