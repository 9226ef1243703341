"""Compares what the programs of the cores computed with a reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RTOL, ATOL = 1e-4, 1e-4
"""Tolerances where a kernel file states none; BF16 and FP8 outputs get their own rounding on top."""

NO_NOISE: Mapping[str, float] = {}


@dataclass(frozen=True)
class Comparison:
    """One output against its reference.

    `max_error` is the largest absolute difference (inf where one of the two is no number), `first` the index of
    the first differing element, `got` and `want` its two values, `differing` how many differ out of `size`.
    """

    name: str
    max_error: float
    differing: int
    size: int
    first: tuple[int, ...] | None = None
    got: Any = None
    want: Any = None
    problem: str | None = None

    @property
    def equal(self) -> bool:
        """Whether every element is within the tolerance."""
        return self.differing == 0 and self.problem is None

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name}: {self.problem}"
        if self.equal:
            return f"{self.name}: equal (largest difference {self.max_error:.3g})"
        return (
            f"{self.name}: {self.differing} of {self.size} elements differ, first {list(self.first or ())}: "
            f"{self.got} instead of {self.want} (largest difference {self.max_error:.3g})"
        )


@dataclass(frozen=True)
class Comparisons:
    """All outputs against one reference."""

    outputs: dict[str, Comparison]

    @property
    def equal(self) -> bool:
        """Whether every output agrees."""
        return all(c.equal for c in self.outputs.values())

    @property
    def max_error(self) -> float:
        """The largest absolute difference of all outputs."""
        return max((c.max_error for c in self.outputs.values()), default=0.0)

    def __str__(self) -> str:
        return "; ".join(map(str, self.outputs.values()))


def compare(
    got: Mapping[str, Any],
    want: Mapping[str, Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    noise: Mapping[str, float] = NO_NOISE,
) -> Comparisons:
    """Every output named by `want` against `got`: `abs(got - want) <= atol + noise + rtol * abs(want)`.

    `noise` is what rounding may add, by output (see `compiled.CompiledKernel.judge`).

    Elements that are no number must be so in both; a missing output or another shape is a difference. Cells that no
    program may write keep their marker in `want`, so a stray write differs as well.
    """
    return Comparisons(
        {
            name: compare_array(name, got.get(name), value, rtol, atol, noise.get(name, 0.0))
            for name, value in want.items()
        }
    )


def compare_array(
    name: str, got: Any, want: Any, rtol: float | None = None, atol: float | None = None, noise: float = 0.0
) -> Comparison:
    """One array against its reference; see `compare`."""
    want = np.asarray(want)
    if got is None:
        return Comparison(name, float("inf"), want.size, want.size, problem="there is no such output")
    got = np.asarray(got)
    if got.shape != want.shape:
        problem = f"has the shape {list(got.shape)} instead of {list(want.shape)}"
        return Comparison(name, float("inf"), want.size, want.size, problem=problem)
    step = _rounding(got.dtype)
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs(a - b)
        allowed = (ATOL if atol is None else atol) + noise + (max(RTOL, step) if rtol is None else rtol) * np.abs(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        difference = np.where(same, 0.0, np.where(np.isfinite(difference), difference, np.inf))
        wrong = ~same & ~(difference <= allowed)
    count = int(wrong.sum())
    if not count:
        return Comparison(name, float(difference.max(initial=0.0)), 0, got.size)
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return Comparison(name, float(difference.max()), count, got.size, first, got[first].item(), want[first].item())


def largest(array: Any) -> float:
    """The largest absolute value among the elements that are numbers; 0 without any."""
    numbers = np.abs(np.asarray(array).astype(np.float64))
    return float(numbers[np.isfinite(numbers)].max(initial=0.0))


def _rounding(dtype: np.dtype[Any]) -> float:
    """Half a unit in the last place of a narrow float type, twice (both sides rounded); 0 for others."""
    digits = {"float16": 10, "bfloat16": 7, "float8_e4m3fn": 3, "float8_e5m2": 2, "float4_e2m1fn": 1}
    return 2.0 ** -digits[dtype.name] if dtype.name in digits else 0.0
