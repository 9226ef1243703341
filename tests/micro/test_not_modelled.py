"""What the machine has no meaning for is refused by name at its place: the exact list, one test for each op."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from cubelane.ir.diagnostic import Diagnostic, Location
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import VecScopeOp
from cubelane.ir.pto.spaces import Pipe
from cubelane.ir.pto.text import parse_pto
from cubelane.ptodsl import pto
from cubelane.sim.micro.board import Places
from cubelane.sim.micro.launch import units
from cubelane.sim.micro.program import Program

CORPUS = Path(__file__).parents[1] / "pto" / "corpus" / "ops"
NOT_MODELLED = {
    "scaled products": "mad_mx mad_mx_acc mad_mx_bias mad_mx_raw mad_mx_bias_raw mte_l1_l0a_mx mte_l1_l0b_mx"
    " load_cbuf_to_ca_mx load_cbuf_to_cb_mx load_cbuf_to_ca_s4 load_cbuf_to_cb_s4",
    "sorting": "vbitsort vmrgsort4 get_vms4_sr",
    "histograms": "chistv2 dhistv2",
    "forms without a stated meaning": "vcbmax vcbmin uvld vgather2_bc pstu sprsti sprsts",
    "synchronization without a stated meaning": "barrier_sync syncall tsync record_event wait_event dcci",
    "atomic stores set up beforehand": "set_atomic_f32 set_atomic_f16 set_atomic_bf16 set_atomic_s32 set_atomic_s16"
    " set_atomic_s8 set_atomic_add set_atomic_max set_atomic_min set_atomic_none set_store_atomic_cfg",
    "rings and arrays of events": "aic_initialize_pipe aiv_initialize_pipe initialize_l2l_pipe initialize_l2g2l_pipe"
    " create_eventid_array eventid_array_get eventid_array_set import_reserved_buffer",
    "padding and loops into L1, clipping": "set_loop1_stride_outtol1 set_loop2_stride_outtol1 set_loop3_stride_outtol1"
    " set_loop4_stride_outtol1 set_loop_size_outtol1 set_pad_val_outtol1 set_fpc",
}


FAMILIES = {"simt", "tile_level"}
"""Families of the table that the machine leaves out as a whole, but for views and moves of tiles."""


@cache
def corpus() -> dict[str, PtoOp]:
    """An op of every name, out of the corpus."""
    found: dict[str, PtoOp] = {}
    for path in sorted(CORPUS.glob("*.pto")):
        for op in parse_pto(path.read_text(), path.name).walk():
            if isinstance(op, PtoOp):
                found.setdefault(op.decl.name, op)
    return found


def refused(name: str) -> Diagnostic | None:
    """What the machine says to a kernel that holds one op and what its operands need; None where it takes it."""
    op = corpus()[name]
    kernel = op.parent_op()
    while not isinstance(kernel, FuncOp):
        assert kernel is not None
        kernel = kernel.parent_op()
    needed: set[Operation] = {op}
    for other in reversed(list(kernel.walk())):
        if any(use.operation in needed for result in other.results for use in result.uses):
            needed.add(other)
    copy = kernel.clone()
    for old, new in reversed(list(zip(kernel.walk(), copy.walk(), strict=True))):
        if old not in needed and old.parent_op() is not None and not old.regions and old.name != "func.return":
            new.detach()
    block = copy.body.block
    scoped = [
        o for o in block.ops if isinstance(o, PtoOp) and o.decl.pipe is Pipe.V and "tile_level" not in o.decl.tags
    ]
    if scoped and block.last_op is not None:
        for o in scoped:
            o.detach()
        block.insert_op_before(VecScopeOp.around(scoped), block.last_op)
    try:
        Program({"k": copy}, units(), Places(), "a5").function("k")
    except Diagnostic as problem:
        return problem
    return None


NAMES = [(group, name) for group, names in NOT_MODELLED.items() for name in names.split()]


@pytest.mark.parametrize(("group", "name"), NAMES, ids=lambda part: part.replace(" ", "_"))
def test_an_op_without_meaning_is_refused_by_name(group: str, name: str):
    problem = refused(name)
    assert problem is not None and f"'pto.{name}'" in problem.message, group
    assert problem.code == "not-modelled" and problem.location == Location.of(corpus()[name])


def test_vector_and_cube_micro_ops_transfers_and_flags_are_all_listed_or_modelled():
    known, listed = units(), {name for _, name in NAMES}
    meant = known.queues.keys() | known.controls.keys() | known.vectors.keys()
    assert not listed & meant
    problems = {name: refused(name) for name in corpus() if name not in meant | listed}
    left = {name for name, problem in problems.items() if problem is not None and f"'pto.{name}'" in problem.message}
    assert left == {name for name in left if corpus()[name].decl.tags & FAMILIES}
    assert len(left) > 70
    others = {str(problem) for name, problem in problems.items() if problem is not None and name not in left}
    operands = ("pto.alloc_tile", "pto.alloc_multi_tile", "pto.section.simt")
    assert all(any(f"'{name}'" in text for name in operands) for text in others), others


def hif8(x: Any) -> None:
    left, right = (pto.castptr(0, pto.ptr(pto.hif8, space)) for space in ("left", "right"))
    pto.mad(left, right, pto.castptr(0, pto.ptr(pto.f32, "acc")), 16, 32, 16)


def small_channels(x: Any) -> None:
    l1 = pto.castptr(0, pto.ptr(pto.f32, "mat"))
    pto.mte_gm_l1_frac(
        x,
        l1,
        "nd2nz",
        shape=(16, 4),
        src_layout=(16,),
        dst_group=(1, 1, 16, 0),
        ctrl=(0, pto.const(True, dtype=pto.i1)),
    )


@pytest.mark.parametrize(("body", "part"), [(hif8, "hif8 operands"), (small_channels, "smallc0")])
def test_a_mode_without_meaning_is_refused_by_name_at_its_call(body: Callable[[Any], None], part: str):
    @pto.jit(mode="explicit", kernel_kind="cube")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        body(x)

    x = np.zeros(256, np.float32)
    try:
        problems = kernel.compile().run(x).findings
    except Diagnostic as problem:
        problems = [problem]
    assert len(problems) == 1 and part in problems[0].message
    assert problems[0].code == "not-modelled" and problems[0].location.file == __file__
