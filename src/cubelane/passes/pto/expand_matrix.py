"""Raw forms of the matrix unit and of the transfers around it (spec/pto.md 8.3)."""

from collections.abc import Iterable

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.types import Hif8Type, PtrType, element_bits
from cubelane.passes.pto.raw_builder import RawBuilder, drop, operands_of

UNIT_FLAG = {"check_only": 2, "check_and_set": 3}
CTRL_HIF8, CTRL_TF32, CTRL_TF32_AWAY, CTRL_NOSAT, CTRL_N_DIR = 45, 46, 47, 48, 51
FRACTAL = 16
BLOCK_BYTES = 32


def _word(op: PtoOp, clause: str) -> str | None:
    args = op.clause_args(clause)
    return args[0][0] if args and args[0] else None


def _raw(op: PtoOp) -> str:
    assert op.decl.raw is not None
    return op.decl.raw


def _bytes(value: SSAValue) -> int:
    kind = value.type
    bits = element_bits(kind.element) if isinstance(kind, PtrType) else None
    return max((bits or 8) // 8, 1)


def _set_control(build: RawBuilder, bits: Iterable[tuple[int, bool]]) -> SSAValue:
    """Changes bits of the control register; gives the word to restore."""
    saved = build.emit("get_ctrl", results=[i64])[0]
    word = saved
    for bit, value in bits:
        name = "sbitset1" if value else "sbitset0"
        word = build.emit(name, word, build.constant(bit), results=[i64])[0]
    build.emit("set_ctrl", word)
    return saved


def expand_mad(op: PtoOp) -> None:
    """mad: control bits, the packed word, the raw multiply, control restored."""
    build = RawBuilder(op)
    m, n, k = operands_of(op, "m", "n", "k")
    matrices = operands_of(op, "lhs", "rhs", "dst", "bias")
    has_bias = "has_bias" in op.decl.tags
    word = build.pack(
        (
            (m, 0),
            (k, 12),
            (n, 24),
            (UNIT_FLAG.get(_word(op, "unit_flag") or "", 0), 55),
            (int(bool(op.clause_args("disable_gemv"))), 61),
            (int(has_bias), 62),
            (int("zero_init" in op.decl.tags), 63),
        )
    )
    mode = _word(op, "tf32_mode")
    bits = [
        (CTRL_HIF8, isinstance(matrices[0].type, PtrType) and isinstance(matrices[0].type.element, Hif8Type)),
        (CTRL_TF32, mode is not None),
        (CTRL_TF32_AWAY, mode == "round_away"),
    ]
    if op.clause_args("sat") or op.clause_args("nosat"):
        bits.append((CTRL_NOSAT, bool(op.clause_args("nosat"))))
    bits.append((CTRL_N_DIR, bool(op.clause_args("n_dir"))))
    saved = _set_control(build, bits)
    build.emit(_raw(op), *matrices, word)
    build.emit("set_ctrl", saved)
    drop(op)


def expand_fractal_load(op: PtoOp) -> None:
    """L1 to L0A or L0B. The untransposed right matrix is read as [N, K] (spec/pto.md 11.6)."""
    build = RawBuilder(op)
    source, target, row, column = operands_of(op, "src", "dst", "start_row", "start_col")
    k = operands_of(op, "k")[0]
    other = operands_of(op, "m") or operands_of(op, "n")
    size = _bytes(source)
    transpose = str(op.attributes.get("transpose", "false")) == "true"
    is_right = bool(op.operand("n"))
    rows, columns = (k, other[0]) if is_right and transpose else (other[0], k)
    row_step = build.ceil_div(rows, FRACTAL)
    column_step = build.ceil_div(build.scaled(columns, size), BLOCK_BYTES)
    target_stride = build.ceil_div(other[0], FRACTAL)
    source_stride = row_step if is_right and transpose else target_stride
    attributes: dict[str, Attribute] = dict(op.attributes)
    build.emit(
        _raw(op),
        source,
        target,
        row,
        column,
        row_step,
        column_step,
        source_stride,
        target_stride,
        attributes=attributes,
    )
    drop(op)


def expand_layout_load(op: PtoOp) -> None:
    """GM to L1 with a change to the fractal layout."""
    build = RawBuilder(op)
    source, target = operands_of(op, "src", "dst")
    rows, columns = op.clause_operands("shape")[0]
    inner, outer = (op.clause_operands("src_layout")[0] + [build.constant(0)])[:2]
    count, second, third, fourth = op.clause_operands("dst_group")[0]
    cache, small = op.clause_operands("ctrl")[0]
    build.emit("set_mte2_nz_para", build.pack(((count, 0), (second, 16), (third, 32), (fourth, 48))))
    form = "dn2nz" if op.clause_args("dn2nz") else "nd2nz"
    zero = build.constant(0)
    build.emit(f"copy_gm_to_cbuf_multi_{form}", source, target, zero, inner, cache, rows, columns, outer, small)
    drop(op)


def expand_fixpipe(op: PtoOp) -> None:
    """L0C to L1, GM or UB: control, parameters, then the copy with its two packed words."""
    build = RawBuilder(op)
    source, target = operands_of(op, "src", "dst")
    m, n, source_stride, target_stride = operands_of(op, "m", "n", "src_stride", "dst_stride")
    sid, cache = op.operand("sid"), op.operand("l2")
    states = bool(op.clause_args("sat") or op.clause_args("nosat"))
    bits = [(CTRL_NOSAT, bool(op.clause_args("nosat")))] if states else []
    saved = _set_control(build, bits) if states or op.clause_args("atomic") else None
    loop3 = next(iter(op.clause_operands("loop3")), None)
    build.emit(
        "set_loop3_para", build.pack(((loop3[0], 0), (loop3[1], 16), (loop3[2], 32))) if loop3 else build.constant(1)
    )
    channel = next(iter(op.clause_operands("nz2dn")), None)
    build.emit("set_channel_para", build.pack(((channel[0], 0),)) if channel else build.constant(0))
    for payload in op.clause_operands("pre_quant"):
        if payload:
            build.emit("set_quant_pre", payload[0])
    clips = _clips(op)
    for payload in op.clause_operands("pre_relu"):
        if len(payload) > clips:
            build.emit("set_relu_alpha", payload[0])
        if clips:
            build.emit("set_fix_clip_relu", payload[-1])
    first = build.pack(((sid if sid is not None else 0, 0), (n, 4), (m, 16), (target_stride, 32)))
    second = build.pack([(source_stride, 0), *_destination(op, cache), *_modes(op)])
    build.emit(_raw(op), source, target, first, second, attributes=_kept(op))
    if saved is not None:
        build.emit("set_ctrl", saved)
    drop(op)


def _clips(op: PtoOp) -> bool:
    """Whether the activation has an upper limit, the last operand of its clause."""
    return any(word == "clip=%" for args in op.clause_args("pre_relu") for word in args)


def _destination(op: PtoOp, cache: SSAValue | None) -> list[tuple[SSAValue | int, int]]:
    if cache is not None:
        return [(cache, 16)]
    word = _word(op, "dst_mode")
    if word is None:
        return []
    if word == "%":
        return [(op.clause_operands("dst_mode")[0][0], 18)]
    return [({"split_m": 1, "split_n": 2}[word], 16)]


def _modes(op: PtoOp) -> list[tuple[SSAValue | int, int]]:
    """Unit flag and layout; without a layout the destination is row by row."""
    channels = op.clause_operands("nz2nz")
    turns, keeps = bool(op.clause_args("nz2dn")), bool(channels)
    return [
        (UNIT_FLAG.get(_word(op, "unit_flag") or "", 0), 32),
        (channels[0][0] if keeps else 0, 42),
        (int(not turns and not keeps), 43),
        (int(turns), 62),
    ]


def _kept(op: PtoOp) -> dict[str, Attribute]:
    """Modes whose encodings are not public stay readable on the raw op."""
    kept: dict[str, Attribute] = {}
    for clause in ("pre_quant", "pre_relu", "atomic", "sat"):
        words = [word for args in op.clause_args(clause) for word in args if not word.endswith("%")]
        if words:
            kept[clause] = ArrayAttr([StringAttr(word) for word in words])
    if _clips(op):
        kept["clip"] = UnitAttr()
    return kept
