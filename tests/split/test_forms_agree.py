"""One kernel, two forms: split by the function's mode and written by hand as a region, it lowers to equal programs."""

import pytest

from cubelane.analysis.equality import structurally_equal
from cubelane.ir.kernel import REGION_VALIDATED, functions_of

from .kernels import Kernel

OPS = {
    "neg": "{q} = pl.tile.neg({v})",
    "exp": "{q} = pl.tile.exp({v})",
    "adds": "{q} = pl.tile.adds({v}, 1.5)",
    "muls": "{q} = pl.tile.muls({v}, 2.0)",
    "square": "{q} = pl.tile.mul({v}, {v})",
    "maximum": "{q} = pl.tile.maximum({v}, {v})",
    "cast": "{q}i = pl.tile.cast({v}, pl.INT32)\n{q} = pl.tile.cast({q}i, pl.FP32)",
    "abs": "{q}a = pl.tile.abs({v})\n{q} = pl.tile.relu({q}a)",
    "chain": "{q}a = pl.tile.neg({v})\n{q}b = pl.tile.add({q}a, {v})\n{q} = pl.tile.minimum({q}b, {v})",
    "reinterpret": "{q}a = pl.tile.reinterpret_view({v}, dtype=pl.INT16)\n"
    "{q} = pl.tile.reinterpret_view({q}a, dtype=pl.FP32)",
}


def pair(name: str, mode: str, loop: bool) -> tuple[Kernel, Kernel]:
    """The whole-function and the region form."""
    half = {"UP_DOWN": 16, "LEFT_RIGHT": 12}[mode]
    at = {"UP_DOWN": ("0 + subblock_idx * 16, 0", "0, 0"), "LEFT_RIGHT": ("0, 0 + subblock_idx * 12", "0, 0")}[mode]
    assert half

    def body(source: str, offsets: str) -> str:
        op = OPS[name].format(q="q", v=source)
        if not loop:
            return f"{op}\no = pl.tile.store(q, [{offsets}], y)\nreturn o"
        inner = "\n".join("    " + line for line in OPS[name].format(q="q", v="c").split("\n"))
        return (
            f"for k, (c,) in pl.range(3, init_values=({source},)):\n{inner}\n    r = pl.yield_(q)\n"
            f"o = pl.tile.store(r, [{offsets}], y)\nreturn o"
        )

    return Kernel(body("v", at[1]), mode=mode), Kernel(
        body("h", at[0].replace("subblock_idx", "lane")), mode=mode, form="explicit"
    )


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("mode", ["UP_DOWN", "LEFT_RIGHT"])
@pytest.mark.parametrize("name", OPS)
def test_both_forms_lower_to_the_same_program(name: str, mode: str, loop: bool) -> None:
    whole, region = pair(name, mode, loop)
    first, second = whole.lowered(), region.lowered()
    del functions_of(second)[0].attributes[REGION_VALIDATED]
    index = next(op for op in functions_of(second)[0].body.walk() if op.name == "tile.get_subblock_idx")
    block = functions_of(second)[0].body.block
    index.detach()
    start = block.first_op
    assert start is not None
    block.insert_op_before(index, start)
    for op in functions_of(first)[0].body.walk():
        if op.name == "tile.aiv_shard":
            op.results[0].name_hint = "h"
    assert structurally_equal(first, second) is None
