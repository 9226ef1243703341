"""Types of the tensor and tile level: memory spaces, layouts, tensors in global memory, tiles on chip.

Source: spec/passes.md 0.3 (implicit layouts, canonical views), spec/front.md 1.2 to 1.4 and 4.2.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from cubelane.ir.narrowing import is_one

DYNAMIC = -1
"""An extent that is known at run time only (written `?` in MLIR and `None` in the DSL)."""


class MemorySpace(Enum):
    """Where a tile lives; the value is its spelling in MLIR, the name upper case of `pl.Mem.X`."""

    DDR = "ddr"
    VEC = "vec"
    MAT = "mat"
    LEFT = "left"
    RIGHT = "right"
    ACC = "acc"
    BIAS = "bias"
    LEFT_SCALE = "left_scale"
    RIGHT_SCALE = "right_scale"

    __hash__ = object.__hash__

    @property
    def is_cube(self) -> bool:
        """Whether the space belongs to the cube core (neither global memory nor the vector buffer)."""
        return self not in (MemorySpace.DDR, MemorySpace.VEC)

    @property
    def dsl(self) -> str:
        """The member name under `pl.Mem`."""
        return "DDR" if self is MemorySpace.DDR else "".join(p.title() for p in self.value.split("_"))


class Layout(Enum):
    """Order of blocks (or elements), or none_box for a tile that is not boxed."""

    NONE_BOX = "none_box"
    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"

    __hash__ = object.__hash__


class TensorLayout(Enum):
    """Order of the elements of a tensor in global memory."""

    ND = "ND"
    DN = "DN"
    NZ = "NZ"


class Pad(Enum):
    """What fills the cells of a tile outside its valid extent."""

    NULL = "null"
    ZERO = "zero"
    MAX = "max"
    MIN = "min"

    __hash__ = object.__hash__


class SplitMode(Enum):
    """How a tile is shared out between the two lanes; the value is the mode number of the boundary ops."""

    NONE = 0
    UP_DOWN = 1
    LEFT_RIGHT = 2

    @property
    def axis(self) -> int:
        """The split axis (0 rows, 1 columns). NONE has none: ValueError."""
        if self is SplitMode.NONE:
            raise ValueError("SplitMode.NONE has no split axis")
        return self.value - 1

    @staticmethod
    def of_code(code: int) -> "SplitMode":
        """The mode of a transport code 0..4 (odd variants 3 and 4 belong to modes 1 and 2)."""
        return SplitMode((0, 1, 2, 1, 2)[code])


DTYPES: dict[str, Attribute] = {
    "BOOL": IntegerType(1),
    "INDEX": IndexType(),
    **{f"INT{n}": IntegerType(n) for n in (4, 8, 16, 32, 64)},
    **{f"UINT{n}": IntegerType(n, Signedness.UNSIGNED) for n in (4, 8, 16, 32, 64)},
    "FP16": Float16Type(),
    "BF16": BFloat16Type(),
    "FP32": Float32Type(),
    "FP4": Float4E2M1FNType(),
    "FP8E4M3FN": Float8E4M3FNType(),
    "FP8E5M2": Float8E5M2Type(),
    "FP8E8M0": Float8E8M0FNUType(),
}
"""DSL name (`pl.X`) to element type."""

_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def dtype_name(dtype: Attribute) -> str:
    """The DSL name of an element type, e.g. `FP32`."""
    return _DTYPE_NAMES[dtype]


def bit_width(dtype: Attribute) -> int:
    """Width of one element in bits; an index counts 64."""
    return 64 if is_one(dtype, IndexType) else int(getattr(dtype, "bitwidth"))  # noqa: B009


def in_words(type_: "TileType | TensorType") -> str:
    """Shape and element type in the user's words: `[16, 32] FP32`."""
    return f"[{', '.join(map(str, type_.shape))}] {dtype_name(type_.dtype)}"


def is_float(dtype: Attribute) -> bool:
    """Whether the element type is a floating point type."""
    return not is_one(dtype, (IndexType, IntegerType))


def promote(a: Attribute, b: Attribute) -> Attribute:
    """The common element type: float beats int, wider beats narrower, signed beats unsigned (front.md 1.2)."""

    def rank(t: Attribute) -> tuple[bool, int, bool]:
        unsigned = dtype_name(t).startswith("UINT")
        return is_float(t), bit_width(t), not unsigned

    return a if rank(a) >= rank(b) else b


def _dims_text(dims: Sequence[int]) -> str:
    return "x".join("?" if d == DYNAMIC else str(d) for d in dims)


class TileSpec(NamedTuple):
    """The facts of a tile type; see `TileType`."""

    shape: tuple[int, ...]
    dtype: Attribute
    memory: MemorySpace | None
    valid: tuple[int, ...]
    blayout: Layout
    slayout: Layout
    fractal: int
    pad: Pad
    address: int | None = None


def implicit_layout(shape: Sequence[int], memory: MemorySpace | None) -> tuple[Layout, Layout, int]:
    """Block layout, inner layout and fractal bytes that a tile has when nobody states them (front.md 4.2)."""
    column = len(shape) == 2 and shape[1] == 1 and shape[0] > 1
    base = Layout.COL_MAJOR if column else Layout.ROW_MAJOR
    if memory in (MemorySpace.MAT, MemorySpace.LEFT):
        return Layout.COL_MAJOR, Layout.ROW_MAJOR, 512
    if memory is MemorySpace.RIGHT:
        return base, Layout.COL_MAJOR, 512
    if memory is MemorySpace.ACC:
        return Layout.COL_MAJOR, Layout.ROW_MAJOR, 1024
    if memory is MemorySpace.LEFT_SCALE:
        return Layout.ROW_MAJOR, Layout.ROW_MAJOR, 32
    if memory is MemorySpace.RIGHT_SCALE:
        return Layout.COL_MAJOR, Layout.COL_MAJOR, 32
    return base, Layout.NONE_BOX, 512


@irdl_attr_definition
class TileType(Data[TileSpec], TypeAttribute):
    """A tile on chip: physical box, element type, memory space, valid extent per axis, layout, address.

    `shape` is in elements. `valid` holds the extent per axis that means something; DYNAMIC where it is known
    at run time. Written `!tile.tile<16x64xf32, vec, valid = [?, 64], row_major, none_box, 512, null, at = 8192>` with
    only what differs from the implicit layout of (shape, memory). The address, in bytes, is chosen by the last pass;
    a tile in a slot of a ring, or at a run-time place inside another tile, has none.
    """

    name = "tile.tile"

    def __post_init__(self) -> None:
        """Nothing to verify; passes make a dozen of these per op, and xDSL's check costs a microsecond each."""

    @staticmethod
    def make(
        shape: Sequence[int],
        dtype: Attribute,
        memory: MemorySpace | None = None,
        valid: Sequence[int] | None = None,
        *,
        blayout: Layout | None = None,
        slayout: Layout | None = None,
        fractal: int | None = None,
        pad: Pad = Pad.NULL,
    ) -> "TileType":
        """A tile type; what is left out takes the implicit layout, and the full box as its valid extent."""
        shape = tuple(shape)
        b, s, f = implicit_layout(shape, memory)
        return TileType(
            TileSpec(
                shape,
                dtype,
                memory,
                shape if valid is None else tuple(valid),
                blayout or b,
                slayout or s,
                fractal or f,
                pad,
            )
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Physical extent per axis, in elements."""
        return self.data.shape

    @property
    def dtype(self) -> Attribute:
        """Element type."""
        return self.data.dtype

    @property
    def memory(self) -> MemorySpace | None:
        """Memory space, or None before memory spaces are decided."""
        return self.data.memory

    @property
    def valid(self) -> tuple[int, ...]:
        """Valid extent per axis, in elements; DYNAMIC where it is known at run time only."""
        return self.data.valid

    @property
    def address(self) -> int | None:
        """First byte of the tile in its memory space; None before addresses are assigned, or where none is fixed."""
        return self.data.address

    @property
    def fully_valid(self) -> bool:
        """Whether every cell of the box is provably valid."""
        return self.data.valid == self.data.shape

    @property
    def size_in_bytes(self) -> int:
        """Bytes of the physical box."""
        count = 1
        for extent in self.shape:
            count *= extent
        return (count * bit_width(self.dtype) + 7) // 8

    def replaced(self, **changes: Any) -> "TileType":
        """The same type with some facts changed; layouts are carried as they are."""
        return TileType(self.data._replace(**changes))

    def covers_the_cells_of(self, other: "TileType") -> bool:
        """Whether two tiles at one address have the same cells at the same bytes, valid or not."""
        mine, its = self.data, other.data
        return (
            mine.shape == its.shape
            and mine.dtype == its.dtype
            and mine.memory is its.memory
            and mine.blayout is its.blayout
            and mine.slayout is its.slayout
            and mine.fractal == its.fractal
        )

    def in_memory(self, memory: MemorySpace) -> "TileType":
        """The same tile in another space, with the implicit layout of that space."""
        return TileType.make(self.shape, self.dtype, memory, self.valid, pad=self.data.pad)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TileSpec:
        with parser.in_angle_brackets():
            dims, dtype = _parse_shaped(parser)
            memory = valid = address = None
            words: list[str] = []
            while parser.parse_optional_punctuation(",") is not None:
                if (number := parser.parse_optional_integer()) is not None:
                    words.append(str(number))
                    continue
                word = parser.parse_identifier()
                if word == "valid":
                    parser.parse_punctuation("=")
                    valid = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_extent(parser))
                elif word == "at":
                    parser.parse_punctuation("=")
                    address = parser.parse_integer()
                elif memory is None and word in MemorySpace._value2member_map_:
                    memory = MemorySpace(word)
                else:
                    words.append(word)
            layouts = [Layout(w) for w in words[:2]] or [None, None]
            spec = TileType.make(
                dims,
                dtype,
                memory,
                valid,
                blayout=layouts[0],
                slayout=layouts[1],
                fractal=int(words[2]) if len(words) > 2 else None,
                pad=Pad(words[3]) if len(words) > 3 else Pad.NULL,
            ).data
            return spec._replace(address=address)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(_dims_text(self.shape) + "x")
            printer.print_attribute(self.dtype)
            if self.memory is not None:
                printer.print_string(f", {self.memory.value}")
            if not self.fully_valid:
                text = ", ".join("?" if v == DYNAMIC else str(v) for v in self.valid)
                printer.print_string(f", valid = [{text}]")
            d = self.data
            if (d.blayout, d.slayout, d.fractal) != implicit_layout(self.shape, self.memory) or d.pad is not Pad.NULL:
                printer.print_string(f", {d.blayout.value}, {d.slayout.value}, {d.fractal}, {d.pad.value}")
            if d.address is not None:
                printer.print_string(f", at = {d.address}")


def _parse_extent(parser: AttrParser) -> int:
    return DYNAMIC if parser.parse_optional_punctuation("?") else parser.parse_integer()


def _parse_shaped(parser: AttrParser) -> tuple[list[int], Attribute]:
    """`64x?xf32`: the extents (DYNAMIC for `?`) and the element type."""
    dims, dtype = parser.parse_shape()
    return dims or [], dtype


class TensorSpec(NamedTuple):
    """The facts of a tensor type; see `TensorType`."""

    shape: tuple[int | str, ...]
    dtype: Attribute
    layout: TensorLayout
    valid: tuple[int, ...]


@irdl_attr_definition
class TensorType(Data[TensorSpec], TypeAttribute):
    """A tensor in global memory. A dimension is a number of elements or the name of a run-time symbol.

    `valid` is the part that means something (DYNAMIC per axis where it is known at run time), empty when all
    of it does. Written `!gm.tensor<64x?xf32, symbols = ["M"]>`, with `, DN` or `, valid = [..]` where they apply.
    """

    name = "gm.tensor"

    def __post_init__(self) -> None:
        """Nothing to verify."""

    @staticmethod
    def make(
        shape: Sequence[int | str],
        dtype: Attribute,
        layout: TensorLayout = TensorLayout.ND,
        valid: Sequence[int] = (),
    ) -> "TensorType":
        """A tensor type; a valid extent equal to the shape is the same as none."""
        shape, valid = tuple(shape), tuple(valid)
        return TensorType(TensorSpec(shape, dtype, layout, () if valid == shape else valid))

    @property
    def shape(self) -> tuple[int | str, ...]:
        """Extent per axis in elements, or the symbol's name."""
        return self.data.shape

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape with DYNAMIC for every symbolic dimension."""
        return tuple(d if isinstance(d, int) else DYNAMIC for d in self.data.shape)

    @property
    def dtype(self) -> Attribute:
        """Element type."""
        return self.data.dtype

    def replaced(self, **changes: Any) -> Self:
        """The same type with some facts changed."""
        return type(self)(self.data._replace(**changes))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorSpec:
        with parser.in_angle_brackets():
            extents, dtype = _parse_shaped(parser)
            layout, valid, symbols = TensorLayout.ND, (), [""]
            while parser.parse_optional_punctuation(",") is not None:
                word = parser.parse_identifier()
                if word in ("valid", "symbols"):
                    parser.parse_punctuation("=")
                if word == "valid":
                    valid = tuple(
                        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_extent(parser))
                    )
                elif word == "symbols":
                    symbols = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
                else:
                    layout = TensorLayout(word)
            names = iter(symbols)
            shape = [next(names) if extent == DYNAMIC_INDEX else extent for extent in extents]
            return TensorType.make(shape, dtype, layout, valid).data

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(_dims_text(self.static_shape) + "x")
            printer.print_attribute(self.dtype)
            symbols = [f'"{d}"' for d in self.shape if isinstance(d, str)]
            if symbols:
                printer.print_string(f", symbols = [{', '.join(symbols)}]")
            if self.data.layout is not TensorLayout.ND:
                printer.print_string(f", {self.data.layout.value}")
            if self.data.valid:
                text = ", ".join("?" if v == DYNAMIC else str(v) for v in self.data.valid)
                printer.print_string(f", valid = [{text}]")
