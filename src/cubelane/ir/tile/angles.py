"""Sine and cosine as steps of ops that the lanes have, for FP32 (spec/front.md 2.3).

An angle is brought to within a quarter turn of a whole (sine) or half (cosine) number of half turns, whose parity
gives the sign; pi is subtracted in three parts, the first two exact in FP32 times any count of half turns below 2^15.
The rest is the Taylor series of the sine up to r^11, whose remainder at a quarter turn is 6e-8.
"""

from math import factorial, pi

from cubelane.ir.traits import Step

_PARTS = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)
"""Pi in three parts."""

_NEAREST, _DOWN = ((("target_type", "INT32"), ("mode", "rint")), (("target_type", "INT32"), ("mode", "floor")))
_BACK = (("target_type", "FP32"), ("mode", "none"))


def _rounded(name: str, of: str, how: tuple[tuple[str, str], ...]) -> tuple[Step, ...]:
    return Step(f"{name}_whole", "tile.cast", (of,), how), Step(name, "tile.cast", (f"{name}_whole",), _BACK)


def _reduced(turns: str) -> tuple[Step, ...]:
    """The angle less `turns` half turns."""
    steps: list[Step] = []
    rest = "x"
    for number, part in enumerate(_PARTS, start=1):
        steps.append(Step(f"part_{number}", "tile.muls", (turns, part)))
        steps.append(Step(f"rest_{number}", "tile.sub", (rest, f"part_{number}")))
        rest = f"rest_{number}"
    return tuple(steps)


def _series() -> tuple[Step, ...]:
    """The sine of `rest_3`."""
    terms = [(-1) ** i / factorial(2 * i + 1) for i in range(6)]
    steps = [
        Step("square", "tile.mul", ("rest_3", "rest_3")),
        Step("sum_5", "tile.muls", ("square", terms[5])),
    ]
    for i in (4, 3, 2, 1):
        steps.append(Step(f"term_{i}", "tile.adds", (f"sum_{i + 1}", terms[i])))
        steps.append(Step(f"sum_{i}", "tile.mul", (f"term_{i}", "square")))
    steps += [
        Step("term_0", "tile.adds", ("sum_1", 1.0)),
        Step("wave", "tile.mul", ("term_0", "rest_3")),
    ]
    return tuple(steps)


def _signed(count: str, even: float) -> tuple[Step, ...]:
    """`wave`, times `even` where `count` is even, times `-even` where it is odd."""
    return (
        Step("half", "tile.muls", (count, 0.5)),
        *_rounded("pairs", "half", _DOWN),
        Step("twice", "tile.muls", ("pairs", 2.0)),
        Step("odd", "tile.sub", (count, "twice")),
        Step("slope", "tile.muls", ("odd", -2.0 * even)),
        Step("sign", "tile.adds", ("slope", even)),
        Step("result", "tile.mul", ("wave", "sign")),
    )


SINE = (
    Step("turns", "tile.muls", ("x", 1 / pi)),
    *_rounded("count", "turns", _NEAREST),
    *_reduced("count"),
    *_series(),
    *_signed("count", 1.0),
)
"""sin(n pi + r) = (-1)^n sin r."""

COSINE = (
    Step("turns", "tile.muls", ("x", 1 / pi)),
    Step("shifted", "tile.adds", ("turns", -0.5)),
    *_rounded("count", "shifted", _NEAREST),
    Step("middle", "tile.adds", ("count", 0.5)),
    *_reduced("middle"),
    *_series(),
    *_signed("count", -1.0),
)
"""cos((n + 1/2) pi + r) = -(-1)^n sin r."""
