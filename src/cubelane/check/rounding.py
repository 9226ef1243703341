"""How much of a difference is rounding, where the author states no tolerance.

A cast to a narrow type inside a kernel makes a whole step of that type out of the last bit of a sum, and a later
product spreads it. So the noise is measured, on the kernel as written and by the oracle alone: in float32 against
float64.
"""

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp

from cubelane.check.compare import Comparisons, largest
from cubelane.check.kernel_file import Arrays
from cubelane.check.reference import rounding_noise

NOISES = 4
"""A difference of up to so many times the noise is rounding ..."""

MOST = 0.1
"""... unless that is more than this part of the largest element of the output."""


def allowance(source: ModuleOp, given: Arrays, expected: Arrays) -> dict[str, float]:
    """What rounding may add to the tolerance of each output, in its unit.

    An output that rounding moves by a good part of its size gets nothing: there it would hide wrong numbers.
    """
    noise = {name: NOISES * error for name, error in rounding_noise(source, given, expected).items()}
    return {name: most for name, most in noise.items() if most <= MOST * largest(expected[name])}


def notes(
    strict: Mapping[str, Comparisons], allowed: Mapping[str, Comparisons], noise: Mapping[str, float]
) -> Iterator[str]:
    """A sentence for every output that is equal only because of its noise; `strict` was compared without."""
    for reference, comparisons in strict.items():
        for name, comparison in comparisons.outputs.items():
            if not comparison.equal and allowed[reference].outputs[name].equal:
                yield (
                    f"{name}: {comparison.differing} of {comparison.size} elements differ from the {reference}, by up "
                    f"to {comparison.max_error:.3g}; in float32 instead of float64 the kernel as written moves by "
                    f"{noise[name] / NOISES:.3g}, so this is rounding. RTOL and ATOL in the file judge more strictly."
                )
