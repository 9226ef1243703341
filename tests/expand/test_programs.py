"""The functions produced: names, groups, callers, hand-written pairs, both lanes of an unsplit kernel (D01 to D11)."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.func import CallOp
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def
from xdsl.traits import MemoryWriteEffect

from cubelane.analysis.channel_protocol import core_groups
from cubelane.analysis.equality import structurally_equal
from cubelane.check.execute import run_group
from cubelane.check.protocol import check_protocol
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.kernel import DUAL_DISPATCH, FunctionKind, functions_of, kind_of
from cubelane.ir.surface import python_value
from cubelane.ir.tile.channel import InitializePipeOp, PopOp
from cubelane.ir.tile.movement import StoreOp
from cubelane.ir.traits import OnBoth, RunsOnce
from cubelane.ir.types import TensorType, TileType
from cubelane.language import print_program
from cubelane.passes.tile.expand_mixed_kernel import ExpandMixedKernel
from cubelane.passes.tile.verify_mixed_kernel_expanded import findings
from tests.expand.stages import HEAD, LATER, TO_VEC, expanded, finished, function, kernel, ops, product, program
from tests.expand.test_projection import CARRIED, block, inputs

PLAIN = kernel(product() + f"v = {TO_VEC.format('acc')}\nout = pl.tile.store(v, [0, 0], y)\nreturn out")
CALL = """
    @pl.function(type=pl.FunctionType.{kind})
    def {name}(
        self,
        x: pl.Tensor[[16, 64], pl.FP16],
        w: pl.Tensor[[64, 32], pl.FP16],
        t: pl.Tensor[[16, 32], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        {body}
"""
ONCE = "r = self.k(x, w, t, n, y)\n        return r"
IN_LOOP = (
    "for i, (y_it,) in pl.range(2, init_values=(y,)):\n            r = self.k(x, w, t, n, y_it)\n"
    "            y2 = pl.yield_(r)\n        return y2"
)


def called(kind, body, name="caller"):
    return CALL.format(kind=kind, name=name, body=body)


def test_three_functions_share_the_parameters_and_the_group_keeps_the_name():
    module = expanded(PLAIN)
    kinds = {f.sym_name.data: kind_of(f) for f in functions_of(module)}
    assert kinds == {"k_aic": FunctionKind.AIC, "k_aiv": FunctionKind.AIV, "k": FunctionKind.GROUP}
    assert len({tuple(f.function_type.inputs) for f in functions_of(module)}) == 1
    assert not function(module, "k_aic").function_type.outputs.data
    group = function(module, "k")
    assert group.body.block.last_op.operands[0] is group.body.block.args[-1]


def test_group_that_only_groups_call_is_not_made():
    module = expanded(PLAIN + called("Group", ONCE))
    assert "k" not in {f.sym_name.data for f in functions_of(module)}
    assert [op.callee.string_value() for op in function(module, "caller").walk() if isinstance(op, CallOp)] == [
        "k_aic",
        "k_aiv",
    ]


def test_gap_26_group_is_kept_for_a_call_inside_a_loop_of_an_orchestration():
    """Gap 26: callers are searched in loops too."""
    module = expanded(PLAIN + called("Group", ONCE, "g") + called("Orchestration", IN_LOOP, "main"))
    names = {f.sym_name.data for f in functions_of(module)}
    assert {"k", "k_aic", "k_aiv", "g", "main"} <= names
    assert "k" in [op.callee.string_value() for op in function(module, "main").walk() if isinstance(op, CallOp)]


def test_call_of_a_group_in_a_loop_starts_both_programs():
    module = expanded(PLAIN + called("Group", IN_LOOP))
    calls = [op.callee.string_value() for op in function(module, "caller").walk() if isinstance(op, CallOp)]
    assert calls == ["k_aic", "k_aiv"]


def test_pipe_buffer_reaches_every_caller_and_each_call_makes_its_own():
    two = "r = self.k(x, w, t, n, y)\n        q = self.k(x, w, t, n, r)\n        return q"
    module = finished(PLAIN + called("Orchestration", two, "main"), "a2a3")
    for name in ("k", "k_aic", "k_aiv"):
        assert function(module, name).body.block.args[-1].name_hint == "__gm_pipe_buffer"
    assert ops(module, "main").count("gm.create") == 2
    assert "__gm_pipe_buffer" not in str(finished(PLAIN, "a5"))


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_expansion_twice_changes_nothing(target):
    module = expanded(PLAIN, target)
    before = str(module)
    ExpandMixedKernel().apply(Context(), module)
    assert str(module) == before


def test_slot_holds_the_full_tile_and_the_ring_two_of_them():
    module = expanded(PLAIN)
    inits = [op for op in module.walk() if isinstance(op, InitializePipeOp)]
    assert [(python_value(op.slot_size), python_value(op.slot_num)) for op in inits] == [(2048, 2)] * 2


def test_tiles_of_different_sizes_get_pipes_of_their_own_when_asked():
    text = kernel(
        product()
        + "wm2 = pl.tile.load(w, [0, 0], [16, 16], target_memory=pl.Mem.Mat)\n"
        + "wr2 = pl.tile.move(wm2, target_memory=pl.Mem.Right)\nb = pl.tile.matmul(xl, wr2)\n"
        + f"v = {TO_VEC.format('acc')}\nu = {TO_VEC.format('b')}\n"
        + "y1 = pl.tile.store(v, [0, 0], y)\nout = pl.tile.store(u, [0, 16], y1)\nreturn out"
    )
    module = expanded(text, pipe_per_size=True)
    pipes = {
        python_value(op.properties["id"]): python_value(op.slot_size)
        for op in module.walk()
        if isinstance(op, InitializePipeOp)
    }
    assert pipes == {0: 2048, 1: 1024} and not findings(module)
    for stage in LATER:
        stage().apply(Context(), module)
    assert not check_protocol(module)[0].findings
    given = inputs()
    result = run_group(module, given)
    assert not result.findings
    assert np.array_equal(result.outputs["y"], np.hstack([block(given)[:, :16]] * 2))


def test_lane_1_of_an_unsplit_kernel_takes_part_and_has_no_visible_effect():
    module = finished(CARRIED, "a2a3")
    lanes = function(module, "k_aiv")
    assert DUAL_DISPATCH in lanes.attributes
    branch = next(op for op in lanes.walk() if op.name == "scf.if")
    mine, other = ([op for op in region.walk()] for region in branch.regions)
    for kind in ("tile.tpop_from_aic", "system.tfree_to_aic"):
        assert sum(o.name == kind for o in mine) == sum(o.name == kind for o in other)
    assert not any(isinstance(op, StoreOp) or op.name == "tile.load" for op in other)
    assert all(0 in op.results[0].type.valid for op in other if isinstance(op, PopOp))


def test_unsplit_kernel_on_a5_runs_one_lane():
    module = finished(CARRIED, "a5")
    assert [agent.name for agent in core_groups(module)[0].agents] == ["AIC", "AIV0"]


ROUND_TRIP = kernel(
    "tv = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\nh = pl.tile.cast(tv, pl.FP16)\n"
    "hl = pl.tile.move(h, target_memory=pl.Mem.Left)\n"
    "wm = pl.tile.load(w, [0, 0], [32, 32], target_memory=pl.Mem.Mat)\n"
    "wr = pl.tile.move(wm, target_memory=pl.Mem.Right)\nacc = pl.tile.matmul(hl, wr)\n"
    f"v = {TO_VEC.format('acc')}\nout = pl.tile.store(v, [0, 0], y)\nreturn out"
)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_lanes_to_cube_is_staged_to_nz_on_a5_only(target):
    module = expanded(ROUND_TRIP, target)
    names = ops(module, "k_aiv")
    push = names.index("tile.tpush_to_aic")
    assert (names[push - 1] == "tile.move") is (target == "a5")
    pop = next(op for op in function(module, "k_aic").walk() if isinstance(op, PopOp))
    kind = pop.results[0].type
    assert isinstance(kind, TileType) and (kind.data.blayout.value, kind.data.slayout.value) == (
        "col_major",
        "row_major",
    )
    given = inputs()
    result = run_group(finished(ROUND_TRIP, target), given)
    assert not result.findings
    assert np.array_equal(result.outputs["y"], given["t"] @ given["w"][:32].astype(np.float32))


def test_crossing_into_the_accumulator_is_refused():
    text = kernel(
        "tv = pl.tile.load(t, [0, 0], [16, 32], target_memory=pl.Mem.Vec)\n"
        "a = pl.tile.move(tv, target_memory=pl.Mem.Acc)\n"
        + product("b")
        + "out = pl.tile.store(a, [0, 0], y)\nreturn out"
    )
    with pytest.raises(Diagnostic) as refusal:
        expanded(text)
    assert refusal.value.code == "crossing-space" and refusal.value.instead


@irdl_op_definition
class NotifyOp(IRDLOperation):
    """Tells a peer that the tensor is ready; twice would be one signal too many."""

    name = "test.notify"
    tensor = operand_def(TensorType)
    traits = traits_def(OnBoth, RunsOnce(), MemoryWriteEffect())


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_side_effect_runs_on_one_core_behind_the_data_it_announces(target):
    module = program(PLAIN, target)
    store = next(op for op in module.walk() if isinstance(op, StoreOp))
    store.parent_block().insert_op_after(NotifyOp(operands=[store.result]), store)
    ExpandMixedKernel().apply(Context(), module)
    assert "test.notify" not in ops(module, "k_aic")
    names = ops(module, "k_aiv")
    assert names.index("test.notify") > names.index("tile.store")
    for stage in LATER:
        stage().apply(Context(), module)
    module.verify()
    assert ops(module, "k_aiv").count("test.notify") == 1


def test_side_effect_on_a_lane_waits_for_the_store_of_the_cube():
    text = kernel(
        product() + "t1 = pl.tile.store(acc, [0, 0], t)\n"
        "tv = pl.tile.full([16, 32], dtype=pl.FP32, value=1.0)\nout = pl.tile.store(tv, [0, 0], y)\n"
        f"v = {TO_VEC.format('acc')}\ny2 = pl.tile.store(v, [0, 0], out)\nreturn y2",
        scratch=True,
    )
    module = program(text)
    first = [op for op in module.walk() if isinstance(op, StoreOp)][1]
    first.parent_block().insert_op_after(NotifyOp(operands=[first.result]), first)
    ExpandMixedKernel().apply(Context(), module)
    names = ops(module, "k_aiv")
    assert names.index("tile.tpop_from_aic") < names.index("test.notify")


PAIR = (
    HEAD
    + """    @pl.function(type=pl.FunctionType.AIC)
    def p_aic(self, x: pl.Tensor[[16, 64], pl.FP16], w: pl.Tensor[[64, 32], pl.FP16]):
        ring = pl.system.import_peer_buffer(name="ring", peer_func="p_aiv")
        pl.system.aic_initialize_pipe(ring, pl.const(0, pl.INT32), dir_mask=1, slot_size=2048, slot_num=2)
        xm = pl.tile.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)
        xl = pl.tile.move(xm, target_memory=pl.Mem.Left)
        wm = pl.tile.load(w, [0, 0], [16, 32], target_memory=pl.Mem.Mat)
        wr = pl.tile.move(wm, target_memory=pl.Mem.Right)
        acc = pl.tile.matmul(xl, wr)
        pl.tile.tpush_to_aiv(acc, split={code})

    @pl.function(type=pl.FunctionType.AIV)
    def p_aiv(self, y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]) -> pl.Tensor[[16, 32], pl.FP32]:
        ring = pl.system.reserve_buffer(name="ring", size=4096, base=-1)
        pl.system.aiv_initialize_pipe(ring, pl.const(0, pl.INT32), dir_mask=1, slot_size=2048, slot_num=2)
        v: pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split={code})
        e = pl.tile.adds(v, 1.0)
        pl.system.tfree_to_aic(v)
        out = pl.tile.store(e, [0, 0], y)
        return out

    @pl.function(type=pl.FunctionType.Group)
    def p(
        self,
        x: pl.Tensor[[16, 64], pl.FP16],
        w: pl.Tensor[[64, 32], pl.FP16],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        self.p_aic(x, w)
        r = self.p_aiv(y)
        return r
"""
)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("code", [0, 1, 2])
def test_hand_written_pair_gets_the_parameters_of_its_group_and_runs(code, target):
    module = finished(PAIR.format(code=code), target)
    assert len(function(module, "p_aiv").body.block.args) >= 3
    assert not findings(module)
    for verdict in check_protocol(module):
        assert not verdict.findings
    given = {name: value for name, value in inputs().items() if name in "xwy"}
    result = run_group(module, given)
    assert not result.findings, result.findings[0]
    assert np.array_equal(result.outputs["y"], block(given) + 1)


def test_members_called_by_two_groups_get_adapters():
    other = PAIR[PAIR.index("    @pl.function(type=pl.FunctionType.Group)") :].replace("def p(", "def q(")
    module = expanded((PAIR + "\n" + other).format(code=0))
    names = {f.sym_name.data for f in functions_of(module)}
    assert {"p_aic_adapter", "p_aiv_adapter", "q_aic_adapter", "q_aiv_adapter", "p_aic", "p_aiv"} <= names


def test_pair_with_two_modes_is_refused():
    text = PAIR.format(code=1).replace("tpop_from_aic(split=1)", "tpop_from_aic(split=2)")
    text = text.replace(
        "e = pl.tile.adds(v, 1.0)", "e = pl.tile.adds(v, 1.0)\n        pl.tile.tpush_to_aic(e, split=1)"
    )
    with pytest.raises(Diagnostic) as refusal:
        finished(text, "a2a3")
    assert refusal.value.code == "two-split-modes"


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("text", [CARRIED, PAIR.format(code=0), PAIR.format(code=1), PAIR.format(code=2), ROUND_TRIP])
def test_later_passes_twice_are_the_later_passes_once(text, target):
    module = finished(text, target)
    before = str(module)
    for stage in LATER:
        stage().apply(Context(), module)
    assert str(module) == before
    again = program(print_program(module), target)
    wanted = str(structurally_equal(again, module))
    for stage in LATER:
        stage().apply(Context(), again)
    assert str(structurally_equal(again, module)) == wanted == "None"


EXTERNAL = (
    HEAD
    + """    @pl.function(type=pl.FunctionType.AIV, external_source="k.cpp", attrs={{{attrs}}})
    def f(self, y: pl.Out[pl.Tensor[[16, 8], pl.FP32]]) -> pl.Tensor[[16, 8], pl.FP32]:
        return y
"""
)


@pytest.mark.parametrize(
    ("attrs", "dual"), [('"split": pl.SplitMode.UP_DOWN', True), ('"split_aiv": True', True), ("", False)]
)
def test_body_written_elsewhere_is_stamped_and_never_touched(attrs, dual):
    module = program(EXTERNAL.format(attrs=attrs), "a2a3")
    body = str(function(module, "f").body.block.first_op)
    for stage in (ExpandMixedKernel, *LATER):
        stage().apply(Context(), module)
    assert (DUAL_DISPATCH in function(module, "f").attributes) is dual
    assert [str(op) for op in function(module, "f").body.block.ops] == [body]


def test_member_written_elsewhere_keeps_its_parameters_or_is_refused():
    text = PAIR.format(code=0).replace("FunctionType.AIV)", 'FunctionType.AIV, external_source="k.cpp")')
    with pytest.raises(Diagnostic) as refusal:
        expanded(text, "a5")
    assert refusal.value.code == "group-abi" and "`p_aiv`" in refusal.value.message and refusal.value.location.line > 0
