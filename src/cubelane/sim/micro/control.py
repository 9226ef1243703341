"""What the scalar unit does itself: queries, scalar memory, flags, signals, barriers (spec/pto.md 11.1, 11.3, 11.4)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr

from cubelane.ir.pto.attrs import EventAttr
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.pipe_text import DST_PIPE, EVENT, MODE, PIPE, SRC_PIPE, pipe_property
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.pto.types import space_of
from cubelane.sim.micro.agents import Blocking
from cubelane.sim.micro.cluster import Core
from cubelane.sim.micro.elements import dtype_of, element_of
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Control, Units, not_modelled
from cubelane.sim.micro.timing import Price

Values = Sequence[Any]


def _pipe(op: PtoOp, name: str) -> Pipe:
    pipe = pipe_property(op, name)
    assert pipe is not None
    return pipe


def _static_event(op: PtoOp) -> int | None:
    event = op.properties.get(EVENT)
    if isinstance(event, EventAttr):
        return int(event.word.data.removeprefix("EVENT_ID"))
    return event.value.data if isinstance(event, IntegerAttr) else None


def _set_flag(op: PtoOp, arch: str) -> Control:
    source, target, static = _pipe(op, SRC_PIPE), _pipe(op, DST_PIPE), _static_event(op)

    def run(core: Core, place: int, values: Values) -> None:
        core.set_flag(source, target, values[0] if static is None else static, place)

    return run


def _wait_flag(op: PtoOp, arch: str) -> Control:
    source, target, static = _pipe(op, SRC_PIPE), _pipe(op, DST_PIPE), _static_event(op)

    def run(core: Core, place: int, values: Values) -> Blocking | None:
        return core.wait_flag(source, target, values[0] if static is None else static, place)

    return run


def _signal(op: PtoOp, arch: str) -> Control:
    pipe, static, sets = _pipe(op, PIPE), _static_event(op), op.decl.name == "sync.set"

    def run(core: Core, place: int, values: Values) -> Blocking | None:
        number = values[0] if static is None else static
        return core.signal(pipe, number, place) if sets else core.await_signal(pipe, number, place)

    return run


def _base_of_signals(op: PtoOp, arch: str) -> Control:
    def run(core: Core, place: int, values: Values) -> None:
        core.registers[op.decl.name] = tuple(values)

    return run


def _barrier(op: PtoOp, arch: str) -> Control:
    pipe = _pipe(op, PIPE)
    return lambda core, place, values: core.barrier(pipe, place)


def _drain(op: PtoOp, arch: str) -> Control:
    """Fences over everything: the program waits until the queues of its core are empty."""
    return lambda core, place, values: core.barrier(Pipe.ALL, place)


def _trap(op: PtoOp, arch: str) -> Control:
    def run(core: Core, place: int, values: Values) -> None:
        raise Fault(f"{core.scalar.name} stops here", code="trap")

    return run


def _buffer(op: PtoOp, arch: str) -> Control:
    pipe, static, gets = _pipe(op, PIPE), _static_event(op), op.decl.name.startswith("get")
    stored = op.properties.get(MODE)
    mode = stored.value.data if isinstance(stored, IntegerAttr) else 0

    def run(core: Core, place: int, values: Values) -> None:
        number = values[0] if static is None else static
        if not 0 <= number <= 31:
            raise Fault(f"buffer id {number} is out of range; legal ids are 0 to 31", code="buffer-id")
        (core.get_buffer if gets else core.release_buffer)(pipe, number, mode, place)

    return run


def _query(op: PtoOp, arch: str) -> Control:
    answers: dict[str, Callable[[Core], int]] = {
        "get_block_idx": lambda core: core.group.number,
        "get_block_num": lambda core: core.group.groups,
        "get_subblock_idx": lambda core: core.lane or 0,
        "get_subblock_num": lambda core: max(core.group.lanes, 1),
    }
    answer = answers[op.decl.name]
    return lambda core, place, values: answer(core)


def _load(op: PtoOp, arch: str) -> Control:
    space, kind = space_of(op.operands[0]), dtype_of(element_of(op.operands[0].type))
    if space is None:
        raise not_modelled(op, "an operand without a memory")

    def run(core: Core, place: int, values: Values) -> Any:
        memory, region = core.at(space, Region(values[0] + values[1] * kind.itemsize, kind.itemsize))
        data, defined = memory.read(region, core.scalar.who(place))
        core.scalar.touched()
        core.group.watch.work(core.scalar, place, Price(core.group.watch.rates.scalar))
        if defined is not None:
            core.group.board.undefined(core.scalar, place, "reads bytes")
        value = data.view(kind)[0]
        return bool(value) if kind == np.bool_ else int(value) if kind.kind in "iu" else value

    return run


def _store(op: PtoOp, arch: str) -> Control:
    space, kind = space_of(op.operands[1]), dtype_of(element_of(op.operands[1].type))
    if space is None:
        raise not_modelled(op, "an operand without a memory")

    def run(core: Core, place: int, values: Values) -> None:
        value, start, offset = values
        memory, region = core.at(space, Region(start + offset * kind.itemsize, kind.itemsize))
        memory.write(region, np.array([value], kind).view(np.uint8), core.scalar.who(place))
        core.scalar.touched()
        core.group.watch.work(core.scalar, place, Price(core.group.watch.rates.scalar))

    return run


def _get_control(op: PtoOp, arch: str) -> Control:
    return lambda core, place, values: core.control


def _set_control(op: PtoOp, arch: str) -> Control:
    def run(core: Core, place: int, values: Values) -> None:
        core.control = values[0]

    return run


def register(units: Units) -> None:
    """The ops of this module."""
    units.controls |= {
        "set_flag": _set_flag, "set_flag_dyn": _set_flag, "wait_flag": _wait_flag, "wait_flag_dyn": _wait_flag,
        "sync.set": _signal, "sync.wait": _signal, "barrier": _barrier, "load_scalar": _load, "store_scalar": _store,
        "ld_dev": _load, "st_dev": _store, "dsb": _drain, "fence.barrier_all": _drain, "trap": _trap,
        "set_ffts": _base_of_signals, "get_ctrl": _get_control, "set_ctrl": _set_control,
    }  # fmt: skip
    for name in ("get_buf", "rls_buf", "get_buf_dyn", "rls_buf_dyn"):
        units.controls[name] = _buffer
    for name in ("get_block_idx", "get_block_num", "get_subblock_idx", "get_subblock_num"):
        units.controls[name] = _query
