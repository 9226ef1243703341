# ruff: noqa: E501  (PTO text has long lines)
"""The op verifiers of spec/pto.md 4.10 and the types of 4.1: each rule with a text that breaks it and one that keeps it."""

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.text import print_pto, read_pto

from .snippets import kernel

TYPES = "!pto.ptr<{0}, l0a>, !pto.ptr<{1}, l0b>, !pto.ptr<{2}, l0c>"


def mad(left: str, right: str, acc: str, modes: str = "", name: str = "mad", bias: str = "") -> str:
    pointers = "".join(
        f"    %{n} = pto.castptr %zero : i64 -> !pto.ptr<{kind}, {space}>\n"
        for n, kind, space in (("ml", left, "l0a"), ("mr", right, "l0b"), ("md", acc, "l0c"))
    )
    operands, types = "%ml, %mr, %md, ", TYPES.format(left, right, acc)
    if bias:
        element, _, space = bias.partition("@")
        pointers += f"    %mb = pto.castptr %zero : i64 -> !pto.ptr<{element}, {space or 'bt'}>\n"
        operands, types = operands + "%mb, ", f"{types}, !pto.ptr<{element}, {space or 'bt'}>"
    return f"{pointers}    pto.{name} {operands}%n, %n, %n{modes} : {types}, i64, i64, i64\n"


def out_of_l0c(target: str, clauses: str, space: str = "gm", kind: str = "f32", m: str = "%n", n: str = "%n") -> str:
    sizes = "%n, %n, %n, %n" if space == "gm" else "%n, %n"
    pointer = f"    %o = pto.castptr %zero : i64 -> !pto.ptr<{kind}, {space}>\n    %n32 = arith.constant 32 : i64\n    %n7 = arith.constant 7 : i64\n    %one = arith.constant 1 : i64\n"
    extra = ", i64" * clauses.count("(%")
    return f"{pointer}    pto.mte_l0c_{target} %c, %o, {m}, {n}, {sizes}{clauses} : !pto.ptr<f32, l0c>, !pto.ptr<{kind}, {space}>, i64, i64, i64, i64{', i64, i64' if space == 'gm' else ''}{extra}\n"


LOAD = "    %v = pto.vlds %u[%i0]{0} : !pto.ptr<f32, ub> -> !pto.vreg<{1}>\n"
CONVERT = LOAD.format("", "64xf32") + "    %w = pto.vcvt %v{0} : !pto.vreg<64xf32> -> !pto.vreg<{1}>\n"
BROKEN: dict[str, tuple[str, str]] = {
    "mad: spaces": (
        mad("f16", "f16", "f32")
        .replace("%ml, %mr", "%mr, %ml")
        .replace("l0a>, !pto.ptr<f16, l0b", "l0b>, !pto.ptr<f16, l0a"),
        "requires l0a/l0b/l0c-typed|a pointer into",
    ),
    "mad: bias space": (mad("f16", "f16", "f32", name="mad_bias", bias="f32@ub"), "bias"),
    "mad: bias element": (
        mad("f16", "f16", "f32", name="mad_bias", bias="f16"),
        "requires a bias in bt with the element type of dst",
    ),
    "mad: tf32 of f16": (mad("f16", "f16", "f32", " tf32_mode(round_even)"), "tf32_mode is for f32 x f32 -> f32 only"),
    "mad: sat of integers": (mad("i8", "i8", "i32", " sat"), "sat/nosat is for floating point results only"),
    "mad: hif8 with f8": (
        mad("!pto.hif8", "f8E4M3FN", "f32"),
        "requires lhs/rhs to both use hif8 or both use non-hif8 element types",
    ),
    "mad_mx: f16": (mad("f16", "f16", "f32", name="mad_mx"), "requires MX element types"),
    "castptr: space": ("    %q = pto.castptr %u : !pto.ptr<f32, ub> -> !pto.ptr<f32, l1>\n", "must keep the space"),
    "castptr: integers": ("    %q = pto.castptr %n : i64 -> i32\n", "one side of a castptr must be a pointer"),
    "castptr: memref": (
        "    %q = pto.castptr %mem : memref<4xf32> -> i64\n",
        "one side of a castptr must be a pointer|not visible|before it is defined",
    ),
    "addptr: type": (
        "    %q = pto.addptr %u, %i0 : !pto.ptr<f32, ub> -> !pto.ptr<f16, ub>\n",
        "the result type must be that of the pointer",
    ),
    "load_scalar: type": ("    %q = pto.load_scalar %p[%i0] : !pto.ptr<i64, gm> -> i32\n", "must be the element type"),
    "store_scalar: type": (
        "    pto.store_scalar %i0, %p[%i0] : !pto.ptr<i64, gm>, index\n",
        "must be the element type",
    ),
    "vlds: space": ("    %v = pto.vlds %g[%i0] : !pto.ptr<f32, gm> -> !pto.vreg<64xf32>\n", "a pointer into ub"),
    "vlds: dist": (LOAD.format(' {dist = "SIDEWAYS"}', "64xf32"), "is not one of NORM, BRC_BLK"),
    "vlds: dist of a store": (LOAD.format(' {dist = "1PT_B32"}', "64xf32"), "is not one of NORM, BRC_BLK"),
    "vlds: dist width": (
        LOAD.format(' {dist = "BRC_B16"}', "64xf32"),
        "moves 16-bit elements, the register has 32-bit ones",
    ),
    "vlds: element": (LOAD.format("", "128xf16"), "moves f16 through a pointer to f32"),
    "vcmp: mode": (
        LOAD.format("", "64xf32")
        + '    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n    %r = pto.vcmp %v, %v, %m, "about" : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.mask<b32>\n',
        "is not one of eq, ne, lt",
    ),
    "vcmp: granularity": (
        LOAD.format("", "64xf32")
        + '    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n    %r = pto.vcmp %v, %v, %m, "lt" : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.mask<b16>\n',
        "compares 32-bit elements",
    ),
    "vcvt: pair": (CONVERT.format("", "64xf32"), "unsupported vcvt source/result element type pair"),
    "vcvt: rounding": (CONVERT.format(' {rnd = "UP"}', "128xf16"), "is not one of R, A, F, C, Z, O"),
    "vcvt: saturation": (CONVERT.format(' {sat = "MAYBE"}', "128xf16"), "is not one of SAT, NOSAT"),
    "vcvt: part": (CONVERT.format(' {part = "MIDDLE"}', "128xf16"), "is not one of EVEN, ODD"),
    "sync: id": ("    pto.sync.set <PIPE_FIX>, 32\n", "legal ids are 0 to 31"),
    "sync: pipe": ("    pto.sync.set <PIPE_M>, 3\n", "legal pipes are"),
    "sync: ffts mode": ("    pto.sync.set <PIPE_FIX>, 3 {ffts_mode = 3 : i32}\n", "legal modes are 0 to 2"),
    "buffer: id": ("    pto.get_buf[<PIPE_V>, 32, 0]\n", "legal ids are 0 to 31"),
    "buffer: mode": ("    pto.get_buf[<PIPE_V>, 3, 2]\n", "legal modes are 0 and 1"),
    "mte_l0c: order": (out_of_l0c("gm", ", nz2nd, unit_flag(check_only)"), "clauses must come in the order"),
    "mte_l0c: nz2dn alone": (out_of_l0c("gm", ", nz2dn"), "takes 1 to 1 operands, got 0"),
    "mte_l0c: two layouts": (out_of_l0c("gm", ", nz2nd, nz2dn(%one)"), "exclude each other"),
    "mte_l0c: unit flag of nz2dn": (
        out_of_l0c("gm", ", unit_flag(check_only), nz2dn(%n)"),
        "unit_flag needs the operand of nz2dn to be 1",
    ),
    "mte_l0c: nz2nz of f16": (out_of_l0c("gm", ", nz2nz(%one)", kind="f16"), "nz2nz needs an f32 destination"),
    "mte_l0c: atomic outside of gm": (
        out_of_l0c("l1", ", nz2nd, atomic(type = f32, op = add)", "l1"),
        "pto.mte_l0c_l1 has no clause 'atomic'",
    ),
    "mte_l0c: split with quantisation": (
        out_of_l0c("ub", ", dst_mode(split_m), pre_quant(%n, mode = F322F16), nz2nd", "ub"),
        "a split destination allows no pre_quant",
    ),
    "mte_l0c: odd rows": (
        out_of_l0c("ub", ", dst_mode(split_m), nz2nd", "ub", m="%n7"),
        "needs m to be a multiple of 2",
    ),
    "mte_l0c: columns": (
        out_of_l0c("ub", ", dst_mode(split_n), nz2nd", "ub", n="%n"),
        "needs n to be a multiple of 32",
    ),
    "mte_l1_l0: negative": (
        "    %minus = arith.constant -1 : i64\n    pto.mte_l1_l0a %l1, %a, %n, %n, %minus, %zero : !pto.ptr<f16, l1>, !pto.ptr<f16, l0a>, i64, i64, i64, i64\n",
        "must not be negative",
    ),
    "vreg: size": (LOAD.format("", "32xf32"), "expected exactly 256 bytes"),
    "mask: width": ('    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b64>\n', "expected b8, b16 or b32"),
    "mask: suffix": ('    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b16>\n', "gives a !pto.mask<b32>"),
}
KEPT: dict[str, str] = {
    "mad: hif8": mad("!pto.hif8", "!pto.hif8", "f32"),
    "mad: tf32": mad("f32", "f32", "f32", " tf32_mode(round_away)"),
    "mad: sat": mad("f16", "f16", "f32", " sat"),
    "mad_bias": mad("f16", "f16", "f32", name="mad_bias", bias="f32"),
    "mad_mx": mad("f8E4M3FN", "f8E5M2", "f32", name="mad_mx"),
    "vlds: dist": LOAD.format(' {dist = "BRC_B32"}', "64xf32"),
    "vcvt": CONVERT.format(' {rnd = "R", part = "EVEN", sat = "SAT"}', "128xf16"),
    "sync": "    pto.sync.set <PIPE_MTE1>, 31 {ffts_mode = 2 : i32}\n",
    "buffer": "    pto.rls_buf[<PIPE_V>, 31, 1]\n",
    "mte_l0c: nz2dn": out_of_l0c("gm", ", unit_flag(check_only), nz2dn(%one)"),
    "mte_l0c: atomic": out_of_l0c("gm", ", nz2nd, atomic(type = f32, op = add)"),
    "mte_l0c: split": out_of_l0c("ub", ", dst_mode(split_n), nz2nd", "ub", n="%n32"),
}


@pytest.mark.parametrize("rule", list(BROKEN))
def test_a_broken_rule_is_told_at_its_op(rule: str):
    text, part = BROKEN[rule]
    with pytest.raises(Diagnostic, match=part) as caught:
        read_pto(kernel(text))
    assert caught.value.location.line > 13


@pytest.mark.parametrize("rule", list(KEPT))
def test_a_kept_rule_reads_and_prints(rule: str):
    program = read_pto(kernel(KEPT[rule]))
    assert print_pto(read_pto(print_pto(program))) == print_pto(program)


def test_both_spellings_of_a_tile_are_one_type():
    long = "!pto.tile_buf<loc=left, dtype=f16, rows=16, cols=32, v_row=?, v_col=32, blayout=col_major, slayout=row_major, fractal=512, pad=0>"
    short = "!pto.tile_buf<left, 16x32xf16, valid=?x32, blayout=col_major, slayout=row_major>"
    for text in (long, short):
        printed = print_pto(read_pto(f"func.func @f(%a: {text}) {{\n  return\n}}\n"))
        assert f"%a: {short})" in printed
    full = print_pto(read_pto(f"func.func @f(%a: {short}) {{\n  return\n}}\n"), full=True)
    assert f"%a: {long})" in full
