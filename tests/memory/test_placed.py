"""Tiles that their author placed with a `pl.MemRef` lie there; the others lie around them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cubelane.check.compiled import compile_program
from cubelane.check.execute import draw_inputs, run_group, run_reference
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.types import TileType
from cubelane.language import parse, print_program
from cubelane.passes import pass_named
from tests.pto_text.texts import run_text

KERNEL = """
import pypto.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[32, 32], pl.FP16], w: pl.Tensor[[32, 64], pl.FP16], b: pl.Tensor[[32, 64], pl.FP32],
          out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        pl.func_attr({"split": pl.SplitMode.UP_DOWN})
        room: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 8192)
        l: pl.Tile[[32, 32], pl.FP16@l@, pl.Mem.Mat] = pl.load(a, [0, 0], [32, 32], target_memory=pl.Mem.Mat)
        f: pl.Tile[[32, 32], pl.FP16@f@, pl.Mem.Left] = pl.move(l, target_memory=pl.Mem.Left)
        y = pl.matmul(f, pl.load(w, [0, 0], [32, 64], target_memory=pl.Mem.Mat))
        m: pl.Tile[[32, 64], pl.FP32@m@, pl.Mem.Vec] = pl.move(y, target_memory=pl.Mem.Vec)
        t: pl.Tile[[32, 64], pl.FP32@t@, pl.Mem.Vec] = pl.load(b, [0, 0], [32, 64])
        u = pl.mul(t, 2.0)
        s: pl.Tile[[32, 64], pl.FP32@s@, pl.Mem.Vec] = pl.add(m, u)
        v: pl.Tile[[32, 16], pl.FP32@v@, pl.Mem.Vec] = pl.slice(s, [32, 16], [0, 0])
        z = pl.row_expand_mul(pl.add(s, t), pl.slice(v, [32, 1], [0, 0]))
        out = pl.store(z, [0, 0], out)
        return out
"""
PLACES = {"l": 65536, "f": 4096, "t": 40960, "s": 81920}


def kernel(**places: int) -> str:
    text = KERNEL
    for name in "lfmtsv":
        place = f", pl.MemRef(room, {places[name]}, 8192)" if name in places else ""
        text = text.replace(f"@{name}@", place)
    return text


def in_order(module: Any) -> Iterator[tuple[str, int | None]]:
    for op in module.walk():
        for result in op.results:
            if isinstance(result.type, TileType):
                yield result.name_hint or "", result.type.address


def addresses(module: Any) -> dict[str, int | None]:
    return dict(in_order(module))


def check(text: str, target: str) -> dict[str, int | None]:
    program = parse(text)
    given = draw_inputs(program)
    wanted = run_reference(program, given)["out"]
    compiled = compile_program(program, target)
    for result in (run_group(compiled.module, given), run_text(compiled, given)):
        assert not result.findings, result.findings[0]
        np.testing.assert_allclose(result.outputs["out"], wanted, rtol=1e-4, atol=1e-3)
    return addresses(compiled.module)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_a_placed_tile_lies_where_its_author_placed_it(target: str) -> None:
    found = check(kernel(**PLACES), target)
    assert {name: found[name] for name in PLACES} == PLACES
    assert found["u"] not in PLACES.values()


def test_the_addresses_of_a_compiled_program_are_kept_when_it_is_read_back() -> None:
    compiled = compile_program(parse(kernel(**PLACES)), "a2a3")
    again = parse(print_program(compiled.module))
    again.attributes.update(compiled.module.attributes)
    pass_named("allocate-memory-addr")(again)
    assert [at for _, at in in_order(again)] == [at for _, at in in_order(compiled.module)]


def test_two_tiles_may_take_turns_at_one_place() -> None:
    found = check(kernel(t=40960, s=49152).replace("pl.add(s, t), pl.slice", "pl.add(s, s), pl.slice"), "a2a3")
    assert found["t"] == 40960
    turns = kernel(t=40960, s=40960).replace("pl.add(s, t), pl.slice", "pl.add(s, s), pl.slice")
    assert check(turns, "a2a3")["s"] == 40960


WRONG = {
    "over another tile": (dict(t=40960, s=41088), "`s` is placed at 41,088, over `t`", "s"),
    "no multiple of the step": (dict(t=40970), "`t` is placed at 40,970, which is no multiple of", "t"),
    "behind the end": (dict(t=40960, s=1 << 20), "`s` is placed at 1,048,576 and ends at", "s"),
    "behind the end of L0A": (dict(f=1 << 16), "Left of AIC has 65,536 bytes", "f"),
    "in the ring": (dict(t=0), "`t` is placed at 0, in the ring", "t"),
    "a tile that crosses": (dict(m=40960), "`m` is placed at 40,960, but it arrives in a slot of the ring", "m"),
    "a part of a tile": (dict(v=40960), "`v` is placed at 40,960, but it is a part of another tile", "v"),
}


@pytest.mark.parametrize(("places", "message", "name"), WRONG.values(), ids=WRONG.keys())
def test_a_place_that_cannot_be_is_refused_with_one_that_can(places: dict[str, int], message: str, name: str) -> None:
    text = kernel(**places)
    with pytest.raises(Diagnostic) as refused:
        check(text, "a2a3")
    problem = refused.value
    assert message in problem.message
    line = text.splitlines()[problem.location.line - 1]
    assert line.strip().startswith(f"{name}: pl.Tile")
    advice = problem.instead or ""
    moved = {key: value for key, value in places.items() if key != name}
    if advice.isdigit():
        moved[name] = int(advice)
    else:
        assert advice.startswith("leave the pl.MemRef out")
    check(kernel(**moved), "a2a3")


def test_a_carry_placed_elsewhere_than_its_start_is_copied() -> None:
    text = """
import pypto.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, b: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        t: pl.Tile[[32, 64], pl.FP32, pl.MemRef("x", 8192, 8192), pl.Mem.Vec] = pl.load(b, [0, 0], [32, 64])
        for i, (c,) in pl.range(3, init_values=(t,)):
            n: pl.Tile[[32, 64], pl.FP32, pl.MemRef("y", 65536, 8192), pl.Mem.Vec] = pl.add(c, c)
            r = pl.yield_(n)
        out = pl.store(r, [0, 0], out)
        return out
"""
    found = check(text, "a2a3")
    assert (found["t"], found["n"]) == (8192, 65536)


def test_a_place_without_a_space_is_refused() -> None:
    with pytest.raises(Diagnostic, match="places a tile in a memory space"):
        parse(kernel(t=0).replace("pl.MemRef(room, 0, 8192), pl.Mem.Vec", "pl.MemRef(room, 0, 8192)"))
