"""The words of the `pl` language that are plain Python objects: element types, enums, annotations, markers.

Nothing here touches the IR, so that importing the language is cheap. The body of a kernel is read from its source,
never executed; what is executed when a kernel file is imported (annotations, constants, decorators) ends up here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NoReturn, cast


@dataclass(frozen=True)
class DataType:
    """An element type. `pl.FP32.get_byte()` is usable inside a kernel."""

    name: str
    bits: int

    def get_bit(self) -> int:
        """Width of one element in bits."""
        return self.bits

    def get_byte(self) -> int:
        """Bytes of one element, rounded up."""
        return (self.bits + 7) // 8

    def __repr__(self) -> str:
        return f"pl.{self.name}"


BOOL = DataType("BOOL", 1)
INDEX = DataType("INDEX", 64)
TASK_ID = DataType("TASK_ID", 64)
INT4, INT8, INT16, INT32, INT64 = (DataType(f"INT{n}", n) for n in (4, 8, 16, 32, 64))
UINT4, UINT8, UINT16, UINT32, UINT64 = (DataType(f"UINT{n}", n) for n in (4, 8, 16, 32, 64))
FP16, BF16, FP32 = DataType("FP16", 16), DataType("BF16", 16), DataType("FP32", 32)
FP4, HF4, HF8 = DataType("FP4", 4), DataType("HF4", 4), DataType("HF8", 8)
FP8E4M3FN, FP8E5M2, FP8E8M0 = (DataType(name, 8) for name in ("FP8E4M3FN", "FP8E5M2", "FP8E8M0"))

DATA_TYPES: dict[str, DataType] = {name: value for name, value in globals().items() if isinstance(value, DataType)}
"""Every element type by name."""

for _name, _dtype in DATA_TYPES.items():
    setattr(DataType, _name, _dtype)  # `DataType.FP32` is the same object as `pl.FP32`


class MemorySpace(Enum):
    """Where a tile lives."""

    DDR = "DDR"
    Vec = "Vec"
    Mat = "Mat"
    Left = "Left"
    Right = "Right"
    Acc = "Acc"
    Bias = "Bias"
    LeftScale = "LeftScale"
    RightScale = "RightScale"
    ScalarLocal = "ScalarLocal"


Mem = MemorySpace


class TileLayout(Enum):
    """Order of the blocks of a tile, or of the cells inside a block."""

    none_box = "none_box"
    row_major = "row_major"
    col_major = "col_major"


class TensorLayout(Enum):
    """Order of the elements of a tensor in global memory."""

    ND = "ND"
    DN = "DN"
    NZ = "NZ"
    MX_A_ZZ = "MX_A_ZZ"
    MX_B_NN = "MX_B_NN"


class PadValue(Enum):
    """What fills the cells outside the valid extent."""

    null = "null"
    zero = "zero"
    max = "max"
    min = "min"


class CompactMode(Enum):
    """Whether a partly valid tile is stored compactly (accepted, without effect)."""

    null = "null"
    normal = "normal"


class SplitMode(Enum):
    """How a tile is shared out between the two vector lanes."""

    NONE = 0
    UP_DOWN = 1
    LEFT_RIGHT = 2


class AtomicType(Enum):
    """What a store does with what is there already."""

    None_ = 0
    Add = 1


class NotifyOp(Enum):
    """What a notification does to the signal of the peer."""

    AtomicAdd = 0
    Set = 1


class FunctionType(Enum):
    """What a function is and where it runs."""

    Opaque = "opaque"
    Orchestration = "orchestration"
    InCore = "incore"
    AIC = "aic"
    AIV = "aiv"
    Group = "group"
    Spmd = "spmd"
    Inline = "inline"
    Graph = "graph"


class Level(Enum):
    """A level of the machine."""

    AIV = "AIV"
    AIC = "AIC"
    CORE_GROUP = "CORE_GROUP"
    CHIP_DIE = "CHIP_DIE"
    CHIP = "CHIP"
    HOST = "HOST"
    CLUSTER_0 = "CLUSTER_0"
    CLUSTER_1 = "CLUSTER_1"
    CLUSTER_2 = "CLUSTER_2"
    GLOBAL = "GLOBAL"
    L2CACHE = "CHIP_DIE"
    PROCESSOR = "CHIP"
    UMA = "CHIP"
    NODE = "HOST"
    POD = "CLUSTER_0"
    CLOS1 = "CLUSTER_1"
    CLOS2 = "CLUSTER_2"


class Role(Enum):
    """What a function does at its level."""

    Orchestrator = "Orchestrator"
    SubWorker = "SubWorker"


class PipeType(Enum):
    """The pipes of a core."""

    S = "S"
    V = "V"
    M = "M"
    MTE1 = "MTE1"
    MTE2 = "MTE2"
    MTE3 = "MTE3"
    FIX = "FIX"
    ALL = "ALL"


@dataclass(frozen=True)
class Symbol:
    """A run-time extent: a name made by `pl.dynamic`, or `+ - * // %` over such names and integers, as text.

    The same text is the same extent.
    """

    name: str
    _strength: int = field(default=3, compare=False, repr=False)
    """How strongly the text holds together: 1 a sum, 2 a product, 3 a name."""

    def _joined(self, sign: str, strength: int, left: object, right: object) -> "Symbol":
        def text(side: object, at_least: int) -> str:
            if isinstance(side, Symbol):
                return side.name if side._strength >= at_least else f"({side.name})"
            return str(side) if isinstance(side, int) and side >= 0 else f"({side})"

        if not all(isinstance(side, int | Symbol) and not isinstance(side, bool) for side in (left, right)):
            raise TypeError(f"an extent is made of integers and pl.dynamic names: {left} {sign} {right}")
        return Symbol(f"{text(left, strength)} {sign} {text(right, strength + 1)}", strength)

    def __add__(self, other: "Symbol | int") -> "Symbol":
        return self._joined("+", 1, self, other)

    def __radd__(self, other: int) -> "Symbol":
        return self._joined("+", 1, other, self)

    def __sub__(self, other: "Symbol | int") -> "Symbol":
        return self._joined("-", 1, self, other)

    def __rsub__(self, other: int) -> "Symbol":
        return self._joined("-", 1, other, self)

    def __mul__(self, other: "Symbol | int") -> "Symbol":
        return self._joined("*", 2, self, other)

    def __rmul__(self, other: int) -> "Symbol":
        return self._joined("*", 2, other, self)

    def __floordiv__(self, other: "Symbol | int") -> "Symbol":
        return self._joined("//", 2, self, other)

    def __rfloordiv__(self, other: int) -> "Symbol":
        return self._joined("//", 2, other, self)

    def __mod__(self, other: "Symbol | int") -> "Symbol":
        return self._joined("%", 2, self, other)

    def __rmod__(self, other: int) -> "Symbol":
        return self._joined("%", 2, other, self)


def dynamic(name: str) -> Symbol:
    """A run-time extent for use in shapes: `M = pl.dynamic("M")`."""
    if not name.isidentifier():
        raise ValueError(f"pl.dynamic needs an identifier, not {name!r}")
    return Symbol(name)


@dataclass(frozen=True)
class Form:
    """An annotation as written, e.g. `Tile` with its items."""

    kind: str
    items: tuple[Any, ...]


def _items(items: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", items) if isinstance(items, tuple) else (items,)


class Annotation:
    """Base of the annotation words; subscripting or calling one gives its `Form`."""

    WORD: ClassVar[str]

    def __class_getitem__(cls, items: Any) -> Form:
        return Form(cls.WORD, _items(items))

    def __new__(cls, *items: Any) -> Form:  # pyright: ignore[reportInconsistentConstructor]
        return Form(cls.WORD, items)


class Tensor(Annotation):
    """`pl.Tensor[[rows, columns], dtype]`: a tensor in global memory."""

    WORD: ClassVar[str] = "Tensor"


class DistributedTensor(Annotation):
    """`pld.DistributedTensor[[rows, columns], dtype]`: a tensor of which every device has a copy."""

    WORD: ClassVar[str] = "DistributedTensor"


class Tile(Annotation):
    """`pl.Tile[[rows, columns], dtype, pl.Mem.Vec, pl.TileView(...)]`: a tile on chip."""

    WORD: ClassVar[str] = "Tile"


class Scalar(Annotation):
    """`pl.Scalar[dtype]`: a value in a register."""

    WORD: ClassVar[str] = "Scalar"


class Out(Annotation):
    """`pl.Out[T]`: a parameter that the kernel writes."""

    WORD: ClassVar[str] = "Out"


class InOut(Annotation):
    """`pl.InOut[T]`: a parameter that the kernel reads and writes."""

    WORD: ClassVar[str] = "InOut"


class Tuple(Annotation):
    """`pl.Tuple[T1, T2]`: several results."""

    WORD: ClassVar[str] = "Tuple"


class Array(Annotation):
    """`pl.Array[16, pl.INT32]`: an integer array on the core (refused by name)."""

    WORD: ClassVar[str] = "Array"


Ptr = Form("Ptr", ())
UnknownType = Form("UnknownType", ())
MemRefType = Form("MemRefType", ())


@dataclass(frozen=True)
class TensorView:
    """How the elements of a tensor lie in memory."""

    valid_shape: Any = None
    stride: Any = None
    layout: TensorLayout | None = None
    pad: PadValue | None = None


@dataclass(frozen=True)
class TileView:
    """How the cells of a tile lie in memory, and which of them mean something."""

    valid_shape: Any = None
    stride: Any = None
    start_offset: Any = None
    blayout: TileLayout | None = None
    slayout: TileLayout | None = None
    fractal: int | None = None
    pad: PadValue | None = None
    compact: CompactMode | None = None


@dataclass(frozen=True)
class MemRef:
    """An allocation: a tile with a `byte_offset`, counted from the start of its memory space, lies there."""

    base: Any = None
    byte_offset: Any = None
    size: Any = None
    slots: int | None = None


def _outside(word: str) -> NoReturn:
    """What a word that means something inside a kernel only says elsewhere."""
    raise TypeError(f"pl.{word} means something inside a kernel only; kernels are read, not executed")


def at(
    level: Level,
    *,
    optimizations: Sequence[Any] = (),
    name_hint: str | None = None,
    windowize: bool = False,
) -> Any:
    """`with pl.at(level=pl.Level.CORE_GROUP, optimizations=[...], name_hint=...)`: one core group."""
    _outside("at")


def split(mode: SplitMode) -> Any:
    """`pl.split(pl.SplitMode.UP_DOWN)`: share the vector work out between the two lanes."""
    _outside("split")


def cross_core_slot(*, slot_num: int) -> Any:
    """`pl.cross_core_slot(slot_num=N)`: the number of slots of every ring."""
    _outside("cross_core_slot")


def split_aiv(lanes: int, *, mode: SplitMode) -> Any:
    """`for lane in pl.split_aiv(2, mode=...)`: both lanes run the body."""
    _outside("split_aiv")


def spmd(blocks: Any, *, name_hint: str | None = None, optimizations: Sequence[Any] = ()) -> Any:
    """`for i in pl.spmd(n)`: the body is a scope of its own for every block."""
    _outside("spmd")


def range_(*bounds: Any, init_values: Sequence[Any] = (), attrs: dict[str, Any] | None = None) -> Any:
    """`pl.range(stop)`, `pl.range(start, stop, step, init_values=(...))`: a counted loop."""
    _outside("range")


def parallel(*bounds: Any, init_values: Sequence[Any] = (), attrs: dict[str, Any] | None = None) -> Any:
    """A counted loop whose iterations do not depend on each other."""
    _outside("parallel")


def unroll(*bounds: Any, attrs: dict[str, Any] | None = None) -> Any:
    """A counted loop with constant bounds that is unrolled."""
    _outside("unroll")


def pipeline(*bounds: Any, stage: int, init_values: Sequence[Any] = (), attrs: dict[str, Any] | None = None) -> Any:
    """`pl.pipeline(..., stage=N)`: a counted loop whose iterations overlap."""
    _outside("pipeline")


def while_(*, init_values: Sequence[Any]) -> Any:
    """`for (a, b) in pl.while_(init_values=(a0, b0))`: a loop with a condition (pl.cond)."""
    _outside("while_")


def cond(condition: Any) -> None:
    """The condition of a `pl.while_` loop; its first statement."""
    _outside("cond")


def yield_(*values: Any) -> Any:
    """`x = pl.yield_(v)`: the value a loop carries on, or the value of an if."""
    _outside("yield_")


def const(value: int | float | bool, dtype: DataType) -> Any:
    """`pl.const(value, dtype)`: a constant of a stated type."""
    _outside("const")


def static_print(*values: Any) -> None:
    """Prints while the kernel is read."""
    _outside("static_print")


def static_assert(condition: Any, message: str = "") -> None:
    """Checks a constant condition while the kernel is read."""
    _outside("static_assert")


def func_attr(facts: dict[str, Any]) -> None:
    """`pl.func_attr({"split": pl.SplitMode.UP_DOWN})`: facts of the function."""
    _outside("func_attr")
