"""Vector ops that move values between lanes: reductions, compaction, carries, packing (spec/pto.md 11.9)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import VregType
from cubelane.sim.micro.elements import Array, DType, dtype_of, is_float
from cubelane.sim.micro.program import Lane, Units, Vector
from cubelane.sim.micro.registers import Register, word

GROUPS = 8
Values = Sequence[Any]


def _kind(op: PtoOp) -> tuple[DType, int]:
    kind = op.results[0].type
    assert isinstance(kind, VregType)
    return dtype_of(kind.element), kind.lanes.data


def _mark(source: Register, mask: Array, lanes: int, used: int) -> Array | None:
    """The first lanes of a reduction are undefined when an active input lane is."""
    if source.undefined is None or not (source.undefined & mask).any():
        return None
    mark = np.zeros(lanes, np.bool_)
    mark[:used] = True
    return mark


def _lowest(kind: DType) -> Any:
    return kind.type(-np.inf) if is_float(kind) else np.iinfo(kind).min


def _highest(kind: DType) -> Any:
    return kind.type(np.inf) if is_float(kind) else np.iinfo(kind).max


def _vcadd(op: PtoOp) -> Vector:
    """The sum of the active lanes, in lane 0."""
    kind, lanes = _kind(op)
    wide = np.float32 if is_float(kind) else np.int64

    def run(lane: Lane, place: int, values: Values) -> Register:
        source, mask = values[:2]
        result = np.zeros(lanes, kind)
        result[0] = np.where(mask, source.data, 0).astype(wide).sum().astype(kind)
        return Register(result, _mark(source, mask, lanes, 1))

    return run


def _extremum(op: PtoOp) -> Vector:
    """The largest or smallest active value in lane 0, the lane of the first one in lane 1."""
    kind, lanes = _kind(op)
    largest = op.decl.name.endswith("max")
    neutral = _lowest(kind) if largest else _highest(kind)

    def run(lane: Lane, place: int, values: Values) -> Register:
        source, mask = values[:2]
        seen = np.asarray(np.where(mask, source.data, neutral), kind)
        index = int(seen.argmax() if largest else seen.argmin())
        result = np.zeros(lanes, kind)
        result[0], result[1] = seen[index], kind.type(index) if is_float(kind) else index
        return Register(result, _mark(source, mask, lanes, 2))

    return run


def _by_group(op: PtoOp) -> Vector:
    """One result for each 32-byte group, in lanes 0 to 7."""
    kind, lanes = _kind(op)
    name = op.decl.name
    neutral = 0 if name == "vcgadd" else _lowest(kind) if name == "vcgmax" else _highest(kind)
    reduce: Any = {"vcgadd": np.sum, "vcgmax": np.max, "vcgmin": np.min}[name]
    wide = np.float32 if is_float(kind) else np.int64

    def run(lane: Lane, place: int, values: Values) -> Register:
        source, mask = values[:2]
        seen = np.asarray(np.where(mask, source.data, kind.type(neutral)), kind).reshape(GROUPS, -1)
        result = np.zeros(lanes, kind)
        result[:GROUPS] = reduce(seen.astype(wide), axis=1).astype(kind)
        return Register(result, _mark(source, mask, lanes, GROUPS))

    return run


def _prefix(op: PtoOp) -> Vector:
    kind, lanes = _kind(op)

    def run(lane: Lane, place: int, values: Values) -> Register:
        source, mask = values[:2]
        result = np.cumsum(np.where(mask, source.data, 0).astype(kind), dtype=kind)
        return Register(result, _mark(source, mask, lanes, lanes))

    return run


def _vsqz(op: PtoOp) -> Vector:
    """The active lanes, compacted to the front; the next `vstur` stores as many."""

    def run(lane: Lane, place: int, values: Values) -> Register:
        source, mask = values[:2]
        taken = source.data[mask]
        lane.core.stream.squeezed = taken.size
        result = np.zeros_like(source.data)
        result[: taken.size] = taken
        return Register(result, _mark(source, mask, result.size, taken.size))

    return run


def _vusqz(op: PtoOp) -> Vector:
    """How many lanes before each one are active."""
    kind, _ = _kind(op)

    def run(lane: Lane, place: int, values: Values) -> Register:
        mask = values[-1]
        return Register((np.cumsum(mask) - mask).astype(kind))

    return run


def _vmull(op: PtoOp) -> Vector:
    """The low and high halves of the 64-bit products."""
    kind, _ = _kind(op)
    wide = np.uint64 if kind.kind == "u" else np.int64

    def run(lane: Lane, place: int, values: Values) -> tuple[Register, Register]:
        left, right, mask = values
        product = np.where(mask, left.data.astype(wide) * right.data.astype(wide), 0)
        halves = np.ascontiguousarray(product).view(np.uint32).reshape(-1, 2)
        low, high = (np.ascontiguousarray(halves[:, i]).view(kind) for i in (0, 1))
        return Register(low, left.undefined), Register(high, left.undefined)

    return run


def _carry(op: PtoOp) -> Vector:
    """32-bit sums and differences with a carry; the carry of a difference means: no borrow."""
    kind, _ = _kind(op)
    subtracts, has_carry = op.decl.name.startswith("vsub"), op.decl.name.endswith("s")

    def run(lane: Lane, place: int, values: Values) -> tuple[Register, Array]:
        left, right = (np.ascontiguousarray(v.data).view(np.uint32).astype(np.int64) for v in values[:2])
        mask = values[-1]
        carry = values[2].astype(np.int64) if has_carry else np.int64(1 if subtracts else 0)
        total = left + (0xFFFFFFFF - right) + carry if subtracts else left + right + carry
        data = np.where(mask, total & 0xFFFFFFFF, 0).astype(np.uint32).view(kind)
        return Register(data), (total > 0xFFFFFFFF) & mask

    return run


def _vpack(op: PtoOp) -> Vector:
    """Elements truncated to half their width, into one half of the register."""
    kind, lanes = _kind(op)
    upper = word(op, "half", "LOWER").upper() in ("HIGHER", "UPPER")

    def run(lane: Lane, place: int, values: Values) -> Register:
        source = np.ascontiguousarray(values[0].data)
        narrow = source.view(np.uint8).reshape(source.size, -1)[:, : kind.itemsize]
        result = np.zeros(lanes, kind)
        half = slice(lanes // 2, None) if upper else slice(0, lanes // 2)
        result[half] = np.ascontiguousarray(narrow).reshape(-1).view(kind)
        return Register(result)

    return run


def _vunpack(op: PtoOp) -> Vector:
    """One half of the register, extended to twice the width."""
    kind, lanes = _kind(op)
    upper = word(op, "half", "LOWER").upper() in ("HIGHER", "UPPER")
    signed = op.decl.name == "vsunpack"

    def run(lane: Lane, place: int, values: Values) -> Register:
        source = values[0].data
        part = source[lanes:] if upper else source[:lanes]
        plain = np.ascontiguousarray(part).view(np.dtype(f"{'i' if signed else 'u'}{part.itemsize}"))
        return Register(plain.astype(np.dtype(f"{'i' if signed else 'u'}{kind.itemsize}")).view(kind))

    return run


def _vexpdif(op: PtoOp) -> Vector:
    """exp(a - m) in f32."""
    kind, lanes = _kind(op)

    def run(lane: Lane, place: int, values: Values) -> Register:
        source, top = values[:2]
        data = source.data[:: source.data.size // lanes].astype(np.float32)
        result: Array = np.exp(data - top.data[:: top.data.size // lanes].astype(np.float32)).astype(kind)
        if len(values) > 2:
            result = np.where(values[2][:: values[2].size // lanes], result, kind.type(0))
        return Register(result, None if source.undefined is None else source.undefined[:: source.data.size // lanes])

    return run


def register(units: Units) -> None:
    """The ops of this module."""
    units.vectors |= {
        "vcadd": _vcadd, "vcmax": _extremum, "vcmin": _extremum, "vcgadd": _by_group, "vcgmax": _by_group,
        "vcgmin": _by_group, "vcpadd": _prefix, "vsqz": _vsqz, "vusqz": _vusqz, "vmull": _vmull, "vaddc": _carry,
        "vsubc": _carry, "vaddcs": _carry, "vsubcs": _carry, "vpack": _vpack, "vsunpack": _vunpack,
        "vzunpack": _vunpack, "vexpdif": _vexpdif,
    }  # fmt: skip
