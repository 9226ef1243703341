"""LowerCompositeOps: an op that the machine does not have becomes the steps it declares (spec/front.md 3.1)."""

from typing import Any

from xdsl.context import Context
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from cubelane.ir.kernel import functions_of, kind_of
from cubelane.ir.surface import Kind, SurfaceOp
from cubelane.ir.tile import Tile
from cubelane.ir.traits import Composite, Step, trait_of
from cubelane.ir.types import DTYPES, TileType
from cubelane.passes.tile.placement import base_name, build, insert, replace

TILE_OPS: dict[str, type[SurfaceOp]] = {op.name: op for op in Tile.operations if issubclass(op, SurfaceOp)}


def number(value: float, op: Operation) -> SSAValue:
    """A constant of the element type of the tile that an op works on."""
    type_ = op.operands[0].type
    assert isinstance(type_, TileType) and isinstance(type_.dtype, AnyFloat)
    return insert(ConstantOp(FloatAttr(value, type_.dtype)), op).results[0]


def arguments_of(step: Step, known: dict[str, SSAValue], op: Operation) -> dict[str, Any]:
    """The arguments of the call that a step stands for."""
    kind = TILE_OPS[step.op]
    names = [p.name for p in kind.PARAMETERS if p.kind in (Kind.VALUE, Kind.SCALAR)]
    values = [known[v] if isinstance(v, str) else number(v, op) for v in step.operands]
    facts = {name: DTYPES.get(word, word) for name, word in step.facts}
    return {**dict(zip(names, values, strict=True)), **facts}


def lower(op: Operation, steps: tuple[Step, ...]) -> None:
    """Puts the steps in place of the op; the last one takes over its name."""
    known = {"x": op.operands[0]}
    result = op.results[0]
    for step in steps:
        name = f"{base_name(result)}__{step.name}_tmp" if step is not steps[-1] else result.name_hint
        known[step.name] = build(TILE_OPS[step.op], op, name, arguments_of(step, known, op))
    replace(op, known[steps[-1].name])


class LowerCompositeOps(ModulePass):
    """Expands the ops that declare what they are made of, in InCore functions."""

    name = "lower-composite-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if not kind_of(function).in_core:
                continue
            for inner in list(function.walk()):
                composite = trait_of(inner, Composite)
                if composite is not None:
                    lower(inner, composite.steps)
