"""No value leaves the section that defines it (spec/pto.md 5.5)."""

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from cubelane.analysis.pto_boundaries import crossings
from cubelane.ir.diagnostic import Location, refuse
from cubelane.ir.pto.regions import BOUNDARY_ADVICE


class PTOValidatePhysicalSectionBoundaries(ModulePass):
    """Refuses a value that is used outside the section that defines it, also in another section of the same kind."""

    name = "pto-validate-physical-section-boundaries"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_boundaries(op)


def check_boundaries(program: ModuleOp) -> None:
    """Refuses the first value that leaves its section."""
    for crossing in crossings(program):
        where = crossing.used_in
        place = "outside the defining physical section" if where is None else f"inside {where.name}"
        raise refuse(
            crossing.user,
            f"value defined in {crossing.defined_in.name} cannot be used {place}",
            "physical sections have lexical SSA scope",
            f"the value is defined at {Location.of(crossing.definition)} by '{crossing.definition.name}'",
            instead=BOUNDARY_ADVICE,
            code="value-crosses-section",
        )
