"""The set-up of the rings at the top of both programs (spec/passes.md 5.11)."""

from dataclasses import dataclass

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from cubelane.ir.narrowing import is_one
from cubelane.ir.surface import Bound, SurfaceOp, python_value
from cubelane.ir.tile.channel import (
    ImportPeerBufferOp,
    InitializeCubePipeOp,
    InitializeLanePipeOp,
    InitializePipeOp,
    PopOp,
    PushOp,
    ReserveBufferOp,
    SubblockIdxOp,
)
from cubelane.ir.types import TileType
from cubelane.ir.walk import ops_of

C2V, V2C = 1, 2
DEFAULT_SLOTS = 2


@dataclass
class Pipe:
    """What one pipe carries: used directions and the largest full tile in bytes."""

    id: int | None
    directions: int = 0
    slot_size: int = 0


SETUP = (ReserveBufferOp, ImportPeerBufferOp, InitializePipeOp)
"""What opens a ring."""


def is_setup(op: Operation) -> bool:
    """Whether an op belongs to the set-up of a ring."""
    return is_one(op, SETUP)


def pipes_of(cube: FuncOp, lanes: FuncOp) -> list[Pipe]:
    """The pipes that both programs use, in order of first use."""
    pipes: dict[int | None, Pipe] = {}
    for function in (cube, lanes):
        for op in ops_of(function, (PushOp, PopOp)):
            number = python_value(op.properties.get("id"))
            pipe = pipes.setdefault(number, Pipe(number))
            pipe.directions |= C2V if op.TO_LANES else V2C
            tile = op.tile.type if is_one(op, PushOp) else op.results[0].type
            assert isinstance(tile, TileType)
            pipe.slot_size = max(pipe.slot_size, tile.size_in_bytes)
    return list(pipes.values())


class _Prologue:
    """Writes the set-up of one core in front of everything else."""

    def __init__(self, function: FuncOp, stem: str, cube: bool, peer: str):
        self.stem, self.cube, self.peer = stem, cube, peer
        self.block = function.body.block
        self.anchor = self.block.first_op
        # the lane index stays first (constants are part of expressions): offsets of the whole body build on it
        first = next((op for op in self.block.ops if not is_one(op, ConstantOp)), None)
        if not cube and is_one(first, SubblockIdxOp):
            self.anchor = first.next_op
        self.like = function

    def _add(self, op: Operation, name: str | None = None) -> SSAValue | None:
        op.location = self.like.location
        assert self.anchor is not None
        self.block.insert_op_before(op, self.anchor)
        if not op.results:
            return None
        op.results[0].name_hint = name
        return op.results[0]

    def _call(self, kind: type[SurfaceOp], name: str | None = None, **arguments: object) -> SSAValue:
        value = self._add(kind.from_call(Bound(dict(arguments))), name)
        assert value is not None
        return value

    def _buffer(self, word: str, to_lanes: bool, pipe: Pipe, slots: int) -> SSAValue:
        """The consumer reserves the bytes of the ring, the producer imports their address."""
        name = f"{self.stem}_{word}_slot_buffer" + ("" if pipe.id is None else f"_{pipe.id}")
        if to_lanes == self.cube:
            return self._call(ImportPeerBufferOp, f"{name}_import", buffer_name=name, peer_func=self.peer)
        return self._call(ReserveBufferOp, name, buffer_name=name, size=pipe.slot_size * slots, base=-1)

    def open(self, pipe: Pipe, slots: int) -> None:
        """Both directions of one pipe; an unused one gets the constant 0."""
        buffers: dict[bool, SSAValue] = {}
        for word, bit, to_lanes in (("v2c", V2C, False), ("c2v", C2V, True)):
            if pipe.directions & bit:
                buffers[to_lanes] = self._buffer(word, to_lanes, pipe, slots)
        for to_lanes in (True, False):
            if to_lanes not in buffers:
                zero = self._add(ConstantOp(IntegerAttr(0, i32)))
                assert zero is not None
                buffers[to_lanes] = zero
        kind = InitializeCubePipeOp if self.cube else InitializeLanePipeOp
        call = {
            "c2v_buffer": buffers[True],
            "v2c_buffer": buffers[False],
            "dir_mask": pipe.directions,
            "slot_size": pipe.slot_size,
            "slot_num": slots,
            "id": pipe.id,
        }
        self._add(kind.from_call(Bound(dict(call))))


def set_up_pipes(stem: str, cube: FuncOp, lanes: FuncOp, slots: int) -> None:
    """Opens every pipe on both cores, unless the author did so."""
    if any(ops_of(function, SETUP) for function in (cube, lanes)):
        return
    for pipe in pipes_of(cube, lanes):
        _Prologue(cube, stem, True, lanes.sym_name.data).open(pipe, slots)
        _Prologue(lanes, stem, False, cube.sym_name.data).open(pipe, slots)
