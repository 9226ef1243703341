"""Memory transfers: bursts with strides, padding, the change to the fractal layout (spec/pto.md 11.5)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cubelane.ir.pto.clauses import clause_entries, operands_in
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Pipe, Space
from cubelane.ir.pto.types import space_of
from cubelane.sim.micro.agents import Agent
from cubelane.sim.micro.cluster import Core
from cubelane.sim.micro.elements import Array, dtype_of, element_of
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Issue, Units, not_modelled

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


def _burst(op: PtoOp, arch: str) -> tuple[Pipe, Issue]:
    """Rows of bytes with start-to-start strides; every loop repeats the whole."""
    operands, (source, target) = Operands(op), spaces(op)
    assert op.decl.pipe is not None
    padded = bool(op.clause_args("pad"))
    width = dtype_of(element_of(op.operands[1].type)).itemsize
    element = dtype_of(element_of(op.operands[1].type))

    def run(core: Core, agent: Agent, place: int, values: Values) -> None:
        count, source_stride, target_stride = operands.clause(values, "nburst") or [1, 0, 0]
        length = operands.name(values, "len")
        loops = [[values[i] for i in positions] for positions in operands.clauses.get("loop", [])]
        starts = (values[0], values[1])
        for start, space in zip(starts, (source, target), strict=True):
            if space is not Space.GM:
                aligned(start, UNIT, space.value)
        source_dims = (*((n, s) for n, s, _ in loops), (count, source_stride))
        target_dims = (*((n, d) for n, _, d in loops), (count, target_stride))
        pad = operands.clause(values, "pad") if padded else None
        left = pad[1] * width if pad is not None and len(pad) > 1 else 0
        if pad is not None:
            _pad(core, agent, place, values[1], target_dims, target_stride, element.type(pad[0]))
        copy(core, agent, place, (source, _region(starts[0], length, source_dims)),
             (target, _region(starts[1] + left, length, target_dims)))  # fmt: skip

    return op.decl.pipe, run


def _region(start: int, length: int, dims: tuple[tuple[int, int], ...]) -> Region:
    kept = tuple((count, stride) for count, stride in dims if count != 1)
    if len(kept) == 1 and kept[0][1] == length:
        return Region(start, length * kept[0][0])
    return Region(start, length, kept)


def _pad(core: Core, agent: Agent, place: int, start: int, dims: tuple[tuple[int, int], ...], width: int,
         value: Any) -> None:  # fmt: skip
    """Fills whole rows of the destination; the data is copied over them."""
    if width <= 0:
        return
    aligned(width, UNIT, "a padded row:")
    memory, region = core.at(Space.UB, Region(start, width, dims))
    shape = (*(count for count, _ in dims), width // value.itemsize)
    memory.write(region, np.full(shape, value).view(np.uint8), agent.who(place))


def _units(op: PtoOp, arch: str) -> tuple[Pipe, Issue]:
    """Between on-chip memories: lengths and gaps in blocks of 32 bytes, gaps from end to start."""
    operands, (source, target) = Operands(op), spaces(op)
    assert op.decl.pipe is not None
    converts = "conv" in op.decl.tags
    kinds = [dtype_of(element_of(op.operands[i].type)) for i in (0, 1)]

    def run(core: Core, agent: Agent, place: int, values: Values) -> None:
        count, source_gap, target_gap = operands.clause(values, "nburst") or [1, 0, 0]
        length = operands.name(values, "len")
        for start, space in zip(values[:2], (source, target), strict=True):
            aligned(start, UNIT, space.value)
        first = _region(values[0], length * UNIT, ((count, (length + source_gap) * UNIT),))
        if converts and kinds[0].itemsize < kinds[1].itemsize:
            _widen(core, agent, place, (source, first), (target, values[1], length + target_gap), kinds)
            return
        second = _region(values[1], length * UNIT, ((count, (length + target_gap) * UNIT),))
        copy(core, agent, place, (source, first), (target, second), _ub_core(core, op))

    return op.decl.pipe, run


def _ub_core(core: Core, op: PtoOp) -> Core | None:
    return core.group.vector[0] if op.decl.name == "mte_l1_ub" and core.lane is None and core.group.vector else None


def _widen(core: Core, agent: Agent, place: int, source: tuple[Space, Region], target: tuple[Space, int, int],
           kinds: list[np.dtype[Any]]) -> None:  # fmt: skip
    """The bias table holds f32: f16 and bf16 widen on the way."""
    who = agent.who(place)
    memory, region = core.at(*source)
    data, defined = memory.read(region, who)
    wide = np.ascontiguousarray(data).reshape(-1).view(kinds[0]).astype(kinds[1]).view(np.uint8)
    memory, region = core.at(target[0], Region(target[1], wide.size))
    known = None if defined is None else np.repeat(defined.reshape(-1), 2)
    memory.write(region, wide, who, known)


# --- layout ---------------------------------------------------------------------------------------------------


def _fractal(op: PtoOp, arch: str) -> tuple[Pipe, Issue]:
    """GM to L1: rows become columns of 32-byte blocks; missing lanes of the last block are zero."""
    operands = Operands(op)
    size = dtype_of(element_of(op.operands[0].type)).itemsize
    by_columns = bool(op.clause_args("dn2nz"))

    def run(core: Core, agent: Agent, place: int, values: Values) -> None:
        rows, columns = operands.clause(values, "shape") or [0, 0]
        layout = operands.clause(values, "src_layout") or [0]
        count, row_step, column_step, group_step = operands.clause(values, "dst_group") or [1, 1, rows, 0]
        if (operands.clause(values, "ctrl") or [0, False])[1]:
            raise Fault("smallc0 is not modelled", code="not-modelled")
        aligned(values[1], UNIT, "l1")
        inner, outer = (*layout, 0)[:2]
        who = agent.who(place)
        for group in range(count):
            start = values[0] + group * outer
            if by_columns:
                region = Region(start, rows * size, ((columns, inner),))
            else:
                region = Region(start, columns * size, ((rows, inner),))
            memory, local = core.at(Space.GM, region)
            data, _ = memory.read(local, who)
            if by_columns:
                data = data.reshape(columns, rows, size).transpose(1, 0, 2).reshape(rows, columns * size)
            blocks = -(-columns * size // UNIT)
            dims = ((blocks, column_step * UNIT), (rows, row_step * UNIT))
            target = Region(values[1] + group * group_step * UNIT, UNIT, dims)
            memory, local = core.at(Space.L1, target)
            memory.write(local, _blocks(data, rows, blocks), who)

    return Pipe.MTE2, run


def _blocks(data: Array, rows: int, blocks: int) -> Array:
    """Rows of bytes as [block][row][32]."""
    wide = np.zeros((rows, blocks * UNIT), np.uint8)
    wide[:, : data.shape[-1]] = data.reshape(rows, -1)
    return wide.reshape(rows, blocks, UNIT).transpose(1, 0, 2)


def register(units: Units) -> None:
    """The transfers of this module."""
    for name in ("mte_gm_ub", "mte_ub_gm", "mte_gm_l1"):
        units.queues[name] = _burst
    for name in ("mte_ub_ub", "mte_ub_l1", "mte_l1_ub", "mte_l1_bt", "mte_l1_fb"):
        units.queues[name] = _units
    units.queues["mte_gm_l1_frac"] = _fractal
