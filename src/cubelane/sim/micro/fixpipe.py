"""The way out of the accumulator: quantisation, activation, layout, destination (spec/pto.md 11.8)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Space
from cubelane.ir.pto.types import PtrType
from cubelane.sim.micro.agents import Agent
from cubelane.sim.micro.cluster import Core
from cubelane.sim.micro.elements import Array, DType, dtype_of, element_of, is_float
from cubelane.sim.micro.matrix import FRACTAL, largest
from cubelane.sim.micro.memory import Fault, Region
from cubelane.sim.micro.program import Decode, Units, not_modelled
from cubelane.sim.micro.timing import Price, transfer
from cubelane.sim.micro.transfers import UNIT, Operands, aligned
from cubelane.targets.rates import Rates

Values = Sequence[Any]
SPACES = {"mte_l0c_ub": Space.UB, "mte_l0c_l1": Space.L1, "mte_l0c_gm": Space.GM}
ATOMIC = {"add": np.add, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True)
class Quantisation:
    """How the accumulator becomes the element type of the destination: from and to which kinds, by which scale.

    `scale` is "none", "scalar" (the payload is the scale) or "channel" (the payload points to one scale for each
    column in the scaling buffer: an f32, or a 64-bit word that holds one in its low half).
    """

    source: str
    targets: tuple[str, ...]
    scale: str = "none"


_SCALED = {
    "deqf16": ("int32", ("float16",)),
    "req8": ("int32", ("int8", "uint8")),
    "deqs32_f32": ("int32", ("float32",)),
    "qf322b8": ("float32", ("int8", "uint8")),
    "qf322f16": ("float32", ("float16",)),
    "qf322bf16": ("float32", ("bfloat16",)),
    "qf322f32": ("float32", ("float32",)),
}
QUANTISATIONS: dict[str, Quantisation] = {
    "f32_f16": Quantisation("float32", ("float16",)),
    "f32_bf16": Quantisation("float32", ("bfloat16",)),
    **{name: Quantisation(*ends, "scalar") for name, ends in _SCALED.items()},
    **{f"v{name}": Quantisation(*ends, "channel") for name, ends in _SCALED.items()},
}
"""By mode. The first two are those of the specification, the others have the names of the hardware's modes."""
NO_QUANTISATION = ("", "none", "no_quant")
RELU = ("normal_relu", "scalar_relu", "vector_relu")
NO_RELU = ("", "none", "no_relu")


@dataclass(frozen=True)
class Modes:
    """What the words of an op choose; checked once, when the op is compiled."""

    source: DType
    target: DType
    space: Space
    quantisation: Quantisation | None = None
    relu: str = ""
    layout: str = "nz2nd"
    atomic: str | None = None
    clips: bool = False

    @staticmethod
    def of(op: PtoOp, space: Space, quant: str, relu: str, layout: str, atomic: str | None, clips: bool) -> "Modes":
        """The modes of an op; a Diagnostic when one is not modelled or does not fit the element types."""
        source, target = (dtype_of(element_of(op.operands[i].type)) for i in (0, 1))
        quant, relu = quant.lower().removesuffix("_pre"), relu.lower()
        chosen = None if quant in NO_QUANTISATION else QUANTISATIONS.get(quant)
        if chosen is None and quant not in NO_QUANTISATION:
            raise not_modelled(op, f"the quantisation '{quant}'")
        if relu not in (*RELU, *NO_RELU):
            raise not_modelled(op, f"the activation '{relu}'")
        if chosen is not None and (source.name != chosen.source or target.name not in chosen.targets):
            wanted = f"{chosen.source} to {' or '.join(chosen.targets)}"
            raise not_modelled(op, f"{quant} from {source.name} to {target.name} (it is {wanted})")
        if layout == "nz2nz" and target.itemsize != 4:
            raise not_modelled(op, "nz2nz to elements other than 32 bits")
        return Modes(source, target, space, chosen, relu if relu in RELU else "", layout, atomic, clips)


@dataclass(frozen=True)
class WayOut:
    """One move out of the accumulator. `loop3` repeats it: count, step in units of the source, of the target.

    `scale` and `alpha` are a number, or the address of a row in the scaling buffer with its element type.
    """

    modes: Modes
    source: int
    target: int
    m: int
    n: int
    source_rows: int
    target_stride: int
    loop3: Sequence[int] = (1, 0, 0)
    scale: Any = None
    alpha: Any = None
    clip: Any = None
    saturates: bool = False
    split: str | None = None
    lane: int | None = None
    row_kinds: dict[str, DType] = field(default_factory=dict[str, DType])
    keeps_nan: bool = False

    def price(self, rates: Rates) -> Price:
        """By the bytes that arrive."""
        size = self.loop3[0] * self.m * self.n * self.modes.target.itemsize
        return transfer(rates, Space.L0C, self.modes.space, size)

    def run(self, core: Core, agent: Agent, place: int) -> None:
        """Moves one accumulator tile, `loop3[0]` times."""
        modes = self.modes
        for repeat in range(self.loop3[0]):
            start = self.source + repeat * self.loop3[1] * FRACTAL * modes.source.itemsize
            data, defined = self._read(core, agent, place, start)
            data = self._transformed(core, agent, place, data)
            base = self.target + repeat * self.loop3[2] * modes.target.itemsize
            for owner, part, known in self._parts(core, data, defined):
                self._write(core, owner, agent, place, base, part, known)

    def _read(self, core: Core, agent: Agent, place: int, start: int) -> tuple[Array, Array | None]:
        kind, m, n = self.modes.source, self.m, self.n
        row, wide = FRACTAL * kind.itemsize, -(-n // FRACTAL)
        memory, region = core.at(Space.L0C, Region(start, row, ((wide, self.source_rows * row), (m, row))))
        data, defined = memory.read(region, agent.who(place))
        whole = np.ascontiguousarray(data).view(kind).transpose(1, 0, 2).reshape(m, wide * FRACTAL)[:, :n]
        if defined is None:
            return whole, None
        known = defined[:, :, :: kind.itemsize].transpose(1, 0, 2).reshape(m, wide * FRACTAL)[:, :n]
        return whole, None if known.all() else known

    def _row(self, core: Core, agent: Agent, place: int, start: int, kind: DType) -> Array:
        """One number for each column, out of the scaling buffer."""
        memory, region = core.at(Space.FB, Region(start, self.n * kind.itemsize))
        data, defined = memory.read(region, agent.who(place))
        if defined is not None:
            core.group.board.undefined(agent, place, "scales by bytes of fb")
        if kind.itemsize == 8:
            return data.view(np.uint64).astype(np.uint32).view(np.float32)
        return data.view(kind).astype(np.float32)

    def _parameter(self, core: Core, agent: Agent, place: int, name: str, value: Any) -> Any:
        kind = self.row_kinds.get(name)
        return np.float32(value) if kind is None else self._row(core, agent, place, value, kind)

    def _transformed(self, core: Core, agent: Agent, place: int, data: Array) -> Array:
        modes = self.modes
        quantisation = modes.quantisation
        if quantisation is not None and quantisation.scale != "none":
            data = data.astype(np.float32) * self._parameter(core, agent, place, "scale", self.scale)
        if modes.relu == "normal_relu":
            data = np.maximum(data, 0)
        elif modes.relu:
            data = np.where(data >= 0, data, data * self._parameter(core, agent, place, "alpha", self.alpha))
        if modes.clips:
            data = np.minimum(data, self.clip)
        return self._converted(data)

    def _converted(self, data: Array) -> Array:
        target = self.modes.target
        if is_float(target):
            if self.saturates and target != data.dtype:
                limit = largest(target)
                nan = np.nan if self.keeps_nan else 0.0
                data = np.clip(np.nan_to_num(data, nan=nan, posinf=limit, neginf=-limit), -limit, limit)
            return data.astype(target)
        if is_float(data.dtype):
            limits = np.iinfo(target)
            data = np.clip(np.rint(np.nan_to_num(data.astype(np.float64), nan=0.0)), limits.min, limits.max)
        return data.astype(target)

    def _parts(self, core: Core, data: Array, known: Array | None) -> list[tuple[Core, Array, Array | None]]:
        """Who gets which part of the tile."""
        lanes = core.group.vector
        if self.split is None:
            if self.lane is None:
                return [(core, data, known)]
            if not 0 <= self.lane < len(lanes):
                raise Fault(f"lane {self.lane} does not run in this launch", code="lane")
            return [(lanes[self.lane], data, known)]
        if len(lanes) != 2:
            raise Fault(f"a split destination needs two vector lanes, this launch runs {len(lanes)}", code="lane")
        axis = 0 if self.split == "split_m" else 1
        halves = np.split(data, 2, axis)
        defined = [None, None] if known is None else np.split(known, 2, axis)
        return [(lane, half, part) for lane, half, part in zip(lanes, halves, defined, strict=True)]

    def _write(
        self, core: Core, owner: Core, agent: Agent, place: int, base: int, data: Array, known: Array | None
    ) -> None:
        modes, size = self.modes, self.modes.target.itemsize
        if modes.layout == "nz2dn":
            data, known = data.T, None if known is None else known.T
        if modes.layout == "nz2nz":
            data, region = self._boxed(base, data)
            known = None
        else:
            region = Region(base, data.shape[1] * size, ((data.shape[0], self.target_stride * size),))
        if modes.space is not Space.GM:
            aligned(base, UNIT, modes.space.value)
        elif known is not None:
            core.group.board.undefined(agent, place, "writes bytes to global memory")
        who = agent.who(place)
        memory, local = owner.at(modes.space, region)
        if modes.atomic is not None:
            old = np.ascontiguousarray(memory.read(local, who)[0]).view(modes.target)
            data = ATOMIC[modes.atomic](old, data)
        defined = None if known is None else np.repeat(known, size, axis=1)
        memory.write(local, np.ascontiguousarray(data).view(np.uint8), who, defined)

    def _boxed(self, base: int, data: Array) -> tuple[Array, Region]:
        """The tile as columns of 32-byte blocks."""
        lanes = UNIT // self.modes.target.itemsize
        rows, wide = data.shape[0], -(-data.shape[1] // lanes)
        boxed = np.zeros((rows, wide * lanes), self.modes.target)
        boxed[:, : data.shape[1]] = data
        region = Region(base, UNIT, ((wide, self.target_stride * UNIT), (rows, UNIT)))
        return boxed.reshape(rows, wide, lanes).transpose(1, 0, 2), region


def _words(op: PtoOp, clause: str) -> dict[str, str]:
    args = op.clause_args(clause)
    words = [word.partition("=") for word in (args[0] if args else [])]
    return {key: value for key, sign, value in words if sign}


def row_kind(op: PtoOp, position: int) -> DType | None:
    """The element type behind an operand that points into the scaling buffer; None for a number."""
    kind = op.operands[position].type
    return dtype_of(kind.element) if isinstance(kind, PtrType) and kind.space is Space.FB else None


def _fixpipe(op: PtoOp, arch: str) -> Decode:
    operands = Operands(op)
    layout = next((name for name in ("nz2dn", "nz2nz") if op.clause_args(name)), "nz2nd")
    clips = "clip=%" in [word for args in op.clause_args("pre_relu") for word in args]
    quant, relu = (_words(op, clause).get("mode", "none") for clause in ("pre_quant", "pre_relu"))
    modes = Modes.of(op, SPACES[op.decl.name], quant, relu, layout, _words(op, "atomic").get("op"), clips)
    split = next((w for args in op.clause_args("dst_mode") for w in args if w.startswith("split")), None)
    to_lane = any(args == ["%"] for args in op.clause_args("dst_mode"))
    positions = {
        name: found[0][0]
        for name, clause in (("scale", "pre_quant"), ("alpha", "pre_relu"))
        if (found := operands.clauses.get(clause)) and found[0]
    }
    kinds = {name: kind for name, at in positions.items() if (kind := row_kind(op, at)) is not None}
    saturation = op.clause_args("sat")
    keeps_nan = ["preserve_nan"] in saturation

    def decode(core: Core, values: Values) -> WayOut:
        m, n, rows, stride = (operands.name(values, name) for name in ("m", "n", "src_stride", "dst_stride"))
        chosen = {name: values[at] for name, at in positions.items()}
        lane = (operands.clause(values, "dst_mode") or [0])[0] if to_lane else None
        clip = (operands.clause(values, "pre_relu") or [None])[-1] if clips else None
        return WayOut(
            modes, values[0], values[1], m, n, rows, stride, operands.clause(values, "loop3") or (1, 0, 0),
            chosen.get("scale"), chosen.get("alpha"), clip, bool(saturation), split, lane, kinds, keeps_nan,
        )  # fmt: skip

    return decode


def register(units: Units) -> None:
    """The ops of this module."""
    for name in SPACES:
        units.queues[name] = _fixpipe
