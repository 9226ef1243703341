"""Seeded faults: programs with one thing wrong, to see that the checkers tell."""

from cubelane.check.faults.engine import Rule, SeededFault, apply_rules
from cubelane.check.faults.slips import KINDS, seed_faults

__all__ = ["KINDS", "Rule", "SeededFault", "apply_rules", "seed_faults"]
