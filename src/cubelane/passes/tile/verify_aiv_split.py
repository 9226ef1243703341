"""AivSplitValid: the rules of `pl.split_aiv` regions, checked before they are lowered (spec/passes.md 9.1, a to h).

A function with a region is in manual mode: vector work belongs into regions, and what crosses between inside and
outside does so by `pl.aiv_shard` and `pl.aic_gather`.
"""

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.analysis.affinity import classify
from cubelane.analysis.lane_share import name_of
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Diagnostic, refuse
from cubelane.ir.kernel import SPLIT_AIV, FunctionKind, SplitRegionOp, flag, functions_of, kind_of
from cubelane.ir.narrowing import is_one, only
from cubelane.ir.surface import SurfaceOp
from cubelane.ir.traits import CoreAffinity, Fixed, Split, Splits, trait_of
from cubelane.ir.types import MemorySpace, SplitMode, TileType
from cubelane.ir.walk import ops_in

PROPERTY = "AivSplitValid"

_GM_ACCESS = frozenset({Split.LOADS, Split.STORES})


def aiv_split_problems(program: ModuleOp) -> list[Diagnostic]:
    """Every violation in the program, in the order of the text; empty when the property holds.

    A function that is marked `split_aiv` and holds no region has been lowered: its boundaries stand where they should.
    """
    checks = [_Function(function) for function in functions_of(program)]
    checks = [check for check in checks if check.regions or not flag(check.function, SPLIT_AIV)]
    return [problem for check in checks for problem in check.problems()]


class VerifyAivSplit(ModulePass):
    """Refuses a program that breaks a region rule; the first violation is raised, the others are its notes."""

    name = "verify-aiv-split"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        problems = aiv_split_problems(op)
        if problems:
            first, *others = problems
            first.notes = (*first.notes, *(f"{other.location}: {other.message}" for other in others), PROPERTY)
            raise first


class _Function:
    """The checks of one function."""

    def __init__(self, function: FuncOp):
        self.function = function
        self.ops = ops_in(function.body)
        self.regions = only(self.ops, SplitRegionOp)

    def problems(self) -> Iterator[Diagnostic]:
        """The violations of the function."""
        for op in self.ops:
            region = self.region_of(op) if self.regions else None
            if is_one(op, SplitRegionOp):
                yield from self.unmarked(op)
            elif op.regions:
                continue
            elif _behaviour(op) is Split.BOUNDARY:
                yield from self.boundary(op, region)
            elif region is not None:
                yield from self.inside(op, region)
            elif self.regions:
                yield from self.outside(op)

    def region_of(self, op: Operation) -> SplitRegionOp | None:
        """The innermost region around an op."""
        parent = op.parent_op()
        while parent is not None and parent is not self.function:
            if is_one(parent, SplitRegionOp):
                return parent
            parent = parent.parent_op()
        return None

    def unmarked(self, region: SplitRegionOp) -> Iterator[Diagnostic]:
        """h: a region in an InCore function that nobody minted for it."""
        if kind_of(self.function) is FunctionKind.INCORE and not flag(self.function, SPLIT_AIV):
            yield refuse(
                region,
                f"the InCore function '{self.function.sym_name.data}' holds a pl.split_aiv region but is not marked "
                f"split_aiv",
                instead="declare the function plain, or open the region in a CORE_GROUP scope",
                code="region-in-plain-incore",
            )

    def boundary(self, op: Operation, region: SplitRegionOp | None) -> Iterator[Diagnostic]:
        """c: a boundary op outside all regions; d: its operand or result in the wrong space; NONE has no boundary."""
        if region is None:
            yield refuse(
                op,
                f"{_called(op)} stands outside all pl.split_aiv regions",
                instead="move it into a region: for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN)",
                code="boundary-outside-region",
            )
            return
        if region.mode.mode is SplitMode.NONE:
            yield refuse(
                op,
                f"{_called(op)} stands in a region of mode NONE: there is no split axis to share out",
                instead="give the region a mode: pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN)",
                code="boundary-without-axis",
            )
        yield from _wrong_space(op)

    def inside(self, op: Operation, region: SplitRegionOp) -> Iterator[Diagnostic]:
        """a: cube work; b: a reduction over the split axis; g: a cube value used without a shard."""
        mode = region.mode.mode
        if classify(op) is Affinity.CUBE:
            share = "" if mode is SplitMode.NONE else ", or join the halves first with pl.aic_gather"
            yield refuse(
                op,
                f"{_called(op)} is cube work inside a pl.split_aiv region ({mode.name}), where only the vector "
                "lanes run",
                instead="move it out of the region" + share,
                code="cube-work-in-region",
            )
            return
        if mode is not SplitMode.NONE and _folds(op, mode.axis):
            yield refuse(
                op,
                f"{_called(op)} reduces over the split axis of its region ({mode.name}, axis {mode.axis}): each lane "
                f"has only its own part",
                instead="reduce over the other axis, or join the parts first with pl.aic_gather",
                code="reduce-on-split-axis",
            )
        if _consumer(op) is not Affinity.VECTOR or _behaviour(op) in _GM_ACCESS:
            return
        for value in dict.fromkeys(op.operands):
            maker = self.maker_of(value)
            if maker is None or self.region_of(maker) is not None or _behaviour(maker) in _GM_ACCESS:
                continue
            if classify(maker) is Affinity.CUBE:
                yield refuse(
                    op,
                    f"'{name_of(value)}' comes from the cube core and is used on the lanes without a boundary",
                    instead=f"{name_of(value)} = pl.aiv_shard({name_of(value)}) at the top of the region",
                    code="missing-shard",
                )

    def outside(self, op: Operation) -> Iterator[Diagnostic]:
        """e: vector work outside the regions; f: a value of a region used on the cube without a gather."""
        behaviour = _behaviour(op)
        if behaviour in _GM_ACCESS:
            return
        if classify(op) is Affinity.VECTOR and not _states_lane(op):
            yield refuse(
                op,
                f"{_called(op)} is vector work outside the pl.split_aiv regions of '{self.function.sym_name.data}'",
                instead="wrap it: for _ in pl.split_aiv(2, mode=pl.SplitMode.NONE)",
                code="vector-work-outside-region",
            )
        if _consumer(op) is not Affinity.CUBE:
            return
        for value in dict.fromkeys(op.operands):
            maker = self.maker_of(value)
            if maker is None or self.region_of(maker) is None or not isinstance(value.type, TileType):
                continue
            if _behaviour(maker) not in (*_GM_ACCESS, Split.BOUNDARY):
                yield refuse(
                    op,
                    f"'{name_of(value)}' comes from a pl.split_aiv region and is used on the cube without a boundary",
                    instead=f"{name_of(value)} = pl.aic_gather({name_of(value)}) inside the region",
                    code="missing-gather",
                )

    def maker_of(self, value: SSAValue) -> Operation | None:
        """The op that made a value, looked up through the regions that hand it out; carries have none."""
        while is_one(value.owner, SplitRegionOp):
            region = value.owner
            index = next(i for i, result in enumerate(region.results) if result is value)
            value = region.yielded.arguments[index]
        owner = value.owner
        return owner if isinstance(owner, Operation) and not owner.regions else None


def _behaviour(op: Operation) -> Split | None:
    splits = trait_of(op, Splits)
    return None if splits is None else splits.behaviour


def _called(op: Operation) -> str:
    """What the user calls an op: namespace and name."""
    return f"{op.NAMESPACE}.{op.SPELLING}" if is_one(op, SurfaceOp) else op.name


def _consumer(op: Operation) -> Affinity:
    """The lane that takes an op's operands: for a crossing move its destination."""
    affinity = classify(op)
    if affinity is Affinity.MIXED and _behaviour(op) is Split.MOVES:
        result = op.results[0].type
        to_cube = isinstance(result, TileType) and result.memory is not None and result.memory.is_cube
        return Affinity.CUBE if to_cube else Affinity.VECTOR
    return affinity


def _states_lane(op: Operation) -> bool:
    """Whether the op belongs to a lane by declaration and touches no tile (the lane index, transport)."""
    return isinstance(trait_of(op, CoreAffinity), Fixed) and _behaviour(op) in (Split.NONE, Split.CHANNEL)


def _folds(op: Operation, axis: int) -> bool:
    splits = trait_of(op, Splits)
    if splits is None or splits.behaviour is not Split.REDUCES or splits.axis is None:
        return False
    source = op.operands[0].type
    return isinstance(source, TileType) and splits.axis % len(source.shape) == axis and source.shape[axis] != 1


def _wrong_space(op: Operation) -> Iterator[Diagnostic]:
    source, result = op.operands[0].type, op.results[0].type
    if not isinstance(source, TileType) or not isinstance(result, TileType):
        return
    to_lanes = result.memory is not None and not result.memory.is_cube
    wanted = MemorySpace.ACC if to_lanes else MemorySpace.VEC
    if source.memory is not None and source.memory is not wanted:
        yield refuse(
            op,
            f"{_called(op)} takes a tile in {wanted.dsl}, but '{name_of(op.operands[0])}' lies in {source.memory.dsl}",
            instead="let only values cross that a matmul (to the lanes) or a vector op (to the cube) produced",
            code="boundary-operand-space",
        )
    gives = MemorySpace.VEC if to_lanes else MemorySpace.MAT
    if result.memory is not None and result.memory is not gives:
        yield refuse(
            op,
            f"{_called(op)} gives a tile in {gives.dsl}, but '{name_of(op.results[0])}' is typed {result.memory.dsl}",
            instead=f"type it pl.Mem.{gives.dsl}, and move it on afterwards",
            code="boundary-result-space",
        )
