"""MixedKernelExpanded: one broken program for each single check (spec 9.2), and the pair that passes."""

import pytest
from xdsl.rewriter import Rewriter

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.surface import as_property
from cubelane.ir.tile.channel import InitializePipeOp, PopOp
from cubelane.ir.types import MemorySpace
from cubelane.passes.tile.verify_mixed_kernel_expanded import VerifyMixedKernelExpanded, findings
from tests.expand.stages import HEAD, TO_VEC, kernel, product, program

PAIR = (
    HEAD
    + """    @pl.function(type=pl.FunctionType.AIC)
    def p_aic(self, x: pl.Tensor[[16, 64], pl.FP16], w: pl.Tensor[[32, 32], pl.FP16], n: pl.Scalar[pl.INDEX]):
        down = pl.system.import_peer_buffer(name="down", peer_func="p_aiv")
        up = pl.system.reserve_buffer(name="up", size=4096, base=-1)
        pl.system.aic_initialize_pipe(down, up, dir_mask=3, slot_size=2048, slot_num=2)
        xm = pl.tile.load(x, [0, 0], [16, 32], target_memory=pl.Mem.Mat)
        xl = pl.tile.move(xm, target_memory=pl.Mem.Left)
        wm = pl.tile.load(w, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        wr = pl.tile.move(wm, target_memory=pl.Mem.Right)
        acc = pl.tile.matmul(xl, wr)
        pl.tile.tpush_to_aiv(acc, split=0)
        h: pl.Tile[[16, 32], pl.FP16, pl.Mem.Mat] = pl.tile.tpop_from_aiv(split=0)
        hl = pl.tile.move(h, target_memory=pl.Mem.Left)
        pl.system.tfree_to_aiv(h)
        acc2 = pl.tile.matmul(hl, wr)

    @pl.function(type=pl.FunctionType.AIV)
    def p_aiv(self, n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]) -> pl.Tensor[[16, 32], pl.FP32]:
        down = pl.system.reserve_buffer(name="down", size=4096, base=-1)
        up = pl.system.import_peer_buffer(name="up", peer_func="p_aic")
        pl.system.aiv_initialize_pipe(down, up, dir_mask=3, slot_size=2048, slot_num=2)
        v: pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0)
        e = pl.tile.cast(v, pl.FP16)
        pl.system.tfree_to_aic(v)
        pl.tile.tpush_to_aic(e, split=0)
        out = pl.tile.store(e, [0, 0], y)
        return out
"""
)
AIC_INIT = "        pl.system.aic_initialize_pipe(down, up, dir_mask=3, slot_size=2048, slot_num=2)\n"
AIV_INIT = "        pl.system.aiv_initialize_pipe(down, up, dir_mask=3, slot_size=2048, slot_num=2)\n"
PUSH = "        pl.tile.tpush_to_aiv(acc, split=0)\n"
FREE_AIC = "        pl.system.tfree_to_aic(v)\n"
FREE_AIV = "        pl.system.tfree_to_aiv(h)\n"
IMPORT_AIC = '        down = pl.system.import_peer_buffer(name="down", peer_func="p_aiv")\n'
RESERVE_AIC = '        up = pl.system.reserve_buffer(name="up", size=4096, base=-1)\n'
IMPORT_AIV = '        up = pl.system.import_peer_buffer(name="up", peer_func="p_aic")\n'
RESERVE_AIV = '        down = pl.system.reserve_buffer(name="down", size=4096, base=-1)\n'
POP_AIV = "        v: pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec] = pl.tile.tpop_from_aic(split=0)\n"


def later(text: str) -> str:
    """The line one level deeper."""
    return "    " + text


BROKEN = {
    "aic pops into no space": (("FP16, pl.Mem.Mat]", "FP16]"), "AIC pops into Mat, not a space that is not stated"),
    "aiv pops into no space": (("FP32, pl.Mem.Vec]", "FP32]"), "AIV pops into Vec, not a space that is not stated"),
    "aic import too many": ((IMPORT_AIC, IMPORT_AIC + IMPORT_AIC.replace("down", "more")), "too many import_peer"),
    "aic reserve too many": ((RESERVE_AIC, RESERVE_AIC + RESERVE_AIC.replace("up", "more")), "too many reserve_buffer"),
    "aiv import too many": ((IMPORT_AIV, IMPORT_AIV + IMPORT_AIV.replace("up", "more")), "too many import_peer"),
    "aiv reserve too many": ((RESERVE_AIV, RESERVE_AIV + RESERVE_AIV.replace("down", "more")), "too many reserve_buf"),
    "aic import too few": ((IMPORT_AIC, "        down = pl.cast(n, pl.INT32)\n"), "too few import_peer_buffer"),
    "aic reserve too few": ((RESERVE_AIC, "        up = pl.cast(n, pl.INT32)\n"), "too few reserve_buffer calls: 0"),
    "aiv import too few": ((IMPORT_AIV, "        up = pl.cast(n, pl.INT32)\n"), "too few import_peer_buffer"),
    "aiv reserve too few": ((RESERVE_AIV, "        down = pl.cast(n, pl.INT32)\n"), "too few reserve_buffer calls"),
    "no init": ((AIC_INIT, ""), "`tpush_to_aiv` uses a ring that AIC has not opened before"),
    "init behind the push": ((AIC_INIT, ""), (PUSH, PUSH + AIC_INIT), "ring that AIC has not opened before"),
    "init under a condition": ((AIC_INIT, "        if n > 3:\n" + later(AIC_INIT)), "that AIC has not opened before"),
    "init in the loop of the push": (
        (AIC_INIT, ""),
        (PUSH, "        for i in pl.range(2):\n" + later(AIC_INIT) + later(PUSH)),
        "`tpush_to_aiv` uses a ring that AIC has not opened before",
    ),
    "direction not opened": (
        (AIV_INIT, AIV_INIT.replace("down, up, dir_mask=3", "down, pl.const(0, pl.INT32), dir_mask=1")),
        "`tpush_to_aic` uses a ring that AIV has not opened before",
    ),
    "init of the other core": ((AIC_INIT, AIV_INIT), "stands in the program of the other core"),
    "slot_num": ((AIC_INIT, AIC_INIT.replace("slot_num=2", "slot_num=0")), "a ring has at least one slot, not 0"),
    "local_slot_num": (
        (AIC_INIT, AIC_INIT.replace("slot_num=2", "slot_num=2, local_slot_num=3")),
        "local_slot_num is 1 to 2, not 3",
    ),
    "local_slot_num without slot_num": (
        (AIC_INIT, AIC_INIT.replace("slot_num=2", "local_slot_num=5")),
        "local_slot_num is 1 to 4, not 5",
    ),
    "placeholder 0": ((AIC_INIT, AIC_INIT.replace("down,", "pl.const(0, pl.INT32),")), "buffer is the placeholder 0"),
    "placeholder -1": ((AIV_INIT, AIV_INIT.replace("up,", "pl.const(-1, pl.INT32),")), "buffer is the placeholder -1"),
    "unused direction with a buffer": (
        (AIV_INIT, AIV_INIT.replace("dir_mask=3", "dir_mask=1")),
        "the direction lanes to cube is not used; its buffer must be the constant 0",
    ),
    "aiv never frees": ((FREE_AIC, ""), "pops `v` and never gives the slot back"),
    "aic never frees": ((FREE_AIV, ""), "pops `h` and never gives the slot back"),
    "freed twice": ((FREE_AIC, FREE_AIC + FREE_AIC), "frees `v`, which holds no slot here"),
    "frees another tile": ((FREE_AIC, FREE_AIC + FREE_AIC.replace("(v)", "(e)")), "frees `e`, which holds no slot"),
    "wrong direction": ((FREE_AIC, "        pl.system.tfree_to_aiv(v)\n"), "frees a tile that came through"),
    "freed in another list": ((FREE_AIC, "        if n > 3:\n" + later(FREE_AIC)), "`v`, which holds no slot here"),
    "popped in another list": (
        (POP_AIV, POP_AIV + "        for i in pl.range(2):\n" + later(POP_AIV.replace("v:", "v2:"))),
        "pops `v2` and never gives the slot back",
    ),
}


def test_a_sound_pair_passes():
    assert not findings(program(PAIR))
    one_way = PAIR.replace("slot_num=2", "slot_num=2, local_slot_num=2")
    assert not findings(program(one_way))


@pytest.mark.parametrize("what", BROKEN)
def test_each_check_by_a_broken_pair(what):
    *changes, words = BROKEN[what]
    text = PAIR
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = program(text)
    found = findings(module)
    assert any(words in str(problem) for problem in found), [str(problem) for problem in found]
    assert all(problem.location.line and problem.code == "mixed-kernel-expanded" for problem in found)
    with pytest.raises(Diagnostic, match="error"):
        VerifyMixedKernelExpanded().apply(None, module)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("FP16, pl.Mem.Mat]", "FP16, pl.Mem.Vec]", "`tpop_from_aiv` pops into Mat, not Vec"),
        ("FP32, pl.Mem.Vec]", "FP32, pl.Mem.Mat]", "`tpop_from_aic` pops into Vec, not Mat"),
        ("down, up, dir_mask=3", "down, up, dir_mask=4", "a pipe needs dir_mask 1, 2 or 3"),
        ("slot_size=2048", "slot_size=0", "a positive slot_size"),
    ],
)
def test_text_that_cannot_be_is_refused_where_it_stands(old, new, words):
    with pytest.raises(Diagnostic, match=words) as caught:
        program(PAIR.replace(old, new))
    assert caught.value.location.line


@pytest.mark.parametrize(
    ("fact", "value", "words"),
    [
        ("dir_mask", 4, "dir_mask is 1, 2 or 3, not 4"),
        ("slot_size", 0, "a slot has a positive size in bytes"),
    ],
)
def test_checks_of_a_pipe_that_no_text_can_state(fact, value, words):
    module = program(PAIR)
    init = next(op for op in module.walk() if isinstance(op, InitializePipeOp))
    init.properties[fact] = as_property(value)
    assert any(words in problem.message for problem in findings(module))


@pytest.mark.parametrize(
    ("place", "space", "words"),
    [(0, MemorySpace.VEC, "AIC pops into Mat, not Vec"), (1, MemorySpace.MAT, "AIV pops into Vec, not Mat")],
)
def test_pop_into_the_other_space(place, space, words):
    module = program(PAIR)
    pop = [op for op in module.walk() if isinstance(op, PopOp)][place]
    Rewriter.replace_value_with_new_type(pop.results[0], pop.results[0].type.in_memory(space))
    assert any(words in problem.message for problem in findings(module))


def test_body_that_still_mixes_both_cores():
    text = kernel(product() + f"v = {TO_VEC.format('acc')}\nout = pl.tile.store(v, [0, 0], y)\nreturn out")
    (problem,) = findings(program(text))
    assert "`k` still mixes cube and vector work" in str(problem) and problem.location.line


def test_a_crossing_move_alone_counts_as_both():
    """One MIXED op makes the body mixed, with no vector op of its own."""
    text = kernel(product() + f"v = {TO_VEC.format('acc')}\nreturn y")
    (problem,) = findings(program(text))
    assert "still mixes" in problem.message
