"""Tiles in the tracing language: places of a tile, tile ops, helpers and kernel modules with tile parameters."""

from typing import Any

import numpy as np
import pytest

from cubelane.ir.pto.text import print_pto, read_pto
from cubelane.ptodsl import pto


@pto.tileop
def scale_rows(tile: pto.Tile, rows: pto.i64):
    with pto.vecscope():
        full = pto.pset_b32("ALL")
        for r in range(pto.cast(rows, pto.index)):
            for c in range(0, tile.shape[1], 64):
                pto.vsts(pto.vmuls(pto.vlds(tile[r, c:]), 2.0, full), tile[r, c:], 0, full)


@pto.jit(mode="explicit")
def doubled(x: pto.ptr(pto.f32, "gm"), y: pto.ptr(pto.f32, "gm"), *, ROWS: pto.const_expr = 8):
    source = pto.make_tensor_view(x, shape=[ROWS, 256], strides=[256, 1])
    target = pto.make_tensor_view(y, shape=[ROWS, 128], strides=[128, 1])
    tile = pto.alloc_tile([ROWS, 128], pto.f32, "vec", addr=512)
    pto.tload(pto.partition_view(source, offsets=[0, 64], sizes=[ROWS, 128]), tile)
    pto.set_flag("MTE2", "V")
    pto.wait_flag("MTE2", "V")
    scale_rows(tile, ROWS)
    pto.set_flag("V", "MTE3")
    pto.wait_flag("V", "MTE3")
    pto.tstore(tile, pto.partition_view(target, offsets=[0, 0], sizes=[ROWS, 128]))


def test_a_kernel_of_tiles_runs_and_reads_back():
    x, y = np.arange(8 * 256, dtype=np.float32).reshape(8, 256), np.zeros((8, 128), np.float32)
    handle = doubled.compile()
    handle(x, y)
    np.testing.assert_array_equal(y, 2 * x[:, 64:192])
    text = handle.mlir_text()
    assert print_pto(read_pto(text)) == text
    assert "!pto.tile_buf<vec, 8x128xf32>, i64) -> ()" in text and "pto.tload ins(" in text


def test_a_window_beyond_its_tensor_or_tile_is_reported():
    @pto.jit(mode="explicit", kernel_kind="vector")
    def kernel(x: pto.ptr(pto.f32, "gm"), start: pto.index, *, WIDE: pto.const_expr = 64):
        view = pto.make_tensor_view(x, shape=[4, 128], strides=[128, 1])
        tile = pto.alloc_tile([4, 64], pto.f32, addr=0)
        pto.tload(pto.partition_view(view, offsets=[0, start], sizes=[4, WIDE]), tile)

    x = np.zeros((4, 128), np.float32)
    assert not kernel.compile().run(x, 64).findings
    assert "leaves an axis of 128" in kernel.compile().run(x, 65).findings[0].message
    assert kernel.compile(WIDE=96).run(x, 0).findings[0].code == "tile-extent"


def test_a_tile_may_be_captured_by_a_scope_and_passed_to_kernel_modules():
    @pto.jit(entry=False, mode="explicit")
    def fill(tile: pto.Tile, view: pto.TensorView):
        with pto.vecscope():
            pto.vsts(pto.vbr(3.0), tile[0], 0, pto.pset_b32("ALL"))

    @pto.jit(mode="explicit")
    def kernel(x: pto.ptr(pto.f32, "gm")):
        view = pto.make_tensor_view(x, shape=[1, 64], strides=[64, 1])
        one, two = (pto.alloc_tile([1, n], pto.f32, addr=n * 4) for n in (64, 128))
        with pto.tileop():
            with pto.vecscope():
                pto.vsts(pto.vbr(1.0), one, 0, pto.pset_b32("ALL"))
        fill(one, view)
        fill(two, view)
        fill(one, view)

    text = kernel.compile().mlir_text()
    assert "call @inline_tileop_0" in text and "(%" in text
    assert text.count("func.call @fill(") == 2 and text.count("func.call @fill_1(") == 1


def test_tile_ops_of_the_table_are_written_with_ins_and_outs():
    @pto.jit
    def kernel():
        a, b, c = (pto.alloc_tile([16, 64], pto.f32) for _ in range(3))
        pto.tadd(a, b, c)
        pto.tmuls(c, 0.5, c)
        pto.trowsum(c, a)

    text = kernel.compile().mlir_text()
    kind = "!pto.tile_buf<vec, 16x64xf32>"
    assert f"pto.tmuls ins(%2, %3 : {kind}, f32) outs(%2 : {kind})" in text
    assert text.count(" outs(") == 3 and kernel.compile().verify()
    with pytest.raises(Exception, match=r"does not model .*without an address"):
        kernel.compile().run()


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        (lambda: pto.alloc_tile([16, 64], pto.f32), RuntimeError, "needs an address in explicit mode"),
        (lambda: pto.alloc_tile([16], pto.f32, addr=0), ValueError, "two positive extents"),
        (lambda: tile()[0, 1, 2], ValueError, "a tile has two axes, got 3"),
        (lambda: tile()[0, 2:4], ValueError, "have no end"),
        (lambda: tile()["a"], TypeError, "named by numbers or scalars"),
        (lambda: list(tile()), TypeError, "a tile is not iterated over"),
        (lambda: pto.tadd(tile(), tile(), 1.0), TypeError, "is what it writes"),
        (lambda: pto.tadd(), TypeError, "needs operands"),
        (lambda: pto.tload("x", tile()), TypeError, "must be a tile, a view or a scalar"),
        (lambda: pto.partition_view(tile(), offsets=[0], sizes=[1]), TypeError, "needs a view"),
        (lambda: scale_rows(3, 4), TypeError, "argument 'tile' of scale_rows must be a tile"),
    ],
)  # fmt: skip
def test_misuse_is_told_in_the_words_of_the_language(body: Any, error: type[Exception], text: str):
    def kernel():
        body()

    with pytest.raises(error, match=text):
        pto.jit(mode="explicit")(kernel).compile()


def tile() -> Any:
    return pto.alloc_tile([16, 64], pto.f32, addr=0)


def test_addresses_and_tile_arguments_where_they_do_not_belong():
    def auto():
        pto.alloc_tile([16, 64], pto.f32, addr=0)

    def entry(t: pto.Tile):
        pass

    with pytest.raises(RuntimeError, match="takes no address in auto mode"):
        pto.jit(auto).compile()
    with pytest.raises(TypeError, match="a launch passes pointers into gm and scalars only"):
        pto.jit(entry)
