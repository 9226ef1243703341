"""Core affinity: the one fact on which the whole system stands (design chapter 1, spec/passes.md 2)."""

from enum import Enum


class Affinity(Enum):
    """Which core an operation belongs to.

    CUBE is the matrix core (AIC), VECTOR the two vector lanes (AIV), SHARED runs wherever its result is
    needed, MIXED crosses between the cores (one op) or spans both (a compound op).
    """

    CUBE = "cube"
    VECTOR = "vector"
    SHARED = "shared"
    MIXED = "mixed"

    __hash__ = object.__hash__

    def combine(self, other: "Affinity") -> "Affinity":
        """The affinity of a compound that holds both: SHARED is neutral, two different cores are MIXED."""
        if self is other or other is Affinity.SHARED:
            return self
        if self is Affinity.SHARED:
            return other
        return Affinity.MIXED
