"""Memory transfers: bursts with strides, padding, the change to the fractal layout (spec/pto.md 11.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cubelane.ir.pto.clauses import clause_entries, operands_in
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.types import space_of
from cubelane.sim.micro.agents import Agent
from cubelane.sim.micro.cluster import Core
from cubelane.sim.micro.elements import Array, DType, dtype_of, element_of
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Decode, Units, not_modelled
from cubelane.sim.micro.timing import Price, transfer
from cubelane.targets.rates import Rates

UNIT = 32
"""Bytes of a block; lengths of transfers between on-chip memories count in these."""

Values = Sequence[Any]


class Operands:
    """Where the operands of an op with clauses lie in its operand list."""

    def __init__(self, op: PtoOp):
        self.op = op
        self.names = {slot.name: i for i, (slot, _) in enumerate(op.placed_operands())}
        self._next = len(self.names)
        self.clauses: dict[str, list[list[int]]] = {}
        for name, count in _clause_sizes(op):
            positions = list(range(self._next, self._next + count))
            self.clauses.setdefault(name, []).append(positions)
            self._next += count

    def name(self, values: Values, name: str) -> int:
        """The value of a named operand."""
        return values[self.names[name]]

    def clause(self, values: Values, name: str) -> list[Any] | None:
        """The values of the first clause of a name."""
        found = self.clauses.get(name)
        return None if not found else [values[i] for i in found[0]]


def _clause_sizes(op: PtoOp) -> list[tuple[str, int]]:
    return [(entry[0], operands_in(entry)) for entry in clause_entries(op)]


def spaces(op: PtoOp) -> tuple[Space, Space]:
    """The memories of source and destination."""
    source, target = space_of(op.operands[0]), space_of(op.operands[1])
    if source is None or target is None:
        raise not_modelled(op, "operands without a memory")
    return source, target


def aligned(address: int, unit: int, what: str) -> None:
    """A Fault unless an address is a multiple of a unit."""
    if address % unit:
        raise Fault(f"{what} address {address} is not a multiple of {unit} bytes", code="alignment")


def copy(core: Core, agent: Agent, place: int, source: tuple[Space, Region], target: tuple[Space, Region],
         target_core: Core | None = None) -> None:  # fmt: skip
    """Copies bytes between memories; undefined ones stay undefined, but may not reach global memory."""
    if source[1].is_empty:
        return
    who = agent.who(place)
    memory, region = core.at(*source)
    data, defined = memory.read(region, who)
    memory, region = (target_core or core).at(*target)
    if defined is not None and target[0] is Space.GM:
        core.group.board.undefined(agent, place, "writes bytes to global memory")
    memory.write(region, data, who, defined)


# --- bursts ---------------------------------------------------------------------------------------------------

Dims = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Burst:
    """Rows of `length` bytes; `source_dims` and `target_dims` are (count, stride from start to start), outer first.

    `pad` fills whole rows of the target with a value first; `left` elements of it stay in front of the data.
    """

    source: tuple[Space, int]
    target: tuple[Space, int]
    length: int
    source_dims: Dims
    target_dims: Dims
    pad: Any = None
    left: int = 0
    owner: Core | None = None
    """The core whose memory is the target, if it is another one."""

    def price(self, rates: Rates) -> Price:
        """By the bytes moved."""
        return transfer(rates, self.source[0], self.target[0], self.length * _count(self.source_dims))

    def run(self, core: Core, agent: Agent, place: int) -> None:
        """Moves the bytes."""
        for space, start in (self.source, self.target):
            if space is not Space.GM:
                aligned(start, UNIT, space.value)
        start = self.target[1]
        if self.pad is not None:
            _pad(core, agent, place, start, self.target_dims, self.target_dims[-1][1], self.pad)
            start += self.left * self.pad.itemsize
        copy(
            core, agent, place,
            (self.source[0], _region(self.source[1], self.length, self.source_dims)),
            (self.target[0], _region(start, self.length, self.target_dims)),
            self.owner,
        )  # fmt: skip


def _burst(op: PtoOp, arch: str) -> Decode:
    """Rows of bytes with start-to-start strides; every loop repeats the whole."""
    operands, (source, target) = Operands(op), spaces(op)
    element = dtype_of(element_of(op.operands[1].type))
    to_lane = op.decl.name == "mte_l1_ub"

    def decode(core: Core, values: Values) -> Burst:
        count, source_stride, target_stride = operands.clause(values, "nburst") or [1, 0, 0]
        length = operands.name(values, "len")
        loops = [[values[i] for i in positions] for positions in operands.clauses.get("loop", [])]
        source_dims = (*((n, s) for n, s, _ in loops), (count, source_stride))
        target_dims = (*((n, d) for n, _, d in loops), (count, target_stride))
        pad = operands.clause(values, "pad")
        value, left = (None, 0) if pad is None else (element.type(pad[0]), pad[1] if len(pad) > 1 else 0)
        owner = ub_owner(core) if to_lane else None
        return Burst(
            (source, values[0]), (target, values[1]), length, source_dims, target_dims, value, left, owner
        )  # fmt: skip

    return decode


def ub_owner(core: Core) -> Core | None:
    """The lane whose UB a transfer of the cube core reaches."""
    return core.group.vector[0] if core.lane is None and core.group.vector else None


def _count(dims: Dims) -> int:
    return prod(max(count, 0) for count, _ in dims)


def _region(start: int, length: int, dims: Dims) -> Region:
    kept = tuple((count, stride) for count, stride in dims if count != 1)
    if len(kept) == 1 and kept[0][1] == length:
        return Region(start, length * kept[0][0])
    return Region(start, length, kept)


def _pad(core: Core, agent: Agent, place: int, start: int, dims: Dims, width: int, value: Any) -> None:
    """Fills whole rows of the destination; the data is copied over them."""
    if width <= 0:
        return
    aligned(width, UNIT, "a padded row:")
    memory, region = core.at(Space.UB, Region(start, width, dims))
    shape = (*(count for count, _ in dims), width // value.itemsize)
    memory.write(region, np.full(shape, value).view(np.uint8), agent.who(place))


@dataclass(frozen=True)
class Blocks:
    """A transfer between on-chip memories: length and gaps in blocks of 32 bytes, gaps from end to start."""

    source: tuple[Space, int]
    target: tuple[Space, int]
    count: int
    length: int
    source_gap: int
    target_gap: int
    kinds: tuple[DType, DType] | None = None
    """Element types when the elements widen on the way."""

    def price(self, rates: Rates) -> Price:
        """By the bytes moved."""
        return transfer(rates, self.source[0], self.target[0], self.count * self.length * UNIT)

    def run(self, core: Core, agent: Agent, place: int) -> None:
        """Moves the blocks."""
        for space, start in (self.source, self.target):
            aligned(start, UNIT, space.value)
        length = self.length * UNIT
        first = _region(self.source[1], length, ((self.count, length + self.source_gap * UNIT),))
        if self.kinds is not None:
            _widen(core, agent, place, (self.source[0], first), self.target, self.kinds)
            return
        second = _region(self.target[1], length, ((self.count, length + self.target_gap * UNIT),))
        copy(core, agent, place, (self.source[0], first), (self.target[0], second))


def widened(op: PtoOp) -> tuple[DType, DType] | None:
    """The element types of a transfer into the bias table that widens f16 or bf16; None when it does not."""
    before, after = (dtype_of(element_of(op.operands[i].type)) for i in (0, 1))
    return (before, after) if before.itemsize < after.itemsize else None


def _units(op: PtoOp, arch: str) -> Decode:
    operands, (source, target) = Operands(op), spaces(op)
    kinds = widened(op) if "conv" in op.decl.tags else None

    def decode(core: Core, values: Values) -> Blocks:
        count, source_gap, target_gap = operands.clause(values, "nburst") or [1, 0, 0]
        length = operands.name(values, "len")
        return Blocks((source, values[0]), (target, values[1]), count, length, source_gap, target_gap, kinds)

    return decode


def _widen(core: Core, agent: Agent, place: int, source: tuple[Space, Region], target: tuple[Space, int],
           kinds: tuple[DType, DType]) -> None:  # fmt: skip
    """The bias table holds f32: f16 and bf16 widen on the way."""
    who = agent.who(place)
    memory, region = core.at(*source)
    data, defined = memory.read(region, who)
    wide = np.ascontiguousarray(data).reshape(-1).view(kinds[0]).astype(kinds[1]).view(np.uint8)
    memory, region = core.at(target[0], Region(target[1], wide.size))
    known = None if defined is None else np.repeat(defined.reshape(-1), kinds[1].itemsize // kinds[0].itemsize)
    memory.write(region, wide, who, known)


# --- layout ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fractal:
    """GM to L1 in the fractal layout: rows become columns of 32-byte blocks; missing lanes of the last one are zero.

    `inner` and `outer` are strides of the source in bytes; the steps of rows, blocks and groups in the target count
    32 bytes. `by_columns`: the source lies column by column.
    """

    source: int
    target: int
    rows: int
    columns: int
    inner: int
    outer: int
    count: int
    row_step: int
    block_step: int
    group_step: int
    size: int
    by_columns: bool

    def price(self, rates: Rates) -> Price:
        """By the bytes read."""
        return transfer(rates, Space.GM, Space.L1, self.count * self.rows * self.columns * self.size)

    def run(self, core: Core, agent: Agent, place: int) -> None:
        """Moves the groups."""
        aligned(self.target, UNIT, "l1")
        who, size, rows, columns = agent.who(place), self.size, self.rows, self.columns
        blocks = -(-columns * size // UNIT)
        dims = ((blocks, self.block_step * UNIT), (rows, self.row_step * UNIT))
        for group in range(self.count):
            start = self.source + group * self.outer
            if self.by_columns:
                region = Region(start, rows * size, ((columns, self.inner),))
            else:
                region = Region(start, columns * size, ((rows, self.inner),))
            memory, local = core.at(Space.GM, region)
            data, _ = memory.read(local, who)
            if self.by_columns:
                data = data.reshape(columns, rows, size).transpose(1, 0, 2).reshape(rows, columns * size)
            target = Region(self.target + group * self.group_step * UNIT, UNIT, dims)
            memory, local = core.at(Space.L1, target)
            memory.write(local, _blocks(data, rows, blocks), who)


def no_small_channels(flag: bool) -> None:
    """Refuses the mode for few channels."""
    if flag:
        raise Fault("smallc0 is not modelled", code="not-modelled")


def _fractal(op: PtoOp, arch: str) -> Decode:
    operands = Operands(op)
    size = dtype_of(element_of(op.operands[0].type)).itemsize
    by_columns = bool(op.clause_args("dn2nz"))

    def decode(core: Core, values: Values) -> Fractal:
        rows, columns = operands.clause(values, "shape") or [0, 0]
        layout = operands.clause(values, "src_layout") or [0]
        no_small_channels((operands.clause(values, "ctrl") or [0, False])[1])
        inner, outer = (*layout, 0)[:2]
        count, row, block, group = operands.clause(values, "dst_group") or [1, 1, rows, 0]
        return Fractal(
            values[0], values[1], rows, columns, inner, outer, count, row, block, group, size, by_columns
        )  # fmt: skip

    return decode


def _blocks(data: Array, rows: int, blocks: int) -> Array:
    """Rows of bytes as [block][row][32]."""
    wide = np.zeros((rows, blocks * UNIT), np.uint8)
    wide[:, : data.shape[-1]] = data.reshape(rows, -1)
    return wide.reshape(rows, blocks, UNIT).transpose(1, 0, 2)


def register(units: Units) -> None:
    """The transfers of this module."""
    for name in ("mte_gm_ub", "mte_ub_gm", "mte_gm_l1", "mte_l1_ub"):
        units.queues[name] = _burst
    for name in ("mte_ub_ub", "mte_ub_l1", "mte_l1_bt", "mte_l1_fb"):
        units.queues[name] = _units
    units.queues["mte_gm_l1_frac"] = _fractal
