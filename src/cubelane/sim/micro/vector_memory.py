"""Loads and stores of the vector unit: distributions, gather and scatter, memory barriers (spec/pto.md 11.3, 11.9).

Inside a scope a load may overtake a store to the same bytes unless a `mem_bar` stands between; that is reported.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import MaskType, VregType
from cubelane.sim.micro.elements import Array, DType, dtype_of, element_of
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Lane, Units, Vector, not_modelled
from cubelane.sim.micro.registers import BYTES, Register, word

BLOCK = 32
ORDERS_LOADS = ("VV_ALL", "VST_VLD")
ORDERS_STORES = ("VV_ALL", "VST_VST")
Values = Sequence[Any]


def _hazard(lane: Lane, place: int, what: str, barrier: str) -> None:
    board = lane.core.group.board
    finding = Diagnostic(
        f"{lane.agent.name}: {what} in the same vector scope, and no memory barrier orders them",
        board.where(place),
        (f"missing: pto.mem_bar(pto.BarrierType.{barrier}) between the two",),
        code="scope-order",
    )
    board.add(finding, place, barrier)


def fetch(lane: Lane, place: int, start: int, size: int) -> tuple[Array, Array | None]:
    """Bytes of UB as they lie there (not a copy), and which are undefined."""
    memory, end = lane.memory, start + size
    if start < 0 or end > memory.size:
        memory.check(Region(start, size))
    lane.reads.append((start, size, place))
    if lane.fresh_for_loads.holds(start, end):
        _hazard(lane, place, "loads bytes that a store wrote", "VST_VLD")
    if memory.known.find(0, start, end) < 0:
        return memory.data[start:end], None
    assert memory.defined is not None
    return memory.data[start:end], ~memory.defined[start:end]


def put(lane: Lane, place: int, start: int, data: Array, undefined: Array | None = None) -> None:
    """Bytes to UB."""
    memory, size = lane.memory, data.size
    end = start + size
    if start < 0 or end > memory.size:
        memory.check(Region(start, size))
    lane.writes.append((start, size, place))
    if lane.fresh_for_stores.holds(start, end):
        _hazard(lane, place, "stores to bytes that a store wrote", "VST_VST")
    lane.fresh_for_loads.add(start, end)
    lane.fresh_for_stores.add(start, end)
    memory.data[start:end] = data
    memory.known[start:end] = b"\1" * size if undefined is None else (~undefined).tobytes()


def _mem_bar(op: PtoOp) -> Vector:
    kind = word(op, "kind")
    loads, stores = kind in ORDERS_LOADS, kind in ORDERS_STORES

    def run(lane: Lane, place: int, values: Values) -> None:
        if loads:
            lane.fresh_for_loads.clear()
        if stores:
            lane.fresh_for_stores.clear()

    return run


def _register(data: Array, undefined: Array | None, kind: DType) -> Register:
    mark = None if undefined is None else np.asarray(undefined.reshape(-1, kind.itemsize).any(axis=1))
    return Register(data.view(kind), mark)


def _check(address: int, unit: int) -> None:
    if address % unit:
        raise Fault(f"ub address {address} is not a multiple of {unit} bytes", code="alignment")


# --- loads ----------------------------------------------------------------------------------------------------

Arrange = Callable[[Array], Array]


def _load_form(name: str, size: int) -> tuple[int, int, Arrange]:
    """Bytes to read, alignment, and how they fill a register; element arrays in, element arrays out."""
    lanes = BYTES // size
    if name in ("", "NORM"):
        return BYTES, BLOCK, lambda e: e
    if name == "BRC_BLK":
        return BLOCK, BLOCK, lambda e: np.tile(e, BYTES // BLOCK)
    base = name.rpartition("_B")[0]
    forms: dict[str, tuple[int, int, Arrange]] = {
        "BRC": (size, size, lambda e: np.repeat(e, lanes)),
        "US": (BYTES // 2, BLOCK, lambda e: np.repeat(e, 2)),
        "DS": (2 * BYTES, BLOCK, lambda e: e[::2]),
        "UNPK": (BYTES // 2, BLOCK, lambda e: _unpacked(e, 2)),
        "UNPK4": (BYTES // 4, BLOCK, lambda e: _unpacked(e, 4)),
        "E2B": (8 * size, size * 8, lambda e: np.repeat(e, BLOCK // size)),
    }
    if base not in forms:
        raise Fault(f"the load distribution {name} is not modelled", code="not-modelled")
    return forms[base]


def _unpacked(elements: Array, times: int) -> Array:
    """Elements followed by zero bytes: the narrow element widened without sign."""
    wide = np.zeros((elements.size, times), elements.dtype)
    wide[:, 0] = elements
    return wide.reshape(-1)


def _distribution(op: Operation) -> str:
    return word(op, "dist").upper()


def _vlds(op: PtoOp) -> Vector:
    kind = op.results[0].type
    assert isinstance(kind, VregType)
    target, source = dtype_of(kind.element), dtype_of(element_of(op.operands[0].type))
    name = _distribution(op)
    narrow = np.dtype(f"u{_narrow(name, target)}")
    try:
        size, unit, arrange = _load_form(name, narrow.itemsize)
    except Fault as problem:
        raise not_modelled(op, f"the distribution {name}") from problem
    post, plain = len(op.results) > 1, name in ("", "NORM")

    def run(lane: Lane, place: int, values: Values) -> Any:
        step = values[1] * source.itemsize
        start = values[0] if post else values[0] + step
        if start % unit:
            _check(start, unit)
        data, undefined = fetch(lane, place, start, size)
        if plain and undefined is None:
            found = Register(data.view(target).copy())
            return (found, values[0] + step) if post else found
        mark = None
        if undefined is not None:
            mark = arrange(np.asarray(undefined.reshape(-1, narrow.itemsize).any(axis=1)))
            mark = np.repeat(mark, narrow.itemsize)
        data = arrange(data.view(narrow))
        found = _register(np.array(data).view(np.uint8), mark, target)
        return (found, values[0] + step) if post else found

    return run


def _narrow(name: str, target: DType) -> int:
    """The width of the elements that a distribution moves."""
    tail = name.rpartition("_B")[2]
    if name.startswith("UNPK4"):
        return 1
    if name.startswith("UNPK"):
        return int(tail) // 8 if tail.isdigit() else target.itemsize // 2
    return int(tail) // 8 if tail.isdigit() else target.itemsize


def _vldsx2(op: PtoOp) -> Vector:
    kind = dtype_of(element_of(op.results[0].type))
    source = dtype_of(element_of(op.operands[0].type))
    name = _distribution(op)
    if name.startswith("BDINTLV"):
        size = BLOCK
    elif name.startswith("DINTLV"):
        size = int(name.rpartition("_B")[2]) // 8
    else:
        raise not_modelled(op, f"the distribution {name}")
    post = len(op.results) > 2

    def run(lane: Lane, place: int, values: Values) -> Any:
        step = values[1] * source.itemsize
        start = values[0] if post else values[0] + step
        _check(start, BLOCK)
        data, undefined = fetch(lane, place, start, 2 * BYTES)
        found = [
            _register(
                _every_second(data, size, i), None if undefined is None else _every_second(undefined, size, i), kind
            )
            for i in (0, 1)
        ]
        return (*found, values[0] + step) if post else tuple(found)

    return run


def _every_second(data: Array, size: int, first: int) -> Array:
    return np.ascontiguousarray(data.reshape(-1, 2, size)[:, first]).reshape(-1)


def _vgather(op: PtoOp) -> Vector:
    """One element for each lane at base + index; inactive lanes are zero."""
    kind, source = dtype_of(element_of(op.results[0].type)), dtype_of(element_of(op.operands[0].type))

    def run(lane: Lane, place: int, values: Values) -> Register:
        base, index, mask = values
        result = np.zeros(BYTES // kind.itemsize, kind)
        for i in np.flatnonzero(mask[: result.size]):
            data, _ = fetch(lane, place, base + int(index.data[i]) * source.itemsize, source.itemsize)
            result[i] = data.view(source)[0]
        return Register(result)

    return run


def _vgatherb(op: PtoOp) -> Vector:
    """Eight blocks at the byte offsets of the first eight lanes."""
    kind = dtype_of(element_of(op.results[0].type))

    def run(lane: Lane, place: int, values: Values) -> Register:
        base, index, _ = values
        blocks = [fetch(lane, place, base + int(index.data[i]), BLOCK)[0] for i in range(BYTES // BLOCK)]
        return Register(np.concatenate(blocks).view(kind))

    return run


def _vsldb(op: PtoOp) -> Vector:
    """Eight blocks at a stride; blocks without an active lane are zero."""
    kind = dtype_of(element_of(op.results[0].type))

    def run(lane: Lane, place: int, values: Values) -> Register:
        base, block_stride, repeat_stride, mask = values
        result = np.zeros((BYTES // BLOCK, BLOCK), np.uint8)
        for i in np.flatnonzero(mask.reshape(BYTES // BLOCK, -1).any(axis=1)):
            start = base + (repeat_stride + int(i) * block_stride) * BLOCK
            result[i] = fetch(lane, place, start, BLOCK)[0]
        return Register(result.reshape(-1).view(kind))

    return run


# --- stores ---------------------------------------------------------------------------------------------------


def _masked(lane: Lane, place: int, start: int, elements: Array, mask: Array, undefined: Array | None) -> None:
    """Elements where the mask holds, in runs."""
    size = elements.itemsize
    raw = elements.view(np.uint8)
    mark = None if undefined is None else np.repeat(undefined, size)
    for low, high in lane.core.runs_of(mask):
        a, b = low * size, high * size
        put(lane, place, start + a, raw[a:b], None if mark is None else mark[a:b])


def _vsts(op: PtoOp) -> Vector:
    kind = op.operands[0].type
    assert isinstance(kind, VregType)
    target = dtype_of(element_of(op.operands[1].type))
    name, post = _distribution(op), bool(op.results)
    base = name.rpartition("_B")[0] if "_B" in name else name
    if base not in ("", "NORM", "1PT", "PK", "PK4"):
        raise not_modelled(op, f"the distribution {name}")
    size = dtype_of(kind.element).itemsize
    packed = {"PK": 2, "PK4": 4}.get(base, 1)
    tail = name.rpartition("_B")[2]
    wide = int(tail) // 8 if packed > 1 and tail.isdigit() else size

    def run(lane: Lane, place: int, values: Values) -> Any:
        value, pointer, offset, mask = values
        step = offset * target.itemsize
        start = pointer if post else pointer + step
        if base == "1PT":
            put(lane, place, start, np.ascontiguousarray(value.data[:1]).view(np.uint8),
                None if value.undefined is None else np.repeat(value.undefined[:1], size))  # fmt: skip
        else:
            if start % BLOCK:
                _check(start, BLOCK)
            data, undefined = value.data, value.undefined
            if packed > 1:
                data = np.ascontiguousarray(np.ascontiguousarray(data).view(f"u{wide // packed}")[::packed])
                undefined = None if undefined is None else undefined[:: max(undefined.size // data.size, 1)]
            active = mask if mask.size == data.size else mask[:: mask.size // data.size]
            _masked(lane, place, start, np.ascontiguousarray(data), active, undefined)
        return pointer + step if post else None

    return run


def _vstsx2(op: PtoOp) -> Vector:
    target = dtype_of(element_of(op.operands[2].type))
    name, post = _distribution(op), bool(op.results)
    if not name.startswith("INTLV"):
        raise not_modelled(op, f"the distribution {name}")

    def run(lane: Lane, place: int, values: Values) -> Any:
        low, high, pointer, offset = values[:4]
        step = offset * target.itemsize
        start = pointer if post else pointer + step
        _check(start, BLOCK)
        both = np.stack([low.data, high.data], 1).reshape(-1)
        marks = [np.zeros(r.data.size, np.bool_) if r.undefined is None else r.undefined for r in (low, high)]
        undefined = np.repeat(np.stack(marks, 1).reshape(-1), both.itemsize)
        put(lane, place, start, np.ascontiguousarray(both).view(np.uint8), undefined if undefined.any() else None)
        return pointer + step if post else None

    return run


def _vscatter(op: PtoOp) -> Vector:
    target = dtype_of(element_of(op.operands[1].type))

    def run(lane: Lane, place: int, values: Values) -> None:
        value, base, index, mask = values
        for i in np.flatnonzero(mask[: value.data.size]):
            element = np.ascontiguousarray(value.data[i : i + 1]).view(np.uint8)[: target.itemsize]
            put(lane, place, base + int(index.data[i]) * target.itemsize, element)

    return run


def _vsstb(op: PtoOp) -> Vector:
    def run(lane: Lane, place: int, values: Values) -> None:
        value, base, block_stride, repeat_stride, mask = values
        blocks = np.ascontiguousarray(value.data).view(np.uint8).reshape(BYTES // BLOCK, BLOCK)
        for i in np.flatnonzero(mask.reshape(BYTES // BLOCK, -1).any(axis=1)):
            put(lane, place, base + (repeat_stride + int(i) * block_stride) * BLOCK, blocks[i])

    return run


# --- predicates in memory -------------------------------------------------------------------------------------


def _plds(op: PtoOp) -> Vector:
    kind = op.results[0].type
    assert isinstance(kind, MaskType)

    def run(lane: Lane, place: int, values: Values) -> Array:
        start = values[0] + (values[1] if len(values) > 1 else 0)
        data, _ = fetch(lane, place, start, BLOCK)
        return np.unpackbits(data, bitorder="little").astype(np.bool_)[:: kind.bits // 8]

    return run


def _psts(op: PtoOp) -> Vector:
    kind = op.operands[0].type
    assert isinstance(kind, MaskType)

    def run(lane: Lane, place: int, values: Values) -> None:
        full = np.zeros(BYTES, np.bool_)
        full[:: kind.bits // 8] = values[0]
        put(lane, place, values[1] + (values[2] if len(values) > 2 else 0), np.packbits(full, bitorder="little"))

    return run


def register(units: Units) -> None:
    """The ops of this module."""
    units.vectors |= {
        "vlds": _vlds, "vldsx2": _vldsx2, "vgather2": _vgather, "vgatherb": _vgatherb, "vsldb": _vsldb, "vsts": _vsts,
        "vstsx2": _vstsx2, "vscatter": _vscatter, "vsstb": _vsstb, "plds": _plds, "pldi": _plds, "psts": _psts,
        "psti": _psts, "mem_bar": _mem_bar,
    }  # fmt: skip
