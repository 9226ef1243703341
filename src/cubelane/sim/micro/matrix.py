"""The matrix unit on fractal layouts: loads into L0, mad, the way out (spec/pto.md 11.6 to 11.8)."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Pipe, Space
from cubelane.ir.pto.types import Hif8Type
from cubelane.sim.micro.agents import Agent
from cubelane.sim.micro.cluster import MACHINES, Core
from cubelane.sim.micro.elements import Array, DType, dtype_of, element_of, is_float
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Issue, Units, not_modelled
from cubelane.sim.micro.transfers import UNIT, Operands, aligned

FRACTAL = 16
L0_ALIGNMENT = 512
Values = Sequence[Any]


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


# --- L1 to L0 -------------------------------------------------------------------------------------------------


def _load(op: PtoOp, arch: str) -> tuple[Pipe, Issue]:
    """Blocks of 16 rows x 32 bytes, copied densely; the right matrix may be transposed on the way."""
    operands, right = Operands(op), op.decl.name == "mte_l1_l0b"
    kind = dtype_of(element_of(op.operands[0].type))
    transpose = str(op.attributes.get("transpose", "false")).split(" ")[0] in ("true", "1")
    zz = not right and not MACHINES[arch].l0a_is_nz
    if transpose and not right:
        raise not_modelled(op, "a transposed load")
    target = Space.L0B if right else Space.L0A

    def run(core: Core, agent: Agent, place: int, values: Values) -> None:
        k, other = operands.name(values, "k"), operands.name(values, "n" if right else "m")
        rows, columns = (k, other) if transpose else (other, k)
        high, wide = _up(rows, FRACTAL), -(-columns * kind.itemsize // UNIT)
        row, column = operands.name(values, "start_row"), operands.name(values, "start_col")
        start = values[0] + row * FRACTAL * UNIT + column * high * UNIT
        aligned(values[0], UNIT, "l1")
        aligned(values[1], L0_ALIGNMENT, target.value)
        who = agent.who(place)
        memory, region = core.at(Space.L1, Region(start, high * wide * UNIT))
        data, defined = memory.read(region, who)
        shaped = [None if part is None else _placed(part, high, wide, kind.itemsize, transpose, zz)
                  for part in (data, defined)]  # fmt: skip
        assert shaped[0] is not None
        memory, region = core.at(target, Region(values[1], shaped[0].size))
        memory.write(region, shaped[0], who, shaped[1])

    return Pipe.MTE1, run


def _placed(data: Array, high: int, wide: int, size: int, transpose: bool, zz: bool) -> Array:
    """[column block][row][32 bytes] as the target has it."""
    if zz:
        return data.reshape(wide, high // FRACTAL, FRACTAL * UNIT).transpose(1, 0, 2).reshape(-1)
    if not transpose:
        return data
    lanes = UNIT // size
    whole = data.reshape(wide, high, lanes, size).transpose(1, 0, 2, 3).reshape(high, wide * lanes, size)
    turned_high, turned_wide = _up(wide * lanes, FRACTAL), -(-high // lanes)
    padded = np.zeros((turned_high, turned_wide * lanes, size), data.dtype)
    padded[: wide * lanes, :high] = whole.transpose(1, 0, 2)
    return padded.reshape(turned_high, turned_wide, lanes, size).transpose(1, 0, 2, 3).reshape(-1)


# --- mad ------------------------------------------------------------------------------------------------------


def _mad(op: PtoOp, arch: str) -> tuple[Pipe, Issue]:
    """dst[m, n] = sum over k of lhs[m, k] * rhs[k, n], in f32 (i32 for integers)."""
    operands = Operands(op)
    if any(isinstance(element_of(op.operands[i].type), Hif8Type) for i in (0, 1)):
        raise not_modelled(op, "hif8 operands")
    left, right = (dtype_of(element_of(op.operands[i].type)) for i in (0, 1))
    result = dtype_of(element_of(op.operands[2].type))
    adds, has_bias = op.decl.name.endswith("acc"), "has_bias" in op.decl.tags
    tf32, saturates = bool(op.clause_args("tf32_mode")), bool(op.clause_args("sat"))
    gemv = not op.clause_args("disable_gemv")
    zz = not MACHINES[arch].l0a_is_nz

    def run(core: Core, agent: Agent, place: int, values: Values) -> None:
        m, n, k = (operands.name(values, name) for name in ("m", "n", "k"))
        if min(m, n, k) < 1 or max(m, n, k) > 4095:
            raise Fault(f"the extents of a product are 1 to 4095, got {m} x {n} x {k}", code="extent")
        unit = _Unit(core, agent, place)
        if gemv and m == 1:
            a = unit.plain(values[0], k, left)
        else:
            a = unit.left(values[0], m, k, left, zz)
        b = unit.right(values[1], k, n, right)
        if tf32:
            a, b = _tf32(a), _tf32(b)
        if saturates:
            a, b = _saturated(a), _saturated(b)
        accumulate = np.float32 if is_float(left) else np.int32
        product: Array = a.astype(accumulate) @ b.astype(accumulate)
        if has_bias:
            product = product + unit.bias(values[operands.names["bias"]], n, result)
        unit.accumulate(values[2], m, n, product.astype(result), adds)

    return Pipe.M, run


class _Unit:
    """The matrix unit at one op: reads operands out of their layouts."""

    def __init__(self, core: Core, agent: Agent, place: int):
        self.core, self.agent, self.place, self.who = core, agent, place, agent.who(place)

    def _fetch(self, space: Space, start: int, size: int) -> tuple[Array, Array | None]:
        memory, region = self.core.at(space, Region(start, size))
        return memory.read(region, self.who)

    def _used(self, defined: Array | None, what: str) -> None:
        if defined is not None and not defined.all():
            self.core.group.board.undefined(self.agent, self.place, f"multiplies bytes of {what}")

    def left(self, start: int, m: int, k: int, kind: DType, zz: bool) -> Array:
        """An m x k matrix out of L0A."""
        lanes = UNIT // kind.itemsize
        high, wide = _up(m, FRACTAL), -(-k // lanes)
        aligned(start, L0_ALIGNMENT, "l0a")
        data, defined = self._fetch(Space.L0A, start, high * wide * UNIT)
        if defined is not None:
            self._used(_matrix(defined, high, wide, kind.itemsize, zz)[:m, : k * kind.itemsize], "l0a")
        whole = _matrix(data, high, wide, kind.itemsize, zz)
        return np.ascontiguousarray(whole).view(kind)[:m, :k]

    def right(self, start: int, k: int, n: int, kind: DType) -> Array:
        """A k x n matrix out of L0B, which holds n rows of k."""
        lanes = UNIT // kind.itemsize
        high, wide = _up(n, FRACTAL), -(-k // lanes)
        aligned(start, L0_ALIGNMENT, "l0b")
        data, defined = self._fetch(Space.L0B, start, high * wide * UNIT)
        if defined is not None:
            self._used(_matrix(defined, high, wide, kind.itemsize, False)[:n, : k * kind.itemsize], "l0b")
        whole = _matrix(data, high, wide, kind.itemsize, False)
        return np.ascontiguousarray(whole).view(kind)[:n, :k].T

    def plain(self, start: int, k: int, kind: DType) -> Array:
        """A row as it lies, for a product with one row."""
        data, defined = self._fetch(Space.L0A, start, k * kind.itemsize)
        self._used(defined, "l0a")
        return data.view(kind)[None, :]

    def bias(self, start: int, n: int, kind: DType) -> Array:
        """A row of the bias table."""
        data, defined = self._fetch(Space.BT, start, n * kind.itemsize)
        self._used(defined, "bt")
        return data.view(kind)[None, :]

    def accumulate(self, start: int, m: int, n: int, product: Array, adds: bool) -> None:
        """Writes or adds to L0C; lanes beyond m x n stay undefined."""
        high, wide = _up(m, FRACTAL), -(-n // FRACTAL)
        aligned(start, L0_ALIGNMENT, "l0c")
        kind = product.dtype
        row = FRACTAL * kind.itemsize
        memory, region = self.core.at(Space.L0C, Region(start, row, ((wide, high * row), (m, row))))
        boxed = np.zeros((m, wide * FRACTAL), kind)
        boxed[:, :n] = product
        boxed = boxed.reshape(m, wide, FRACTAL).transpose(1, 0, 2)
        known = np.zeros((m, wide * FRACTAL), np.bool_)
        known[:, :n] = True
        bytes_known = np.repeat(known.reshape(m, wide, FRACTAL).transpose(1, 0, 2), kind.itemsize, axis=2)
        if adds:
            data, defined = memory.read(region, self.who)
            if defined is not None and (bytes_known & ~defined).any():
                self.core.group.board.undefined(self.agent, self.place, "adds to bytes of l0c")
            boxed = boxed + np.ascontiguousarray(data).view(kind)
        memory.write(region, np.ascontiguousarray(boxed).view(np.uint8), self.who, bytes_known)


def _matrix(data: Array, high: int, wide: int, size: int, zz: bool) -> Array:
    """The bytes of a fractal matrix, row by row."""
    if zz:
        blocks = data.reshape(high // FRACTAL, wide, FRACTAL, UNIT).transpose(0, 2, 1, 3)
        return blocks.reshape(high, wide * UNIT)
    return data.reshape(wide, high, UNIT).transpose(1, 0, 2).reshape(high, wide * UNIT)


def _tf32(values: Array) -> Array:
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    even = (bits >> np.uint64(13)) & np.uint64(1)
    rounded = (bits + np.uint64(0xFFF) + even) & np.uint64(0xFFFFE000)
    return rounded.astype(np.uint32).view(np.float32).reshape(values.shape)


def _saturated(values: Array) -> Array:
    wide = values.astype(np.float32)
    limit = _largest(values.dtype)
    known: Array = np.nan_to_num(wide, nan=0.0, posinf=limit, neginf=-limit)
    return np.clip(known, -limit, limit)


def _largest(kind: DType) -> float:
    return float(cast(Any, ml_dtypes).finfo(kind).max)


# --- out of the accumulator -----------------------------------------------------------------------------------

_RELU: dict[str, Callable[[Array, Any], Array]] = {
    "normal_relu": lambda x, _: np.maximum(x, 0),
    "scalar_relu": lambda x, alpha: np.where(x >= 0, x, x * alpha),
}
_QUANT = ("f32_f16", "f32_bf16", "no_quant", "none")


def _words(op: PtoOp, clause: str) -> dict[str, str]:
    args = op.clause_args(clause)
    words = [word.partition("=") for word in (args[0] if args else [])]
    return {key: value for key, sign, value in words if sign}


class _Fixpipe:
    """One way out: what is read, what is done to it, where it goes."""

    def __init__(self, op: PtoOp):
        self.op, self.operands = op, Operands(op)
        self.source = dtype_of(element_of(op.operands[0].type))
        self.target = dtype_of(element_of(op.operands[1].type))
        self.relu = _words(op, "pre_relu").get("mode", "none")
        quant = _words(op, "pre_quant").get("mode", "none").lower()
        if quant not in _QUANT or self.relu not in (*_RELU, "none", "no_relu"):
            raise not_modelled(op, f"the mode '{quant if quant not in _QUANT else self.relu}'")
        self.saturates = bool(op.clause_args("sat"))
        self.layout = next((name for name in ("nz2dn", "nz2nz") if op.clause_args(name)), "nz2nd")
        if self.layout == "nz2nz" and self.target.itemsize != 4:
            raise not_modelled(op, "nz2nz to elements other than 32 bits")
        self.clip = "clip=%" in [w for args in op.clause_args("pre_relu") for w in args]
        self.split = next((w for args in op.clause_args("dst_mode") for w in args if w.startswith("split")), None)
        self.to_lane = any(args == ["%"] for args in op.clause_args("dst_mode"))
        self.atomic = _words(op, "atomic").get("op")

    def run(self, core: Core, agent: Agent, place: int, values: Values) -> None:
        """Moves one accumulator tile."""
        operands = self.operands
        m, n = operands.name(values, "m"), operands.name(values, "n")
        rows, stride = operands.name(values, "src_stride"), operands.name(values, "dst_stride")
        loop = operands.clause(values, "loop3") or [1, 0, 0]
        for repeat in range(loop[0]):
            start = values[0] + repeat * loop[1] * FRACTAL * self.source.itemsize
            data, defined = self._read(core, agent, place, start, m, n, rows)
            data = self._transformed(data, values)
            base = values[1] + repeat * loop[2] * self.target.itemsize
            for owner, part, known in self._parts(core, data, defined, values):
                self._write(core, owner, agent, place, base, part, known, stride)

    def _read(self, core: Core, agent: Agent, place: int, start: int, m: int, n: int, rows: int) -> tuple[Array, Any]:
        row, wide = FRACTAL * self.source.itemsize, -(-n // FRACTAL)
        memory, region = core.at(Space.L0C, Region(start, row, ((wide, rows * row), (m, row))))
        data, defined = memory.read(region, agent.who(place))
        whole = np.ascontiguousarray(data).view(self.source).transpose(1, 0, 2).reshape(m, wide * FRACTAL)[:, :n]
        if defined is None:
            return whole, None
        known = defined[:, :, :: self.source.itemsize].transpose(1, 0, 2).reshape(m, wide * FRACTAL)[:, :n]
        return whole, None if known.all() else known

    def _transformed(self, data: Array, values: Values) -> Array:
        payload = self.operands.clause(values, "pre_relu") or []
        if self.relu in _RELU:
            data = _RELU[self.relu](data, payload[0] if payload and self.relu == "scalar_relu" else None)
        if self.clip:
            data = np.minimum(data, payload[-1])
        if self.saturates and is_float(self.target) and self.target != self.source:
            limit = _largest(self.target)
            data = np.clip(np.nan_to_num(data, nan=0.0, posinf=limit, neginf=-limit), -limit, limit)
        return data.astype(self.target)

    def _parts(self, core: Core, data: Array, known: Any, values: Values) -> list[tuple[Core, Array, Any]]:
        """Who gets which part of the tile."""
        lanes = core.group.vector
        if self.split is None:
            if not self.to_lane:
                return [(core, data, known)]
            number = (self.operands.clause(values, "dst_mode") or [0])[0]
            if not 0 <= number < len(lanes):
                raise Fault(f"lane {number} does not run in this launch", code="lane")
            return [(lanes[number], data, known)]
        if len(lanes) != 2:
            raise Fault(f"a split destination needs two vector lanes, this launch runs {len(lanes)}", code="lane")
        axis = 0 if self.split == "split_m" else 1
        halves = np.split(data, 2, axis)
        defined = [None, None] if known is None else np.split(known, 2, axis)
        return [(lane, half, part) for lane, half, part in zip(lanes, halves, defined, strict=True)]

    def _write(self, core: Core, owner: Core, agent: Agent, place: int, base: int, data: Array, known: Any,
               stride: int) -> None:  # fmt: skip
        space = self.op_space()
        size = self.target.itemsize
        if self.layout == "nz2dn":
            data, known = data.T, None if known is None else known.T
        if self.layout == "nz2nz":
            lanes = UNIT // size
            wide = -(-data.shape[1] // lanes)
            boxed = np.zeros((data.shape[0], wide * lanes), self.target)
            boxed[:, : data.shape[1]] = data
            data = boxed.reshape(data.shape[0], wide, lanes).transpose(1, 0, 2)
            region = Region(base, UNIT, ((wide, stride * UNIT), (data.shape[1], UNIT)))
            known = None
        else:
            region = Region(base, data.shape[1] * size, ((data.shape[0], stride * size),))
        if space is not Space.GM:
            aligned(base, UNIT, space.value)
        elif known is not None:
            core.group.board.undefined(agent, place, "writes bytes to global memory")
        who = agent.who(place)
        memory, local = owner.at(space, region)
        if self.atomic is not None:
            old = np.ascontiguousarray(memory.read(local, who)[0]).view(self.target)
            combine = {"add": np.add, "max": np.maximum, "min": np.minimum}[self.atomic]
            data = combine(old, data)
        defined = None if known is None else np.repeat(known, size, axis=1)
        memory.write(local, np.ascontiguousarray(data).view(np.uint8), who, defined)

    def op_space(self) -> Space:
        """The memory of the destination."""
        return {"mte_l0c_ub": Space.UB, "mte_l0c_l1": Space.L1, "mte_l0c_gm": Space.GM}[self.op.decl.name]


def _fixpipe(op: PtoOp, arch: str) -> tuple[Pipe, Issue]:
    return Pipe.FIX, _Fixpipe(op).run


def register(units: Units) -> None:
    """The ops of this module."""
    for name in ("mte_l1_l0a", "mte_l1_l0b"):
        units.queues[name] = _load
    for name in ("mad", "mad_acc", "mad_bias"):
        units.queues[name] = _mad
    for name in ("mte_l0c_ub", "mte_l0c_l1", "mte_l0c_gm"):
        units.queues[name] = _fixpipe
