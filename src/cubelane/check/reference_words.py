"""The words of `Meaning` as the oracle understands them, on whole arrays and in plain NumPy.

Nothing here is shared with the tile machine (`sim/primitives.py`): the two are written apart so that a slip in one
shows as a difference. Floats arrive in float64; the interpreter rounds results to their element type.
"""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = Any


def divide(a: Array, b: Array) -> Array:
    """Quotient; of integers the part before the point, and 0 for a zero divisor."""
    whole = all(np.issubdtype(np.asarray(x).dtype, np.integer) for x in (a, b))
    if not whole:
        return np.true_divide(a, b)
    top, bottom = np.asarray(a, np.int64), np.asarray(b, np.int64)
    top, bottom = np.broadcast_arrays(top, bottom)
    result = np.zeros(top.shape, np.int64)
    usable = bottom != 0
    quotient, rest = np.divmod(top[usable], bottom[usable])
    result[usable] = quotient + ((rest != 0) & (quotient < 0))
    return result


def limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Smallest and largest integer of an element type."""
    if dtype == np.bool_:
        return 0, 1
    bits = 4 if dtype.name.endswith("int4") else dtype.itemsize * 8
    return (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def is_integer(dtype: Any) -> bool:
    """Whether an element type holds whole numbers."""
    name = np.dtype(dtype).name
    return "int" in name or name == "bool"


def cast(tile: Array, dtype: Any, mode: str) -> Array:
    """Rounded to whole numbers as `mode` says and saturated, for integer targets; floats as they are."""
    if not is_integer(dtype):
        return tile
    low, high = limits(np.dtype(dtype))
    if is_integer(tile.dtype):
        return np.minimum(np.maximum(tile.astype(object), low), high).astype(np.dtype(dtype))
    down = np.floor(tile)
    rest = tile - down
    up = {
        "floor": rest < 0,
        "ceil": rest > 0,
        "trunc": (tile < 0) & (rest > 0),
        "round": (rest > 0.5) | ((rest == 0.5) & (tile > 0)),
        "odd": (rest > 0) & (np.remainder(down, 2) == 0),
    }.get(mode, (rest > 0.5) | ((rest == 0.5) & (np.remainder(down, 2) == 1)))
    number = np.where(np.isnan(tile), 0.0, down + up)
    result = np.where(number <= low, low, np.where(number >= high, high, number))
    return _whole(result, low, high).astype(np.dtype(dtype))


def _whole(number: Array, low: int, high: int) -> Array:
    """Float64 cannot hold the ends of INT64; take them from Python."""
    result = np.empty(number.shape, object)
    for place, value in np.ndenumerate(number):
        result[place] = min(max(int(value), low), high)
    return result


def matmul(lhs: Array, rhs: Array) -> Array:
    """Product over the columns of `lhs`; integers in INT32."""
    inner = min(lhs.shape[-1], rhs.shape[-2])
    a, b = lhs[..., :inner], rhs[..., :inner, :]
    if is_integer(lhs.dtype):
        return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    return a @ b


def tensor_matmul(lhs: Array, rhs: Array, a_trans: bool | None, b_trans: bool | None, dtype: Any) -> Array:
    """Product of tensors, either of them transposed."""
    a = np.moveaxis(lhs, -1, -2) if a_trans else lhs
    b = np.moveaxis(rhs, -1, -2) if b_trans else rhs
    return matmul(a, b)


def accumulate(acc: Array, lhs: Array, rhs: Array, fresh: bool | None) -> Array:
    """Accumulator plus product, or the product alone."""
    product = matmul(lhs, rhs)
    padded = np.zeros(acc.shape, product.dtype)
    padded[tuple(map(slice, product.shape))] = product
    if not fresh:
        return acc + padded
    inside = np.zeros(acc.shape, np.bool_)
    inside[tuple(map(slice, product.shape))] = True
    return np.where(inside, padded, acc)


def compare(lhs: Array, rhs: Array, kind: int) -> Array:
    """eq ne lt le gt ge as 0..5."""
    match kind:
        case 0:
            return lhs == rhs
        case 1:
            return lhs != rhs
        case 2:
            return lhs < rhs
        case 3:
            return lhs <= rhs
        case 4:
            return lhs > rhs
        case _:
            return lhs >= rhs


def pack_bits(truth: Array, shape: Sequence[int]) -> Array:
    """Column c is bit c mod 8 of byte c div 8."""
    result = np.zeros(shape, np.uint8)
    for column in range(truth.shape[-1]):
        result[..., column // 8] |= truth[..., column].astype(np.uint8) << np.uint8(column % 8)
    return result


def unpack_bits(mask: Array, shape: Sequence[int]) -> Array:
    """The inverse of `pack_bits` for a box of `shape`."""
    columns = np.arange(shape[-1])
    return (mask[..., columns // 8] >> (columns % 8).astype(np.uint8)) & 1 == 1


Record = tuple[float, float]


def _by_score(records: list[Record]) -> list[Record]:
    """Largest score first; Python's sort keeps the order of equal ones."""
    return sorted(records, key=lambda record: record[0], reverse=True)


def _records(row: Array) -> list[Record]:
    cells = row.tolist()
    return list(zip(cells[0::2], cells[1::2], strict=True))


def _flat(records: list[Record]) -> list[float]:
    return [cell for record in records for cell in record]


def sort_blocks(scores: Array, indices: Array) -> Array:
    """Row by row, 32 cells at a time: (score, bits of the index) by falling score."""
    rows: list[list[float]] = []
    for number, row in enumerate(scores.tolist()):
        words = np.asarray(indices[number if len(indices) > 1 else 0], np.uint32)
        bits = np.frombuffer(words.tobytes(), np.float32).tolist()
        pairs: list[Record] = list(zip(row, bits, strict=True))
        blocks = [_by_score(pairs[at : at + 32]) for at in range(0, len(pairs), 32)]
        rows.append([cell for block in blocks for cell in _flat(block)])
    return np.array(rows, np.float64)


def merge_runs(tile: Array, length: int) -> Array:
    """Row by row, four runs of `length` cells at a time."""
    rows: list[list[float]] = []
    for row in tile:
        parts = [row[at : at + 4 * length] for at in range(0, len(row), 4 * length)]
        rows.append([cell for part in parts for cell in _flat(_by_score(_records(part)))])
    return np.array(rows)


def merge_lists(tiles: Sequence[Any]) -> Array:
    """Row by row, the records of all tiles."""
    given = [tile for tile in tiles if tile is not None]
    rows = [[record for row in rows for record in _records(row)] for rows in zip(*given, strict=True)]
    return np.array([_flat(_by_score(records)) for records in rows])


def every(tile: Array, pattern: int) -> Array:
    """The columns whose bit is set in a pattern of four, written from the right."""
    mask = {1: "0101", 2: "1010", 3: "0001", 4: "0010", 5: "0100", 6: "1000", 7: "1111"}[pattern]
    return tile[:, [column for column in range(tile.shape[1]) if mask[3 - column % 4] == "1"]]


def pick(tile: Array, places: Array, valid: Sequence[int]) -> Array:
    """Cell number p of the tile for every valid place p; the others are not looked at."""
    result = np.zeros(places.shape, tile.dtype)
    for place in np.ndindex(*valid):
        number = int(places[place])
        if not 0 <= number < tile.size:
            raise IndexError(f"cell {number} of {tile.size}")
        result[place] = tile[divmod(number, tile.shape[1])]
    return result


def sequence(shape: Sequence[int], start: int, descending: bool | None, dtype: Any) -> Array:
    """start, start + 1, ... in row-major order (or downwards)."""
    result = np.empty(shape, dtype)
    for count, place in enumerate(np.ndindex(*shape)):
        result[place] = start - count if descending else start + count
    return result


def triangle(shape: Sequence[int], diagonal: int, upper: int | None, dtype: Any) -> Array:
    """1 where `col - row <= diagonal` (lower, 0) or `>=` (upper, 1)."""
    row, column = np.indices(shape)
    distance = column - row
    return np.where(distance >= diagonal if upper else distance <= diagonal, 1, 0).astype(dtype)


def random(
    shape: Sequence[int], key: Sequence[int], counter: Sequence[int], dtype: Any, rounds: int | None = None
) -> Array:
    """Philox 4x32-10, one counter for four cells; `rounds` other than ten where the op states them."""
    mask = 0xFFFFFFFF
    base = 0
    for word in reversed(list(counter)):
        base = base << 32 | int(word) & mask
    flat: list[int] = []
    total = int(np.prod(shape))
    while len(flat) < total:
        a, b, c, d = (base >> shift & mask for shift in (0, 32, 64, 96))
        x, y = int(key[0]) & mask, int(key[1]) & mask
        for _ in range(rounds or 10):
            p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = q >> 32 ^ b ^ x, q & mask, p >> 32 ^ d ^ y, p & mask
            x, y = x + 0x9E3779B9 & mask, y + 0xBB67AE85 & mask
        flat += [a, b, c, d]
        base += 1
    return np.array(flat[:total], np.uint64).astype(np.uint32).astype(dtype).reshape(shape)


def _slices(offsets: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(o, o + n) for o, n in zip(offsets, shape, strict=True))


def _require_inside(box: Sequence[int], offsets: Sequence[int], shape: Sequence[int]) -> None:
    for axis, (n, o, e) in enumerate(zip(box, offsets, shape, strict=True)):
        if e > 0 and not (0 <= o and o + e <= n):
            raise IndexError(f"{e} cells at {o} on axis {axis} where there are {n}")


def cut(tile: Array, offsets: Sequence[int], shape: Sequence[int]) -> Array:
    """The window at `offsets`."""
    _require_inside(tile.shape, offsets, shape)
    return np.array(tile[_slices(offsets, shape)])


def paste(target: Array, source: Array, offsets: Sequence[int]) -> Array:
    """The target with the source in its window at `offsets`."""
    _require_inside(target.shape, offsets, source.shape)
    result = np.array(target)
    result[_slices(offsets, source.shape)] = source
    return result


def cell(tile: Array, position: Sequence[int]) -> Any:
    """One cell."""
    _require_inside(tile.shape, position, [1] * len(position))
    return tile[tuple(position)].item()


def with_cell(tile: Array, position: Sequence[int], scalar: Any) -> Array:
    """The tile with one cell changed."""
    return paste(tile, np.full([1] * tile.ndim, scalar, tile.dtype), position)


def fill_pad(tile: Array, valid: Sequence[int], pad: str, dtype: Any) -> Array:
    """Everything outside the valid rectangle becomes the pad value."""
    outside = np.ones(tile.shape, np.bool_)
    outside[tuple(map(slice, valid))] = False
    if pad in ("zero", "null"):
        value: Any = 0
    elif is_integer(dtype):
        value = limits(np.dtype(dtype))[pad == "max"]
    else:
        value = _extreme(dtype, pad)
    return np.where(outside, np.asarray(value).astype(tile.dtype), tile)


def _extreme(dtype: Any, which: str) -> float:
    info = ml_dtypes.finfo(dtype)  # pyright: ignore[reportUnknownVariableType]
    return float(getattr(info, which))  # pyright: ignore[reportUnknownArgumentType]


def cut_valid(valid: Sequence[int], offsets: Sequence[int], shape: Sequence[int], stated: Any) -> tuple[int, ...]:
    """Extents of a window: stated ones as far as they fit, else what the source has there."""
    if stated:
        return tuple(min(s, n) for s, n in zip(stated, shape, strict=True))
    return tuple(min(n, max(v - o, 0)) for v, o, n in zip(valid, offsets, shape, strict=True))


def reshaped_valid(valid: Sequence[int], tile: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """A row that becomes a column keeps its length; what is valid throughout stays so; the rest keeps its extents."""
    if all(v == n for v, n in zip(valid, tile.shape, strict=True)):
        return tuple(shape)
    if len(valid) == 2 and min(shape) == 1 and (shape[1], shape[0]) == tile.shape:
        return valid[1], valid[0]
    if len(shape) == 2 and len(valid) == 2 and min(shape) == 1 and min(valid) <= 1:
        length = max(valid) if min(valid) > 0 else 0
        return (1, length) if shape[0] == 1 else (length, 1)
    return tuple(valid)


def swapped_valid(valid: Sequence[int], a: int, b: int) -> tuple[int, ...]:
    """Extents of a transposed tile."""
    order = list(range(len(valid)))
    order[a], order[b] = order[b], order[a]
    return tuple(valid[i] for i in order)


def reinterpreted_valid(valid: Sequence[int], tile: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """Extents counted in the new element type."""
    return tuple(v if n == m else v * m // n for v, n, m in zip(valid, tile.shape, shape, strict=True))


def inside(shape: Sequence[int], valid: Sequence[int]) -> Array:
    """Truth per cell of a box: whether its index is below the extent on every axis."""
    places = np.indices(tuple(shape))
    return np.all([place < extent for place, extent in zip(places, valid, strict=True)], axis=0)


WORDS: dict[str, Any] = {
    "np": np,
    **{
        f.__name__: f
        for f in (
            divide,
            cast,
            matmul,
            tensor_matmul,
            accumulate,
            compare,
            pack_bits,
            unpack_bits,
            sort_blocks,
            merge_runs,
            merge_lists,
            every,
            pick,
            sequence,
            triangle,
            random,
            cut,
            paste,
            cell,
            with_cell,
            fill_pad,
            inside,
            cut_valid,
            reshaped_valid,
            swapped_valid,
            reinterpreted_valid,
        )
    },
}
"""The words that need nothing of the interpreter; see `reference.Reference.words` for the others."""
