"""The words of `Meaning` for the tile machine that touch no shared state: what one core does with its own tiles.

Emitted programs call these by name. A wrong use raises a `Fault`; the core that ran it adds the place.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = Any
"""A NumPy array of any element type (those of ml_dtypes included)."""

Extents = Sequence[int]


class Fault(Exception):
    """Something a kernel must not do, noticed while it runs. `code` is the kind of finding."""

    def __init__(self, message: str, *notes: str, code: str = "execution"):
        super().__init__(message)
        self.notes, self.code = notes, code


def scalar_fault(problem: Exception) -> str | None:
    """Why a number could not be computed, in the user's words; None for an error of another kind."""
    if isinstance(problem, ZeroDivisionError):
        return "an integer is divided by zero"
    if isinstance(problem, ValueError) and "negative shift" in str(problem):
        return "a number is shifted by a negative count"
    return None


def rising(step: int) -> int:
    """The step of a loop, which counts up; a Fault where it does not."""
    if step < 1:
        raise Fault(
            f"the step of this loop is {step}",
            "a step that is known at run time only counts up; one that counts down is a constant",
            code="loop-step",
        )
    return step


def quotient(a: int, b: int) -> int:
    """The whole part of a / b, rounded to zero."""
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def remainder(a: int, b: int) -> int:
    """What `quotient` leaves; it has the sign of a."""
    return a - b * quotient(a, b)


class Poison:
    """What undefined cells hold: NaN (or `number`), and a marker for integers.

    `used` tells whether an integer cell was ever poisoned, which cannot be seen in the value itself.
    """

    def __init__(self, number: float = float("nan"), marker: int = 90):
        self.number, self.marker, self.used = number, marker, False
        self.cells: dict[int, tuple[bool, float | int, Any]] = {}
        """By the number of an element type: whether it is whole, its undefined cell, that cell's bits if 16."""

    def value(self, dtype: np.dtype[Any]) -> float | int:
        """The cell for an element type."""
        known = self.cells.get(dtype.num)
        if known is None:
            whole = not is_float(dtype)
            cell = (self.marker & 1 if dtype == np.bool_ else self.marker) if whole else self.number
            bits = np.array(cell).astype(dtype).view(np.uint16) if dtype.itemsize == 2 else None
            known = self.cells[dtype.num] = whole, cell, bits
        self.used |= known[0]
        return known[1]

    def spoil(self, tile: Array) -> None:
        """Makes every cell of a tile undefined, in place."""
        value = self.value(tile.dtype)
        bits = self.cells[tile.dtype.num][2]
        if bits is not None and tile.flags.c_contiguous:
            # filling by bits is faster where NumPy does not know the type
            tile.view(np.uint16).fill(bits)
        else:
            tile.fill(value)

    def fill(self, shape: Extents, dtype: Any) -> Array:
        """An array of undefined cells."""
        result = np.empty(shape, dtype)
        result.fill(self.value(result.dtype))
        return result


def is_float(dtype: Any) -> bool:
    """Whether an element type is a floating point type (NumPy's or one of ml_dtypes)."""
    known = _FLOATS.get(dtype)
    if known is None:
        known = _FLOATS[dtype] = np.dtype(dtype).name.startswith(("float", "bfloat"))
    return known


_FLOATS: dict[Any, bool] = {}
"""Answers of `is_float`; the name of an element type is slow to get."""


def trim(tile: Array, valid: Extents) -> Array:
    """The valid part of a tile (a view)."""
    return tile[tuple(slice(0, extent) for extent in valid)]


def rounded(value: float, dtype: Any) -> float:
    """A float scalar as its type holds it."""
    return float(np.asarray(value).astype(dtype))


def wrap(value: int, width: int, signed: bool) -> int:
    """An integer scalar as `width` bits hold it."""
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def divide(a: Array, b: Array) -> Array:
    """Float division; for two integers the quotient towards zero (0 where the divisor is 0)."""
    if is_float(np.result_type(a)) or is_float(np.result_type(b)):
        quotient = np.asarray(np.divide(a, b))
        return quotient if quotient.ndim else quotient.item()
    safe = np.where(np.equal(b, 0), 1, b)
    quotient = np.abs(a) // np.abs(safe) * np.sign(a) * np.sign(safe)
    return np.where(np.equal(b, 0), 0, quotient).astype(np.result_type(a, b))


def _half_away(x: Array) -> Array:
    return np.trunc(x + np.copysign(0.5, x))


def _to_odd(x: Array) -> Array:
    return np.add(2 * np.floor(x / 2), 1, out=np.trunc(x), where=np.not_equal(np.trunc(x), x))


_ROUNDING: dict[str, Callable[[Array], Array]] = {
    "none": np.rint,
    "rint": np.rint,
    "round": _half_away,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "odd": _to_odd,
}


def cast(tile: Array, dtype: Any, mode: str) -> Array:
    """To another element type: floats to the nearest (ties to even), to integers as `mode` says, saturating."""
    if is_float(dtype):
        return tile.astype(dtype)
    target = np.dtype(dtype)
    low, high = _integer_range(target)
    if not is_float(tile.dtype):
        return np.clip(tile.astype(np.int64), low, high).astype(target)
    whole = _ROUNDING[mode](np.nan_to_num(tile.astype(np.float64), nan=0.0))
    return np.clip(whole, low, high).astype(np.int64).astype(target)


def _integer_range(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype == np.bool_:
        return 0, 1
    info = ml_dtypes.iinfo(dtype)
    return max(int(info.min), -(2**62)), min(int(info.max), 2**62)


def matmul(lhs: Array, rhs: Array) -> Array:
    """The product, accumulated in FP32 (INT32 for integers), over the columns that `lhs` has."""
    inner = lhs.shape[1]
    if rhs.shape[0] != inner:
        inner = min(inner, rhs.shape[0])
        lhs, rhs = lhs[:, :inner], rhs[:inner]
    wide = _FP32 if is_float(lhs.dtype) else _INT32
    if lhs.dtype is not wide:
        lhs = lhs.astype(wide)
    if rhs.dtype is not wide:
        rhs = rhs.astype(wide)
    return np.matmul(lhs, rhs)


_FP32, _INT32 = np.dtype(np.float32), np.dtype(np.int32)


def accumulate(acc: Array, lhs: Array, rhs: Array, fresh: bool | None = None) -> Array:
    """The product added to an accumulator; `fresh` overwrites it instead."""
    product = matmul(lhs, rhs)
    if acc.shape == product.shape:
        return product if fresh else acc + product
    result = acc.copy()
    window = result[: product.shape[0], : product.shape[1]]
    window[...] = product if fresh else window + product
    return result


def tensor_matmul(lhs: Array, rhs: Array, a_trans: bool | None, b_trans: bool | None, dtype: Any) -> Array:
    """The product of two tensors, in their accumulator type, rounded to `dtype`."""
    wide = np.float32 if is_float(lhs.dtype) else np.int32
    a = lhs.astype(wide).swapaxes(-1, -2) if a_trans else lhs.astype(wide)
    b = rhs.astype(wide).swapaxes(-1, -2) if b_trans else rhs.astype(wide)
    return np.matmul(a, b).astype(dtype)


_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


def compare(lhs: Array, rhs: Array, kind: int) -> Array:
    """Truth per cell; `kind` 0..5 is eq ne lt le gt ge."""
    return _COMPARISONS[kind](lhs, rhs)


def pack_bits(truth: Array, shape: Extents) -> Array:
    """Eight columns a byte, the first in the lowest bit, in a box of `shape`."""
    packed = np.packbits(truth, axis=-1, bitorder="little")
    result = np.zeros(shape, np.uint8)
    result[tuple(slice(0, extent) for extent in packed.shape)] = packed
    return result


def unpack_bits(mask: Array, shape: Extents) -> Array:
    """The truth per cell of a box of `shape`."""
    return np.unpackbits(mask, axis=-1, count=shape[-1], bitorder="little").astype(np.bool_)


def sort_blocks(scores: Array, indices: Array) -> Array:
    """Every 32 cells of a row as records of score and index bits, descending, equal scores in their order."""
    rows, columns = scores.shape
    names = np.broadcast_to(indices, scores.shape).reshape(rows, -1, 32).view(np.float32)
    blocks = scores.reshape(rows, -1, 32)
    order = np.argsort(-blocks, axis=-1, kind="stable")
    pairs = [np.take_along_axis(part, order, axis=-1) for part in (blocks, names)]
    return np.stack(pairs, axis=-1).reshape(rows, 2 * columns)


def _merged(records: Array) -> Array:
    """Records [.., n, 2] in descending order, equal scores in their order."""
    order = np.argsort(-records[..., 0], axis=-1, kind="stable")
    return np.take_along_axis(records, order[..., None], axis=-2)


def merge_runs(tile: Array, length: int) -> Array:
    """Every four runs of `length` cells of a row as one sorted run."""
    return _merged(tile.reshape(tile.shape[0], -1, 2 * length, 2)).reshape(tile.shape)


def merge_lists(tiles: Sequence[Array | None]) -> Array:
    """The records of sorted tiles, row by row, as one sorted tile."""
    joined = np.concatenate([tile for tile in tiles if tile is not None], axis=-1)
    return _merged(joined.reshape(joined.shape[0], -1, 2)).reshape(joined.shape)


_PATTERNS = ((0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4), (0, 1))


def every(tile: Array, pattern: int) -> Array:
    """The columns of a mask pattern, 1 to 7."""
    first, step = _PATTERNS[pattern - 1]
    return tile[:, first::step]


def pick(tile: Array, places: Array, valid: Extents | None) -> Array:
    """The cells of a tile at places that count its cells row by row; undefined ones take the first cell."""
    at = places.astype(np.int64)
    if valid is not None:
        at = np.where(inside(at.shape, valid), at, 0)
    if at.size and not 0 <= at.min() <= at.max() < tile.size:
        wrong = at.min() if at.min() < 0 else at.max()
        raise Fault(f"cell {wrong} is gathered from a tile of {tile.size}", code="out-of-bounds")
    return tile.reshape(-1)[at]


def sequence(shape: Extents, start: int, descending: bool | None, dtype: Any) -> Array:
    """Counts along the row-major cells."""
    count = int(np.prod(shape))
    steps = -np.arange(count) if descending else np.arange(count)
    return (steps + start).astype(dtype).reshape(shape)


def triangle(shape: Extents, diagonal: int, upper: int | None, dtype: Any) -> Array:
    """Ones up to (`upper` 0) or from (1) the diagonal `col - row == diagonal`."""
    if upper:
        return np.triu(np.ones(shape, dtype), diagonal)
    return np.tril(np.ones(shape, dtype), diagonal)


def random(shape: Extents, key: Sequence[int], counter: Sequence[int], dtype: Any, rounds: int | None = None) -> Array:
    """Philox 4x32-10: block b of four words is the cipher of `counter + b`; cells in row-major order."""
    count = int(np.prod(shape))
    blocks = -(-count // 4)
    start = sum((int(word) & 0xFFFFFFFF) << (32 * place) for place, word in enumerate(counter))
    words = [[((start + b) >> (32 * place)) & 0xFFFFFFFF for place in range(4)] for b in range(blocks)]
    state = np.array(words, np.uint64).T
    k0, k1 = (int(word) & 0xFFFFFFFF for word in key)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(rounds or 10):
        p0, p1 = state[0] * np.uint64(0xD2511F53), state[2] * np.uint64(0xCD9E8D57)
        state = np.array(
            [
                (p1 >> np.uint64(32)) ^ state[1] ^ np.uint64(k0),
                p1 & low,
                (p0 >> np.uint64(32)) ^ state[3] ^ np.uint64(k1),
                p0 & low,
            ]
        )
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return state.T.reshape(-1)[:count].astype(np.uint32).astype(dtype).reshape(shape)


def cut(tile: Array, offsets: Extents, shape: Extents) -> Array:
    """The window of a tile (a view)."""
    _inside(tile.shape, offsets, shape, "tile")
    return tile[tuple(slice(o, o + extent) for o, extent in zip(offsets, shape, strict=True))]


def paste(target: Array, source: Array, offsets: Extents) -> Array:
    """A copy of the target with the source written into it."""
    _inside(target.shape, offsets, source.shape, "tile")
    result = target.copy()
    result[tuple(slice(o, o + extent) for o, extent in zip(offsets, source.shape, strict=True))] = source
    return result


def cell(tile: Array, position: Extents) -> Any:
    """One cell as a Python number."""
    _inside(tile.shape, position, (1,) * len(position), "tile")
    return tile[tuple(position)].item()


def with_cell(tile: Array, position: Extents, scalar: Any) -> Array:
    """A copy with one cell replaced."""
    _inside(tile.shape, position, (1,) * len(position), "tile")
    result = tile.copy()
    result[tuple(position)] = scalar
    return result


def reinterpret(tile: Array, dtype: Any, shape: Extents) -> Array:
    """The same bytes under another element type."""
    return np.ascontiguousarray(tile).reshape(-1).view(dtype).reshape(shape)


def _inside(box: Extents, offsets: Extents, shape: Extents, what: str) -> None:
    for axis, (limit, offset, extent) in enumerate(zip(box, offsets, shape, strict=True)):
        if offset < 0 or offset + extent > limit:
            raise Fault(
                f"a window of {extent} at {offset} on axis {axis} does not lie in a {what} of {limit}",
                code="out-of-bounds",
            )


def inside(shape: Extents, valid: Extents) -> Array:
    """Which cells of a box of `shape` are valid."""
    mask = np.zeros(shape, np.bool_)
    mask[tuple(slice(0, extent) for extent in valid)] = True
    return mask


def fill_pad(tile: Array, valid: Extents, pad: str) -> Array:
    """A copy with the cells outside the valid extent set to zero or the largest or smallest value."""
    inner = tuple(slice(0, extent) for extent in valid)
    result = np.full(tile.shape, _pad_value(tile.dtype, pad), tile.dtype)
    result[inner] = tile[inner]
    return result


def _pad_value(dtype: Any, pad: str) -> float | int:
    if pad in ("zero", "null"):
        return 0
    if is_float(dtype):
        limits: Any = _limits(dtype)
        return float(limits.max if pad == "max" else limits.min)
    low, high = _integer_range(np.dtype(dtype))
    return high if pad == "max" else low


def _limits(dtype: Any) -> Any:
    return ml_dtypes.finfo(dtype)  # pyright: ignore[reportUnknownVariableType]


def cut_valid(valid: Extents, offsets: Extents, shape: Extents, stated: Sequence[int | None] | None) -> tuple[int, ...]:
    """The valid extent of a window: what is stated, else what of the source's falls into it."""
    if stated:
        return tuple(e if s is None else min(s, e) for s, e in zip(stated, shape, strict=True))
    return tuple(max(0, min(v - o, e)) for v, o, e in zip(valid, offsets, shape, strict=True))


def clamped(source: Array, offsets: Extents, extents: Extents) -> tuple[int, ...]:
    """Extents cut to what of the window lies inside the tensor."""
    limits = source.shape[source.ndim - len(extents) :]
    starts = offsets[len(offsets) - len(extents) :]
    return tuple(max(0, min(e, limit - o)) for e, limit, o in zip(extents, limits, starts, strict=True))


def reshaped_valid(valid: Extents, tile: Array, shape: Extents) -> tuple[int, ...]:
    """Whole tiles stay whole; a vector that turns from row to column or back keeps its length."""
    if tuple(valid) == tile.shape:
        return tuple(shape)
    if len(shape) == 2 and 1 in shape and tuple(shape) == tile.shape[::-1]:
        return tuple(valid[::-1])
    if len(shape) == 2 == len(valid) and 1 in shape and min(valid) <= 1:
        longest = 0 if 0 in valid else max(valid)
        return (1, longest) if shape[0] == 1 else (longest, 1)
    return tuple(valid)


def swapped_valid(valid: Extents, a: int, b: int) -> tuple[int, ...]:
    """Extents with two axes swapped."""
    result = list(valid)
    result[a], result[b] = result[b], result[a]
    return tuple(result)


def reinterpreted_valid(valid: Extents, tile: Array, shape: Extents) -> tuple[int, ...]:
    """Extents under another element type: the axis that changes its count scales."""
    return tuple(v * new // old for v, old, new in zip(valid, tile.shape, shape, strict=True))


PURE: dict[str, Any] = {
    "np": np,
    "inf": float("inf"),
    "nan": float("nan"),
    **{
        name: getattr(ml_dtypes, name)
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4")
    },
    **{
        f.__name__: f
        for f in (
            trim,
            rounded,
            wrap,
            divide,
            cast,
            matmul,
            accumulate,
            tensor_matmul,
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
            reinterpret,
            fill_pad,
            inside,
            cut_valid,
            clamped,
            reshaped_valid,
            quotient,
            remainder,
            rising,
            swapped_valid,
            reinterpreted_valid,
        )
    },
}
"""What an emitted program sees besides the methods of its core."""
