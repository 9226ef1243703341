# ruff: noqa: E501  (PTO text has long lines)
"""What users reported about sections and the split (cases F), one test each."""

import pytest

from cubelane.analysis.pto_boundaries import crossings
from cubelane.cli.ptoas import ptoas
from cubelane.ir.pto.regions import CubeSectionOp, SectionOp, VectorSectionOp
from cubelane.ir.pto.text import print_pto, read_pto, verify_pto

from .snippets import IN_UB, LOAD, OUT_UB, C, V, flag, function, kernel, loop, module, section
from .stages import assembled, children, kinds, names, normalized, refusal, shape

EXPLICIT_VECTOR = 'pto.backend = "vpto", pto.kernel_kind = #pto.kernel_kind<vector>, pto.target_arch = "a5"'
LOAD_V = "    %v = pto.vlds %u[%i0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
MASK = '    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'


def test_f01_no_kind_is_guessed_and_cube_work_in_a_vector_module_is_an_error():
    text = kernel(V, C)
    assert "kernel_kind" not in print_pto(normalized(text)) and shape(text) == "V C"
    assert "conflicts" in refusal(kernel(V, C, attributes=EXPLICIT_VECTOR)).message


def test_f03_a_shared_scalar_prologue_serves_two_sections():
    use = C.replace("%n, %n, %n", "%s, %n, %n")
    text = kernel(LOAD, section("cube", use), section("vector", V))
    assert all(
        "pto.load_scalar" in names(child) or kind == "vector" for kind, child in children(assembled(text)).items()
    )


def test_f04_a_value_changed_in_one_section_is_not_seen_in_the_other():
    change = "    %e = arith.addi %n, %n : i64\n"
    text = kernel(section("cube", change + C), section("vector", V.replace("%u[%i0]", "%u[%e]")))
    problem = refusal(text)
    assert "%e" in problem.message and problem.instead


def test_f05_an_indirect_path_over_a_section_of_the_same_kind_is_seen():
    program = read_pto(
        kernel("    %e = arith.addi %n, %n : i64\n    %f = arith.addi %e, %e : i64\n    %h = arith.addi %f, %f : i64\n")
    )
    adds = [op for op in program.walk() if op.name == "arith.addi"]
    for op, kind in zip(adds, (CubeSectionOp, VectorSectionOp, VectorSectionOp), strict=True):
        block, place = op.parent, op.next_op
        assert block is not None and place is not None
        op.detach()
        block.insert_op_before(kind.around([op]), place)
    assert [(c.defined_in.kind.value, c.used_in.kind.value) for c in crossings(program) if c.used_in] == [
        ("cube", "vector"), ("cube", "vector"), ("vector", "vector"), ("vector", "vector"),
    ]  # fmt: skip


def test_f07_equal_vdups_on_both_sides_of_a_barrier_stay_two():
    dup = "    %{0} = pto.vdup %one : f32 -> !pto.vreg<64xf32>\n    pto.vsts %{0}, %u[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n"
    body = "    %one = arith.constant 1.0 : f32\n" + MASK + dup.format("v")
    body += "    pto.barrier #pto.pipe<PIPE_V>\n" + dup.format("w")
    found = names(children(assembled(kernel(body)))["vector"])
    assert found.count("pto.vdup") == 2 and found.count("pto.vecscope") == 2


def test_f08_queries_stay_outside_the_scope_and_nothing_is_speculated():
    body = (
        "    %q = pto.get_block_idx : i64\n    %t = arith.cmpi slt, %q, %n : i64\n    scf.if %t {\n"
        "    %d = arith.divsi %n, %q : i64\n    %k = arith.index_cast %d : i64 to index\n"
        + MASK + LOAD_V.replace("%i0", "%k")
        + "    pto.vsts %v, %u[%k], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n    }\n"
    )  # fmt: skip
    child = children(assembled(kernel(body)))["vector"]
    division = next(op for op in child.walk() if op.name == "arith.divsi")
    query = next(op for op in child.walk() if op.name == "pto.get_block_idx")
    parents = {op.name: [p.name for p in _around(op)] for op in (division, query)}
    assert "scf.if" in parents["arith.divsi"] and "pto.vecscope" not in parents["pto.get_block_idx"]


def _around(op):
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def test_f09_flags_stay_inside_the_branch_with_what_they_guard():
    guarded = flag("wait", "MTE3", "MTE2") + IN_UB + flag("set", "MTE2", "V")
    text = kernel(loop("    scf.if %no {\n" + guarded + "    }\n"), V, C)
    child = children(assembled(text))["vector"]
    flags = [op for op in child.walk() if op.name in ("pto.set_flag", "pto.wait_flag")]
    assert len(flags) == 2 and all(next(_around(op)).name == "scf.if" for op in flags)


@pytest.mark.parametrize("option", ["--enable-insert-sync", "--enable-graph-sync-solver", "--enable-bufid_sync"])
def test_f11_f12_automatic_sync_is_not_built_and_says_so(option: str, capsys: pytest.CaptureFixture[str]):
    assert ptoas(["--emit-vpto", option, "x.pto"]) == 2
    assert "automatic synchronization is not built" in capsys.readouterr().err


def test_f13_deep_control_flow_ends():
    body = IN_UB
    for _ in range(12):
        body = "    scf.if %no {\n" + body + "    }\n"
    assert kinds(kernel(body, C)) == ["vector", "cube"]


def test_f15_stores_stay_before_the_yield_of_a_loop_with_pointer_carries():
    body = (
        "    %lo = arith.constant 0 : index\n    %hi = arith.constant 4 : index\n    %st = arith.constant 1 : index\n"
        "    %e = scf.for %j = %lo to %hi step %st iter_args(%q = %u) -> (!pto.ptr<f32, ub>) {\n"
        + MASK + LOAD_V.replace("%u[", "%q[")
        + "    pto.vsts %v, %q[%i0], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n"
        "    %next = pto.addptr %q, %st : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>\n"
        "    scf.yield %next : !pto.ptr<f32, ub>\n    }\n"
    )  # fmt: skip
    program = assembled(kernel(body, C))
    verify_pto(program)
    loops = [op for op in program.walk() if op.name == "scf.for"]
    assert all(op.regions[0].block.last_op.name == "scf.yield" for op in loops)
    assert len(loops) == 1


def test_f17_cross_core_signals_accept_every_legal_pipe_mode_and_id():
    for pipe in ("FIX", "MTE1", "MTE2", "MTE3", "V"):
        for number in (0, 8, 31):
            read_pto(kernel(f"    pto.sync.set <PIPE_{pipe}>, {number} {{ffts_mode = 2 : i32}}\n"))
    read_pto(kernel("    pto.sync.wait <PIPE_MTE1>, %i0\n"))
    problem = refusal(kernel("    pto.sync.set <PIPE_FIX>, 40\n"))
    assert "legal ids are 0 to 31" in problem.message


def test_f20_the_text_of_each_child_has_only_its_own_ops():
    found = children(assembled(kernel(V, OUT_UB, C)))
    assert "mad" not in print_pto(found["vector"]) and "l0a" not in print_pto(found["vector"])
    assert "vreg" not in print_pto(found["cube"]) and ", ub>" not in print_pto(found["cube"])


def test_values_do_not_leave_through_the_result_of_a_helper():
    leaf = (
        "  func.func private @h(%q: i64) -> i64 {\n    return %q : i64\n  }\n"
        + function(section("vector", V) + C)
    )  # fmt: skip
    assert shape(module(leaf)) == "V C"
    assert not any(isinstance(op, SectionOp) for op in assembled(module(leaf)).walk())
