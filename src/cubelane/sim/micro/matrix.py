"""The matrix unit on fractal layouts: loads into L0 and mad (spec/pto.md 11.6, 11.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import ml_dtypes
import numpy as np

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.types import Hif8Type
from cubelane.sim.micro.agents import Agent
from cubelane.sim.micro.cluster import MACHINES, Core
from cubelane.sim.micro.elements import Array, DType, dtype_of, element_of, is_float
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Decode, Units, not_modelled
from cubelane.sim.micro.timing import Price, product, transfer
from cubelane.sim.micro.transfers import UNIT, Operands, aligned
from cubelane.targets.rates import Rates

FRACTAL = 16
L0_ALIGNMENT = 512
Values = Sequence[Any]


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


# --- L1 to L0 -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FractalLoad:
    """Blocks of 16 rows x 32 bytes from L1 to L0; the right matrix may be transposed on the way.

    `high` rows and `wide` blocks; block columns lie `source_stride` and `target_stride` blocks of 16 rows apart.
    """

    source: int
    target: tuple[Space, int]
    high: int
    wide: int
    source_stride: int
    target_stride: int
    size: int
    transpose: bool
    zz: bool

    def price(self, rates: Rates) -> Price:
        """By the bytes copied."""
        return transfer(rates, Space.L1, self.target[0], self.high * self.wide * UNIT)

    def run(self, core: Core, agent: Agent, place: int) -> None:
        """Copies the blocks."""
        space, address = self.target
        aligned(self.source, UNIT, "l1")
        aligned(address, L0_ALIGNMENT, space.value)
        who = agent.who(place)
        column = FRACTAL * UNIT
        read = _columns(self.source, self.high * UNIT, self.wide, self.source_stride * column)
        memory, region = core.at(Space.L1, read)
        data, defined = memory.read(region, who)
        shaped = [
            None if part is None else _placed(part, self.high, self.wide, self.size, self.transpose, self.zz)
            for part in (data, defined)
        ]
        assert shaped[0] is not None
        memory, region = core.at(space, self._written(shaped[0].size))
        memory.write(region, shaped[0], who, shaped[1])

    def _written(self, total: int) -> Region:
        """Dense, unless the block columns of the target lie further apart."""
        if self.zz:
            return Region(self.target[1], total)
        turned = _up(self.wide * (UNIT // self.size), FRACTAL) if self.transpose else self.high
        return _columns(self.target[1], turned * UNIT, total // (turned * UNIT), self.target_stride * FRACTAL * UNIT)


def _columns(start: int, length: int, count: int, stride: int) -> Region:
    return (
        Region(start, length * count) if stride == length or count == 1 else Region(start, length, ((count, stride),))
    )


def is_transposed(op: PtoOp) -> bool:
    """Whether a load transposes."""
    return str(op.attributes.get("transpose", "false")).split(" ")[0] in ("true", "1")


def _load(op: PtoOp, arch: str) -> Decode:
    """The blocks of a logical m x k or k x n tile; start positions count 16 rows and 32 bytes."""
    operands, right = Operands(op), op.decl.name == "mte_l1_l0b"
    size = dtype_of(element_of(op.operands[0].type)).itemsize
    transpose = is_transposed(op)
    zz = not right and not MACHINES[arch].l0a_is_nz
    if transpose and not right:
        raise not_modelled(op, "a transposed load")
    target = Space.L0B if right else Space.L0A

    def decode(core: Core, values: Values) -> FractalLoad:
        k, other = operands.name(values, "k"), operands.name(values, "n" if right else "m")
        rows, columns = (k, other) if transpose else (other, k)
        high, wide = _up(rows, FRACTAL), -(-columns * size // UNIT)
        row, column = operands.name(values, "start_row"), operands.name(values, "start_col")
        start = values[0] + row * FRACTAL * UNIT + column * high * UNIT
        stride = _up(other, FRACTAL) // FRACTAL
        return FractalLoad(start, (target, values[1]), high, wide, high // FRACTAL, stride, size, transpose, zz)

    return decode


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


@dataclass(frozen=True)
class Product:
    """dst[m, n] = sum over k of lhs[m, k] * rhs[k, n], in f32 (i32 for integers).

    `pointers` are lhs, rhs, dst and, for a product with bias, the bias. `adds` keeps what the accumulator holds;
    `tf32` rounds f32 operands ("even", "away" or ""); `saturates` makes the operands finite; `gemv` lets a left
    operand of one row lie as a plain row.
    """

    pointers: Sequence[int]
    m: int
    n: int
    k: int
    left: DType
    right: DType
    result: DType
    adds: bool = False
    tf32: str = ""
    saturates: bool = False
    gemv: bool = True
    zz: bool = False

    def price(self, rates: Rates) -> Price:
        """By the blocks of the cube."""
        return product(rates, self.m, self.n, self.k, self.left.itemsize)

    def run(self, core: Core, agent: Agent, place: int) -> None:
        """Multiplies."""
        m, n, k, pointers = self.m, self.n, self.k, self.pointers
        if min(m, n, k) < 1 or max(m, n, k) > 4095:
            raise Fault(f"the extents of a product are 1 to 4095, got {m} x {n} x {k}", code="extent")
        unit = _Unit(core, agent, place)
        if self.gemv and m == 1:
            a = unit.plain(pointers[0], k, self.left)
        else:
            a = unit.left(pointers[0], m, k, self.left, self.zz)
        b = unit.right(pointers[1], k, n, self.right)
        if self.tf32:
            a, b = _tf32(a, self.tf32), _tf32(b, self.tf32)
        if self.saturates:
            a, b = _saturated(a), _saturated(b)
        accumulate = np.float32 if is_float(self.left) else np.int32
        sums: Array = a.astype(accumulate, copy=False) @ b.astype(accumulate, copy=False)
        if len(pointers) > 3:
            sums = sums + unit.bias(pointers[3], n, self.result)
        unit.accumulate(pointers[2], m, n, sums.astype(self.result), self.adds)


def matrix_kinds(op: PtoOp) -> tuple[DType, DType, DType]:
    """The element types of a product."""
    if any(isinstance(element_of(op.operands[i].type), Hif8Type) for i in (0, 1)):
        raise not_modelled(op, "hif8 operands")
    left, right, result = (dtype_of(element_of(op.operands[i].type)) for i in (0, 1, 2))
    return left, right, result


def _mad(op: PtoOp, arch: str) -> Decode:
    operands, kinds = Operands(op), matrix_kinds(op)
    adds, tf32 = op.decl.name.endswith("acc"), op.clause_args("tf32_mode")
    rounding = tf32[0][0].removeprefix("round_") if tf32 else ""
    saturates, gemv = bool(op.clause_args("sat")), not op.clause_args("disable_gemv")
    zz = not MACHINES[arch].l0a_is_nz
    pointers = [operands.names[name] for name in ("lhs", "rhs", "dst", "bias") if name in operands.names]

    def decode(core: Core, values: Values) -> Product:
        m, n, k = (operands.name(values, name) for name in ("m", "n", "k"))
        return Product([values[i] for i in pointers], m, n, k, *kinds, adds, rounding, saturates, gemv, zz)

    return decode


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


def _tf32(values: Array, rounding: str) -> Array:
    """f32 with ten bits of mantissa; halves go to the even neighbour, or away from zero."""
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    half = np.uint64(1) if rounding == "away" else (bits >> np.uint64(13)) & np.uint64(1)
    rounded = (bits + np.uint64(0xFFF) + half) & np.uint64(0xFFFFE000)
    return rounded.astype(np.uint32).view(np.float32).reshape(values.shape)


def _saturated(values: Array) -> Array:
    wide = values.astype(np.float32)
    limit = largest(values.dtype)
    known: Array = np.nan_to_num(wide, nan=0.0, posinf=limit, neginf=-limit)
    return np.clip(known, -limit, limit)


def largest(kind: DType) -> float:
    """The largest finite number of a float type."""
    return float(cast(Any, ml_dtypes).finfo(kind).max)


def register(units: Units) -> None:
    """The ops of this module."""
    for name in ("mte_l1_l0a", "mte_l1_l0b"):
        units.queues[name] = _load
    for name in ("mad", "mad_acc", "mad_bias"):
        units.queues[name] = _mad
