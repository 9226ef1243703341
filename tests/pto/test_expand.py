"""Raw forms of semantic ops (spec/pto.md 8.3)."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr

from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.rules import constant_of

from .snippets import C_TO_UB, IN_L1, IN_UB, OUT_UB, TO_L0, C, kernel
from .stages import assembled, children, names


def ops(text: str, kind: str, name: str) -> list[PtoOp]:
    return [op for op in children(assembled(text))[kind].walk() if isinstance(op, PtoOp) and op.name == name]


def numbers(op: PtoOp) -> list[int | None]:
    return [constant_of(value) for value in op.operands]


def test_the_word_of_a_mad_is_that_of_the_specification():
    (raw,) = ops(kernel(C), "cube", "pto.mad_raw")
    assert numbers(raw)[-1] == -9223372036586274800


def test_an_accumulating_mad_does_not_clear():
    (raw,) = ops(kernel(C.replace("pto.mad", "pto.mad_acc")), "cube", "pto.mad_raw")
    assert numbers(raw)[-1] == 16 | 16 << 12 | 16 << 24


def test_unit_flag_and_gemv_bits():
    text = kernel(C.replace("%n, %n, %n :", "%n, %n, %n unit_flag(check_and_set) disable_gemv :"))
    (raw,) = ops(text, "cube", "pto.mad_raw")
    word = numbers(raw)[-1]
    assert word is not None and (word >> 55) & 3 == 3 and (word >> 61) & 1


def test_control_bits_are_set_and_restored():
    found = names(children(assembled(kernel(C)))["cube"])
    assert found.count("pto.sbitset0") == 4 and found.count("pto.set_ctrl") == 2
    found = names(children(assembled(kernel(C.replace("%n :", "%n nosat n_dir :", 1))))["cube"])
    assert found.count("pto.sbitset1") == 2 and found.count("pto.sbitset0") == 3


def test_run_time_sizes_are_packed_by_arithmetic():
    load = "    %s = pto.load_scalar %p[%i0] : !pto.ptr<i64, gm> -> i64\n"
    program = assembled(kernel(load, C.replace("%n, %n, %n", "%s, %n, %s")))
    found = names(children(program)["cube"])
    assert "arith.shli" in found and found.count("arith.ori") == 2


def test_copies_take_their_burst_in_hardware_order():
    (copy,) = ops(kernel(IN_UB), "vector", "pto.copy_gm_to_ubuf")
    assert numbers(copy)[2:] == [0, 16, 64, 0, 0, 0, 0, 64, 64]
    (copy,) = ops(kernel(OUT_UB), "vector", "pto.copy_ubuf_to_gm")
    assert numbers(copy)[2:] == [0, 16, 64, 0, 64, 64]


def test_the_first_loop_is_hardware_loop_two_and_sizes_are_restored():
    text = IN_UB.replace(" :", " loop(%len, %n, %n) loop(%n, %len, %len) :", 1)
    text = text.replace("i64\n", "i64, loop i64, i64, i64, loop i64, i64, i64\n")
    program = kernel(text)
    found = names(children(assembled(program))["vector"])
    order = [name for name in found if "loop" in name or "copy" in name]
    assert order == ["pto.set_loop2_stride_outtoub", "pto.set_loop1_stride_outtoub", "pto.set_loop_size_outtoub",
                     "pto.copy_gm_to_ubuf", "pto.set_loop_size_outtoub"]  # fmt: skip
    first, last = ops(program, "vector", "pto.set_loop_size_outtoub")
    assert numbers(first) == [16, 64] and numbers(last) == [1, 1]


def test_fractal_loads_count_blocks():
    (left,) = ops(kernel(TO_L0, C), "cube", "pto.load_cbuf_to_ca")
    assert numbers(left)[2:] == [0, 0, 1, 1, 1, 1]
    (right,) = ops(kernel(TO_L0, C), "cube", "pto.load_cbuf_to_cb")
    assert numbers(right)[2:] == [0, 0, 1, 1, 1, 1]


def test_layout_loads_set_the_group_word():
    program = kernel(IN_L1)
    (setter,) = ops(program, "cube", "pto.set_mte2_nz_para")
    assert numbers(setter) == [16 | 16 << 16 | 16 << 32]


def test_split_destination_of_the_fix_pipe():
    (copy,) = ops(kernel(C_TO_UB), "cube", "pto.copy_matrix_cc_to_ub")
    first, second = numbers(copy)[2:]
    assert first == 16 << 4 | 16 << 16 | 16 << 32
    assert second == 16 | 1 << 16 | 1 << 43


def test_expanded_constants_are_signed_words():
    program = assembled(kernel(C))
    words = [
        op.value.value.data
        for op in program.walk()
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr)
    ]
    assert all(-(1 << 63) <= word < 1 << 63 for word in words)
