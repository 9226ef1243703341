"""One op of the oracle for one agent: its `Meaning` evaluated on whole arrays."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.check.arrays import array_dtype
from cubelane.check.reference_values import Cells, Memory, Put, Undefined
from cubelane.check.reference_words import WORDS, is_integer
from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.extents import extent_value
from cubelane.ir.surface import OPERAND_KINDS, Kind, SurfaceOp, python_value
from cubelane.ir.traits import Meaning, Split, Splits
from cubelane.ir.types import DYNAMIC, TensorType, TileType

Values = dict[SSAValue, Any]
_BRACES = re.compile(r"\{(\w+)\}")


class Evaluator:
    """Evaluates ops, floats in `working`; `in_kernel` tells whether an op stands in a kernel or on the host."""

    def __init__(self, undefined: Undefined, working: Any = np.float64):
        self.undefined, self.working = undefined, working
        self.in_kernel = False
        self.puts: list[Put] | None = None
        """Where writes to memory are noted, if anybody asks."""
        self.compiled: dict[str, Any] = {}

    def run(self, op: SurfaceOp, operands: Values) -> Any:
        """One op for one agent, from its `Meaning`."""
        meaning, behaviour = op.get_trait(Meaning), behaviour_of(op)
        assert meaning is not None
        names = self._names(op, operands, behaviour)
        type_ = op.results[0].type if op.results else None
        valid = self._valid(op, meaning, names, type_, behaviour, operands)
        names["valid"] = valid if "valid" in names else None
        if self._folds_nothing(op, operands, behaviour) and isinstance(type_, TileType | TensorType):
            shape: tuple[int, ...] = names["shape"]
            if DYNAMIC not in shape:
                return Cells(self.undefined.fill(shape, array_dtype(type_.dtype)), valid or shape)
        result = self._eval(op, meaning.value, names)
        if isinstance(result, Memory) or not isinstance(type_, TileType | TensorType):
            return result
        return self._held(np.asarray(result), type_, valid)

    @staticmethod
    def _folds_nothing(op: SurfaceOp, operands: Values, behaviour: Splits) -> bool:
        """Whether a reduction or a product has no cell to take: the result is undefined, also that of a sum.

        Rows or columns that are not there leave no valid cell; nothing to fold leaves cells without a value
        (spec/front.md 2.4, 2.5).
        """
        if behaviour.behaviour not in (Split.REDUCES, Split.CUBE):
            return False
        lent = [getattr(op, name) for name in behaviour.scratch]
        taken = [v for k, v in operands.items() if isinstance(v, Cells) and not any(k is s for s in lent)]
        return any(0 in tile.valid for tile in taken)

    def _eval(self, op: Operation, text: str, names: dict[str, Any]) -> Any:
        """An expression of a `Meaning`; operands and properties are apart from the words it calls."""
        if text not in self.compiled:
            self.compiled[text] = compile(_BRACES.sub(r"v_\1", text), text, "eval")
        scope = {**WORDS, **self.words(op), **{f"v_{name}": value for name, value in names.items()}}
        return eval(self.compiled[text], scope)

    def _names(self, op: SurfaceOp, operands: Values, behaviour: Splits) -> dict[str, Any]:
        names: dict[str, Any] = {}
        trims = behaviour.behaviour in (Split.REDUCES, Split.CUBE, Split.STORES)
        for parameter in op.PARAMETERS:
            if parameter.kind not in OPERAND_KINDS:
                value = python_value(op.properties.get(parameter.name))
                if parameter.kind is Kind.PAD and isinstance(t := op.results[0].type, TileType):
                    value = t.data.pad.value
                names[parameter.name] = value
                continue
            given: SSAValue | Sequence[SSAValue] | None = getattr(op, parameter.name)
            if not isinstance(given, SSAValue):
                names[parameter.name] = None if given is None else tuple(operands[g] for g in given)
                continue
            value = operands[given]
            if isinstance(value, Cells):
                names[f"{parameter.name}_valid"] = value.valid
                cut = trims or (behaviour.behaviour is Split.PASTES and parameter.name == "source")
                value = self._widened(value.part if cut and parameter.name not in behaviour.scratch else value.data)
            elif isinstance(value, Memory) and op.name.startswith("gm.") and parameter.name not in ("source", "target"):
                names[f"{parameter.name}_valid"] = value.data.shape
                value = self._widened(value.data)
            names[parameter.name] = value
        if op.results and isinstance(type_ := op.results[0].type, TileType | TensorType):
            names["shape"] = self._shape(op, type_, operands)
            real = array_dtype(type_.dtype)
            names["dtype"] = real
            if behaviour.behaviour is Split.REDUCES and not is_integer(real):
                names["dtype"] = self.working
        return names

    def _shape(self, op: SurfaceOp, type_: TileType | TensorType, operands: Values) -> tuple[int, ...]:
        if isinstance(type_, TileType):
            return type_.shape
        known = type_.static_shape
        if DYNAMIC not in known:
            return known
        symbols: dict[str, int] = {}
        for value, content in operands.items():
            if isinstance(value.type, TensorType) and isinstance(content, Cells | Memory):
                for d, n in zip(value.type.shape, content.data.shape, strict=True):
                    if isinstance(d, str):
                        symbols[d] = n
        known = (extent_value(d, symbols) if isinstance(d, str) else d for d in type_.shape)
        return tuple(-1 if d is None else d for d in known)

    def _valid(
        self,
        op: SurfaceOp,
        meaning: Meaning,
        names: dict[str, Any],
        type_: Attribute | None,
        behaviour: Splits,
        operands: Values,
    ) -> tuple[int, ...] | None:
        """The valid extent of the result: from `Meaning.valid` or the operands, so that a type that says the same
        for both lanes does not hide what each of them holds. What a load takes is stated by its type."""
        if not isinstance(type_, TileType | TensorType):
            return None
        shape: tuple[int, ...] = names["shape"]
        stated = type_.valid if isinstance(type_, TileType) else type_.data.valid
        derived: Sequence[int] = tuple(n if s == DYNAMIC else s for s, n in zip(stated or shape, shape, strict=True))
        if meaning.valid == "{valid}":
            derived = self._window_extent(names, shape)
        elif meaning.valid is not None:
            derived = self._eval(op, meaning.valid, names)
        else:
            lent = [getattr(op, name) for name in behaviour.scratch]
            tiles = [v for k, v in operands.items() if isinstance(v, Cells) and not any(k is s for s in lent)]
            fitting = [t for t in tiles if t.data.shape == shape or behaviour.behaviour is Split.REDUCES]
            derived = fitting[0].valid if fitting else derived
            if behaviour.behaviour is Split.REDUCES and behaviour.axis is not None and len(derived) == len(shape):
                derived = tuple(1 if axis == behaviour.axis % len(shape) else n for axis, n in enumerate(derived))
        if len(derived) != len(shape):
            derived = shape
        if stated and behaviour.behaviour is Split.LOADS:
            return tuple(d if s == DYNAMIC else s for s, d in zip(stated, derived, strict=True))
        return tuple(min(d, n) for d, n in zip(derived, shape, strict=True))

    @staticmethod
    def _window_extent(names: dict[str, Any], shape: tuple[int, ...]) -> tuple[int, ...]:
        given = names.get("valid") or ()
        source, offsets = names["source"], names["offsets"]
        box: tuple[int, ...] = names.get("window") or shape
        held = source.valid if isinstance(source, Cells) else source.data.shape
        lead = len(held) - len(box)
        there = [max(0, min(h - o, n)) for h, o, n in zip(held[lead:], offsets[lead:], box, strict=True)]
        extents = list(given) if len(given) == len(box) else list(box)
        if len(given) not in (0, len(box)):
            return tuple(there)
        clip = bool(names.get("clamp")) or isinstance(source, Cells)
        return tuple(min(e, t) for e, t in zip(extents, there, strict=True)) if clip else tuple(extents)

    def _held(self, result: Any, type_: TileType | TensorType, valid: tuple[int, ...] | None) -> Cells:
        """The result in its element type and box; what a trimmed result leaves open is undefined."""
        dtype = array_dtype(type_.dtype)
        shape = type_.shape if isinstance(type_, TileType) else type_.static_shape
        result = result if result.dtype == dtype else result.astype(dtype)
        if DYNAMIC in shape:
            shape = result.shape
        if result.shape != shape:
            if len(result.shape) != len(shape) or any(r > s for r, s in zip(result.shape, shape, strict=True)):
                raise Diagnostic(f"computes {list(result.shape)} where the type says {list(shape)}", code="wrong-shape")
            boxed = self.undefined.fill(shape, dtype)
            boxed[tuple(map(slice, result.shape))] = result
            result = boxed
        return Cells(result, valid or shape)

    # --- words that need the run -----------------------------------------------------------------------------

    def words(self, op: Operation) -> dict[str, Any]:
        """The words of `Meaning` that touch memory, undefined cells, or where the program runs."""

        def window(source: Any, offsets: Sequence[int], box: Sequence[int], valid: Sequence[int] | None) -> Any:
            return self._window(source, offsets, box, valid)

        def put(target: Any, offsets: Sequence[int], part: Any, shapes: Any, atomic: int | None) -> Any:
            part = part.data.copy() if isinstance(part, Memory) else part
            if not isinstance(target, Memory):
                return WORDS["paste"](
                    target, np.reshape(part, (1,) * (np.ndim(target) - np.ndim(part)) + part.shape), offsets
                )
            self._remember(target.put(offsets, part, shapes, bool(atomic)))
            return target

        def read(source: Any, position: Sequence[int]) -> Any:
            return WORDS["cell"](source.data, position)

        def write(target: Any, position: Sequence[int], value: Any) -> Any:
            if not isinstance(target, Memory):
                return WORDS["with_cell"](target, position, value)
            self._remember(target.put(position, np.full((1,) * len(position), value), None, False))
            return target

        def gather_rows(tile: Any, source: Any, offsets: Any, source_offsets: Any, sizes: Any) -> Any:
            return WORDS["paste"](tile, self._window(source, source_offsets, sizes, None), offsets)

        def reinterpret(tile: Any, dtype: Any, shape: Sequence[int]) -> Any:
            real = tile.astype(self._operand_dtype(op))
            return np.frombuffer(real.tobytes(), dtype).reshape(shape)

        def fill_pad(tile: Any, valid: Sequence[int], pad: str) -> Any:
            return WORDS["fill_pad"](tile, valid, pad, self._operand_dtype(op))

        def elsewhere(*_: Any) -> None:
            """Has no effect on this device."""

        def wait_for(signal: Any, position: Sequence[int], value: int, comparison: str) -> None:
            have = read(signal, position)
            ordered = {"eq": have == value, "ne": have != value, "lt": have < value, "gt": have > value}
            ordered |= {"le": not ordered["gt"], "ge": not ordered["lt"]}
            if not ordered[comparison]:
                raise ValueError(f"waits for a signal that no peer sends here: it is {have}, not {comparison} {value}")

        def poison(shape: Sequence[int], dtype: Any) -> Any:
            array = self.undefined.fill(shape, dtype)
            return array if self.in_kernel else Memory(array)

        return {
            "window": window,
            "put": put,
            "read": read,
            "write": write,
            "gather_rows": gather_rows,
            "reinterpret": reinterpret,
            "fill_pad": fill_pad,
            "poison": poison,
            "block": lambda: 0,
            "blocks": lambda: 1,
            "lane": lambda: 0,
            "notify": elsewhere,
            "defer_wait": elsewhere,
            "wait_for": wait_for,
        }

    @staticmethod
    def _operand_dtype(op: Operation) -> Any:
        type_ = op.operands[0].type
        assert isinstance(type_, TileType | TensorType)
        return array_dtype(type_.dtype)

    def _remember(self, put: Put | None) -> None:
        if put is not None and self.puts is not None:
            self.puts.append(put)

    def _widened(self, array: Any) -> Any:
        """Floats in the working type; integers as they are."""
        return array if is_integer(array.dtype) else array.astype(self.working)

    def _window(self, source: Any, offsets: Sequence[int], box: Sequence[int], valid: Sequence[int] | None) -> Any:
        """A copy of a window, undefined outside `valid`; on the host, of memory, a view."""
        data = source.data if isinstance(source, Memory | Cells) else source
        lead = data.ndim - len(box)
        extents = tuple(valid) if valid and len(valid) == len(box) else tuple(box)
        whole = (1,) * lead + extents
        for axis, (n, o, e) in enumerate(zip(data.shape, offsets, whole, strict=True)):
            if e > 0 and not (0 <= o and o + e <= n):
                raise IndexError(f"reads {e} elements at {o} on axis {axis} of a tensor with {n}")
        view = data[tuple(slice(o, o + e) for o, e in zip(offsets, whole, strict=True))]
        if not self.in_kernel and isinstance(source, Memory) and extents == tuple(box):
            return Memory(view.reshape(box))
        result = self.undefined.fill(box, data.dtype)
        result[tuple(map(slice, extents))] = view.reshape(extents)
        return result


def behaviour_of(op: SurfaceOp) -> Splits:
    """How the op declares to behave."""
    behaviour = op.get_trait(Splits)
    assert behaviour is not None, op.name
    return behaviour
