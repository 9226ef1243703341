"""Core affinity of ops and of what contains them (spec/passes.md 2). One module for both levels."""

from xdsl.ir import Operation, Region

from cubelane.ir.affinity import Affinity
from cubelane.ir.traits import CoreAffinity, trait_of


def classify(op: Operation) -> Affinity:
    """The affinity of one op: declared by its trait, SHARED where it declares none; compounds are rolled up."""
    trait = trait_of(op, CoreAffinity)
    if trait is not None:
        return trait.of(op)
    return roll_up(op.regions) if op.regions else Affinity.SHARED


def roll_up(regions: "tuple[Region, ...] | list[Region] | Region") -> Affinity:
    """The combined affinity of all ops in the regions; SHARED when they hold none that belongs to a core."""
    total = Affinity.SHARED
    for region in (regions,) if isinstance(regions, Region) else regions:
        for block in region.blocks:
            for op in block.ops:
                total = total.combine(classify(op))
                if total is Affinity.MIXED:
                    return total
    return total
