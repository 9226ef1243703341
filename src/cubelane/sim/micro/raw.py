"""Raw instructions and the registers they read, as VPTO text has them (spec/pto.md 8.3).

A raw instruction takes some of its parameters from registers that the scalar unit set before. They are read when it
is issued; what runs in the queue is the same transfer or product that the semantic op is.
"""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.spaces import Space
from cubelane.sim.micro.cluster import MACHINES, Core
from cubelane.sim.micro.elements import dtype_of, element_of
from cubelane.sim.micro.fixpipe import Modes, WayOut, row_kind
from cubelane.sim.micro.matrix import FRACTAL, FractalLoad, Product, is_transposed, matrix_kinds
from cubelane.sim.micro.memory import Fault
from cubelane.sim.micro.program import Control, Decode, Units, not_modelled
from cubelane.sim.micro.transfers import UNIT, Blocks, Burst, Fractal, no_small_channels, spaces, ub_owner, widened

Values = Sequence[Any]
CTRL_TF32, CTRL_TF32_AWAY, CTRL_NOSAT = 46, 47, 48


def bits(word: int, low: int, count: int) -> int:
    """A field of a packed word."""
    return word >> low & (1 << count) - 1


def _set(op: PtoOp, arch: str) -> Control:
    name = op.decl.name

    def run(core: Core, place: int, values: Values) -> None:
        core.registers[name] = tuple(values)

    return run


def _set_parameter(op: PtoOp, arch: str) -> Control:
    """A number, or the address of a row in the scaling buffer; what it is goes with it."""
    name, kind = op.decl.name, row_kind(op, 0)

    def run(core: Core, place: int, values: Values) -> None:
        core.registers[name] = (values[0], kind)

    return run


def _register(core: Core, name: str, *otherwise: int | None) -> tuple[Any, ...]:
    return core.registers.get(name, otherwise)


def _loops(core: Core, way: str) -> list[tuple[int, int, int]]:
    """The hardware loops, the outer one first: count, source stride, target stride."""
    sizes = _register(core, f"set_loop_size_{way}", 1, 1)
    strides = [_register(core, f"set_loop{number}_stride_{way}", 0, 0) for number in (1, 2)]
    return [(sizes[i], *strides[i]) for i in (1, 0) if sizes[i] != 1]


def _burst(
    core: Core, ends: tuple[tuple[Space, int], tuple[Space, int]], way: str, count: int, length: int, source: int,
    target: int, pad: Any = None, left: int = 0,
) -> Burst:  # fmt: skip
    loops = _loops(core, way)
    return Burst(
        *ends,
        length,
        (*((n, s) for n, s, _ in loops), (count, source)),
        (*((n, t) for n, _, t in loops), (count, target)),
        pad,
        left,
    )


def _to_ub(op: PtoOp, arch: str) -> Decode:
    (source, target), element = spaces(op), dtype_of(element_of(op.operands[1].type))

    def decode(core: Core, v: Values) -> Burst:
        _, count, length, left, _, padded, _, source_stride, target_stride = v[2:]
        pad = element.type(_register(core, "set_mov_pad_val", 0)[0]) if padded else None
        ends = (source, v[0]), (target, v[1])
        return _burst(core, ends, "outtoub", count, length, source_stride, target_stride, pad, left)

    return decode


def _to_gm(op: PtoOp, arch: str) -> Decode:
    source, target = spaces(op)

    def decode(core: Core, v: Values) -> Burst:
        _, count, length, _, target_stride, source_stride = v[2:]
        ends = (source, v[0]), (target, v[1])
        return _burst(core, ends, "ubtoout", count, length, source_stride, target_stride)

    return decode


def _rows(op: PtoOp, arch: str) -> Decode:
    """Rows of bytes: GM to L1, and L1 to UB, which has a word in front."""
    (source, target), first = spaces(op), len(op.operands) - 4
    to_lane = target is Space.UB

    def decode(core: Core, v: Values) -> Burst:
        count, length, source_stride, target_stride = v[first:]
        owner = ub_owner(core) if to_lane else None
        dims = ((count, source_stride),), ((count, target_stride),)
        return Burst((source, v[0]), (target, v[1]), length, *dims, owner=owner)

    return decode


def _units(op: PtoOp, arch: str) -> Decode:
    (source, target), first = spaces(op), len(op.operands) - 4
    kinds = widened(op) if target is Space.BT else None

    def decode(core: Core, v: Values) -> Blocks:
        count, length, source_gap, target_gap = v[first:]
        return Blocks((source, v[0]), (target, v[1]), count, length, source_gap, target_gap, kinds)

    return decode


def _layout(op: PtoOp, arch: str) -> Decode:
    size, by_columns = dtype_of(element_of(op.operands[0].type)).itemsize, op.decl.name.endswith("dn2nz")

    def decode(core: Core, v: Values) -> Fractal:
        _, inner, _, rows, columns, outer, small = v[2:]
        no_small_channels(bool(small))
        (word,) = _register(core, "set_mte2_nz_para", 1 | 1 << 16 | rows << 32)
        count, row, block, group = (bits(word, low, 16) for low in (0, 16, 32, 48))
        return Fractal(v[0], v[1], rows, columns, inner, outer, count, row, block, group, size, by_columns)

    return decode


def _load(op: PtoOp, arch: str) -> Decode:
    right = op.decl.name == "load_cbuf_to_cb"
    size, transpose = dtype_of(element_of(op.operands[0].type)).itemsize, is_transposed(op)
    zz = not right and not MACHINES[arch].l0a_is_nz
    if transpose and not right:
        raise not_modelled(op, "a transposed load")
    target = Space.L0B if right else Space.L0A

    def decode(core: Core, v: Values) -> FractalLoad:
        row, column, row_step, column_step, source_stride, target_stride = v[2:]
        start = v[0] + (row + column * source_stride) * FRACTAL * UNIT
        high = row_step * FRACTAL
        return FractalLoad(start, (target, v[1]), high, column_step, source_stride, target_stride, size, transpose, zz)

    return decode


def _mad(op: PtoOp, arch: str) -> Decode:
    kinds, zz = matrix_kinds(op), not MACHINES[arch].l0a_is_nz

    def decode(core: Core, v: Values) -> Product:
        word, control = v[-1], core.control
        tf32 = ("away" if bits(control, CTRL_TF32_AWAY, 1) else "even") if bits(control, CTRL_TF32, 1) else ""
        has_bias, clears = bits(word, 62, 1), bits(word, 63, 1)
        if has_bias != (len(v) == 5):
            raise Fault("the word of the product says otherwise about a bias than its operands", code="mad-word")
        return Product(
            v[:-1], bits(word, 0, 12), bits(word, 24, 12), bits(word, 12, 12), *kinds,
            adds=not clears and not has_bias, tf32=tf32, saturates=not bits(control, CTRL_NOSAT, 1),
            gemv=not bits(word, 61, 1), zz=zz,
        )  # fmt: skip

    return decode


def _kept(op: PtoOp, name: str) -> dict[str, str]:
    """Modes that stay readable on a raw instruction: `key=value` words."""
    stored = cast("ArrayAttr[StringAttr] | None", op.attributes.get(name))
    words = [word.data for word in stored] if isinstance(stored, ArrayAttr) else []
    return {key: value for key, sign, value in (word.partition("=") for word in words) if sign}


def _way_out(op: PtoOp, arch: str) -> Decode:
    space = {"gm": Space.GM, "ub": Space.UB, "cbuf": Space.L1}[op.decl.name.rpartition("_")[2]]
    quant, relu = (_kept(op, name).get("mode", "none") for name in ("pre_quant", "pre_relu"))
    atomic, clips = _kept(op, "atomic").get("op"), "clip" in op.attributes
    modes = {
        layout: Modes.of(op, space, quant, relu, layout, atomic, clips)
        for layout in ("nz2nd", "nz2dn", "nz2nz")
        if layout != "nz2nz" or dtype_of(element_of(op.operands[1].type)).itemsize == 4
    }
    keeps_nan = "sat" in op.attributes

    def decode(core: Core, v: Values) -> WayOut:
        first, second = v[2], v[3]
        layout = "nz2nd" if bits(second, 43, 1) else "nz2dn" if bits(second, 62, 1) else "nz2nz"
        if layout not in modes:
            raise Fault("the word of the move asks for a layout of 32-bit elements", code="fixpipe-word")
        split, lane = _destination(space, second)
        (loop,) = _register(core, "set_loop3_para", 1)
        (scale, scale_kind), (alpha, alpha_kind), (clip, _) = (
            _register(core, name, 0, None) for name in ("set_quant_pre", "set_relu_alpha", "set_fix_clip_relu")
        )
        kinds = {n: kind for n, kind in (("scale", scale_kind), ("alpha", alpha_kind)) if kind is not None}
        return WayOut(
            modes[layout], v[0], v[1], bits(first, 16, 16), bits(first, 4, 12), bits(second, 0, 16),
            bits(first, 32, 32), (bits(loop, 0, 16), bits(loop, 16, 16), bits(loop, 32, 32)), scale, alpha, clip,
            not bits(core.control, CTRL_NOSAT, 1), split, lane, kinds, keeps_nan,
        )  # fmt: skip

    return decode


def _destination(space: Space, word: int) -> tuple[str | None, int | None]:
    """Into both lanes, by rows or columns, or into one."""
    if space is not Space.UB:
        return None, None
    split = {1: "split_m", 2: "split_n"}.get(bits(word, 16, 2))
    return split, None if split else bits(word, 18, 1)


LOOPS = [f"set_loop{number}_stride_{way}" for number in (1, 2) for way in ("outtoub", "ubtoout")]
REGISTERS = (*LOOPS, "set_loop_size_outtoub", "set_loop_size_ubtoout", "set_mov_pad_val", "set_mte2_nz_para",
             "set_loop3_para", "set_channel_para")  # fmt: skip
PARAMETERS = ("set_quant_pre", "set_relu_alpha", "set_fix_clip_relu")


def register(units: Units) -> None:
    """The instructions and registers of this module."""
    units.controls |= dict.fromkeys(REGISTERS, _set) | dict.fromkeys(PARAMETERS, _set_parameter)
    units.queues |= {
        "copy_gm_to_ubuf": _to_ub, "copy_ubuf_to_gm": _to_gm, "copy_gm_to_cbuf": _rows, "copy_cbuf_to_ubuf": _rows,
        "copy_ubuf_to_ubuf": _units, "copy_ubuf_to_cbuf": _units, "copy_cbuf_to_bt": _units,
        "copy_cbuf_to_fbuf": _units, "copy_gm_to_cbuf_multi_nd2nz": _layout, "copy_gm_to_cbuf_multi_dn2nz": _layout,
        "load_cbuf_to_ca": _load, "load_cbuf_to_cb": _load, "mad_raw": _mad, "mad_bias_raw": _mad,
        "copy_matrix_cc_to_gm": _way_out, "copy_matrix_cc_to_cbuf": _way_out, "copy_matrix_cc_to_ub": _way_out,
    }  # fmt: skip
