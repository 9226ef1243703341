"""The last check before VPTO IR leaves (spec/pto.md 7.2)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.analysis.pto_emission import findings
from cubelane.ir.diagnostic import refuse


class PTOValidateVPTOEmissionIR(ModulePass):
    """Refuses the first op that breaks a rule of emission: scopes, mask widths, purity of the children, leftovers."""

    name = "pto-validate-vpto-emission-ir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = next(findings(op), None)
        if found is not None:
            raise refuse(found.op, found.message, instead=found.instead, code=found.code)
