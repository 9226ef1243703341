"""The types a kernel names: scalars, pointers, registers, predicates, and the enums (spec/pto.md 2.5)."""

from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import builtin
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute

from cubelane.ir.pto import types as ir
from cubelane.ir.pto.spaces import Pipe, Space
from cubelane.ptodsl.errors import wrong_type, wrong_value

REGISTER_BITS = 2048


@dataclass(frozen=True)
class ScalarType:
    """An element or scalar type."""

    name: str
    attribute: Attribute

    @property
    def bits(self) -> int:
        """Storage bits."""
        return ir.element_bits(self.attribute) or 0

    @property
    def is_float(self) -> bool:
        """Whether the type is a floating point type."""
        return isinstance(self.attribute, builtin.AnyFloat | ir.SmallFloat)

    @property
    def is_unsigned(self) -> bool:
        """Whether the type is an integer without sign bit."""
        return self.name.startswith("ui")

    @property
    def carrier(self) -> Attribute:
        """The type `arith` computes in: integers without sign."""
        if isinstance(self.attribute, IntegerType):
            return IntegerType(self.bits)
        return self.attribute

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PointerType:
    """`pto.ptr(T, space)`."""

    element: ScalarType
    space: Space

    @property
    def attribute(self) -> Attribute:
        """The IR type."""
        return ir.PtrType.to(self.element.attribute, self.space)

    def __str__(self) -> str:
        return f"pto.ptr({self.element}, {self.space.value!r})"


@dataclass(frozen=True)
class VectorType:
    """`pto.vreg_type(lanes, T)`: a register of 256 bytes."""

    lanes: int
    element: ScalarType

    @property
    def attribute(self) -> Attribute:
        """The IR type."""
        return ir.VregType(builtin.IntAttr(self.lanes), self.element.attribute)

    def __str__(self) -> str:
        return f"pto.vreg_type({self.lanes}, {self.element})"


@dataclass(frozen=True)
class MaskType:
    """`pto.mask_type("b32")`."""

    granularity: str

    @property
    def attribute(self) -> Attribute:
        """The IR type."""
        return ir.MaskType(builtin.StringAttr(self.granularity))

    def __str__(self) -> str:
        return f"pto.mask_type({self.granularity!r})"


@dataclass(frozen=True)
class AlignType:
    """The state of an unaligned stream."""

    @property
    def attribute(self) -> Attribute:
        """The IR type."""
        return ir.AlignType()

    def __str__(self) -> str:
        return "the state of an unaligned stream"


@dataclass(frozen=True)
class TileType:
    """A tile in one memory. `layout` holds the fields of the IR type that differ from their defaults."""

    shape: tuple[int, ...]
    element: ScalarType
    space: Space
    valid: tuple[int, ...]
    layout: tuple[str, ...] = ()

    @property
    def attribute(self) -> Attribute:
        """The IR type."""
        shape, valid = (builtin.ArrayAttr([builtin.IntAttr(n) for n in dims]) for dims in (self.shape, self.valid))
        layout = builtin.ArrayAttr([builtin.StringAttr(text) for text in self.layout])
        return ir.TileBufType.new((builtin.StringAttr(self.space.value), shape, valid, self.element.attribute, layout))

    def __str__(self) -> str:
        return f"a tile {list(self.shape)} of {self.element} in {self.space.value}"


@dataclass(frozen=True)
class ViewType:
    """A view of global memory: a whole tensor, or a `window` of one. Extents of a tensor are known at run time."""

    dims: tuple[int, ...]
    element: ScalarType
    window: bool

    @property
    def attribute(self) -> Attribute:
        """The IR type."""
        kind = ir.PartitionViewType if self.window else ir.TensorViewType
        dims = builtin.ArrayAttr([builtin.IntAttr(n) for n in self.dims])
        return kind.new((dims, self.element.attribute))

    def __str__(self) -> str:
        return f"a {'window' if self.window else 'view'} of {len(self.dims)} axes of {self.element}"


ValueType = ScalarType | PointerType | VectorType | MaskType | AlignType | TileType | ViewType

SCALARS: dict[str, ScalarType] = {
    "f32": ScalarType("f32", builtin.f32),
    "f16": ScalarType("f16", builtin.f16),
    "bf16": ScalarType("bf16", builtin.bf16),
    "f8e4m3": ScalarType("f8e4m3", builtin.Float8E4M3FNType()),
    "f8e5m2": ScalarType("f8e5m2", builtin.Float8E5M2Type()),
    "f8e8m0": ScalarType("f8e8m0", ir.F8E8M0Type()),
    "hif8": ScalarType("hif8", ir.Hif8Type()),
    "f4e1m2x2": ScalarType("f4e1m2x2", ir.F4E1M2x2Type()),
    "f4e2m1x2": ScalarType("f4e2m1x2", ir.F4E2M1x2Type()),
    "index": ScalarType("index", builtin.IndexType()),
    "i1": ScalarType("i1", IntegerType(1)),
    **{f"i{w}": ScalarType(f"i{w}", IntegerType(w)) for w in (8, 16, 32, 64)},
    **{f"si{w}": ScalarType(f"si{w}", IntegerType(w, Signedness.SIGNED)) for w in (8, 16, 32, 64)},
    **{f"ui{w}": ScalarType(f"ui{w}", IntegerType(w, Signedness.UNSIGNED)) for w in (8, 16, 32, 64)},
}
INDEX, I1, I32, I64, F32 = (SCALARS[name] for name in ("index", "i1", "i32", "i64", "f32"))
_SCALAR_OF = {scalar.attribute: scalar for scalar in SCALARS.values()}


class MemorySpace(Enum):
    """The memories by the names of the language."""

    GM = "gm"
    UB = "ub"
    VEC = "vec"
    MAT = "mat"
    LEFT = "left"
    RIGHT = "right"
    ACC = "acc"
    BIAS = "bias"
    SCALING = "scaling"


class MaskPattern(Enum):
    """The patterns of `pset_*` and `pge_*`."""

    ALL = "PAT_ALL"
    ALLF = "PAT_ALLF"
    H = "PAT_H"
    Q = "PAT_Q"
    M3 = "PAT_M3"
    M4 = "PAT_M4"
    VL1 = "PAT_VL1"
    VL2 = "PAT_VL2"
    VL3 = "PAT_VL3"
    VL4 = "PAT_VL4"
    VL8 = "PAT_VL8"
    VL16 = "PAT_VL16"
    VL32 = "PAT_VL32"
    VL64 = "PAT_VL64"
    VL128 = "PAT_VL128"


def scalar_type(value: object, what: str = "element type") -> ScalarType:
    """The scalar type a user passed."""
    if isinstance(value, ScalarType):
        return value
    raise wrong_type(f"{what} must be a PTO scalar type such as pto.f32, got {value!r}")


def space_of(space: object, what: str) -> Space:
    """A memory by the names of the language, in any case."""
    word = space.value if isinstance(space, MemorySpace) else space
    if not isinstance(word, str):
        raise wrong_type(f"the space of {what} must be a name or a pto.MemorySpace, got {space!r}")
    names = [member.value for member in MemorySpace]
    found = Space.of_word(word.lower()) if word.lower() in names else None
    if found is None:
        raise wrong_value(f"unknown memory space {word!r}; expected one of {', '.join(names)}")
    return found


def ptr(element: object, space: object = "ub") -> PointerType:
    """The pointer type into a memory."""
    return PointerType(scalar_type(element), space_of(space, "a pointer"))


def vreg_type(lanes: int, element: object) -> VectorType:
    """A register type; lanes times element width is 2048 bits."""
    scalar = scalar_type(element)
    if lanes * scalar.bits != REGISTER_BITS:
        raise wrong_value(
            f"a vector register holds exactly 256 bytes; {lanes} x {scalar} are {lanes * scalar.bits // 8}",
            instead=f"pto.vreg_type({REGISTER_BITS // max(scalar.bits, 1)}, pto.{scalar})",
        )
    return VectorType(lanes, scalar)


def mask_type(granularity: str) -> MaskType:
    """A predicate type."""
    if granularity not in ("b8", "b16", "b32"):
        raise wrong_value(f"unknown mask granularity {granularity!r}; expected 'b8', 'b16' or 'b32'")
    return MaskType(granularity)


def full_register(element: ScalarType) -> VectorType:
    """The register type of an element."""
    return VectorType(REGISTER_BITS // max(element.bits, 1), element)


def from_ir(attribute: Attribute) -> ValueType | None:
    """The language's type of an IR type; None for types it has no name for."""
    if isinstance(attribute, ir.PtrType):
        return PointerType(_SCALAR_OF[attribute.element], attribute.space)
    if isinstance(attribute, ir.VregType):
        return VectorType(attribute.lanes.data, _SCALAR_OF[attribute.element])
    if isinstance(attribute, ir.MaskType):
        return MaskType(attribute.granularity.data)
    if isinstance(attribute, ir.TileBufType):
        shape, valid = (tuple(n.data for n in dims) for dims in (attribute.dims, attribute.valid))
        layout = tuple(text.data for text in attribute.layout)
        return TileType(shape, _SCALAR_OF[attribute.element], attribute.space, valid, layout)
    if isinstance(attribute, ir.View):
        dims = tuple(n.data for n in attribute.dims)
        return ViewType(dims, _SCALAR_OF[attribute.element], isinstance(attribute, ir.PartitionViewType))
    return AlignType() if isinstance(attribute, ir.AlignType) else _SCALAR_OF.get(attribute)


def pipe_of(value: object) -> Pipe:
    """`"MTE2"`, `"PIPE_MTE2"` or `pto.Pipe.MTE2`."""
    if isinstance(value, Pipe):
        return value
    found = Pipe.of_word(value.upper()) if isinstance(value, str) else None
    if found is None:
        known = ", ".join(pipe.name for pipe in Pipe)
        raise wrong_value(f"unknown pipe {value!r}; expected one of {known}")
    return found
