"""Rewrites semantic ops into the raw instructions of the hardware (spec/pto.md 8.3)."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class PTOValidateVPTOEmissionIR(ModulePass):
    """Placeholder."""

    name = "pto-validate-vpto-emission-ir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
