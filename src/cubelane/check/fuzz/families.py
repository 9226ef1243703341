"""The kinds of random kernels, and how often each is drawn."""

from collections.abc import Callable
from dataclasses import dataclass

from cubelane.check.fuzz import regions, tensors, tiles
from cubelane.check.fuzz.program import Choose, Program


@dataclass(frozen=True)
class Family:
    """A generator and its weight."""

    generate: Callable[[Choose], Program]
    weight: int


FAMILIES = (
    Family(tensors.generate, 4),
    Family(regions.generate, 3),
    Family(tiles.generate, 2),
    Family(tiles.generate_explicit, 1),
)
