"""The acceptance tests of spec/pto.md 13.2, by number, and the regressions of the third seed."""

import pytest

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, run

from .snippets import (
    BARRIER,
    C_TO_GM,
    C_TO_UB,
    IN_L1,
    IN_UB,
    LOAD,
    OUT_UB,
    STORE,
    TO_L0,
    C,
    V,
    flag,
    function,
    kernel,
    loop,
    module,
    section,
    signal,
)
from .stages import assembled, children, kinds, line_of, names, normalized, refusal, shape

EXPLICIT = 'pto.backend = "vpto", pto.kernel_kind = #pto.kernel_kind<{}>, pto.target_arch = "a5"'
VECTOR_FLAGS = (IN_UB, flag("set", "MTE2", "V"), flag("wait", "MTE2", "V"), V, flag("set", "V", "MTE3"),
                flag("wait", "V", "MTE3"), OUT_UB)  # fmt: skip
CUBE_FLAGS = (IN_L1, flag("set", "MTE2", "MTE1"), flag("wait", "MTE2", "MTE1"), TO_L0, flag("set", "MTE1", "M"),
              flag("wait", "MTE1", "M"), C, flag("set", "M", "FIX"), flag("wait", "M", "FIX"), C_TO_GM)  # fmt: skip


def helper(body: str, name: str) -> str:
    return function(body, name, "pto.tileop.helper").replace(f"func.func @{name}", f"func.func private @{name}")


def call(name: str) -> str:
    return f"    func.call @{name}(%g, %x, %p) : (!pto.ptr<f32, gm>, !pto.ptr<f16, gm>, !pto.ptr<i64, gm>) -> ()\n"


@pytest.mark.parametrize("parts", [(V, C), (C, V)], ids=["9 vector first", "10 cube first"])
def test_09_10_raw_work_gives_one_vector_and_one_cube_child_vector_first(parts: tuple[str, ...]):
    program = assembled(kernel(*parts))
    found = children(program)
    assert list(found) == ["vector", "cube"]
    assert "pto.mad_raw" in names(found["cube"]) and "pto.vlds" not in names(found["cube"])
    assert "pto.vlds" in names(found["vector"]) and "pto.mad_raw" not in names(found["vector"])


def test_11_tileop_helpers_of_both_kinds_give_both_children():
    text = module(function(call("hv") + call("hc")) + helper(V, "hv") + helper(C, "hc"))
    found = children(assembled(text))
    assert list(found) == ["vector", "cube"]
    assert "pto.mad_raw" in names(found["cube"]) and "func.call" not in names(found["cube"])
    assert "pto.section" not in print_pto(assembled(text)) and "pto.tileop.helper" not in print_pto(assembled(text))


@pytest.mark.parametrize(("work", "kind"), [(V, "vector"), (C, "cube")])
def test_12_13_pure_work_gives_one_child_with_and_without_explicit_kind(work: str, kind: str):
    assert kinds(kernel(work)) == [kind]
    assert kinds(kernel(work, attributes=EXPLICIT.format(kind))) == [kind]


@pytest.mark.parametrize("body", [section("cube", C), C], ids=["section", "raw mad"])
def test_14_work_of_the_other_core_conflicts_with_an_explicit_kind(body: str):
    text = kernel(V, body, attributes=EXPLICIT.format("vector"))
    problem = refusal(text)
    assert "conflicts with explicit pto.kernel_kind on its module" in problem.message
    assert problem.location.line == line_of(text, "pto.section.cube" if "section" in body else "pto.mad")


def test_15_both_kinds_in_one_loop_are_refused_at_the_first_op_of_the_second_kind():
    text = kernel(loop(V + C))
    problem = refusal(text)
    assert "section kind ambiguous" in problem.message
    assert problem.location.line == line_of(text, "pto.mad")
    assert problem.instead is not None and "pto.section.cube" in problem.instead


def test_16_a_lone_shared_flag_is_refused():
    text = kernel(flag("set", "MTE2", "V"))
    assert refusal(text).location.line == line_of(text, "set_flag")


def test_17_a_shared_signal_between_cube_and_vector_is_refused_at_it():
    text = kernel(C, signal("wait", "MTE2"), V)
    problem = refusal(text)
    assert "section kind ambiguous" in problem.message
    assert problem.location.line == line_of(text, "sync.wait")


def test_18_26_fix_signals_go_with_cube_and_mte3_signals_with_vector():
    text = kernel(C, C_TO_UB, signal("set", "FIX", 6), signal("wait", "MTE3", 6), OUT_UB)
    found = children(assembled(text))
    assert "pto.sync.set" in names(found["cube"]) and "pto.sync.wait" in names(found["vector"])
    assert "pto.copy_matrix_cc_to_ub" in names(found["cube"])


def test_19_a_fix_to_v_event_is_set_on_cube_and_awaited_on_vector():
    found = children(assembled(kernel(flag("set", "FIX", "V"), flag("wait", "FIX", "V"))))
    assert "pto.set_flag" in names(found["cube"]) and "pto.wait_flag" in names(found["vector"])


def test_20_a_cast_between_load_and_store_stays_in_the_run():
    body = (
        "    %v = pto.vlds %u[%i0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
        "    %w = pto.castptr %len : i64 -> !pto.ptr<f32, ub>\n"
        '    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'
        "    pto.vsts %v, %w[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n"
    )
    assert shape(kernel(body, C)) == "V C"
    assert kinds(kernel(body, C)) == ["vector", "cube"]


def test_21_a_barrier_between_the_cores_is_refused():
    text = kernel(C, BARRIER, V)
    assert refusal(text).location.line == line_of(text, "pto.barrier")


def test_22_two_raw_entries_land_in_one_child_each():
    found = children(assembled(module(function(V, "f") + function(C, "g"))))
    assert "@f" in print_pto(found["vector"]) and "@g" not in print_pto(found["vector"])
    assert "@g" in print_pto(found["cube"]) and "@f" not in print_pto(found["cube"])


def test_22a_22b_hand_synchronised_kernels_of_one_core_are_one_child():
    assert kinds(kernel(*VECTOR_FLAGS)) == ["vector"]
    assert kinds(kernel(*CUBE_FLAGS)) == ["cube"]


def test_22c_both_after_each_other_keep_every_flag_on_its_core():
    found = children(assembled(kernel(*VECTOR_FLAGS, *CUBE_FLAGS)))
    assert names(found["vector"]).count("pto.set_flag") == 2
    assert names(found["cube"]).count("pto.set_flag") == 3


def test_23_an_unreferenced_helper_without_work_is_in_both_children():
    other = "  func.func private @scalars(%q: i64) {\n    return\n  }\n"
    found = children(assembled(module(function(V + C) + other)))
    assert all("@scalars" in print_pto(child) for child in found.values())


def test_23a_a_scalar_helper_does_not_spoil_a_pure_entry():
    other = "  func.func private @scalars(%q: i64) {\n    return\n  }\n"
    assert kinds(module(function(V) + other)) == ["vector"]


def test_23b_vector_tile_ops_and_a_cube_helper_are_kept_apart():
    tile = "!pto.tile_buf<vec, 16x16xf32>"
    view = "!pto.partition_tensor_view<16x16xf32>"
    body = (
        "    %tv = pto.make_tensor_view %g, shape = [%i0, %i0], strides = [%i0, %i0] : !pto.tensor_view<?x?xf32>\n"
        "    %pv = pto.partition_view %tv, offsets = [%i0, %i0], sizes = [%i0, %i0] : !pto.tensor_view<?x?xf32> -> "
        f"{view}\n    %t = pto.alloc_tile : {tile}\n"
        f"    pto.tload ins(%pv : {view}) outs(%t : {tile})\n    pto.tstore ins(%t : {tile}) outs(%pv : {view})\n"
    )
    found = children(assembled(module(function(body + call("hc")) + helper(C, "hc"))))
    assert "pto.tload" in names(found["vector"]) and "pto.mad_raw" not in names(found["vector"])
    assert "pto.mad_raw" in names(found["cube"]) and "pto.tload" not in names(found["cube"])


def test_24_nested_sections_are_refused():
    problem = refusal(kernel(section("cube", section("vector", V))))
    assert "nested pto.section.cube/vector is not allowed" in problem.message


def test_25_a_named_container_gives_no_duplicate_symbols():
    text = kernel(V, C).replace("module attributes", "module @outer attributes", 1)
    assert print_pto(assembled(text)).count("module @") == 1
    read_pto(print_pto(assembled(text)))


def test_loops_of_the_manual_gemm_resolve_to_cube():
    """Spec/pto.md 10.5: MTE2 flags inside a loop of cube work follow the loop."""
    body = flag("wait", "MTE1", "MTE2") + IN_L1 + flag("set", "MTE2", "MTE1") + flag("wait", "MTE2", "MTE1")
    body += TO_L0 + C + flag("set", "MTE1", "MTE2")
    text = kernel(
        flag("set", "MTE1", "MTE2"),
        loop(body),
        flag("set", "M", "FIX"),
        flag("wait", "M", "FIX"),
        C_TO_UB,
        signal("set", "FIX", 6),
        flag("wait", "MTE1", "MTE2"),
        signal("wait", "FIX", 4),
        signal("set", "MTE3", 4),
        signal("wait", "MTE3", 6),
        OUT_UB,
    )
    assert shape(text) == "C V"
    assert kinds(text) == ["vector", "cube"]


def test_scalar_reads_serve_both_cores_and_writes_do_not():
    use = "    %q = arith.addi %s, %n : i64\n"
    vector = (
        "    pto.mte_ub_gm %u, %g, %q nburst(%n, %s, %s) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64\n"
    )
    cube = C.replace("%n, %n, %n", "%s, %n, %n")
    assert kinds(kernel(LOAD, use, vector, cube)) == ["vector", "cube"]
    text = kernel(V, STORE, C)
    assert refusal(text).location.line == line_of(text, "store_scalar")
    assert shape(kernel(V, STORE, V, C)) == "V C"


def test_13_3_a_pending_wait_in_a_private_helper_is_refused():
    text = module(function(V) + function(flag("wait", "S", "MTE2"), "h", ""))
    assert "section kind ambiguous" in refusal(text).message


def test_13_3_an_event_from_vector_alone_makes_a_vector_module():
    assert shape(kernel(flag("set", "MTE3", "MTE2"), flag("wait", "MTE2", "V"))) == "module vector"


def test_13_3_siblings_of_a_nested_section_are_refused():
    text = kernel(loop(section("vector", V) + V))
    assert "explicit sections" in refusal(text, normalized).message


def test_13_3_an_empty_kernel_has_no_kind():
    assert "kernel_kind" in refusal(kernel("")).message


def test_13_3_sync_of_both_cores_among_explicit_sections():
    text = kernel(
        flag("set", "FIX", "M"),
        signal("set", "MTE1", 1),
        IN_L1,
        signal("wait", "FIX", 1),
        flag("wait", "FIX", "M"),
        signal("set", "V", 2),
        section("vector", V),
        flag("set", "MTE3", "V"),
        V,
        signal("wait", "MTE3", 2),
        section("vector", V),
        flag("wait", "MTE3", "V"),
    )
    assert shape(text) == "C V V V V V"
    found = children(assembled(text))
    kept = ("pto.set_flag", "pto.wait_flag", "pto.sync.set", "pto.sync.wait", "pto.vecscope")
    order = [name for name in names(found["vector"]) if name in kept]
    assert order == ["pto.sync.set", "pto.vecscope", "pto.set_flag", "pto.vecscope", "pto.sync.wait", "pto.vecscope",
                     "pto.wait_flag"]  # fmt: skip
    order = [name for name in names(found["cube"]) if name in kept]
    assert order == ["pto.set_flag", "pto.sync.set", "pto.sync.wait", "pto.wait_flag"]
    assert "pto.copy_gm_to_cbuf_multi_nd2nz" in names(found["cube"])


def test_13_3_a_simt_entry_of_vector_work_is_missing_in_the_cube_child():
    launch = "    pto.simt_launch @body<<<%n, %n, %n>>>(%p) : (!pto.ptr<i64, gm>) -> ()\n"
    body = (
        "  func.func private @body(%q: !pto.ptr<i64, gm>) attributes {pto.simt_entry} {\n"
        "    %t = pto.get_tid_x : i32\n    return\n  }\n"
    )
    found = children(assembled(module(function(section("vector", launch) + C) + body)))
    assert "@body" in print_pto(found["vector"]) and "@body" not in print_pto(found["cube"])
    assert "pto.store_vfsimt_info" in names(found["vector"])


def test_a_refused_module_is_left_as_it_was():
    program = read_pto(kernel(V, C, loop(V + C)))
    before = print_pto(program)
    with pytest.raises(Diagnostic):
        run(NORMALIZATION, program)
    assert print_pto(program) == before


@pytest.mark.parametrize("work", [loop(V + C), C + BARRIER + V, V + STORE + C], ids=["loop", "barrier", "store"])
def test_the_advice_of_a_refusal_works(work: str):
    """What stands after `instead:` is done by hand: sections around the work of each core."""
    assert "pto.section.cube { ... } around cube work" in str(refusal(kernel(work)).instead)
    sectioned = work.replace(V, section("vector", V)).replace(C, section("cube", C))
    assert kinds(kernel(sectioned)) == ["vector", "cube"]
