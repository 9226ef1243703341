"""Types of the `pto` dialect (spec/pto.md 4.1). Printed canonically: new space names, only non-default fields."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    Float8E8M0FNUType,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.pto.attrs import AddressSpaceAttr
from cubelane.ir.pto.spaces import Space


class SmallFloat(ParametrizedAttribute, TypeAttribute):
    """A storage float that MLIR lacks: 8 bits per element (x2 types hold a pair in one byte)."""


@irdl_attr_definition
class Hif8Type(SmallFloat):
    """HiFloat8."""

    name = "pto.hif8"


@irdl_attr_definition
class F8E8M0Type(SmallFloat):
    """An exponent-only scale."""

    name = "pto.f8E8M0"


@irdl_attr_definition
class F4E1M2x2Type(SmallFloat):
    """Two 4-bit floats in one byte."""

    name = "pto.f4E1M2x2"


@irdl_attr_definition
class F4E2M1x2Type(SmallFloat):
    """Two 4-bit floats in one byte."""

    name = "pto.f4E2M1x2"


def element_bits(element: Attribute) -> int | None:
    """Storage bits of an element type; None for types that are no elements."""
    if isinstance(element, IntegerType):
        return element.bitwidth
    if isinstance(element, SmallFloat | Float8E8M0FNUType):
        return 8
    if isinstance(element, AnyFloat):
        return element.bitwidth
    return 64 if isinstance(element, IndexType) else None


def _space_word(parser: AttrParser) -> Space:
    word = parser.parse_identifier()
    space = Space.of_word(word)
    if space is None:
        known = ", ".join(s.value for s in Space)
        parser.raise_error(f"unknown address space '{word}'; expected one of {known}")
    return space


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute):
    """`!pto.ptr<T[, space]>`: an address in one memory; the default space is gm."""

    name = "pto.ptr"
    element: Attribute
    space_name: StringAttr

    @staticmethod
    def to(element: Attribute, space: Space = Space.GM) -> "PtrType":
        """The pointer to `element` in `space`."""
        return PtrType(element, StringAttr(space.value))

    @staticmethod
    def in_space(element: Attribute, word: str) -> "PtrType | None":
        """The pointer into the space that a keyword names; None if it names none."""
        space = Space.of_word(word)
        return None if space is None else PtrType.to(element, space)

    @property
    def space(self) -> Space:
        """The memory this pointer addresses."""
        return Space(self.space_name.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            element = parser.parse_type()
            space = Space.GM
            if parser.parse_optional_punctuation(","):
                space = _space_word(parser)
        return (element, StringAttr(space.value))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.element)
            printer.print_string(f", {self.space.value}")


@irdl_attr_definition
class VregType(ParametrizedAttribute, TypeAttribute):
    """`!pto.vreg<NxT>`: one 256-byte vector register."""

    name = "pto.vreg"
    lanes: IntAttr
    element: Attribute

    def verify(self) -> None:
        bits = element_bits(self.element)
        if bits is None or self.lanes.data * bits != 2048:
            raise VerifyException(f"vreg of {self.lanes.data} x {self.element}: expected exactly 256 bytes")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            lanes = parser.parse_shape_dimension(allow_dynamic=False)
            parser.parse_shape_delimiter()
            return (IntAttr(lanes), parser.parse_type())

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.lanes.data}x")
            printer.print_attribute(self.element)


GRANULARITIES = ("b8", "b16", "b32")


@irdl_attr_definition
class MaskType(ParametrizedAttribute, TypeAttribute):
    """`!pto.mask<b8|b16|b32>`: a predicate register at one granularity."""

    name = "pto.mask"
    granularity: StringAttr

    def verify(self) -> None:
        if self.granularity.data not in GRANULARITIES:
            raise VerifyException(f"mask granularity {self.granularity.data!r} is not one of b8, b16, b32")

    @property
    def bits(self) -> int:
        """The element width this mask predicates."""
        return int(self.granularity.data[1:])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            word = parser.parse_identifier()
            if word not in GRANULARITIES:
                parser.raise_error(f"unknown mask granularity '{word}'; expected b8, b16 or b32")
            return (StringAttr(word),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.granularity.data)


@irdl_attr_definition
class AlignType(ParametrizedAttribute, TypeAttribute):
    """`!pto.align`: the state of an unaligned load or store stream."""

    name = "pto.align"


@irdl_attr_definition
class PipeHandleType(ParametrizedAttribute, TypeAttribute):
    """`!pto.pipe`: a handle of a local pipe."""

    name = "pto.pipe_handle"


@dataclass(frozen=True, init=False)
class OpaqueType(ParametrizedAttribute, TypeAttribute):
    """A type whose parameters the specification leaves open; its text is kept as it is written."""

    text: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        content, start = parser.lexer.input.content, parser.pos
        if not content.startswith("<", start):
            return (StringAttr(""),)
        depth, position = 0, start
        while position < len(content):
            depth += {"<": 1, ">": -1 if content[position - 1] != "-" else 0}.get(content[position], 0)
            position += 1
            if depth == 0:
                parser._resume_from(position)  # pyright: ignore[reportPrivateUsage]
                return (StringAttr(content[start:position]),)
        parser.raise_error("a '>' is missing")

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.text.data)


@irdl_attr_definition
class StructType(OpaqueType):
    """`!pto.struct<...>`: a record of scalars."""

    name = "pto.struct"


@irdl_attr_definition
class LocalArrayType(OpaqueType):
    """`!pto.local_array<...>`: an array in the scalar unit."""

    name = "pto.local_array"


@irdl_attr_definition
class EventIdArrayType(OpaqueType):
    """`!pto.eventid_array<...>`: event ids chosen at run time."""

    name = "pto.eventid_array"


VIRTUAL = "pto.vmi."
"""The prefix of the virtual instruction layer: registers and ops of the vector core before its lowering."""


class VirtualType(OpaqueType):
    """A type of the virtual instruction layer, `!pto.vmi.<name><...>`; it lives in the vector unit."""


@cache
def virtual_type(name: str) -> type[VirtualType]:
    """The class of a type of the virtual instruction layer by its full name."""
    return irdl_attr_definition(type("VirtualType", (VirtualType,), {"name": name}))


def _shape(parser: AttrParser) -> tuple[Sequence[int], Attribute]:
    """`8x16xf32`: one extent at least, and the element type."""
    dims, element = parser.parse_ranked_shape()
    if not dims:
        parser.raise_error(f"a shape has an extent for each axis, such as 8x16x{element}; got {element} alone")
    return dims, element


def _print_dims(dims: Sequence[int]) -> str:
    return "x".join("?" if dim == DYNAMIC_INDEX else str(dim) for dim in dims)


@dataclass(frozen=True, init=False)
class View(ParametrizedAttribute, TypeAttribute):
    """What both views of global memory share: a list of extents (`?` is run time) and an element type."""

    dims: ArrayAttr[IntAttr]
    element: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            dims, element = _shape(parser)
        return (ArrayAttr([IntAttr(dim) for dim in dims]), element)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(_print_dims([dim.data for dim in self.dims]) + "x")
            printer.print_attribute(self.element)


@irdl_attr_definition
class TensorViewType(View):
    """`!pto.tensor_view<?x?xT>`: a whole tensor in global memory."""

    name = "pto.tensor_view"


@irdl_attr_definition
class PartitionViewType(View):
    """`!pto.partition_tensor_view<16x16xT>`: a window of a tensor in global memory."""

    name = "pto.partition_tensor_view"


_FIELD = re.compile(r"[a-z_]+=(?:\?|-?[0-9]+|[A-Za-z_][A-Za-z0-9_$.]*)")
LAYOUT_FIELDS = ("blayout", "slayout", "fractal", "pad", "compact")
LAYOUT_DEFAULTS = {"blayout": "row_major", "slayout": "none_box", "fractal": "512", "pad": "0", "compact": "0"}


@dataclass(frozen=True, init=False)
class TileFields(ParametrizedAttribute, TypeAttribute):
    """What `tile_buf` and `multi_tile_buf` share. `layout` holds the fields that differ from their defaults."""

    space_name: StringAttr
    dims: ArrayAttr[IntAttr]
    valid: ArrayAttr[IntAttr]
    element: Attribute
    layout: ArrayAttr[StringAttr]

    def verify(self) -> None:
        for text in self.layout:
            if not _FIELD.fullmatch(text.data):
                raise VerifyException(f"{text.data!r} is no field of a tile; one is written name=word or name=number")

    @property
    def space(self) -> Space:
        """The memory the tile lies in."""
        return Space(self.space_name.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("loc"):
                parser.parse_punctuation("=")
                return cls._parse_long(parser)
            return cls._parse_short(parser)

    @classmethod
    def _parse_short(cls, parser: AttrParser) -> Sequence[Attribute]:
        space = _space_word(parser)
        parser.parse_punctuation(",")
        dims, element = _shape(parser)
        valid, fields = dims, dict[str, str]()
        while parser.parse_optional_punctuation(","):
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            if key == "valid":
                valid = parser.parse_dimension_list()
            else:
                fields[key] = _field_value(parser)
        return _tile_parameters(parser, space, dims, valid, element, fields)

    @classmethod
    def _parse_long(cls, parser: AttrParser) -> Sequence[Attribute]:
        space, element = _space_word(parser), None
        fields = dict[str, str]()
        while parser.parse_optional_punctuation(","):
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            if key == "dtype":
                element = parser.parse_type()
            else:
                fields[key] = _field_value(parser)
        if element is None or "rows" not in fields or "cols" not in fields:
            parser.raise_error("a long tile_buf names dtype, rows and cols")
        dims = [_extent(parser, fields.pop(key)) for key in ("rows", "cols")]
        valid = [_extent(parser, fields.pop(key, str(dim))) for key, dim in zip(("v_row", "v_col"), dims, strict=True)]
        return _tile_parameters(parser, space, dims, valid, element, fields)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.space.tile_word}, {_print_dims([d.data for d in self.dims])}x")
            printer.print_attribute(self.element)
            if self.valid != self.dims:
                printer.print_string(f", valid={_print_dims([d.data for d in self.valid])}")
            for text in self.layout:
                printer.print_string(f", {text.data}")

    def print_long(self, printer: Printer) -> None:
        """The fields by name, all of them (spec/front.md 5.2)."""
        printer.print_string(f"loc={self.space.tile_word}, dtype=")
        printer.print_attribute(self.element)
        for names, extents in ((("rows", "cols"), self.dims), (("v_row", "v_col"), self.valid)):
            for name, extent in zip(names, extents, strict=True):
                printer.print_string(f", {name}={_print_dims([extent.data])}")
        given = dict(text.data.split("=", 1) for text in self.layout)
        for name in (*LAYOUT_FIELDS, "count"):
            value = given.get(name, LAYOUT_DEFAULTS.get(name))
            if value is not None and (name != "compact" or value != "0"):
                printer.print_string(f", {name}={value}")


def _field_value(parser: AttrParser) -> str:
    if parser.parse_optional_punctuation("?"):
        return "?"
    number = parser.parse_optional_integer(allow_boolean=False)
    return str(number) if number is not None else parser.parse_identifier()


def _extent(parser: AttrParser, text: str) -> int:
    if text == "?":
        return DYNAMIC_INDEX
    if not text.isdigit():
        parser.raise_error(f"expected an extent or '?', got '{text}'")
    return int(text)


def _tile_parameters(
    parser: AttrParser,
    space: Space,
    dims: Sequence[int],
    valid: Sequence[int],
    element: Attribute,
    fields: dict[str, str],
) -> Sequence[Attribute]:
    allowed = (*LAYOUT_FIELDS, "count")
    for key in fields:
        if key not in allowed:
            parser.raise_error(f"unknown tile field '{key}'; expected one of valid, {', '.join(allowed)}")
    if len(valid) != len(dims):
        parser.raise_error(f"valid has {len(valid)} extents, the tile has {len(dims)}")
    layout = [f"{key}={fields[key]}" for key in allowed if key in fields and fields[key] != LAYOUT_DEFAULTS.get(key)]
    return (
        StringAttr(space.value),
        ArrayAttr([IntAttr(dim) for dim in dims]),
        ArrayAttr([IntAttr(dim) for dim in valid]),
        element,
        ArrayAttr([StringAttr(text) for text in layout]),
    )


@irdl_attr_definition
class TileBufType(TileFields):
    """`!pto.tile_buf<loc, RxCxT[, valid=RxC][, field=value]*>`, also in the long form with `loc=`, `dtype=`, ..."""

    name = "pto.tile_buf"


@irdl_attr_definition
class MultiTileBufType(TileFields):
    """`!pto.multi_tile_buf<..., count=N>`: N tiles of one type, used in turn."""

    name = "pto.multi_tile_buf"


def space_of(value: SSAValue) -> Space | None:
    """The memory a pointer, tile, view or memref value addresses; None for other values."""
    kind = value.type
    if isinstance(kind, PtrType | TileFields):
        return kind.space
    if isinstance(kind, View):
        return Space.GM
    if isinstance(kind, MemRefType) and isinstance(kind.memory_space, AddressSpaceAttr):
        return kind.memory_space.space
    return None


def is_register(kind: Attribute) -> bool:
    """Values that live in the vector unit: registers, predicates and alignment state."""
    return isinstance(kind, VregType | MaskType | AlignType | VirtualType)


ALL_TYPES: tuple[type[Attribute], ...] = (
    Hif8Type,
    F8E8M0Type,
    F4E1M2x2Type,
    F4E2M1x2Type,
    PtrType,
    VregType,
    MaskType,
    AlignType,
    PipeHandleType,
    StructType,
    LocalArrayType,
    EventIdArrayType,
    TensorViewType,
    PartitionViewType,
    TileBufType,
    MultiTileBufType,
)
