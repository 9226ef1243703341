"""Valid extents as values of the PTO function: numbers where the type says them, arithmetic where only the run does.

The rule of an op is its `Meaning.valid`, evaluated over extents that build arithmetic instead of computing.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from cubelane.analysis.tile_layout import matrix_shape
from cubelane.emit.pto_builder import Builder, Index
from cubelane.ir.surface import OPERAND_KINDS, SurfaceOp, python_value
from cubelane.ir.traits import Meaning, Splits
from cubelane.ir.types import DYNAMIC, TileType

Extents = tuple[Index, ...]
"""One extent per axis of a tile."""

_WORD = re.compile(r"\{(\w+)\}")


class Number:
    """An extent in the formula of an op: `+`, `-`, `*`, `//` with numbers build ops where they cannot be computed."""

    def __init__(self, builder: Builder, value: Index):
        self.builder, self.value = builder, value

    def _of(self, other: "Number | int") -> Index:
        return other.value if isinstance(other, Number) else other

    def _new(self, value: Index) -> "Number":
        return Number(self.builder, value)

    def __add__(self, other: "Number | int") -> "Number":
        return self._new(self.builder.plus(self.value, self._of(other)))

    def __sub__(self, other: "Number | int") -> "Number":
        return self._new(self.builder.minus(self.value, self._of(other)))

    def __mul__(self, other: "Number | int") -> "Number":
        return self._new(self.builder.times(self.value, self._of(other)))

    def __floordiv__(self, other: int) -> "Number":
        return self._new(self.builder.over(self.value, other))

    def least(self, other: "Number | int") -> "Number":
        """The smaller one."""
        return self._new(self.builder.least(self.value, self._of(other)))

    def most(self, other: "Number | int") -> "Number":
        """The larger one."""
        return self._new(self.builder.most(self.value, self._of(other)))


Numbers = Sequence[Number]


class _Shaped:
    """What a formula may ask of a tile: its shape."""

    def __init__(self, shape: Sequence[int]):
        self.shape = tuple(shape)


def _cut_valid(valid: Numbers, offsets: Numbers, shape: Numbers, stated: Sequence[Number] | None) -> Numbers:
    """What of a tile's valid extent falls into a window; what is stated goes first."""
    if stated:
        return [s.least(e) for s, e in zip(stated, shape, strict=True)]
    return [(v - o).least(e).most(0) for v, o, e in zip(valid, offsets, shape, strict=True)]


def _reshaped_valid(valid: Numbers, tile: _Shaped, shape: Numbers) -> Numbers:
    """A vector that turns keeps its length; other shapes keep their extents."""
    old, new = tile.shape, tuple(s.value for s in shape)
    if old == new or len(new) != 2 or 1 not in new:
        return valid
    length = valid[0] * valid[1]
    one = shape[0] if new[0] == 1 else shape[1]
    return [one, length] if new[0] == 1 else [length, one]


def _swapped_valid(valid: Numbers, a: Number, b: Number) -> Numbers:
    """Two axes swapped."""
    result = list(valid)
    assert isinstance(a.value, int) and isinstance(b.value, int)
    result[a.value], result[b.value] = result[b.value], result[a.value]
    return result


def _reinterpreted_valid(valid: Numbers, tile: _Shaped, shape: Numbers) -> Numbers:
    """The axis that changes its count of elements scales."""
    scaled: list[Number] = []
    for extent, old, new in zip(valid, tile.shape, shape, strict=True):
        assert isinstance(new.value, int)
        scaled.append(extent * new // old)
    return scaled


_FORMULAS: dict[str, Callable[..., Numbers]] = {
    "cut_valid": _cut_valid,
    "reshaped_valid": _reshaped_valid,
    "swapped_valid": _swapped_valid,
    "reinterpreted_valid": _reinterpreted_valid,
}


class ExtentRules:
    """The valid extents of the tiles of one function."""

    def __init__(self, builder: Builder, scalars: Callable[[SSAValue], Index]):
        self.builder, self.scalar = builder, scalars
        self.known: dict[SSAValue, Extents] = {}

    def __getitem__(self, value: SSAValue) -> Extents:
        """The extents of a tile."""
        return self.known[value]

    def rows_and_columns(self, value: SSAValue) -> tuple[Index, Index]:
        """The extents as a handle takes them; a tile of one axis is one row."""
        extents = self.known[value]
        if len(extents) == 2:
            return extents[0], extents[1]
        if len(extents) == 1:
            return 1, extents[0]
        kind = value.type
        assert isinstance(kind, TileType)
        return matrix_shape(kind)[0], extents[-1]

    def state(self, value: SSAValue, extents: Sequence[Index]) -> None:
        """Records extents; those that the type holds as numbers are those numbers."""
        kind = value.type
        assert isinstance(kind, TileType)
        pairs = zip(kind.valid, extents, strict=True)
        self.known[value] = tuple(given if stated == DYNAMIC else stated for stated, given in pairs)

    def define(self, op: SurfaceOp) -> Extents:
        """Finds the extents of the result of an op and records them."""
        result = op.results[0]
        kind = result.type
        assert isinstance(kind, TileType)
        self.state(result, kind.valid if DYNAMIC not in kind.valid else self._computed(op, kind))
        return self.known[result]

    def _computed(self, op: SurfaceOp, kind: TileType) -> Sequence[Index]:
        stated: Sequence[SSAValue] = getattr(op, "valid", ()) or ()
        if stated:
            given = iter([self.scalar(v) for v in stated])
            if len(stated) == len(kind.valid):
                return [self.builder.least(next(given), box) for box in kind.shape]
            return [next(given) if v == DYNAMIC else v for v in kind.valid]
        meaning = op.get_trait(Meaning)
        if meaning is not None and meaning.valid is not None and meaning.valid != "{valid}":
            return [n.value for n in self._evaluate(op, meaning.valid)]
        return self._inherited(op, kind)

    def _inherited(self, op: SurfaceOp, kind: TileType) -> Sequence[Index]:
        """From the first tile of the same extent on the axis, one with a run-time extent going first."""
        trait = op.get_trait(Splits)
        lent = [getattr(op, name) for name in (trait.scratch if trait is not None else ())]
        tiles = [o for o in op.operands if isinstance(o.type, TileType) and not any(o is s for s in lent)]
        extents = list[Index](kind.valid)
        for axis, extent in enumerate(kind.valid):
            if extent == DYNAMIC:
                extents[axis] = self._from(tiles, axis, kind)
        return extents

    def _from(self, tiles: Sequence[SSAValue], axis: int, kind: TileType) -> Index:
        kinds = [(t, t.type) for t in tiles if isinstance(t.type, TileType)]
        fitting = [(t, k) for t, k in kinds if k.shape[axis : axis + 1] == (kind.shape[axis],)]
        dynamic = [t for t, k in fitting if k.valid[axis] == DYNAMIC]
        for tile in (*dynamic, *(t for t, _ in fitting), *tiles):
            return self.known[tile][axis]
        return kind.shape[axis]

    def _evaluate(self, op: SurfaceOp, formula: str) -> Numbers:
        words: dict[str, Any] = {}
        for name in set(_WORD.findall(formula)):
            words[name] = self._word(op, name)
        result = eval(_WORD.sub(r"\1", formula), {**_FORMULAS, **words})  # a formula of an op class, not of a user
        return [n if isinstance(n, Number) else Number(self.builder, n) for n in result]

    def _word(self, op: SurfaceOp, name: str) -> Any:
        if name == "shape":
            return self._numbers(op.results[0].type)
        if name.endswith("_valid"):
            return [Number(self.builder, e) for e in self.known[getattr(op, name.removesuffix("_valid"))]]
        parameter = next(p for p in op.PARAMETERS if p.name == name)
        if parameter.kind not in OPERAND_KINDS:
            return Number(self.builder, python_value(op.properties.get(name)))
        value: SSAValue | Sequence[SSAValue] | None = getattr(op, name)
        if value is None or not isinstance(value, SSAValue):
            return [Number(self.builder, self.scalar(v)) for v in value or ()]
        if isinstance(value.type, TileType):
            return _Shaped(value.type.shape)
        return Number(self.builder, self.scalar(value))

    def _numbers(self, kind: object) -> Numbers:
        assert isinstance(kind, TileType)
        return [Number(self.builder, extent) for extent in kind.shape]


def dynamic_axes(kind: object) -> list[int]:
    """The axes whose valid extent only the run knows."""
    return [axis for axis, extent in enumerate(kind.valid) if extent == DYNAMIC] if isinstance(kind, TileType) else []
