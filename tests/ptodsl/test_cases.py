"""What users reported (cases F and G) about the tracing language, sections, flags and the machine: one test each."""

import inspect
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from cubelane.analysis.pto_purity import foreign_work
from cubelane.check.kernel_file import Judge
from cubelane.check.micro import MicroProgram, judge_micro
from cubelane.emit.vpto import Job
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.pto.attrs import kind_of
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.passes.pto.pipeline import NORMALIZATION, VPTO, run
from cubelane.ptodsl import pto
from cubelane.sim.micro import launch
from cubelane.sim.micro.launch import launch_split, split
from cubelane.sim.micro.registers import Register
from tests.micro.mutations import example, names


def ub(offset: int = 0, kind: Any = pto.f32) -> Any:
    return pto.castptr(offset, pto.ptr(kind, "ub"))


def multiply() -> None:
    left, right = (pto.castptr(0, pto.ptr(pto.f16, space)) for space in ("left", "right"))
    pto.mad(left, right, pto.castptr(0, pto.ptr(pto.f32, "acc")), 16, 16, 16)


def add_one(at: Any, offset: Any = 0) -> None:
    with pto.vecscope():
        full = pto.pset_b32("ALL")
        pto.vsts(pto.vadds(pto.vlds(at, offset), 1.0, full), at, offset, full)


def vpto(handle: Any) -> dict[str, str]:
    program = Job(handle.mlir_text(), "k.pto").vpto()
    return {kind_of(child.attributes).value: print_pto(child) for child in program.body.block.ops}


def codes(handle: Any, *arguments: Any, **options: Any) -> list[str]:
    return handle.run(*arguments, **options).kinds()


# --- F: sections, kinds, flags ------------------------------------------------------------------------------------


def test_f01_the_default_kind_is_not_written_and_both_children_come_out():
    @pto.jit
    def kernel():
        add_one(ub())
        multiply()

    handle = kernel.compile()
    assert "kernel_kind" not in handle.mlir_text() and handle.spec.kernel_kind == "vector"
    children = vpto(handle)
    assert list(children) == ["vector", "cube"] and "mad" not in children["vector"]


def test_f03_two_sections_share_a_prologue():
    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.i64, "gm")):
        n = pto.load_scalar(x) + 2
        with pto.section("cube"):
            pto.wait_intra_flag("FIX", pto.cast(n, pto.index))
            multiply()
        with pto.section("vector"):
            pto.wait_intra_flag("MTE3", pto.cast(n, pto.index))
            add_one(ub())

    children = vpto(kernel.compile())
    assert all("pto.load_scalar" in text and "arith.addi" in text for text in children.values())


@pytest.mark.parametrize("rewrite", [True, False])
def test_f04_each_section_starts_from_the_value_before_it(rewrite: bool):
    @pto.jit(mode="explicit", ast_rewrite=rewrite)
    def kernel():
        e = 1
        with pto.section("cube"):
            e = e + 1
            pto.wait_intra_flag("FIX", e)
            multiply()
        with pto.section("vector"):
            pto.wait_intra_flag("MTE3", e)
            add_one(ub())

    children = vpto(kernel.compile())
    assert "<PIPE_FIX>, 2" in children["cube"] and "<PIPE_MTE3>, 1" in children["vector"]


def test_f04_a_variable_reassigned_under_an_if_in_both_sections():
    @pto.jit(mode="explicit")
    def kernel(n: pto.i64):
        e = n
        with pto.section("cube"):
            if n > 3:
                e = e + 1
            pto.wait_intra_flag("FIX", pto.cast(e, pto.index))
            multiply()
        with pto.section("vector"):
            if n > 3:
                e = e + 2
            pto.wait_intra_flag("MTE3", pto.cast(e, pto.index))
            add_one(ub())

    children = vpto(kernel.compile())
    assert children["cube"].count("scf.if") == children["vector"].count("scf.if") == 1


@pytest.mark.parametrize("limit", range(4))
def test_f09_flags_under_a_branch_balance_on_every_path(limit: int):
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm"), limit: pto.index):
        pto.set_flag("V", "MTE2")
        for j in range(pto.const(3)):
            if j < limit:
                pto.wait_flag("V", "MTE2")
                pto.mte_gm_ub(x + j * 64, ub(), 0, 256)
                pto.set_flag("MTE2", "V")
        for j in range(pto.const(3)):
            if j < limit:
                pto.wait_flag("MTE2", "V")
                add_one(ub())
                pto.set_flag("V", "MTE2")
        pto.wait_flag("V", "MTE2")

    @pto.jit(mode="explicit", kernel_kind="vector")
    def together(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm"), limit: pto.index):
        pto.set_flag("V", "MTE2")
        for j in range(pto.const(3)):
            if j < limit:
                pto.wait_flag("V", "MTE2")
                pto.mte_gm_ub(x + j * 64, ub(), 0, 256)
                pto.set_flag("MTE2", "V")
                pto.wait_flag("MTE2", "V")
                add_one(ub())
                pto.set_flag("V", "MTE2")
        pto.wait_flag("V", "MTE2")

    arrays = np.zeros(256, np.float32), np.zeros(256, np.float32)
    assert codes(together.compile(), *arrays, limit) == []
    assert codes(kernel.compile(), *arrays, limit) == []


@pytest.mark.parametrize("trips", range(4))
def test_f11_a_double_buffered_loop_is_primed_and_drained(trips: int):
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(
        x: pto.ptr(pto.f32, "gm"),
        n: pto.index,
        *,
        PRIME: pto.const_expr = True,
        DRAIN: pto.const_expr = True,
    ):
        if PRIME:
            for slot in pto.static_range(2):
                pto.set_flag("V", "MTE2", event_id=slot)
        for i in range(n):
            slot = i % 2
            pto.wait_flag("V", "MTE2", event_id=slot)
            pto.mte_gm_ub(x + i * 64, ub() + slot * 64, 0, 256)
            pto.set_flag("MTE2", "V", event_id=slot)
            pto.wait_flag("MTE2", "V", event_id=slot)
            add_one(ub() + slot * 64)
            pto.set_flag("V", "MTE2", event_id=slot)
        if DRAIN:
            for slot in pto.static_range(2):
                pto.wait_flag("V", "MTE2", event_id=slot)

    x = np.zeros(256, np.float32)
    assert codes(kernel.compile(), x, trips) == []
    assert set(codes(kernel.compile(DRAIN=False), x, trips)) == {"leftover"}
    assert codes(kernel.compile(PRIME=False), x, trips) == ["deadlock"]


def test_f12_the_event_of_a_slot_is_the_run_time_one():
    def body(x: pto.ptr(pto.f32, "gm"), *, DYNAMIC: pto.const_expr = True):
        for slot in pto.static_range(2):
            pto.set_flag("V", "MTE2", event_id=slot if DYNAMIC else 0)
        for i in range(pto.const(4)):
            slot = i % 2
            event = slot if DYNAMIC else 0
            pto.wait_flag("V", "MTE2", event_id=event)
            pto.mte_gm_ub(x + i * 64, ub() + slot * 64, 0, 256)
            pto.set_flag("MTE2", "V", event_id=event)
            pto.wait_flag("MTE2", "V", event_id=event)
            add_one(ub() + slot * 64)
            pto.set_flag("V", "MTE2", event_id=event)
        for slot in pto.static_range(2):
            pto.wait_flag("V", "MTE2", event_id=slot if DYNAMIC else 0)

    kernel = pto.jit(mode="explicit", kernel_kind="vector")(body)
    text = vpto(kernel.compile())["vector"]
    assert text.count("set_flag_dyn") == text.count("wait_flag_dyn") == 2
    x = np.zeros(256, np.float32)
    assert codes(kernel.compile(), x) == []
    assert "event-reused" in codes(kernel.compile(DYNAMIC=False), x)


def test_f13_nested_control_flow_with_double_buffers_compiles_in_time():
    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm"), n: pto.index):
        for a in range(n):
            for b in range(n):
                if a < b:
                    for c in range(n):
                        slot = c % 2
                        pto.mte_gm_ub(x + slot * 64, ub() + slot * 64, 0, 256)
                        pto.set_flag("MTE2", "V", event_id=slot)
                        pto.wait_flag("MTE2", "V", event_id=slot)
                        if b > 2:
                            add_one(ub() + slot * 64)
                        else:
                            add_one(ub() + slot * 64)
                else:
                    add_one(ub())

    start = time.process_time()
    assert list(vpto(kernel.compile())) == ["vector"]
    assert time.process_time() - start < 10


def test_f15_pointer_carries_and_stores_in_a_loop_give_the_right_numbers():
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 2048)
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        with pto.vecscope():
            full, p, q, out = pto.pset_b32("ALL"), ub(), ub(1024), ub(4096)
            for _ in range(pto.const(4)):
                v, p = pto.vlds(p, 64, post_update="ON")
                w, q = pto.vlds(q, 64, post_update="ON")
                out = pto.vsts(pto.vadd(v, w, full), out, 64, full, post_update="ON")
        pto.set_flag("V", "MTE3")
        pto.wait_flag("V", "MTE3")
        pto.mte_ub_gm(ub(4096), y, 1024)

    x, y = np.arange(512, dtype=np.float32), np.zeros(256, np.float32)
    kernel.compile()(x, y)
    np.testing.assert_array_equal(y, x[:256] + x[256:])


@pytest.mark.parametrize("used_later", [False, True])
def test_f16_a_variable_set_under_an_if_read_and_written_in_a_while(used_later: bool):
    @pto.jit(kernel_kind="vector")
    def kernel(out: pto.ptr(pto.i64, "gm"), c: pto.i64, m: pto.i64, *, LATER: pto.const_expr = False):
        v, j = 1, 0
        if c > 0:
            v = 3
        while j < m:
            v = v * 2
            j = j + 1
        pto.store_scalar(v if LATER else j, out)

    out = np.zeros(1, np.int64)
    for c, m in itertools.product((0, 1), (0, 1, 4)):
        kernel.compile(LATER=used_later)(out, c, m)
        assert out[0] == ((3 if c else 1) * 2**m if used_later else m)


@pytest.mark.parametrize("pipe", ["FIX", "MTE1", "MTE2", "MTE3", "V"])
def test_f17_every_legal_queue_and_id_of_a_signal_is_accepted(pipe: str):
    @pto.jit(mode="explicit")
    def kernel(n: pto.index):
        for number in range(32):
            pto.set_intra_flag(pipe, number)
        pto.wait_intra_flag(pipe, n)

    text = kernel.compile().mlir_text()
    assert text.count(f"sync.set <PIPE_{pipe}>") == 32 and f"sync.wait <PIPE_{pipe}>, %n" in text

    @pto.jit(mode="explicit")
    def beyond():
        pto.set_intra_flag(pipe, 32)

    with pytest.raises(ValueError, match="0 to 31"):
        beyond.compile()


def handed(arch: str, both: bool) -> Any:
    """The cube core signals the lanes by run-time ids; each lane answers."""

    @pto.jit(mode="explicit", target=arch)
    def kernel(n: pto.index):
        with pto.section("cube"):
            if both:
                pto.set_ffts(pto.const(0, pto.i64))
            pto.set_intra_flag("FIX", n)
            pto.wait_intra_flag("FIX", n + 1)
            if not both:
                pto.set_intra_flag("FIX", n + 16)
                pto.wait_intra_flag("FIX", n + 17)
            multiply()
        with pto.section("vector"):
            if both:
                pto.set_ffts(pto.const(0, pto.i64))
            pto.wait_intra_flag("MTE3", n)
            pto.set_intra_flag("MTE3", n + 1)

    return kernel.compile()


def test_f17_signals_with_run_time_ids_per_lane_and_as_a_broadcast():
    assert "deadlock" not in codes(handed("a5", False), 3) and "leftover" not in codes(handed("a5", False), 3)
    assert "deadlock" in codes(handed("a5", True), 3), "one set reaches one lane on a5"
    found = codes(handed("a3", True), 3)
    assert "deadlock" not in found and "leftover" not in found, "one set reaches both lanes on a3"
    assert codes(handed("a3", False), 3)[0] == "no-ffts"


def vector_ops_of(name: str) -> list[str]:
    module = split(example(name).KERNEL.compile().mlir_module())
    lanes = launch.units().vectors
    return sorted({op.decl.name for op in module.walk() if isinstance(op, PtoOp) and op.results} & set(lanes))


def disturbed(data: np.ndarray) -> np.ndarray:
    """Other values in every second lane, also for infinities."""
    wrong = data.copy()
    wrong[::2] = np.where(np.isfinite(data[::2].astype(np.float64)), 1000 - data[::2], 1000).astype(data.dtype)
    return wrong


@pytest.mark.parametrize("name", ["softmax", "rmsnorm", "flash_attention", "gemm_bias", "vector_axpy"])
def test_f19_every_broken_vector_op_is_seen_by_the_golden(name: str, monkeypatch: pytest.MonkeyPatch):
    """A golden that does not depend on an op proves nothing about it: each op is broken in turn."""
    file, honest = example(name), launch.units
    module = split(file.KERNEL.compile().mlir_module())

    def broken(victim: str) -> Any:
        made = honest()
        maker = made.vectors[victim]

        def make(op: PtoOp) -> Any:
            meaning = maker(op)

            def wrong(lane: Any, place: int, values: Any) -> Any:
                found = meaning(lane, place, values)
                first, *rest = found if isinstance(found, tuple) else (found,)
                if isinstance(first, Register):
                    first = Register(disturbed(first.data), first.undefined)
                else:
                    first = ~first
                return (first, *rest) if rest else first

            return wrong

        made.vectors[victim] = make
        return made

    unseen = []
    for victim in vector_ops_of(name):
        monkeypatch.setattr(launch, "units", lambda victim=victim: broken(victim))
        given = file.inputs()
        want = file.golden(given)
        found = launch_split(module, None, list(given.values())).findings
        right = all(np.allclose(given[k], v, file.RTOL, file.ATOL, equal_nan=True) for k, v in want.items())
        if not found and right:
            unseen.append(victim)
    assert unseen == []


@pytest.mark.parametrize("name", names())
def test_f20_the_text_of_a_core_holds_its_own_ops_only(name: str):
    program = Job(example(name).KERNEL.compile().mlir_text(), "k.pto").vpto()
    for child in program.body.block.ops:
        assert isinstance(child, ModuleOp)
        kind = kind_of(child.attributes)
        assert kind is not None and not list(foreign_work(child, kind))
        other = ("l0a>", "l0b>", "l0c>", "PIPE_FIX", "PIPE_M>") if kind.value == "vector" else ("vreg", "PIPE_V>")
        assert not any(word in print_pto(child) for word in other)


# --- G: texts, reports, the machine -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_g01_the_text_reads_back_after_every_pass(name: str):
    program = example(name).KERNEL.compile().mlir_module()

    def reads_back(step: str, module: ModuleOp) -> None:
        text = print_pto(module)
        assert print_pto(read_pto(text)) == text, step

    run((*NORMALIZATION, *VPTO), program, after=reads_back)


def test_g03_a_deadlock_says_who_waits_for_what_where_and_since_when():
    @pto.jit(name="stuck", mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        pto.mte_gm_ub(x, ub(), 0, 256)
        pto.set_flag("MTE2", "V")
        pto.wait_flag("MTE2", "V")
        add_one(ub())
        pto.wait_intra_flag("MTE3", 6)  # here
        pto.mte_ub_gm(ub(), x, 256)

    (finding,) = kernel.compile().run(np.zeros(64, np.float32)).findings
    lines, first = inspect.getsourcelines(kernel.function)
    where = next(first + i for i, text in enumerate(lines) if "# here" in text)
    assert finding.message == "deadlock in stuck: AIV0 MTE3 waits forever"
    (note,) = finding.notes
    assert f"test_cases.py:{where}:" in note and "AIV0 MTE3" in note and "signal AIC -> AIV0 id 6" in note
    assert "since cycle" in note and "never set" in note


DIRECTIONS = [("cube", 0), ("cube", 1), ("vector", 0), ("vector", 1)]


@pytest.mark.parametrize(("sender", "lane"), DIRECTIONS)
def test_g04_every_direction_of_a_signal_carries_order(sender: str, lane: int):
    """The receiver reads what the sender wrote to its UB or L1 only when the signal orders them."""

    @pto.jit(mode="explicit")
    def to_lane(y: pto.ptr(pto.f32, "gm"), *, SIGNAL: pto.const_expr = True):
        with pto.section("cube"):
            multiply()
            pto.set_flag("M", "FIX")
            pto.wait_flag("M", "FIX")
            pto.mte_l0c_ub(pto.castptr(0, pto.ptr(pto.f32, "acc")), ub(), 16, 16, 16, 16, lane)
            if SIGNAL:
                pto.set_intra_flag("FIX", 5 + 16 * lane)
        with pto.section("vector"):
            if pto.get_subblock_idx() == lane:
                if SIGNAL:
                    pto.wait_intra_flag("MTE3", 5)
                pto.mte_ub_gm(ub(), y, 64)

    @pto.jit(mode="explicit")
    def to_cube(y: pto.ptr(pto.f32, "gm"), *, SIGNAL: pto.const_expr = True):
        with pto.section("vector"):
            if pto.get_subblock_idx() == lane:
                with pto.vecscope():
                    pto.vsts(pto.vbr(2.0), ub(), 0, pto.pset_b32("ALL"))
                pto.set_flag("V", "MTE3")
                pto.wait_flag("V", "MTE3")
                pto.mte_ub_gm(ub(), y, 64)
                if SIGNAL:
                    pto.set_intra_flag("MTE3", 9)
        with pto.section("cube"):
            if SIGNAL:
                pto.wait_intra_flag("MTE2", 9 + 16 * lane)
            pto.mte_gm_l1(y, pto.castptr(0, pto.ptr(pto.f32, "mat")), 64)

    kernel = to_lane if sender == "cube" else to_cube
    assert "race" not in codes(kernel.compile(), np.zeros(16, np.float32))
    assert "race" in codes(kernel.compile(SIGNAL=False), np.zeros(16, np.float32))


def test_g07_the_machine_stops_at_a_read_beyond_the_buffer():
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        for i in range(pto.const(3)):
            pto.mte_gm_ub(x + i * 64, ub() + i * 64, 0, 256)

    (finding,) = kernel.compile().run(np.zeros(128, np.float32)).findings
    assert finding.code == "out-of-bounds" and "argument 'x', which has 512 bytes" in finding.message


def test_g08_automatic_and_hand_written_sync_exclude_each_other():
    def flags():
        pto.set_flag("MTE2", "V")

    def barrier():
        pto.pipe_barrier("ALL")

    for body in (flags, barrier):
        with pytest.raises(RuntimeError, match="asks for automatic synchronization"):
            pto.jit(mode="explicit", insert_sync=True)(body).compile()

    @pto.jit(insert_sync=True)
    def automatic():
        add_one(ub())

    with pytest.raises(Diagnostic, match="automatic synchronization, which is not built"):
        automatic.compile().run()


@pytest.mark.parametrize(("taken", "found"), [(1, []), (0, ["race"])])
def test_g09_a_barrier_in_a_branch_orders_only_when_the_branch_is_taken(taken: int, found: list[str]):
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), flag: pto.index):
        pto.mte_gm_ub(x, ub(), 0, 256)
        if flag > 0:
            pto.mte_gm_ub(x, ub(1024), 0, 256)
            pto.pipe_barrier("ALL")
            add_one(ub(1024))
        add_one(ub())

    assert codes(kernel.compile(), np.zeros(64, np.float32), taken)[:1] == found


@pytest.mark.parametrize(
    ("name", "cores"), [("vector_axpy", "AIV"), ("softmax", "AIV"), ("cube_gemm", "AIC"), ("gemm_bias", "AIC+AIV")]
)
def test_g11_a_kernel_of_one_core_is_launched_on_that_core_only(name: str, cores: str):
    file = example(name)
    module = file.KERNEL.compile().mlir_module()
    verdict = judge_micro(MicroProgram(module, None, "explicit", judge_of(file)))
    assert verdict.cores == cores and verdict.equal
    ran = {queue.split()[0] for queue, count in verdict.run.ran.items() if count}
    assert ran == {"AIV": {"AIV0"}, "AIC": {"AIC"}, "AIC+AIV": {"AIC", "AIV0", "AIV1"}}[cores]


def judge_of(file: Any) -> Any:
    return Judge(file.inputs, file.golden, file.RTOL, file.ATOL)


@pytest.mark.parametrize("name", names())
def test_g13_no_option_of_the_machine_changes_a_result(name: str):
    file = example(name)
    handle = file.KERNEL.compile()
    options: list[Callable[[list[Any]], Any]] = [
        lambda given: handle.run(*given),
        lambda given: handle.run(*given, seed=5),
        lambda given: handle.run(*given, slow={"AIV": 7.0}),
        lambda given: launch_split(split(handle.mlir_module(), raw=True), None, given),
    ]
    results = []
    for option in options:
        given = file.inputs()
        assert not option(list(given.values())).findings
        results.append(b"".join(v.tobytes() for v in given.values() if isinstance(v, np.ndarray)))
    assert len(set(results)) == 1
