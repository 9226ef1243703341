"""Types as the user writes them: from evaluated annotation forms to IR types (spec/front.md 1.4)."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from xdsl.ir import Attribute

from cubelane.ir.kernel import Direction
from cubelane.ir.narrowing import is_tuple
from cubelane.ir.types import (
    DTYPES,
    DYNAMIC,
    Layout,
    MemorySpace,
    Pad,
    TensorLayout,
    TensorType,
    TileType,
    implicit_layout,
)
from cubelane.language import vocabulary
from cubelane.language.errors import ParserError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from cubelane.language.evaluate import Runtime, TypedConstant
from cubelane.language.printing.types import type_text
from cubelane.language.vocabulary import DataType, Form, Symbol

SPACES: dict[str, MemorySpace] = {space.dsl: space for space in MemorySpace}
"""Member name under `pl.Mem` to memory space."""


@dataclass(frozen=True)
class Stated:
    """What an annotation states: a type, which of its facts were written, and the trees of run-time extents.

    `type` None imposes nothing; `parts` are the types of a tuple.
    """

    type: Attribute | None = None
    written: frozenset[str] = frozenset()
    runtime: dict[int, ast.AST] = field(default_factory=dict[int, ast.AST])
    parts: tuple["Stated", ...] | None = None


def dtype_of(value: object) -> Attribute:
    """The element type of a `pl` data type."""
    if not isinstance(value, DataType):
        raise ParserTypeError("an element type such as pl.FP32 is needed here")
    if value.name not in DTYPES:
        raise UnsupportedFeatureError(
            f"the element type pl.{value.name} is not supported", instead=f"one of {', '.join(DTYPES)}"
        )
    return DTYPES[value.name]


def space_of(value: object) -> MemorySpace:
    """The memory space of a `pl.Mem` member."""
    if not isinstance(value, vocabulary.MemorySpace):
        raise ParserTypeError("a memory space such as pl.Mem.Vec is needed here")
    if value.name not in SPACES:
        raise UnsupportedFeatureError(f"the memory space pl.Mem.{value.name} is not supported")
    return SPACES[value.name]


def direction_of(value: object) -> tuple[Direction, object]:
    """The direction of a parameter, and its annotation without it."""
    if isinstance(value, Form) and value.kind in ("Out", "InOut") and len(value.items) == 1:
        direction = Direction.OUT if value.kind == "Out" else Direction.INOUT
        return direction, value.items[0]
    return Direction.IN, value


def stated(value: object) -> Stated:
    """The type an evaluated annotation states; a ParserError (without place) if it is none."""
    if isinstance(value, DataType):
        raise ParserTypeError(
            f"Incomplete type annotation: {value!r} is an element type", instead=f"pl.Scalar[{value!r}]"
        )
    if value is None or isinstance(value, str):
        return Stated()
    if not isinstance(value, Form):
        raise ParserTypeError("this annotation is no type of the language", instead="pl.Tensor[[rows, columns], dtype]")
    match value.kind:
        case "Scalar":
            if len(value.items) != 1:
                raise ParserTypeError("pl.Scalar takes one element type", instead="pl.Scalar[pl.INT32]")
            return Stated(dtype_of(value.items[0]))
        case "Tensor" | "DistributedTensor":
            return _tensor(value.items)
        case "Tile":
            return _tile(value.items)
        case "Tuple":
            return Stated(parts=tuple(stated(item) for item in value.items))
        case "Ptr" | "UnknownType" | "MemRefType":
            return Stated()
        case "Out" | "InOut":
            raise ParserTypeError(f"pl.{value.kind} is for parameters only")
        case _:
            raise UnsupportedFeatureError(
                f"pl.{value.kind} is not supported: the cores have tiles and scalars",
                instead="pl.Tensor[[16], pl.INT32]",
            )


def _extent(value: object) -> int | str:
    if isinstance(value, TypedConstant):
        value = value.value
    if isinstance(value, bool) or not isinstance(value, int | Symbol):
        raise ParserTypeError(
            "a dimension is an integer known while the kernel is read, or a pl.dynamic name",
            instead=str(int(value)) if isinstance(value, float) and 1 <= value < 2**40 else 'M = pl.dynamic("M")',
        )
    if isinstance(value, int) and not 0 < value < 2**40:
        raise ParserTypeError(f"the extent {value} is out of range")
    return value.name if isinstance(value, Symbol) else value


def _shape_and_dtype(items: Sequence[Any], word: str) -> tuple[tuple[int | str, ...], Attribute]:
    if len(items) < 2 or not is_tuple(items[0]):
        raise ParserTypeError(
            f"pl.{word} takes a shape and an element type", instead=f"pl.{word}[[rows, columns], pl.FP32]"
        )
    return tuple(_extent(item) for item in items[0]), dtype_of(items[1])


def _tensor(items: Sequence[Any]) -> Stated:
    shape, dtype = _shape_and_dtype(items, "Tensor")
    layout, valid, runtime, written = TensorLayout.ND, (), dict[int, ast.AST](), set[str]()
    for item in items[2:]:
        if isinstance(item, vocabulary.TensorLayout):
            raise ParserTypeError(
                f"a layout belongs into a view, not after the element type: {item.name}",
                instead=f"pl.TensorView(layout=pl.TensorLayout.{item.name})",
            )
        if isinstance(item, vocabulary.TensorView):
            if item.layout is None and (item.stride, item.valid_shape, item.pad) != (None, None, None):
                raise ParserSyntaxError(
                    "a pl.TensorView with any field needs its layout",
                    instead="pl.TensorView(layout=pl.TensorLayout.ND, ...)",
                )
            if item.layout is not None:
                written.add("layout")
                layout = _tensor_layout(item.layout)
            if item.valid_shape:
                written.add("valid")
                valid, runtime = valid_extents(item.valid_shape, len(shape))
        elif not isinstance(item, vocabulary.MemRef):
            raise ParserTypeError("after shape and element type a pl.TensorView may follow")
    return Stated(TensorType.make(shape, dtype, layout, valid), frozenset(written), runtime)


def _tensor_layout(layout: object) -> TensorLayout:
    if not isinstance(layout, vocabulary.TensorLayout):
        raise ParserTypeError("a tensor layout such as pl.TensorLayout.ND is needed here")
    if layout.name not in TensorLayout.__members__:
        raise UnsupportedFeatureError(f"the layout {layout.name} is not supported")
    return TensorLayout[layout.name]


def valid_extents(value: object, rank: int) -> tuple[tuple[int, ...], dict[int, ast.AST]]:
    """The valid extents of a view and the trees of those that are known at run time only."""
    if not is_tuple(value):
        raise ParserTypeError("valid_shape is a list of extents")
    if len(value) != rank:
        raise ParserTypeError(f"valid_shape has {len(value)} extents, the shape has {rank}")
    extents: list[int] = []
    runtime: dict[int, ast.AST] = {}
    for axis, item in enumerate(value):
        plain = item.value if isinstance(item, TypedConstant) else item
        if isinstance(plain, int) and not isinstance(plain, bool):
            extents.append(plain)
            continue
        extents.append(DYNAMIC)
        if isinstance(item, Runtime):
            runtime[axis] = item.node
        elif isinstance(item, Symbol):
            runtime[axis] = ast.Name(item.name, ast.Load())
        elif item is not None:
            raise ParserTypeError("a valid extent is an integer or an index expression")
    return tuple(extents), runtime


def _tile(items: Sequence[Any]) -> Stated:
    dims, dtype = _shape_and_dtype(items, "Tile")
    shape = tuple(d for d in dims if isinstance(d, int))
    if len(shape) != len(dims):
        raise ParserTypeError("the shape of a tile is constant", instead="a constant box with a run-time valid_shape")
    memory: MemorySpace | None = None
    view = vocabulary.TileView()
    address: int | None = None
    written: set[str] = set()
    for item in items[2:]:
        if isinstance(item, vocabulary.MemorySpace) and "memory" not in written:
            memory = space_of(item)
            written.add("memory")
        elif isinstance(item, vocabulary.TileView) and "view" not in written:
            view = item
            written.add("view")
        elif isinstance(item, vocabulary.MemRef):
            address = _address(item)
        else:
            raise ParserTypeError(
                "after shape and element type a tile takes a pl.Mem space and a pl.TileView, once each"
            )
    if address is not None and memory is None:
        raise ParserTypeError("a pl.MemRef places a tile in a memory space", instead="a pl.Mem behind it: pl.Mem.Vec")
    said = _with_view(shape, dtype, memory, view, written)
    if address is None or not isinstance(said.type, TileType):
        return said
    return replace(said, type=said.type.replaced(address=address), written=said.written | {"address"})


def _address(place: vocabulary.MemRef) -> int | None:
    """The first byte that an allocation states; None where it leaves it open."""
    offset = place.byte_offset
    if isinstance(offset, TypedConstant):
        offset = offset.value
    if offset is not None and (not isinstance(offset, int) or offset < 0):
        raise ParserTypeError("the byte offset of a pl.MemRef is a constant")
    return offset


def _with_view(
    shape: tuple[int, ...], dtype: Attribute, memory: MemorySpace | None, view: vocabulary.TileView, written: set[str]
) -> Stated:
    valid: tuple[int, ...] | None = None
    runtime: dict[int, ast.AST] = {}
    layouts: dict[str, Layout] = {}
    if view.valid_shape:
        valid, runtime = valid_extents(view.valid_shape, len(shape))
        written.add("valid")
        if any(v > s for v, s in zip(valid, shape, strict=True)):
            raise ParserTypeError(f"the valid extent {list(valid)} exceeds the tile {list(shape)}")
    for name in ("blayout", "slayout"):
        layout = getattr(view, name)
        if layout is not None:
            if not isinstance(layout, vocabulary.TileLayout):
                raise ParserTypeError(f"{name} is a pl.TileLayout")
            layouts[name] = Layout(layout.value)
            written.add(name)
    if view.fractal is not None:
        if not isinstance(view.fractal, int) or view.fractal <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParserTypeError("fractal is a number of bytes")
        written.add("fractal")
    pad = Pad.NULL
    if view.pad is not None:
        if not isinstance(view.pad, vocabulary.PadValue):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParserTypeError("pad is a pl.PadValue")
        pad = Pad(view.pad.value)
        written.add("pad")
    type_ = TileType.make(shape, dtype, memory, valid, fractal=view.fractal, pad=pad, **layouts)
    return Stated(type_, frozenset(written), runtime)


def settle(inferred: Attribute | None, said: Stated, name: str) -> Attribute | None:
    """The type of a value: what was inferred, with what the annotation says on top (spec/front.md 1.5)."""
    wanted = said.type
    if wanted is None or inferred is None or wanted == inferred:
        return inferred if inferred is not None else wanted
    if isinstance(wanted, TileType) and isinstance(inferred, TileType):
        return _settle_tile(inferred, wanted, said.written, name)
    if isinstance(wanted, TensorType) and isinstance(inferred, TensorType):
        if _same_extents(wanted, inferred) and wanted.dtype == inferred.dtype:
            d = wanted.data
            layout = d.layout if "layout" in said.written else inferred.data.layout
            valid = d.valid if "valid" in said.written else inferred.data.valid
            return TensorType.make(inferred.shape, wanted.dtype, layout, valid)
    raise _mismatch(name, inferred, wanted)


def _same_extents(wanted: TensorType, inferred: TensorType) -> bool:
    """Whether two shapes can be one: a run-time extent fits any other, and keeps the name it has."""
    pairs = zip(wanted.shape, inferred.shape, strict=False)
    return len(wanted.shape) == len(inferred.shape) and all(
        a == b or (isinstance(a, str) and isinstance(b, str)) for a, b in pairs
    )


def _mismatch(name: str, inferred: Attribute, wanted: Attribute) -> ParserError:
    return ParserTypeError(f"`{name}` is annotated as {type_text(wanted)}, its value is {type_text(inferred)}")


def _settle_tile(inferred: TileType, wanted: TileType, written: frozenset[str], name: str) -> TileType:
    flattened = len(wanted.shape) < len(inferred.shape) and prod(wanted.shape) == prod(inferred.shape)
    if wanted.dtype != inferred.dtype or (wanted.shape != inferred.shape and not flattened):
        raise _mismatch(name, inferred, wanted)
    if flattened:
        return wanted if "memory" in written else wanted.replaced(memory=inferred.memory)
    result, d = inferred, wanted.data
    if "memory" in written and wanted.memory is not inferred.memory:
        b, s, f = implicit_layout(wanted.shape, wanted.memory)
        result = result.replaced(memory=wanted.memory, blayout=b, slayout=s, fractal=f)
    facts = {k: getattr(d, k) for k in ("valid", "blayout", "slayout", "fractal", "pad", "address") if k in written}
    return result.replaced(**facts)
