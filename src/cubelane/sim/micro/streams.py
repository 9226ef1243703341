"""Unaligned streams of the vector unit (spec/pto.md 11.9).

A stream of loads reads registers from any byte on. A stream of stores appends elements: whole blocks of 32 bytes go to
memory, the rest stays in the state until more comes, or until the flush.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import VregType
from cubelane.sim.micro.elements import Array, dtype_of, element_of
from cubelane.sim.micro.memory import Fault
from cubelane.sim.micro.program import Lane, Units, Vector, not_modelled
from cubelane.sim.micro.registers import BYTES, Register, word
from cubelane.sim.micro.vector_memory import BLOCK, fetch, put

Values = Sequence[Any]


@dataclass(frozen=True)
class Rest:
    """The state of a stream: bytes that wait in front of where it goes on, and which of them are undefined."""

    data: Array
    undefined: Array


def _empty(op: PtoOp) -> Vector:
    return lambda lane, place, values: Rest(np.zeros(0, np.uint8), np.zeros(0, np.bool_))


def _vldus(op: PtoOp) -> Vector:
    """A register from any byte on; the pointer moves by a number of elements."""
    kind = op.results[0].type
    if not isinstance(kind, VregType) or len(op.operands) != 3 or len(op.results) != 3:
        raise not_modelled(op, "these operands")
    target, step_size = dtype_of(kind.element), dtype_of(element_of(op.operands[0].type)).itemsize

    def run(lane: Lane, place: int, values: Values) -> tuple[Register, Any, int]:
        start, state, step = values
        data, undefined = fetch(lane, place, start, BYTES)
        mark = None if undefined is None else np.asarray(undefined.reshape(-1, target.itemsize).any(axis=1))
        return Register(np.array(data).view(target), mark), state, start + step * step_size

    return run


def _append(lane: Lane, place: int, rest: Rest, value: Register, count: int, pointer: int) -> tuple[Rest, int]:
    """The first elements of a register join the stream at a pointer; gives the new state and where it goes on."""
    size = value.data.itemsize
    if not 0 <= count <= value.data.size:
        raise Fault(f"a register gives 0 to {value.data.size} elements, asked for {count}", code="stream-count")
    marks = np.zeros(value.data.size, np.bool_) if value.undefined is None else value.undefined
    data = np.concatenate([rest.data, value.data[:count].view(np.uint8)])
    undefined = np.concatenate([rest.undefined, np.repeat(marks[:count], size)])
    start, end = pointer - rest.data.size, pointer + count * size
    whole = max(end // BLOCK * BLOCK - start, 0)
    if whole:
        put(lane, place, start, data[:whole], undefined[:whole] if undefined[:whole].any() else None)
    return Rest(data[whole:], undefined[whole:]), end


def _flush(lane: Lane, place: int, rest: Rest, pointer: int) -> None:
    if rest.data.size:
        put(lane, place, pointer - rest.data.size, rest.data, rest.undefined if rest.undefined.any() else None)


def _vstus(op: PtoOp) -> Vector:
    """The first elements of a register join the stream that goes on at a pointer."""
    if len(op.operands) != 4 or len(op.results) != 2:
        raise not_modelled(op, "these operands")

    def run(lane: Lane, place: int, values: Values) -> tuple[Rest, int]:
        rest, count, value, pointer = values
        return _append(lane, place, rest, value, count, pointer)

    return run


def _vstur(op: PtoOp) -> Vector:
    """What the last `vsqz` kept joins the stream; the unit itself counts how far the stream is from its pointer."""
    if len(op.operands) != 3 or len(op.results) != 1:
        raise not_modelled(op, "these operands")
    mode = word(op, "mode", "POST_UPDATE")
    if mode not in ("POST_UPDATE", "NO_POST_UPDATE"):
        raise not_modelled(op, f"the mode {mode}")

    def run(lane: Lane, place: int, values: Values) -> Rest:
        rest, value, base = values
        stream = lane.core.stream
        if stream.squeezed is None:
            raise Fault("it stores what the last pto.vsqz kept, and there is none before it", code="stream-count")
        rest, end = _append(lane, place, rest, value, stream.squeezed, base + stream.stored)
        if mode == "POST_UPDATE":
            stream.stored = end - base
        return rest

    return run


def _vstar(op: PtoOp) -> Vector:
    """What waits in the state of `vstur` goes to memory, in front of where the stream has come to."""
    if len(op.operands) != 2:
        raise not_modelled(op, "these operands")

    def run(lane: Lane, place: int, values: Values) -> None:
        rest, base = values
        _flush(lane, place, rest, base + lane.core.stream.stored)

    return run


def _sprclr(op: PtoOp) -> Vector:
    """The count of stored bytes begins anew."""
    if op.operands or word(op, "mode", "AR").removeprefix("SPR_") != "AR":
        raise not_modelled(op, "another register than AR")

    def run(lane: Lane, place: int, values: Values) -> None:
        lane.core.stream.stored = 0

    return run


def _vstas(op: PtoOp) -> Vector:
    """What waits in the state goes to memory, in front of the pointer."""
    if len(op.operands) != 2:
        raise not_modelled(op, "these operands")

    return lambda lane, place, values: _flush(lane, place, *values)


def register(units: Units) -> None:
    """The ops of this module."""
    units.vectors |= {
        "init_align": _empty, "vldas": _empty, "vldus": _vldus, "vstus": _vstus, "vstas": _vstas,
        "vstur": _vstur, "vstar": _vstar, "sprclr": _sprclr}  # fmt: skip
