"""Flags, barriers, buffer tokens, cross-core signals, queries, scalar memory (spec/pto.md 2.7)."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.pto.attrs import EventAttr, PipeAttr
from cubelane.ir.pto.pipe_text import DST_PIPE, EVENT, MODE, PIPE, SRC_PIPE
from cubelane.ir.pto.rules import SIGNAL_PIPES
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.pto.table.sync import BARRIERS
from cubelane.ptodsl.errors import wrong_place, wrong_type, wrong_value
from cubelane.ptodsl.micro import check_bits, word_of
from cubelane.ptodsl.tracer import Tracer, tracing
from cubelane.ptodsl.types import INDEX, PointerType, ScalarType, pipe_of
from cubelane.ptodsl.values import Pointer, Scalar, as_scalar, unwrap_results

BarrierType = Enum("BarrierType", {name: name for name in BARRIERS})


def by_hand(what: str) -> Tracer:
    """The trace that is running; refuses hand-written synchronization beside an automatic one."""
    tracer = tracing(what)
    if tracer.spec.insert_sync:
        raise wrong_place(
            f"{what} is hand-written synchronization, but the kernel asks for automatic synchronization",
            "the two do not know of each other's flags",
            instead="drop insert_sync=True from @pto.jit, or all hand-written synchronization from the kernel",
            code="two-kinds-of-sync",
        )
    return tracer


def _flag(verb: str) -> Callable[..., None]:
    name = f"{verb}_flag"

    def call(src: object, dst: object, *, event_id: object = 0) -> None:
        tracer = by_hand(f"pto.{name}")
        properties: dict[str, Attribute] = {
            SRC_PIPE: PipeAttr.of(pipe_of(src)),
            DST_PIPE: PipeAttr.of(pipe_of(dst)),
        }
        if isinstance(event_id, Scalar):
            operands = [as_scalar(event_id, INDEX, "the event id")]
            tracer.emit(f"{name}_dyn", operands, properties=properties)
            return
        if not isinstance(event_id, int):
            raise wrong_type(f"the event id must be a number or a scalar, got {event_id!r}")
        number = check_bits(event_id, 0, 7, "a static event id")
        tracer.emit(name, properties={**properties, EVENT: EventAttr.new([StringAttr(f"EVENT_ID{number}")])})

    call.__doc__ = f"`pto.{name}(src, dst, *, event_id=0)`: ids 0 to 7, or a scalar."
    return call


set_flag, wait_flag = _flag("set"), _flag("wait")


def pipe_barrier(pipe: object) -> None:
    """`pto.pipe_barrier(pipe)`: earlier work of the queue completes before later work of it; ALL drains the core."""
    by_hand("pto.pipe_barrier").emit("barrier", properties={PIPE: PipeAttr.of(pipe_of(pipe))})


def mem_bar(kind: object) -> None:
    """`pto.mem_bar(BarrierType.X)`: orders loads and stores inside a vector scope."""
    word = word_of(kind)
    if word not in BARRIERS:
        raise wrong_value(f"unknown barrier {word!r}; expected one of {', '.join(BARRIERS)}")
    tracing("pto.mem_bar").emit("mem_bar", properties={"kind": StringAttr(word)})


def _buffer(name: str) -> Callable[..., None]:
    def call(pipe: object, buffer: object, mode: int = 0) -> None:
        tracer = by_hand(f"pto.{name}")
        properties: dict[str, Attribute] = {PIPE: PipeAttr.of(pipe_of(pipe)), MODE: IntegerAttr(mode, i64)}
        if isinstance(buffer, Scalar):
            tracer.emit(f"{name}_dyn", [as_scalar(buffer, INDEX, "the buffer id")], properties=properties)
            return
        if not isinstance(buffer, int):
            raise wrong_type(f"the buffer id must be a number or a scalar, got {buffer!r}")
        number = check_bits(buffer, 0, 31, "a static buffer id")
        tracer.emit(name, properties={**properties, EVENT: IntegerAttr(number, i64)})

    call.__doc__ = f"`pto.{name}(pipe, id, mode=0)`: ids 0 to 31, or a scalar."
    return call


get_buf, rls_buf = _buffer("get_buf"), _buffer("rls_buf")


def _signal(verb: str, what: str, pipes: tuple[Pipe, ...], high: int) -> Callable[..., None]:
    name = f"{verb}_{what}_flag"

    def call(pipe: object, event_id: object) -> None:
        tracer = by_hand(f"pto.{name}")
        queue = pipe_of(pipe)
        if queue not in pipes:
            legal = ", ".join(p.name for p in pipes)
            raise wrong_value(f"pto.{name}: queue {queue.name} cannot signal another core; legal queues are {legal}")
        properties: dict[str, Attribute] = {PIPE: PipeAttr.of(queue)}
        operands: list[SSAValue] = []
        if isinstance(event_id, Scalar):
            operands = [as_scalar(event_id, INDEX, "the signal id")]
        elif isinstance(event_id, int):
            properties[EVENT] = IntegerAttr(check_bits(event_id, 0, high, "a signal id"), i64)
        else:
            raise wrong_type(f"the signal id must be a number or a scalar, got {event_id!r}")
        tracer.emit(f"sync.{verb}", operands, properties=properties)

    call.__doc__ = f"`pto.{name}(pipe, id)`: ids 0 to {high}."
    return call


set_cross_flag, wait_cross_flag = (_signal(verb, "cross", (Pipe.FIX,), 7) for verb in ("set", "wait"))
set_intra_flag, wait_intra_flag = (_signal(verb, "intra", SIGNAL_PIPES, 31) for verb in ("set", "wait"))


def load_scalar(pointer: object, offset: object = 0) -> Any:
    """`pto.load_scalar(p, i)`: one element, read by the scalar unit."""
    if not isinstance(pointer, Pointer):
        raise wrong_type(f"pto.load_scalar needs a pointer, got {pointer!r}")
    operands = [pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.load_scalar")]
    return unwrap_results(tracing("pto.load_scalar").emit("load_scalar", operands, [_element(pointer).attribute]))


def store_scalar(value: object, pointer: object, offset: object = 0) -> None:
    """`pto.store_scalar(v, p, i)`: one element, written by the scalar unit."""
    if not isinstance(pointer, Pointer):
        raise wrong_type(f"pto.store_scalar needs a pointer, got {pointer!r}")
    stored = as_scalar(value, _element(pointer), "the value of pto.store_scalar")
    operands = [stored, pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.store_scalar")]
    tracing("pto.store_scalar").emit("store_scalar", operands)


def _element(pointer: Pointer) -> ScalarType:
    kind: PointerType = pointer.type
    return kind.element
