"""LegalizeTileCast: a cast that the machine does not have becomes the shortest chain of casts (front.md 3.7)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.analysis.native_casts import NATIVE, cast_chain
from cubelane.ir.diagnostic import refuse
from cubelane.ir.kernel import functions_of, kind_of, target_name
from cubelane.ir.tile.elementwise import CastOp
from cubelane.ir.types import DTYPES, TileType, dtype_name
from cubelane.ir.walk import ops_of
from cubelane.passes.tile.placement import base_name, build


def legalize(cast: CastOp, target: str) -> None:
    """Puts the links of a chain before a cast that is not native; the cast itself becomes the last link."""
    source, result = cast.tile.type, cast.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    names = dtype_name(source.dtype), dtype_name(result.dtype)
    chain = cast_chain(target, *names)
    if chain is None:
        raise refuse(
            cast,
            f"{target} has no conversion from {names[0]} to {names[1]}, not even in several steps",
            f"from {names[0]} it converts to {', '.join(NATIVE[target].get(names[0], ())) or 'nothing'}",
            instead="keep the tile in one of these element types",
            code="no-cast",
        )
    value, mode = cast.tile, cast.bound()["mode"]
    for step in chain[:-1]:
        name = f"{base_name(cast.result)}__cast_{step.lower()}_tmp"
        value = build(CastOp, cast, name, {"tile": value, "target_type": DTYPES[step], "mode": mode})
    cast.operands[0] = value


class LegalizeTileCast(ModulePass):
    """Chains of native casts for the casts of InCore functions; nothing while no machine is chosen."""

    name = "legalize-tile-cast"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_name(op)
        if target not in NATIVE:
            return
        for function in functions_of(op):
            if kind_of(function).in_core:
                for cast in ops_of(function, CastOp):
                    legalize(cast, target)
