"""Timing helpers: medians of interleaved runs, and how cost grows with size."""

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def processor_seconds(action: Callable[[], object]) -> float:
    """Processor time of one call: other work on the machine does not count."""
    start = time.process_time()
    action()
    return time.process_time() - start


def yardstick() -> float:
    """Processor time of a fixed piece of interpreter work, some milliseconds: what other times are divided by."""

    def work() -> int:
        table: dict[tuple[int, str], list[int]] = {}
        for number in range(20_000):
            table.setdefault((number % 997, str(number % 31)), []).append(number)
        return sum(len(numbers) for numbers in table.values())

    collects = gc.isenabled()
    gc.disable()  # what it costs depends on all objects of the process, which are others in every run
    try:
        return min(processor_seconds(work) for _ in range(15))
    finally:
        if collects:
            gc.enable()


def medians(actions: Mapping[str, Callable[[], object]], runs: int = 7) -> dict[str, float]:
    """Median seconds of each action; the actions take turns so that a slow minute hits all of them alike."""
    for action in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            times[name].append(seconds(action))
    return {name: statistics.median(values) for name, values in times.items()}


def growth_exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The slope of log(cost) over log(size) by least squares: 1 is linear, 2 quadratic."""
    x = [math.log(s) for s in sizes]
    y = [math.log(c) for c in costs]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)
