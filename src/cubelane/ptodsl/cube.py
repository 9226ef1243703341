"""The mad family and the transfers `mte_*` (spec/pto.md 2.7, 4.9)."""

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.pto.spaces import Space
from cubelane.ptodsl.errors import wrong_type, wrong_value
from cubelane.ptodsl.micro import word_of
from cubelane.ptodsl.tracer import explicit_only, tracing
from cubelane.ptodsl.types import F32, I1, I64
from cubelane.ptodsl.values import Pointer, Scalar, as_scalar, constant_of

Clause = tuple[list[str], Sequence[SSAValue]]
Triple = tuple[object, object, object]


def _pointer(value: object, space: Space, what: str) -> SSAValue:
    if not isinstance(value, Pointer) or value.type.space is not space:
        raise wrong_type(f"{what} must be a pointer into {space.value}, got {value!r}")
    return value.ssa


def _sizes(what: str, *values: object) -> list[SSAValue]:
    return [as_scalar(value, I64, f"a size of {what}") for value in values]


def _clause(what: str, name: str, values: Sequence[object]) -> Clause:
    return [name] + ["%"] * len(values), _sizes(what, *values)


# --- matrix multiply ------------------------------------------------------------------------------------------


def _mad(name: str, pointers: list[object], sizes: tuple[object, object, object], modes: dict[str, Any]) -> None:
    what = f"pto.{name}"
    spaces = (Space.L0A, Space.L0B, Space.L0C, Space.BT)
    roles = ("lhs", "rhs", "dst", "bias")
    operands = [_pointer(p, s, f"{r} of {what}") for p, s, r in zip(pointers, spaces, roles, strict=False)]
    tracing(what).emit(name, [*operands, *_sizes(what, *sizes)], clauses=_mad_clauses(modes))


def _mad_clauses(modes: dict[str, Any]) -> list[Clause]:
    clauses: list[Clause] = []
    if modes.get("unit_flag"):
        clauses.append((["unit_flag", word_of(modes["unit_flag"])], []))
    if modes.get("disable_gemv"):
        clauses.append((["disable_gemv"], []))
    if modes.get("sat") is not None:
        clauses.append((["sat" if modes["sat"] else "nosat"], []))
    if modes.get("tf32_mode"):
        clauses.append((["tf32_mode", word_of(modes["tf32_mode"])], []))
    if modes.get("n_dir"):
        clauses.append((["n_dir"], []))
    return clauses


def mad(lhs: object, rhs: object, dst: object, m: object, n: object, k: object, **modes: Any) -> None:
    """`pto.mad`: dst = lhs x rhs. Modes: unit_flag, disable_gemv, sat, tf32_mode, n_dir."""
    _mad("mad", [lhs, rhs, dst], (m, n, k), modes)


def mad_acc(lhs: object, rhs: object, dst: object, m: object, n: object, k: object, **modes: Any) -> None:
    """`pto.mad_acc`: dst += lhs x rhs."""
    _mad("mad_acc", [lhs, rhs, dst], (m, n, k), modes)


def mad_bias(
    lhs: object, rhs: object, dst: object, bias: object, m: object, n: object, k: object, **modes: Any
) -> None:
    """`pto.mad_bias`: dst = lhs x rhs + bias[n]."""
    _mad("mad_bias", [lhs, rhs, dst, bias], (m, n, k), modes)


# --- transfers ------------------------------------------------------------------------------------------------


def _burst(what: str, nburst: Triple | None, loops: Sequence[Triple] | None) -> list[Clause]:
    clauses = [_clause(what, "nburst", nburst or (1, 0, 0))]
    return clauses + [_clause(what, "loop", loop) for loop in loops or ()]


def _transfer(
    name: str, source: Space, target: Space, src: object, dst: object, sizes: Sequence[object], clauses: list[Clause]
) -> None:
    what = f"pto.{name}"
    operands = [_pointer(src, source, f"src of {what}"), _pointer(dst, target, f"dst of {what}")]
    explicit_only(what).emit(name, [*operands, *_sizes(what, *sizes)], clauses=clauses)


def mte_gm_ub(
    src: object, dst: object, l2: object, len_burst: object, *,
    nburst: Triple | None = None, loops: Sequence[Triple] | None = None, pad: object = None,
) -> None:  # fmt: skip
    """`pto.mte_gm_ub`: rows of bytes from GM to UB; `pad` is a scalar, or (scalar, left, right)."""
    explicit_only("pto.mte_gm_ub")
    clauses = _burst("pto.mte_gm_ub", nburst, loops)
    if pad is not None:
        parts = list(cast("tuple[object, ...]", pad)) if isinstance(pad, tuple) else [pad]
        value, counts = parts[0], parts[1:]
        kind = dst.type.element if isinstance(dst, Pointer) else I64
        operands = [as_scalar(value, kind, "the padding value"), *_sizes("pto.mte_gm_ub", *counts)]
        clauses.append((["pad"] + ["%"] * len(operands), operands))
    _transfer("mte_gm_ub", Space.GM, Space.UB, src, dst, (l2, len_burst), clauses)


def mte_ub_gm(
    src: object, dst: object, len_burst: object, *,
    nburst: Triple | None = None, loops: Sequence[Triple] | None = None, l2_cache: object = None,
) -> None:  # fmt: skip
    """`pto.mte_ub_gm`: rows of bytes from UB to GM."""
    explicit_only("pto.mte_ub_gm")
    clauses = _burst("pto.mte_ub_gm", nburst, None)
    if l2_cache is not None and not isinstance(l2_cache, str):
        clauses.append(_clause("pto.mte_ub_gm", "l2_cache_ctl", (l2_cache,)))
    clauses += _burst("pto.mte_ub_gm", nburst, loops)[1:]
    _transfer("mte_ub_gm", Space.UB, Space.GM, src, dst, (len_burst,), clauses)


def mte_ub_ub(src: object, dst: object, length: object, *, nburst: Triple | None = None) -> None:
    """`pto.mte_ub_ub`: length and gaps in units of 32 bytes."""
    explicit_only("pto.mte_ub_ub")
    _transfer("mte_ub_ub", Space.UB, Space.UB, src, dst, (length,), _burst("pto.mte_ub_ub", nburst, None))


def mte_ub_l1(src: object, dst: object, length: object, *, nburst: Triple | None = None) -> None:
    """`pto.mte_ub_l1`: length and gaps in units of 32 bytes."""
    explicit_only("pto.mte_ub_l1")
    _transfer("mte_ub_l1", Space.UB, Space.L1, src, dst, (length,), _burst("pto.mte_ub_l1", nburst, None))


def mte_gm_l1(
    src: object, dst: object, length: object, *, nburst: Triple | None = None, loops: Sequence[Triple] | None = None
) -> None:
    """`pto.mte_gm_l1`: rows of bytes from GM to L1, layout unchanged."""
    explicit_only("pto.mte_gm_l1")
    _transfer("mte_gm_l1", Space.GM, Space.L1, src, dst, (length,), _burst("pto.mte_gm_l1", nburst, loops))


def mte_l1_ub(
    src: object, dst: object, length: object, *, nburst: Triple | None = None, loops: Sequence[Triple] | None = None
) -> None:
    """`pto.mte_l1_ub`: rows of bytes from L1 to UB."""
    explicit_only("pto.mte_l1_ub")
    _transfer("mte_l1_ub", Space.L1, Space.UB, src, dst, (length,), _burst("pto.mte_l1_ub", nburst, loops))


def mte_l1_bt(src: object, dst: object, length: object, *, nburst: Triple | None = None) -> None:
    """`pto.mte_l1_bt`: to the bias table, length in units of 32 bytes; f16 and bf16 widen to f32."""
    explicit_only("pto.mte_l1_bt")
    _transfer("mte_l1_bt", Space.L1, Space.BT, src, dst, (length,), _burst("pto.mte_l1_bt", nburst, None))


def mte_l1_fb(src: object, dst: object, length: object, *, nburst: Triple | None = None) -> None:
    """`pto.mte_l1_fb`: to the scaling buffer, length in units of 32 bytes."""
    explicit_only("pto.mte_l1_fb")
    _transfer("mte_l1_fb", Space.L1, Space.FB, src, dst, (length,), _burst("pto.mte_l1_fb", nburst, None))


def mte_gm_l1_frac(
    src: object, dst: object, mode: str, *,
    shape: tuple[object, object], src_layout: tuple[object, ...], dst_group: tuple[object, object, object, object],
    ctrl: tuple[object, object] = (0, False),
) -> None:  # fmt: skip
    """`pto.mte_gm_l1_frac`: GM to the fractal layout of L1; mode "nd2nz" or "dn2nz"."""
    what = "pto.mte_gm_l1_frac"
    tracer = explicit_only(what)
    if mode not in ("nd2nz", "dn2nz"):
        raise wrong_value(f"{what} knows the modes 'nd2nz' and 'dn2nz', got {mode!r}")
    control = [as_scalar(ctrl[0], I64, "l2 control"), as_scalar(ctrl[1], I1, "smallc0")]
    clauses: list[Clause] = [
        ([mode], []),
        _clause(what, "shape", shape),
        _clause(what, "src_layout", src_layout),
        _clause(what, "dst_group", dst_group),
        (["ctrl", "%", "%"], control),
    ]
    operands = [_pointer(src, Space.GM, f"src of {what}"), _pointer(dst, Space.L1, f"dst of {what}")]
    tracer.emit("mte_gm_l1_frac", operands, clauses=clauses)


def _fractal(name: str, target: Space, src: object, dst: object, sizes: tuple[object, ...], transpose: bool) -> None:
    what = f"pto.{name}"
    tracer = explicit_only(what)
    for position in sizes[2:]:
        number = constant_of(position)
        if number is not None and number < 0:
            raise wrong_value(f"the start position of {what} must not be negative, got {number}")
    operands = [_pointer(src, Space.L1, f"src of {what}"), _pointer(dst, target, f"dst of {what}")]
    attributes: dict[str, Attribute] = {"transpose": IntegerAttr(1, i1)} if transpose else {}
    tracer.emit(name, [*operands, *_sizes(what, *sizes)], attributes=attributes)


def mte_l1_l0a(
    src: object, dst: object, m: object, k: object, *,
    start_row: object = 0, start_col: object = 0, transpose: bool = False,
) -> None:  # fmt: skip
    """`pto.mte_l1_l0a`: an m x k block; start positions count 16 rows and 32 bytes."""
    _fractal("mte_l1_l0a", Space.L0A, src, dst, (m, k, start_row, start_col), transpose)


def mte_l1_l0b(
    src: object, dst: object, k: object, n: object, *,
    start_row: object = 0, start_col: object = 0, transpose: bool = False,
) -> None:  # fmt: skip
    """`pto.mte_l1_l0b`: L1 holds [N, K]; with transpose it holds [K, N] (spec/pto.md 11.6)."""
    _fractal("mte_l1_l0b", Space.L0B, src, dst, (k, n, start_row, start_col), transpose)


# --- out of the accumulator -----------------------------------------------------------------------------------


def mte_l0c_ub(
    src: object, dst: object, m: object, n: object, src_stride: object, dst_stride: object,
    sub_blockid: object = 0, *, split: str | None = None, **modes: Any,
) -> None:  # fmt: skip
    """`pto.mte_l0c_ub`: to the UB of one lane, or split over both lanes by "M" or "N"."""
    explicit_only("pto.mte_l0c_ub")
    if split is None:
        lane = constant_of(sub_blockid)
        if lane is not None and lane not in (0, 1):
            raise wrong_value(f"sub_blockid is the number of a lane, 0 or 1, got {lane}")
        where: Clause = (["dst_mode", "%"], _sizes("pto.mte_l0c_ub", sub_blockid))
    else:
        if split not in ("M", "N"):
            raise wrong_value(f"split must be 'M' or 'N', got {split!r}")
        if constant_of(sub_blockid) != 0:
            raise wrong_value("a split destination goes to both lanes; it takes no sub_blockid")
        where = (["dst_mode", f"split_{split.lower()}"], [])
    clauses = [where, *_fixpipe_clauses("pto.mte_l0c_ub", modes)]
    _transfer("mte_l0c_ub", Space.L0C, Space.UB, src, dst, (m, n, src_stride, dst_stride), clauses)


def mte_l0c_l1(
    src: object, dst: object, m: object, n: object, src_stride: object, dst_stride: object, **modes: Any
) -> None:
    """`pto.mte_l0c_l1`: back to L1."""
    explicit_only("pto.mte_l0c_l1")
    clauses = _fixpipe_clauses("pto.mte_l0c_l1", modes)
    _transfer("mte_l0c_l1", Space.L0C, Space.L1, src, dst, (m, n, src_stride, dst_stride), clauses)


def mte_l0c_gm(
    src: object, dst: object, m: object, n: object, src_stride: object, dst_stride: object,
    sid: object = 0, l2ctl: object = 0, *, atomic: tuple[object, str] | None = None, **modes: Any,
) -> None:  # fmt: skip
    """`pto.mte_l0c_gm`: to global memory, also with atomic add, max or min."""
    explicit_only("pto.mte_l0c_gm")
    clauses = _fixpipe_clauses("pto.mte_l0c_gm", modes)
    if atomic is not None:
        clauses.append((["atomic", f"type={atomic[0]}", f"op={atomic[1]}"], []))
    sizes = (m, n, src_stride, dst_stride, sid, l2ctl)
    _transfer("mte_l0c_gm", Space.L0C, Space.GM, src, dst, sizes, clauses)


def _fixpipe_clauses(what: str, modes: dict[str, Any]) -> list[Clause]:
    """The clauses behind the operands, in the order of the assembly form."""
    clauses: list[Clause] = []
    known = {"unit_flag", "pre_quant", "pre_relu", "layout", "loop3", "sat"}
    unknown = sorted(set(modes) - known)
    if unknown:
        raise wrong_type(f"{what} does not take {', '.join(unknown)}; it takes {', '.join(sorted(known))}")
    if modes.get("unit_flag"):
        clauses.append((["unit_flag", word_of(modes["unit_flag"])], []))
    if modes.get("pre_quant") is not None:
        payload, mode = modes["pre_quant"]
        clauses.append((["pre_quant", "%", f"mode={mode}"], [_payload(payload)]))
    if modes.get("pre_relu") is not None:
        clauses.append(_relu(modes["pre_relu"]))
    layout = modes.get("layout", "nz2nd")
    if isinstance(layout, str):
        clauses.append(([layout], []))
    else:
        clauses.append(_clause(what, layout[0], layout[1:]))
    if modes.get("loop3") is not None:
        clauses.append(_clause(what, "loop3", modes["loop3"]))
    if modes.get("sat") is not None:
        word = modes["sat"]
        clauses.append((["sat", word] if isinstance(word, str) else ["sat" if word else "nosat"], []))
    return clauses


def _relu(given: tuple[Any, ...]) -> Clause:
    mode, payload, clip = (*given, None, None)[:3]
    words, values = ["pre_relu"], list[SSAValue]()
    if payload is not None:
        words.append("%")
        values.append(_payload(payload))
    words.append(f"mode={mode}")
    if clip is not None:
        words.append("clip=%")
        values.append(_payload(clip))
    return words, values


def _payload(value: object) -> SSAValue:
    if isinstance(value, Pointer | Scalar):
        return value.ssa
    return as_scalar(value, F32, "a payload")
