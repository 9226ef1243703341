"""Rewrites semantic ops into the raw instructions of the hardware (spec/pto.md 8.3)."""

from collections.abc import Callable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp
from xdsl.passes import ModulePass

from cubelane.ir.pto.attrs import TARGET_ARCH
from cubelane.ir.pto.op import PtoOp
from cubelane.ir.pto.regions import SimtLaunchOp
from cubelane.passes.pto.expand_matrix import expand_fixpipe, expand_fractal_load, expand_layout_load, expand_mad
from cubelane.passes.pto.expand_transfers import expand_burst, expand_to_gm, expand_to_ub
from cubelane.passes.pto.raw_builder import RawBuilder, drop

EXPANSIONS: dict[str, Callable[[PtoOp], None]] = {
    "mad": expand_mad,
    "to_ub": expand_to_ub,
    "to_gm": expand_to_gm,
    "burst": expand_burst,
    "fractal": expand_fractal_load,
    "frac": expand_layout_load,
    "fixpipe": expand_fixpipe,
}
"""How the families of the table (by tag) become raw instructions."""
EXPANDED_ARCH = "a5"


class VPTOExpandWrapperOps(ModulePass):
    """Semantic transfers and multiplies become raw copies and multiplies with their control words (a5 only)."""

    name = "vpto-expand-wrapper-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if op.attributes.get(TARGET_ARCH, StringAttr(EXPANDED_ARCH)) != StringAttr(EXPANDED_ARCH):
            return
        for nested in list(op.walk()):
            if isinstance(nested, PtoOp):
                for tag in nested.decl.tags & EXPANSIONS.keys():
                    EXPANSIONS[tag](nested)
            elif isinstance(nested, SimtLaunchOp):
                _expand_launch(nested)


def _expand_launch(launch: SimtLaunchOp) -> None:
    build = RawBuilder(launch)
    build.emit("store_vfsimt_info", *launch.operands[:3])
    build.insert(CallOp(launch.callee, launch.operands[3:], []))
    drop(launch)
