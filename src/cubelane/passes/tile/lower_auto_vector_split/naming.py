"""The name of the lane index that the pass puts in (spec/passes.md 0.6)."""

from xdsl.dialects.func import FuncOp

from cubelane.ir.walk import ops_in

BASE = "subblock_idx"


def assigned_names(function: FuncOp) -> set[str]:
    """Names of parameters and assigned variables; loop variables and carries do not count (4.2 step 2)."""
    names = {arg.name_hint for arg in function.body.block.args}
    for op in ops_in(function.body):
        if not op.regions:
            names.update(result.name_hint for result in op.results)
    return {name for name in names if name}


def all_names(function: FuncOp) -> set[str]:
    """Every name of a body (4.7 step 1)."""
    names = {arg.name_hint for arg in function.body.block.args}
    for op in ops_in(function.body):
        names.update(result.name_hint for result in op.results)
        names.update(arg.name_hint for region in op.regions for block in region.blocks for arg in block.args)
    return {name for name in names if name}


def fresh_name(taken: set[str], base: str = BASE) -> str:
    """`base`, or `base__ssa_v0`, `base__ssa_v1`, ... where it is taken; the name counts as taken from then on."""
    name, version = base, 0
    while name in taken:
        name, version = f"{base}__ssa_v{version}", version + 1
    taken.add(name)
    return name
