"""The whole-function path: what is rewritten, what passes through, what comes out (seed; spec 4.1 to 4.3)."""

import pytest

from cubelane import passes
from cubelane.ir.kernel import SPLIT_AIV, functions_of, split_of
from cubelane.ir.types import DYNAMIC, MemorySpace, SplitMode
from cubelane.language import parse, print_program
from cubelane.passes.pipeline import PASSES, pass_named
from cubelane.passes.tile.lower_auto_vector_split import LowerAutoVectorSplit

from .kernels import Kernel, ops, value


def function(module):
    return functions_of(module)[0]


def test_seed_example_reads_as_in_the_document() -> None:
    text = print_program(Kernel("q = pl.tile.add(v, v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", 128, 128).lowered())
    assert "subblock_idx: pl.Scalar[pl.INDEX] = pl.tile.get_subblock_idx()" in text
    assert "v: pl.Tile[[64, 128], pl.FP32, pl.Mem.Vec] = pl.tile.aiv_shard(acc, split=1)" in text
    assert "pl.tile.store(q, [0 + subblock_idx * 64, 0], y)" in text


@pytest.mark.parametrize(("mode", "axis"), [("UP_DOWN", 0), ("LEFT_RIGHT", 1)])
def test_vector_work_is_halved_and_cube_work_is_not(mode: str, axis: int) -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", mode=mode).check()
    half = [32, 24]
    half[axis] //= 2
    assert value(module, "q").type.shape == tuple(half)
    assert value(module, "acc").type.shape == (32, 24)
    assert split_of(function(module)).axis == axis and SPLIT_AIV in function(module).attributes


def test_nothing_to_do_gives_the_same_unchanged_object() -> None:
    kernel = Kernel("o = pl.tile.store(v, [0, 0], y)\nreturn o")
    lowered = kernel.lowered()
    before = str(lowered)
    assert LowerAutoVectorSplit()(lowered) is lowered
    assert str(lowered) == before


@pytest.mark.parametrize("form", ["function", "region", "explicit", "none"])
def test_pass_twice_is_the_pass_once_on_the_same_objects(form: str) -> None:
    tile, at = {"explicit": ("h", "lane * 16"), "none": ("f", "lane * 16")}.get(form, ("v", "0"))
    made = "f = pl.tile.full([16, 24], dtype=pl.FP32, value=1.0)\n" if form == "none" else ""
    body = f"{made}q = pl.tile.neg({tile})\no = pl.tile.store(q, [{at}, 0], y)\nreturn o"
    module = Kernel(body, form=form).parsed()
    once = passes.lower_auto_vector_split()(module)
    assert once is module
    functions, text = functions_of(module), str(module)
    ops_before = [op for f in functions for op in f.body.walk()]
    assert passes.lower_auto_vector_split()(module) is module
    assert all(a is b for a, b in zip(functions, functions_of(module), strict=True))
    assert all(a is b for a, b in zip(ops_before, (op for f in functions for op in f.body.walk()), strict=True))
    assert str(module) == text


PURE_VECTOR = """
import pypto.language as pl

@pl.program
class Prog:
    @pl.function(type=pl.FunctionType.InCore, attrs={"split": pl.SplitMode.UP_DOWN})
    def f(self, t: pl.Tensor[[17, 8], pl.FP32], y: pl.Out[pl.Tensor[[17, 8], pl.FP32]]) -> pl.Tensor[[17, 8], pl.FP32]:
        a = pl.tile.load(t, [0, 0], [17, 8], target_memory=pl.Mem.Vec)
        o = pl.tile.store(a, [0, 0], y)
        return o
"""


def test_pure_vector_function_passes_through_with_its_odd_rows() -> None:
    module = parse(PURE_VECTOR)
    before = str(module)
    assert str(LowerAutoVectorSplit()(module)) == before


def test_taken_index_name_gets_a_version() -> None:
    body = "subblock_idx = n + 1\nq = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o"
    module = Kernel(body, n=1).lowered()
    assert ops(module, "tile.get_subblock_idx")[0].results[0].name_hint == "subblock_idx__ssa_v0"


def test_crossing_to_the_cube_is_gathered_and_placed_by_the_authors_move() -> None:
    body = """
    p = pl.tile.cast(v, pl.FP16)
    pl_ = pl.tile.move(p, target_memory=pl.Mem.Left)
    um = pl.tile.load(u, [0, 0], [24, 16], target_memory=pl.Mem.Mat)
    ur = pl.tile.move(um, target_memory=pl.Mem.Right)
    z = pl.tile.matmul(pl_, ur)
    o = pl.tile.store(z, [0, 0], y)
    return o
    """
    kernel = Kernel(body, parameters={"u": "pl.Tensor[[24, 16], pl.FP16]"}, outputs={"y": (32, 16)})
    module = kernel.check()
    gather = ops(module, "tile.aic_gather")[0]
    assert gather.results[0].name_hint == "pl__mat"
    assert gather.results[0].type.shape == (32, 24) and gather.results[0].type.memory is MemorySpace.MAT
    assert next(iter(gather.results[0].uses)).operation.name == "tile.move"


def test_gather_joins_along_the_axis_that_moved() -> None:
    body = """
    s = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    m = pl.tile.row_max(v, s)
    r = pl.tile.reshape(m, [1, 32])
    q = pl.tile.cast(r, pl.FP16)
    ql = pl.tile.move(q, target_memory=pl.Mem.Left)
    um = pl.tile.load(u, [0, 0], [32, 16], target_memory=pl.Mem.Mat)
    ur = pl.tile.move(um, target_memory=pl.Mem.Right)
    z = pl.tile.matmul(ql, ur)
    o = pl.tile.store(z, [0, 0], y)
    return o
    """
    module = Kernel(body, parameters={"u": "pl.Tensor[[32, 16], pl.FP16]"}, outputs={"y": (1, 16)}).check()
    gather = ops(module, "tile.aic_gather")[0]
    assert gather.bound()["split"] == 2 and gather.results[0].type.shape == (1, 32)


def test_scratch_stays_whole_and_a_create_that_holds_values_is_halved() -> None:
    body = """
    s = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    m = pl.tile.row_max(v, s)
    e = pl.tile.create([32, 24], dtype=pl.FP32, target_memory=pl.Mem.Vec)
    r = pl.tile.row_expand(e, m)
    o = pl.tile.store(r, [0, 0], y)
    return o
    """
    module = Kernel(body).check()
    assert value(module, "s").type.shape == (32, 24) and value(module, "e").type.shape == (16, 24)


def test_properties_are_data_of_the_pass() -> None:
    stage = pass_named("lower-auto-vector-split")
    assert "AivSplitValid" in stage.required and stage.invalidated == {"AivSplitValid"}
    assert stage.required - stage.produced == {"AivSplitValid"}
    names = [other.name for other in PASSES]
    place = names.index(stage.name)
    assert names[place - 1 : place + 2] == ["resolve-backend-op-layouts", stage.name, "expand-mixed-kernel"]


def test_one_row_crossing_is_held_by_both_lanes() -> None:
    module = Kernel("q = pl.tile.adds(v, 1.0)\no = pl.tile.store(q, [0, 0], y)\nreturn o", rows=1).check()
    assert ops(module, "tile.aiv_shard")[0].bound()["split"] == 0


def test_every_new_op_has_a_place_in_the_text() -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", valid=20).lowered()
    for op in function(module).body.walk():
        assert "kernel.py" in str(op.location), op


def test_layout_and_dynamic_extent_of_a_ragged_half() -> None:
    module = Kernel("q = pl.tile.neg(v)\no = pl.tile.store(q, [0, 0], y)\nreturn o", valid=31).check()
    assert value(module, "q").type.valid == (DYNAMIC, 24)
    assert SplitMode.UP_DOWN is split_of(function(module))
