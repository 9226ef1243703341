"""Hand-written pairs: an AIC and an AIV function that exchange full tiles, of which each lane takes its part (7.3).

The vector side is read as one half of a mixed body: a pop is a tile that comes from the cube, a push one that goes
there. So the split axis, the halving and the projection of mixed kernels do all the work, carries and `while` included.
"""

from collections.abc import Iterator

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from cubelane.analysis.boundaries import Boundary, boundaries_of, gather_code, shard_code
from cubelane.analysis.places import Places
from cubelane.analysis.projection import Needs, Projector
from cubelane.analysis.split_axis import SplitAxes
from cubelane.analysis.tensor_handles import TensorHandles, return_of
from cubelane.analysis.valid_extents import ValidExtents
from cubelane.ir.affinity import Affinity
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.kernel import FunctionKind, kind_of, split_of
from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Bound, as_property, python_value
from cubelane.ir.tile.channel import (
    FreeOp,
    ImportPeerBufferOp,
    InitializePipeOp,
    PopOp,
    PushOp,
    ReserveBufferOp,
    SubblockIdxOp,
    transport_code,
)
from cubelane.ir.tile.making import CreateOp
from cubelane.ir.tile.movement import MoveOp
from cubelane.ir.tile.shaping import SetValidShapeOp
from cubelane.ir.types import DYNAMIC, MemorySpace, SplitMode, TileType
from cubelane.ir.walk import ops_in
from cubelane.passes.tile.expand_mixed_kernel.crossings import Crossing, CrossingWriter, Lanes, PipeOf
from cubelane.passes.tile.expand_mixed_kernel.frees import FreeInserter
from cubelane.passes.tile.expand_mixed_kernel.programs import copied_parameters
from cubelane.passes.tile.lower_auto_vector_split.halving import Halver
from cubelane.targets import A2A3

IMPLICIT_SLOTS = {1: 8, 2: 8, 3: 4}
"""Slots of a pipe that states none, by its directions (spec/passes.md 9.2)."""


def transports(function: FuncOp) -> Iterator[PushOp | PopOp]:
    """The pushes and pops of a program, in order."""
    return (op for op in ops_in(function) if is_one(op, (PushOp, PopOp)))


def standalone_mode(function: FuncOp) -> SplitMode:
    """The split mode of a hand-written program: its own, or the one its pushes and pops agree on."""
    stated = split_of(function)
    first: PushOp | PopOp | None = None
    for op in transports(function):
        code = transport_code(op)
        if code not in range(5):
            raise refuse(
                op,
                f"the transport code of {op.name} is 0 to 4, not {code}",
                instead="split=1 for rows, split=2 for columns, split=0 for the whole tile",
                code="transport-code",
            )
        mode = SplitMode.of_code(code)
        if mode is SplitMode.NONE:
            continue
        if stated not in (SplitMode.NONE, mode):
            where = f"at {Location.of(first)}" if first is not None else f"of `{function.sym_name.data}`"
            raise refuse(
                op,
                f"{op.name} splits {mode.name}, the split {where} is {stated.name}",
                "both lanes run one program, and it can share out one axis only",
                instead=f"write split={stated.value} here, or split={mode.value} everywhere",
                code="two-split-modes",
            )
        stated, first = mode, op
    return stated


def halve(function: FuncOp, mode: SplitMode) -> None:
    """Gives transports the codes of the mode and, on the vector side, each lane its part of every tile."""
    if kind_of(function) is FunctionKind.AIC:
        _stamp_codes(function, mode)
    else:
        _Lanes(function, mode).run()


def _stamp_codes(function: FuncOp, mode: SplitMode) -> None:
    for op in transports(function):
        value = op.tile if is_one(op, PushOp) else op.results[0]
        assert isinstance(value.type, TileType)
        boundary = Boundary(op, is_one(op, PushOp), value, value, mode, None, True)
        tile = value.type
        code = shard_code(boundary, mode, tile, None) if boundary.to_lanes else gather_code(boundary, mode, tile)
        op.properties["split"] = as_property(code)


class _Lanes:
    """The vector side of a pair."""

    def __init__(self, function: FuncOp, mode: SplitMode):
        self.function, self.mode = function, mode
        self.block = function.body.block
        self.ids = [python_value(op.properties.get("id")) for op in transports(function)]

    def run(self) -> None:
        """Halves the body in place."""
        depth = self._depth()
        self._read_as_mixed()
        lane = SubblockIdxOp(result_types=[IndexType()])
        lane.results[0].name_hint, lane.location = "subblock_idx", self.function.location
        first = self.block.first_op
        assert first is not None
        self.block.insert_op_before(lane, first)
        extents = ValidExtents(self.function)
        Halver(SplitAxes.of(self.function, self.mode), lane.results[0], extents).run(self.block)
        self._project()
        FreeInserter(depth).run(self.function)

    def _depth(self) -> int:
        """The shallowest ring."""
        slots = [
            python_value(op.properties.get("slot_num")) or IMPLICIT_SLOTS[python_value(op.dir_mask) or 3]
            for op in ops_in(self.function)
            if is_one(op, InitializePipeOp)
        ]
        return min(slots, default=2)

    def _read_as_mixed(self) -> None:
        for op in ops_in(self.function):
            if is_one(op, FreeOp):
                op.detach()
                op.erase()
            elif is_one(op, PopOp):
                self._pop_as_move(op)
            elif is_one(op, PushOp):
                tile = op.tile.type
                assert isinstance(tile, TileType)
                self._insert(MoveOp.from_call(Bound({"tile": op.tile}), tile.in_memory(MemorySpace.MAT)), op)
                op.detach()
                op.erase()

    @staticmethod
    def _insert(new: Operation, anchor: Operation) -> SSAValue:
        block = anchor.parent_block()
        assert block is not None
        new.location = anchor.location
        block.insert_op_before(new, anchor)
        return new.results[0]

    def _pop_as_move(self, pop: PopOp) -> None:
        kind = pop.results[0].type
        assert isinstance(kind, TileType)
        whole = TileType.make(kind.shape, kind.dtype, MemorySpace.ACC)
        tile = self._insert(CreateOp.from_call(Bound({}), whole), pop)
        if not kind.fully_valid:
            stated = iter(pop.valid)
            extents = [next(stated) if v == DYNAMIC else self._index(v, pop) for v in kind.valid]
            call = Bound({"tile": tile, "rows": extents[0], "columns": extents[1]})
            tile = self._insert(SetValidShapeOp.from_call(call, whole.replaced(valid=kind.valid)), pop)
        tile.name_hint = pop.results[0].name_hint
        moved = self._insert(MoveOp.from_call(Bound({"tile": tile}), kind), pop)
        moved.name_hint = pop.results[0].name_hint
        pop.results[0].replace_all_uses_with(moved)
        pop.detach()
        pop.erase()

    def _index(self, number: int, anchor: Operation) -> SSAValue:
        return self._insert(ConstantOp(IntegerAttr(number, IndexType())), anchor)

    def _project(self) -> None:
        """The vector side of what is now a mixed body."""
        function, lanes = self.function, Lanes(self.function)
        valid = ValidExtents(function)
        boundaries = boundaries_of(function.body)
        crossings = {op: Crossing.of(b, valid, lanes) for op, b in boundaries.items()}
        ids = dict(zip(crossings, self.ids, strict=True))
        handles = TensorHandles(self.block)
        needs = Needs(
            function.body,
            Affinity.VECTOR,
            {op: crossing.leaf(Affinity.VECTOR) for op, crossing in crossings.items()},
            place=Places(function),
            stand_in=handles.__getitem__,
            returns=True,
            passive=lambda op: is_one(op, (ReserveBufferOp, ImportPeerBufferOp)),
        )
        raw = A2A3._replace(stages_nz_before_push=False)
        write = CrossingWriter(crossings, Affinity.VECTOR, raw, PipeOf())

        def emit(op: Operation, projector: Projector) -> None:
            last = projector.block.last_op
            write(op, projector)
            new = projector.block.first_op if last is None else last.next_op
            while new is not None:
                if is_one(new, (PushOp, PopOp)) and ids[op] is not None:
                    new.properties["id"] = as_property(ids[op])
                new = new.next_op

        projector = Projector(needs, emit)
        block = copied_parameters(function, projector.map)
        projector.run(self.block, block)
        end = return_of(function)
        new_return = ReturnOp(*(projector.value(v) for v in end.operands))
        new_return.location = end.location
        block.add_op(new_return)
        region = function.body
        region.detach_block(self.block)
        self.block.erase(safe_erase=False)
        region.add_block(block)
        self.block = block
