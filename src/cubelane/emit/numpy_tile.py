"""One op of the tile (or tensor) level as a Python expression, from its `Meaning` (for `numpy_program`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue
from xdsl.traits import MemoryWriteEffect

from cubelane.emit.numpy_pair import LANES
from cubelane.emit.numpy_slots import Slots
from cubelane.emit.numpy_text import (
    WORD,
    dtype_text,
    is_native,
    is_partial,
    literal,
    needs_companion,
    tuple_text,
)
from cubelane.emit.numpy_views import Shapes, wide_window
from cubelane.ir.diagnostic import refuse
from cubelane.ir.surface import OPERAND_KINDS, Kind, SurfaceOp, python_value
from cubelane.ir.tile.channel import PopOp, PushOp
from cubelane.ir.traits import InPlace, Meaning, Split, Splits
from cubelane.ir.types import DTYPES, DYNAMIC, Pad, TensorType, TileType, is_float


@dataclass(frozen=True)
class Statement:
    """What an op does: an expression, the valid extent of its result, whether it may wait.

    `same_as` names the value whose variable the result shares (a tensor that was written to); then the expression
    is a statement of its own if it has an `effect`.
    """

    value: str
    valid: str | None = None
    blocks: bool = False
    same_as: SSAValue | None = None
    effect: bool = True


class TileText:
    """Writes ops over the variables `text` and the valid extents `extent` of their operands.

    `paired`: tiles have an axis of both lanes in front (see `numpy_pair`).
    """

    def __init__(self, text: dict[SSAValue, str], extent: dict[SSAValue, str], paired: bool = False):
        self.text = text
        self.paired = paired
        self.extent = extent
        self.slots = Slots()
        self.shapes = Shapes()

    def of(self, op: SurfaceOp) -> Statement:
        """The statement of an op; a Diagnostic for one that is gone after the last pass."""
        behaviour, meaning = op.get_trait(Splits), op.get_trait(Meaning)
        if behaviour is None or meaning is None or behaviour.behaviour is Split.BOUNDARY:
            raise refuse(op, f"{op.name} has no executable form here; run the passes first", code="not-executable")
        kind = behaviour.behaviour
        if kind is Split.RESHAPES and self.shapes.keeps_array(op):
            return Statement("", same_as=op.operands[0], effect=False)
        words = self._words(op, behaviour, meaning)
        if self.paired and kind not in (Split.LOADS, Split.CHANNEL) and isinstance(op.results[0].type, TileType):
            words["shape"] = self._box(op.results[0].type)
        valid = self._valid(op, meaning, words, behaviour.scratch)
        if kind is Split.CHANNEL:
            return self._channel(op, meaning, words, valid)
        if valid is not None and "valid" in words:
            words["valid"] = valid if is_partial(op.results[0].type) else "None"
        if kind in (Split.REDUCES, Split.CUBE):
            return Statement(self._trimmed(op, meaning, words, behaviour, valid), valid)
        if kind in (Split.STORES, Split.PASTES):
            self._trim(op, "tile" if kind is Split.STORES else "source", words)
        value = _fill(meaning.value, words)
        if kind is Split.LOADS and (wide := wide_window(op)) is not None:
            value = f"{value[:-1]}, {wide})"
        if op.results and isinstance(op.results[0].type, TensorType) and op.has_trait(MemoryWriteEffect):
            return Statement(value, same_as=_operand(op, "target"))
        if op.results and isinstance(op.results[0].type, TileType):
            value = self._typed(op, meaning, value, kind)
        return Statement(value, valid)

    def shaped(self, value: SSAValue) -> str:
        """The text of a value as its type states it, where its array may have the shape it had before a reshape."""
        text = self.text[value]
        if isinstance(value.type, TileType) and self.shapes.of(value) != value.type.shape:
            return f"{text}.reshape({self._box(value.type)})"
        return text

    def _box(self, type_: TileType) -> str:
        return tuple_text((LANES, *type_.shape) if self.paired else type_.shape)

    def _words(self, op: SurfaceOp, behaviour: Splits, meaning: Meaning) -> dict[str, str]:
        """The text of every word a `Meaning` of this op may use; scratch memory is not read."""
        words: dict[str, str] = {}
        scratch = behaviour.scratch
        shaped = self.text.__getitem__ if self.shapes.passes_on(op, behaviour, meaning) else self.shaped
        for parameter in op.PARAMETERS:
            if parameter.kind not in OPERAND_KINDS:
                words[parameter.name] = _fact(op, parameter.name, parameter.kind)
                continue
            value: SSAValue | Sequence[SSAValue] | None = getattr(op, parameter.name)
            if value is None or parameter.name in scratch:
                words[parameter.name] = "None"
            elif isinstance(value, SSAValue):
                words[parameter.name] = shaped(value)
                words[f"{parameter.name}_valid"] = self.extent.get(value, "None")
            else:
                words[parameter.name] = tuple_text([self._plain(v) for v in value])
        if op.results and isinstance(type_ := op.results[0].type, TileType | TensorType):
            shape = type_.shape if isinstance(type_, TileType) else type_.static_shape
            words["shape"], words["dtype"] = tuple_text(shape), dtype_text(type_.dtype)
        return words

    def _plain(self, value: SSAValue) -> str:
        text = self.text[value]
        return text[1:-1] if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text

    # --- valid extents ---------------------------------------------------------------------------------------

    def _valid(self, op: SurfaceOp, meaning: Meaning, words: dict[str, str], scratch: Sequence[str]) -> str | None:
        """The valid extent of the result: what its type states, else from `Meaning.valid` or the operands."""
        if not op.results or not isinstance(type_ := op.results[0].type, TileType):
            return None
        if not needs_companion(type_):
            return tuple_text(type_.valid)
        stated = self._stated(op, type_)
        if stated is None and meaning.valid is not None and meaning.valid != "{valid}":
            return _fill(meaning.valid, words)
        sources = self._sources(op, scratch)
        extents = [str(v) for v in type_.valid]
        for axis, extent in enumerate(type_.valid):
            if extent != DYNAMIC:
                continue
            if stated is not None:
                extents[axis] = stated[axis]
                continue
            extents[axis] = self._inherited(sources, axis, type_)
        if stated is None and meaning.valid == "{valid}":
            return f"cut_valid({self._source_extent(op)}, {words['offsets']}, {words['shape']}, None)"
        if python_value(op.properties.get("clamp")):
            return f"clamped({words['source']}, {words['offsets']}, {tuple_text(extents)})"
        return tuple_text(extents)

    def _stated(self, op: SurfaceOp, type_: TileType) -> list[str] | None:
        """Extents given as operands: one an axis, or one for every axis that the type leaves open."""
        given: Sequence[SSAValue] = getattr(op, "valid", ()) or ()
        if not given:
            return None
        texts = [self._plain(v) for v in given]
        if len(texts) == len(type_.valid):
            return texts
        rest = iter(texts)
        return [str(v) if v != DYNAMIC else next(rest, "None") for v in type_.valid]

    def _sources(self, op: SurfaceOp, scratch: Sequence[str]) -> list[SSAValue]:
        lent = [getattr(op, name) for name in scratch]
        return [o for o in op.operands if isinstance(o.type, TileType) and not any(o is s for s in lent)]

    def _inherited(self, sources: Sequence[SSAValue], axis: int, type_: TileType) -> str:
        fitting = [
            s for s in sources if isinstance(s.type, TileType) and s.type.shape[axis : axis + 1] == (type_.shape[axis],)
        ]
        dynamic = [s for s in fitting if isinstance(s.type, TileType) and s.type.valid[axis] == DYNAMIC]
        for source in (*dynamic, *fitting, *sources):
            return f"{self.extent[source]}[{axis}]"
        return str(type_.shape[axis])

    def _source_extent(self, op: SurfaceOp) -> str:
        source = _operand(op, "source")
        assert isinstance(source.type, TensorType)
        shape, text = source.type.data.valid or source.type.static_shape, self.text[source]
        return tuple_text([f"{text}.shape[{a}]" if d == DYNAMIC else d for a, d in enumerate(shape)])

    # --- values ----------------------------------------------------------------------------------------------

    def _trim(self, op: SurfaceOp, name: str, words: dict[str, str], extent: str | None = None) -> bool:
        """Cuts an operand to its valid part (or to `extent`); whether there was anything to cut."""
        value = _operand(op, name)
        if not isinstance(value.type, TileType):
            return False
        if not is_partial(value.type) and extent is None:
            return False
        words[name] = f"trim({self.shaped(value)}, {extent or self.extent[value]})"
        return True

    def _trimmed(
        self, op: SurfaceOp, meaning: Meaning, words: dict[str, str], behaviour: Splits, valid: str | None
    ) -> str:
        """A reduction or product over the valid part of the operands, put back into the box of the result."""
        type_ = op.results[0].type
        assert isinstance(type_, TileType | TensorType)
        whole_result = not is_partial(type_)
        cut: list[str] = []
        for parameter in op.PARAMETERS:
            if parameter.kind is not Kind.VALUE or parameter.name in behaviour.scratch:
                continue
            value = _operand(op, parameter.name)
            row = isinstance(value.type, TileType) and behaviour.behaviour is Split.CUBE and value.type.shape[0] == 1
            bias = row and parameter.name not in ("lhs", "rhs", "acc") and not whole_result
            if self._trim(op, parameter.name, words, valid if bias else None):
                cut.append(self.extent[value])
        if behaviour.behaviour is Split.REDUCES and is_float(type_.dtype) and type_.dtype != DTYPES["FP32"]:
            words["dtype"] = "np.float32"
        value = _fill(meaning.value, words)
        if not is_native(type_.dtype) or words.get("dtype") != dtype_text(type_.dtype):
            value = f"({value}).astype({dtype_text(type_.dtype)}, copy=False)"
        if not cut and whole_result:
            return value
        shape, dtype = words["shape"], dtype_text(type_.dtype)
        empty = f"poison({shape}, {dtype})"
        if any("0" in text.strip("()").replace(" ", "").split(",") for text in cut):
            return empty
        guard = " or ".join(f"0 in {text}" for text in cut if text.endswith("_valid"))
        boxed = f"box({value}, {shape}, {dtype})"
        return f"{empty} if {guard} else {boxed}" if guard else boxed

    def _typed(self, op: SurfaceOp, meaning: Meaning, value: str, kind: Split) -> str:
        """Rounds to the element type where NumPy computes in another; copies where the op is a copy."""
        type_ = op.results[0].type
        assert isinstance(type_, TileType)
        if kind is Split.ELEMENTWISE and "{dtype}" not in meaning.value:
            tiles = [o.type.dtype for o in op.operands if isinstance(o.type, TileType)]
            # a root or a logarithm of whole numbers is none: NumPy leaves their type
            leaves = not is_float(type_.dtype) and not value.isidentifier()
            if leaves or not is_native(type_.dtype) or any(t != type_.dtype for t in tiles):
                return f"({value}).astype({dtype_text(type_.dtype)}, copy=False)"
        known = [self.shaped(o) for o in op.operands if o in self.text]  # memory that is only lent has no text
        if not op.has_trait(InPlace) and value in known and self.slots.may_be_taken_away(op):
            return f"{value}.copy()"
        if not op.has_trait(InPlace) and value.startswith("cut("):
            return f"{value}.copy()"
        return value

    def _channel(self, op: SurfaceOp, meaning: Meaning, words: dict[str, str], valid: str | None) -> Statement:
        value = _fill(meaning.value, words)
        if isinstance(op, PushOp):
            return Statement(f"{value[:-1]}, {words['tile_valid']})", blocks=True)
        if isinstance(op, PopOp):
            name = "None" if valid is None else valid
            kept = ", True" if self.slots.outlived(op) else ""
            return Statement(f"{value[:-1]}, {words['shape']}, {words['dtype']}, {name}{kept})", valid, blocks=True)
        return Statement(value)


def _fill(meaning: str, words: dict[str, str]) -> str:
    return WORD.sub(lambda match: words[match.group(1)], meaning)


def _fact(op: SurfaceOp, name: str, kind: Kind) -> str:
    """A property, or a fact that the result type holds."""
    if kind is Kind.PAD:
        type_ = op.results[0].type
        return repr(type_.data.pad.value if isinstance(type_, TileType) else Pad.ZERO.value)
    return literal(python_value(op.properties.get(name)))


def _operand(op: SurfaceOp, name: str) -> SSAValue:
    return cast(SSAValue, getattr(op, name))
