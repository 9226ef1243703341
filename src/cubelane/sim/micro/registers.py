"""Vector registers and what ops on them mean (spec/pto.md 11.9). Predicates are boolean arrays, one entry a lane."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import MaskType, VregType
from cubelane.sim.micro.elements import Array, DType, dtype_of, element_of, is_float
from cubelane.sim.micro.memory import Fault
from cubelane.sim.micro.program import Lane, Units, Vector, not_modelled

BYTES = 256
Values = Sequence[Any]


class Register:
    """256 bytes. `undefined` marks lanes that nobody gave a value; None when there are none."""

    __slots__ = ("data", "undefined")

    def __init__(self, data: Array, undefined: Array | None = None):
        self.data, self.undefined = data, undefined


def word(op: Operation, name: str, default: str = "") -> str:
    """A string of an op, wherever it is stored."""
    found = op.properties.get(name, op.attributes.get(name))
    return found.data if isinstance(found, StringAttr) else default


def _spread(values: Values, registers: Sequence[bool]) -> Array | None:
    """The lanes that are undefined in some register."""
    result: Array | None = None
    for value, is_register in zip(values, registers, strict=True):
        if is_register and value.undefined is not None and (result is None or value.undefined.size == result.size):
            result = value.undefined if result is None else result | value.undefined
    return result


_NUMPY: dict[str, Any] = {
    name: getattr(np, name) for name in ("abs", "exp", "log", "sqrt", "maximum", "minimum", "where", "trunc")
}


def _lanewise(op: PtoOp) -> Vector:
    """An op whose entry gives its meaning as a NumPy expression; inactive lanes become zero."""
    names = [slot.name for slot, _ in op.placed_operands()]
    assert op.decl.lanes is not None
    compute = eval(f"lambda {', '.join(names)}: {op.decl.lanes}", dict(_NUMPY))
    kind = op.results[0].type
    mask_at = names.index("mask") if "mask" in names and "mask" not in op.decl.lanes else None
    if isinstance(kind, MaskType):
        return lambda lane, place, v: compute(*v) if mask_at is None else compute(*v) & v[mask_at]
    target = dtype_of(element_of(kind))
    if op.decl.name == "vdiv" and not is_float(target):
        compute = _truncated_quotient
    registers = [isinstance(operand.type, VregType) for operand in op.operands]
    scalars = [not isinstance(operand.type, VregType | MaskType) for operand in op.operands]
    lanes, zero, make = BYTES // target.itemsize, target.type(0), target.type

    def run(lane: Lane, place: int, values: Values) -> Register:
        raw = [v.data if r else make(v) if s else v for v, r, s in zip(values, registers, scalars, strict=True)]
        result = compute(*raw)
        if result.shape != (lanes,):
            result = np.broadcast_to(result, (lanes,))
        if result.dtype != target:
            result = result.astype(target)
        undefined = _spread(values, registers)
        if mask_at is not None and lane.core.runs_of(raw[mask_at]) != [(0, lanes)]:
            result = np.where(raw[mask_at], result, zero)
            undefined = None if undefined is None else undefined & raw[mask_at]
        return Register(result, undefined)

    return run


def _truncated_quotient(lhs: Array, rhs: Array, mask: Array) -> Array:
    return np.trunc(lhs / rhs)


def _trunc(op: PtoOp) -> Vector:
    rounding = _rounding(word(op, "rnd", "Z"), op)

    def run(lane: Lane, place: int, values: Values) -> Any:
        source, mask = values[0], values[1] if len(values) > 1 else True
        result = np.where(mask, rounding(source.data.astype(np.float32)), 0).astype(source.data.dtype)
        return Register(result, source.undefined)

    return run


# --- predicates -----------------------------------------------------------------------------------------------


def _lanes(bits: int) -> int:
    return BYTES * 8 // bits


def pattern(text: str, count: int) -> Array:
    """The lanes of a pattern. H and Q are the first half and quarter."""
    name = text.removeprefix("PAT_")
    lanes = np.arange(count)
    if name.startswith("VL"):
        return lanes < int(name[2:])
    found = {
        "ALL": lanes >= 0, "ALLF": lanes < 0, "H": lanes < count // 2, "Q": lanes < count // 4,
        "M3": lanes % 3 == 0, "M4": lanes % 4 == 0,
    }.get(name)  # fmt: skip
    if found is None:
        raise Fault(f"unknown mask pattern {text}", code="not-modelled")
    return found


def _bits(op: PtoOp) -> int:
    kind = op.results[0].type
    assert isinstance(kind, MaskType)
    return kind.bits


def _pset(op: PtoOp) -> Vector:
    mask = pattern(word(op, "pattern"), _lanes(_bits(op)))
    return lambda lane, place, values: mask


def _plt(op: PtoOp) -> Vector:
    lanes = np.arange(_lanes(_bits(op)))
    return lambda lane, place, values: (lanes < values[0], max(values[0] - lanes.size, 0))


def _pltm(op: PtoOp) -> Vector:
    lanes = np.arange(_lanes(_bits(op)))
    return lambda lane, place, values: lanes + values[0] * lanes.size < values[1]


def _pcast(op: PtoOp) -> Vector:
    """The same 256 bits at another granularity."""
    source = op.operands[0].type
    assert isinstance(source, MaskType)
    before, after = source.bits, _bits(op)

    def run(lane: Lane, place: int, values: Values) -> Array:
        full = np.zeros(BYTES, np.bool_)
        full[:: before // 8] = values[0]
        return full[:: after // 8]

    return run


def _pack(op: PtoOp) -> Vector:
    """`ppack`: every second bit into one half; `punpack`: back."""
    upper = word(op, "half", "LOWER").upper() in ("HIGHER", "UPPER")
    packs, before, after = op.decl.name == "ppack", op.operands[0].type, _bits(op)
    assert isinstance(before, MaskType)
    bits = before.bits

    def run(lane: Lane, place: int, values: Values) -> Array:
        full = np.zeros(BYTES, np.bool_)
        full[:: bits // 8] = values[0]
        result, half = np.zeros(BYTES, np.bool_), slice(BYTES // 2, None) if upper else slice(0, BYTES // 2)
        if packs:
            result[half] = full[::2]
        else:
            result[::2] = full[half]
        return result[:: after // 8]

    return run


def _compare(op: PtoOp) -> Vector:
    compare: Callable[[Any, Any], Array] = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal
    }[word(op, "mode")]  # fmt: skip

    def run(lane: Lane, place: int, values: Values) -> Array:
        left, right, mask = values
        if isinstance(right, Register):
            return compare(left.data, right.data) & mask
        return compare(left.data, left.data.dtype.type(right)) & mask

    return run


def _interleave(op: PtoOp) -> Vector:
    apart = op.decl.name.startswith(("vd", "pd"))

    def one(low: Array, high: Array) -> tuple[Array, Array]:
        if apart:
            both = np.concatenate([low, high])
            return both[::2], both[1::2]
        both = np.stack([low, high], 1).reshape(-1)
        return both[: low.size], both[low.size :]

    def run(lane: Lane, place: int, values: Values) -> Any:
        if not isinstance(values[0], Register):
            return one(values[0], values[1])
        results = one(values[0].data, values[1].data)
        marks = [np.zeros(v.data.size, np.bool_) if v.undefined is None else v.undefined for v in values[:2]]
        known = one(*marks) if any(v.undefined is not None for v in values[:2]) else (None, None)
        return tuple(Register(r, u) for r, u in zip(results, known, strict=True))

    return run


# --- making and converting ------------------------------------------------------------------------------------


def _result_kind(op: PtoOp) -> tuple[DType, int]:
    kind = op.results[0].type
    assert isinstance(kind, VregType)
    return dtype_of(kind.element), kind.lanes.data


def _vbr(op: PtoOp) -> Vector:
    kind, lanes = _result_kind(op)
    return lambda lane, place, values: Register(np.full(lanes, kind.type(values[0])))


def _vdup(op: PtoOp) -> Vector:
    kind, lanes = _result_kind(op)
    highest = word(op, "position", "LOWEST").upper() in ("HIGHEST", "POS_HIGHEST")

    def run(lane: Lane, place: int, values: Values) -> Register:
        source = values[0]
        undefined = None
        if isinstance(source, Register):
            index = lanes - 1 if highest else 0
            scalar = source.data[index]
            if source.undefined is not None and source.undefined[index]:
                undefined = np.ones(lanes, np.bool_)
        else:
            scalar = kind.type(source)
        data = np.full(lanes, scalar)
        if len(values) > 1:
            data = np.where(values[1], data, kind.type(0))
        return Register(data, undefined)

    return run


def _vci(op: PtoOp) -> Vector:
    kind, lanes = _result_kind(op)
    sign = -1 if word(op, "order", "ASC").upper().endswith("DESC") else 1
    return lambda lane, place, values: Register((values[0] + sign * np.arange(lanes)).astype(kind))


def _vbitcast(op: PtoOp) -> Vector:
    kind, _ = _result_kind(op)

    def run(lane: Lane, place: int, values: Values) -> Register:
        source = values[0]
        undefined = source.undefined
        if undefined is not None:
            whole = np.repeat(undefined, source.data.itemsize)
            undefined = np.asarray(whole.reshape(-1, kind.itemsize).any(axis=1))
        return Register(np.ascontiguousarray(source.data).view(kind), undefined)

    return run


def _rounding(text: str, op: PtoOp) -> Callable[[Array], Array]:
    found: dict[str, Callable[[Array], Array]] = {
        "R": np.rint, "A": lambda x: np.trunc(x + np.copysign(0.5, x)), "F": np.floor, "C": np.ceil, "Z": np.trunc,
    }  # fmt: skip
    name = text.upper().removeprefix("ROUND_").removeprefix("RND_")
    if name not in found:
        raise not_modelled(op, f"the rounding '{text}'")
    return found[name]


def _convert(data: Array, kind: DType, rounding: Callable[[Array], Array], saturates: bool) -> Array:
    if is_float(kind):
        return data.astype(kind)
    if is_float(data.dtype):
        data = rounding(np.nan_to_num(data.astype(np.float64), nan=0.0, posinf=2.0**62, neginf=-(2.0**62)))
    data = data.astype(np.int64)
    if saturates:
        info = np.iinfo(kind)
        data = np.clip(data, max(int(info.min), -(2**62)), min(int(info.max), 2**62))
    return data.astype(kind)


def _part(op: PtoOp) -> int:
    text = word(op, "part", "EVEN").upper().removeprefix("PART_")
    places = {"EVEN": 0, "ODD": 1, "P0": 0, "P1": 1, "P2": 2, "P3": 3}
    if text not in places:
        raise not_modelled(op, f"the part '{text}'")
    return places[text]


class _Conversion:
    """How elements of a register get another type; when the width changes, the narrow side uses some lanes only."""

    def __init__(self, op: PtoOp):
        self.kind, self.lanes = _result_kind(op)
        source = op.operands[0].type
        assert isinstance(source, VregType)
        before = source.lanes.data
        self.part, self.narrows = _part(op), self.lanes < before
        self.step = max(self.lanes, before) // min(self.lanes, before)
        self.rounding = _rounding(word(op, "rnd", "R"), op)
        self.saturates = word(op, "sat", "NOSAT").upper() == "SAT"

    def of(self, data: Array, undefined: Array | None, mask: Array | None) -> Register:
        """The converted register; inactive lanes are zero."""
        if self.narrows:
            data = data[self.part :: self.step]
            undefined = None if undefined is None else undefined[self.part :: self.step]
        result = _convert(data, self.kind, self.rounding, self.saturates)
        if mask is not None:
            active = mask if mask.size == result.size else mask[self.part :: self.step]
            result = np.where(active, result, self.kind.type(0))
        if self.narrows or self.step == 1:
            return Register(result, undefined)
        wide, mark = np.zeros(self.lanes, self.kind), None
        wide[self.part :: self.step] = result
        if undefined is not None:
            mark = np.zeros(self.lanes, np.bool_)
            mark[self.part :: self.step] = undefined
        return Register(wide, mark)


def _vcvt(op: PtoOp) -> Vector:
    conversion = _Conversion(op)

    def run(lane: Lane, place: int, values: Values) -> Register:
        source = values[0]
        return conversion.of(source.data, source.undefined, values[1] if len(values) > 1 else None)

    return run


def _fused(compute: Callable[[Array, Any], Array]) -> Callable[[PtoOp], Vector]:
    """An op that computes and converts the result."""

    def make(op: PtoOp) -> Vector:
        conversion = _Conversion(op)
        registers = [isinstance(operand.type, VregType) for operand in op.operands]

        def run(lane: Lane, place: int, values: Values) -> Register:
            left, right = values[0].data, values[1].data if registers[1] else values[0].data.dtype.type(values[1])
            mask = values[2] if len(values) > 2 else None
            return conversion.of(compute(left, right), _spread(values, registers), mask)

        return run

    return make


def _interleaved_half(op: PtoOp) -> Vector:
    """One of the two results of an interleave, chosen by its part."""
    both, half = _interleave(op), word(op, "part", "LOWER").upper().removeprefix("PART_")
    if half not in ("LOWER", "HIGHER", "UPPER"):
        raise not_modelled(op, f"the part '{half}'")
    return lambda lane, place, values: both(lane, place, values)[half != "LOWER"]


def register(units: Units, lanewise: Sequence[str]) -> None:
    """The ops of this module; `lanewise` are those whose entry in the table gives the meaning."""
    units.vectors |= dict.fromkeys(lanewise, _lanewise)
    units.vectors |= {
        "vbr": _vbr, "vdup": _vdup, "vci": _vci, "vbitcast": _vbitcast, "vcvt": _vcvt, "vtrc": _trunc,
        "vcmp": _compare, "vcmps": _compare, "vintlv": _interleave, "vdintlv": _interleave, "pbitcast": _pcast,
        "ppack": _pack, "punpack": _pack, "vintlvv2": _interleaved_half, "vdintlvv2": _interleaved_half,
        "vmulscvt": _fused(np.multiply), "vmulconv": _fused(np.multiply),
        "vaddreluconv": _fused(lambda left, right: np.maximum(left + right, 0)),
    }  # fmt: skip
    for width in (8, 16, 32):
        units.vectors |= {
            f"pset_b{width}": _pset, f"pge_b{width}": _pset, f"plt_b{width}": _plt, f"pltm_b{width}": _pltm,
            f"pintlv_b{width}": _interleave, f"pdintlv_b{width}": _interleave,
        }  # fmt: skip
