"""The kernel kind: what is kept, what is serialized, what the children become (spec/pto.md 13.1, seed 3)."""

from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.micro import read_micro
from cubelane.emit.vpto import Job, StageFailure
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.attrs import kind_of
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.ptodsl import pto


def cv_tileops():
    with pto.tileop():
        zero = pto.const(0, dtype=pto.i64)
        source = pto.castptr(zero, pto.ptr(pto.f32, "ub"))
        destination = pto.castptr(zero, pto.ptr(pto.f32, "ub"))
        with pto.vecscope():
            value = pto.vlds(source, 0, pto.vreg_type(64, pto.f32))
            pto.vsts(value, destination, 0, pto.pset_b32(pto.MaskPattern.ALL))
    with pto.tileop():
        multiply()


def raw_vector():
    ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
    with pto.vecscope():
        pto.vsts(pto.vlds(ub, 0), ub, 0, pto.pset_b32("ALL"))


def multiply():
    zero = pto.const(0, dtype=pto.i64)
    lhs = pto.castptr(zero, pto.ptr(pto.f16, "left"))
    rhs = pto.castptr(zero, pto.ptr(pto.f16, "right"))
    acc = pto.castptr(zero, pto.ptr(pto.f32, "acc"))
    extent = pto.const(16, dtype=pto.i64)
    pto.mad(lhs, rhs, acc, extent, extent, extent)


def raw_both():
    raw_vector()
    multiply()


def traced(body: Any, **options: Any) -> Any:
    return pto.jit(name="k", target="a5", **options)(body).compile()


def children(handle: Any) -> dict[str, str]:
    """The texts of the children of the assembled program, by kind."""
    try:
        program = Job(handle.mlir_text(), "k.pto").vpto()
    except StageFailure as failure:
        raise failure.diagnostic from None
    found: dict[str, str] = {}
    for op in program.body.block.ops:
        kind = kind_of(op.attributes)
        assert isinstance(op, ModuleOp) and kind is not None and kind.value not in found
        found[kind.value] = str(op)
    return found


def test_default_kind_is_kept_for_the_native_build_and_is_not_explicit():
    spec = traced(cv_tileops)._module_spec
    assert (spec.kernel_kind, spec.kernel_kind_explicit) == ("vector", False)
    assert spec.native_arch() == "dav-c310-vec"


def test_default_mixed_kernel_names_no_kind_anywhere():
    text = traced(cv_tileops).mlir_text()
    assert "kernel_kind" not in text
    assert text.count("module") == 2
    assert 'module attributes {pto.backend = "vpto", pto.target_arch = "a5"}' in text
    assert "func.func @k() attributes {pto.entry}" in text


@pytest.mark.parametrize("kind", ["cube", "vector"])
def test_explicit_kind_is_on_child_and_function(kind: str):
    handle = traced(raw_vector if kind == "vector" else multiply, kernel_kind=kind)
    assert handle._module_spec.kernel_kind_explicit
    assert handle.mlir_text().count(f"pto.kernel_kind = #pto.kernel_kind<{kind}>") == 2


@pytest.mark.parametrize("kind", [None, "mixed"])
def test_a_kind_that_is_none_or_unknown_is_explicit_and_never_serialized(kind: str | None):
    handle = traced(cv_tileops, kernel_kind=kind)
    assert handle._module_spec.kernel_kind_explicit
    assert "kernel_kind" not in handle.mlir_text()


def test_emitc_entry_names_its_kind_on_the_function_only():
    assert "kernel_kind" not in traced(raw_vector, backend="emitc").mlir_text()
    text = traced(raw_vector, backend="emitc", kernel_kind="vector").mlir_text()
    assert text.count("kernel_kind<vector>") == 1 and "attributes {pto.entry, pto.kernel_kind" in text


def test_emitc_helper_child_keeps_even_the_default_kind():
    @pto.jit(backend="emitc", entry=False)
    def helper(x: pto.ptr(pto.f32, "gm")):
        pto.store_scalar(1.0, x)

    @pto.jit(backend="emitc")
    def entry(x: pto.ptr(pto.f32, "gm")):
        helper(x)

    text = entry.compile().mlir_text()
    wanted = '{pto.backend = "emitc", pto.kernel_kind = #pto.kernel_kind<vector>, pto.target_arch = "a5"}'
    assert f"module attributes {wanted}" in text
    assert 'pto.visibility = "external"' in text and "func.func private @helper" in text


def test_vpto_entry_and_kernel_module_without_kinds_are_two_children_without_kinds():
    @pto.jit(entry=False)
    def helper(x: pto.ptr(pto.f32, "gm"), i: pto.i32):
        pto.store_scalar(1.0, x, i)

    @pto.jit
    def entry(x: pto.ptr(pto.f32, "gm")):
        helper(x, 0)
        helper(x, 1)

    text = entry.compile().mlir_text()
    assert text.count('module attributes {pto.backend = "vpto", pto.target_arch = "a5"}') == 2
    assert "kernel_kind" not in text and text.count("func.call @helper") == 2


@pytest.mark.parametrize("body", [cv_tileops, raw_both], ids=["tileops", "raw"])
def test_default_kind_gives_one_vector_and_one_cube_child(body: Any):
    found = children(traced(body))
    assert list(found) == ["vector", "cube"]
    assert "pto.vlds" in found["vector"] and "mad_raw" not in found["vector"]
    assert "pto.mad_raw" in found["cube"] and "vlds" not in found["cube"]


@pytest.mark.parametrize(("body", "kind"), [(raw_vector, "vector"), (multiply, "cube")])
@pytest.mark.parametrize("explicit", [False, True])
def test_pure_kernels_give_one_child(body: Any, kind: str, explicit: bool):
    assert list(children(traced(body, **({"kernel_kind": kind} if explicit else {})))) == [kind]


def test_work_of_the_other_core_conflicts_with_an_explicit_kind():
    with pytest.raises(Diagnostic, match="conflicts with explicit"):
        children(traced(cv_tileops, kernel_kind="vector"))


def test_lone_shared_flag_is_ambiguous():
    def body():
        pto.set_flag("MTE2", "V")

    with pytest.raises(Diagnostic, match="section kind ambiguous"):
        children(traced(body))


def test_both_kinds_in_one_loop_are_ambiguous_at_the_first_op_of_the_second_kind():
    def body(n: pto.i32):
        ub = pto.castptr(0, pto.ptr(pto.f32, "ub"))
        for _ in range(n):
            with pto.vecscope():
                pto.vsts(pto.vlds(ub, 0), ub, 0, pto.pset_b32("ALL"))
            multiply()

    handle = traced(body)
    with pytest.raises(Diagnostic, match="section kind ambiguous") as caught:
        handle.run(3)
    assert caught.value.location.file == __file__
    assert caught.value.location.line == multiply.__code__.co_firstlineno + 6


def test_text_reads_back_and_prints_the_same():
    text = traced(cv_tileops).mlir_text()
    assert print_pto(read_pto(text)) == text


@pytest.mark.parametrize(
    ("kind", "target", "arch"),
    [
        ("vector", "a5", "dav-c310-vec"), ("cube", "a5", "dav-c310-cube"), (None, "a5", "dav-c310"),
        ("vector", "a3", "dav-c220-vec"), ("cube", "a2", "dav-c220-cube"), (None, "a3", "dav-c220"),
    ],
)  # fmt: skip
def test_native_architecture(kind: str | None, target: str, arch: str):
    assert pto.aicore_arch_for_kernel_kind(kind, target) == arch


def test_native_architecture_refuses_other_kinds():
    with pytest.raises(ValueError, match="unsupported kernel_kind for native build: 'mixed'"):
        pto.aicore_arch_for_kernel_kind("mixed", "a5")


def test_merged_modules_agree_on_target_and_hold_all_children():
    first, second = traced(raw_vector), traced(multiply)
    assert len(list(pto.merge_jit_modules(first, second).body.block.ops)) == 2
    with pytest.raises(ValueError, match=r"must agree on pto\.target_arch"):
        pto.merge_jit_modules(first, pto.jit(target="a3")(multiply).compile())


SCALARS = """
from cubelane.ptodsl import pto

@pto.jit(entry=False, mode="explicit")
def count(p: pto.ptr(pto.i32, "gm"), n: pto.i32):
    pto.store_scalar(n + 1, p)

@pto.jit(mode="explicit")
def main(p: pto.ptr(pto.i32, "gm")):
    with pto.vecscope():
        pto.vsts(pto.vbr(1.0), pto.castptr(0, pto.ptr(pto.f32, "ub")), 0, pto.pset_b32("ALL"))
    count(p, pto.load_scalar(p))

@pto.jit(mode="explicit")
def alone(p: pto.ptr(pto.i32, "gm")):
    pto.store_scalar(pto.load_scalar(p), p)
"""


@pytest.mark.parametrize(("kernel", "function", "line"), [("main", "count", 6), ("alone", "alone", 16)])
def test_work_of_no_core_is_refused_at_its_first_op_and_the_advice_works(
    kernel: str, function: str, line: int, tmp_path: Path
):
    path = tmp_path / "kernels.py"
    path.write_text(SCALARS)
    with pytest.raises(Diagnostic) as caught:
        read_micro(path, kernel).vpto()
    problem = caught.value
    assert (problem.location.file, problem.location.line) == (str(path), line)
    assert f"nothing in @{function} needs the cube or the vector core" in problem.notes[0]
    assert problem.instead is not None and '@pto.jit(kernel_kind="vector")' in problem.instead
    header = f'@pto.jit({"entry=False, " if function == "count" else ""}mode="explicit")\ndef {function}'
    path.write_text(SCALARS.replace(header, header.replace("@pto.jit(", '@pto.jit(kernel_kind="vector", ')))
    assert "#pto.kernel_kind<vector>" in read_micro(path, kernel).vpto()
