"""Which part of every stored tensor each core wrote, as rectangles; overlaps of the lanes and gaps beside them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from cubelane.check.arrays import written_parameters
from cubelane.check.timing import Timed
from cubelane.ir.kernel import Direction, direction_of
from cubelane.sim.machine import entry_functions
from cubelane.sim.timing_trace import Write

MOST_CELLS = 4_000_000
"""Tensors beyond this size are drawn without looking for gaps."""

Rectangle = tuple[int, int, int, int]
"""First row, row behind the last, first column, column behind the last."""


def lane_windows(timed: Timed, module: ModuleOp) -> list[dict[str, Any]]:
    """One entry for every tensor that is written."""
    writes = [write for launch in timed.launches for write in launch.writes]
    by_tensor: dict[int, list[Write]] = {}
    for write in writes:
        by_tensor.setdefault(id(write.tensor), []).append(write)
    names, outputs = {id(array): name for name, array in timed.arrays.items()}, _outputs(module)
    for name in outputs:
        by_tensor.setdefault(id(timed.arrays[name]), [])
    result: list[dict[str, Any]] = []
    tensors = {id(w.tensor): w.tensor for w in writes} | {id(timed.arrays[n]): timed.arrays[n] for n in outputs}
    for key, group in by_tensor.items():
        name = names.get(key, "a tensor made on the host")
        result.append(_entry(name, tensors[key], group, outputs.get(name, False)))
    return result


def _outputs(module: ModuleOp) -> dict[str, bool]:
    """Written parameters by name, and whether all of their cells must be written."""
    found: dict[str, bool] = {}
    for function in entry_functions(module):
        names = [a.name_hint or "" for a in function.body.block.args]
        for name in written_parameters(function):
            found[name] = name in names and direction_of(function, names.index(name)) is Direction.OUT
    return found


def _entry(name: str, tensor: Any, writes: list[Write], whole: bool) -> dict[str, Any]:
    shape = tuple(int(n) for n in tensor.shape)
    rows, columns = (int(np.prod(shape[:-1])), shape[-1]) if len(shape) > 1 else (1, shape[0] if shape else 1)
    windows: dict[str, dict[Rectangle, int]] = {}
    for write in writes:
        for rectangle in _rectangles(write.index, shape):
            windows.setdefault(write.agent, {}).setdefault(rectangle, write.location.line)
    zero, one = windows.get("AIV0", {}), windows.get("AIV1", {})
    overlaps = {r: None for a in zero for b in one if (r := _meet(a, b)) is not None}
    return {
        "name": name,
        "shape": list(shape),
        "rows": rows,
        "columns": columns,
        "windows": [
            {"agent": agent, "rect": list(r), "line": line}
            for agent in sorted(windows)
            for r, line in windows[agent].items()
        ],
        "overlaps": [list(r) for r in overlaps],
        "gaps": [list(r) for r in _gaps(rows, columns, windows, whole)],
    }


def _rectangles(index: tuple[slice, ...], shape: tuple[int, ...]) -> Iterable[Rectangle]:
    """A window as rectangles over the tensor seen as rows of its last axis."""
    if len(shape) < 2:
        yield (0, 1, index[0].start, index[0].stop)
        return
    starts = [0]
    for axis, part in enumerate(index[:-2]):
        starts = [s * shape[axis] + i for s in starts for i in range(part.start, part.stop)]
    height, last = shape[-2], index[-1]
    for start in starts:
        yield (start * height + index[-2].start, start * height + index[-2].stop, last.start, last.stop)


def _meet(a: Rectangle, b: Rectangle) -> Rectangle | None:
    both = (max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), min(a[3], b[3]))
    return both if both[0] < both[1] and both[2] < both[3] else None


def _gaps(rows: int, columns: int, windows: dict[str, dict[Rectangle, int]], whole: bool) -> Iterable[Rectangle]:
    """Cells nobody wrote: of the whole tensor for an output, else within what was written around them."""
    if rows * columns > MOST_CELLS:
        return
    mask = np.zeros((rows, columns), np.bool_)
    every = [r for group in windows.values() for r in group]
    for r in every:
        mask[r[0] : r[1], r[2] : r[3]] = True
    if whole:
        low, high, left, right = 0, rows, 0, columns
    elif every:
        low, high = min(r[0] for r in every), max(r[1] for r in every)
        left, right = min(r[2] for r in every), max(r[3] for r in every)
    else:
        return
    row = low
    while row < high:
        until = row + 1
        while until < high and np.array_equal(mask[row], mask[until]):
            until += 1
        for start, stop in _runs(~mask[row, left:right]):
            yield (row, until, left + start, left + stop)
        row = until


def _runs(cells: Any) -> Iterable[tuple[int, int]]:
    """Where a row of truth values is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]])))
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        yield int(start), int(stop)
