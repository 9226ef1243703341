"""How an op is written in the DSL: one declaration that the parser binds calls with and the printer prints from.

An op class lists its `Parameter`s in call order. Each parameter says where its value lives: an operand, a
property of the op, or a fact of the result type (shape, dtype, memory space), which is then not stored twice.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import Any, ClassVar, NamedTuple, Self

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnknownLoc,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, OpResult, Region, SSAValue, SSAValues, Use
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation
from xdsl.utils.exceptions import VerifyException

from cubelane.ir.diagnostic import Diagnostic
from cubelane.ir.narrowing import is_list, is_one, is_tuple, is_value
from cubelane.ir.traits import Trait, trait_of_class
from cubelane.ir.types import DYNAMIC, TileType


class Kind(Enum):
    """What a parameter takes, and where it is kept."""

    VALUE = "a tile or tensor (operand)"
    SCALAR = "a scalar; a literal adopts the element type of the first tile (operand)"
    INDEX = "an index (operand)"
    INDICES = "a list of index expressions (variadic operand)"
    EXTENTS = "a list of extents; None keeps an axis whole (variadic operand, may be left out)"
    SHAPE = "a list of constants (shape of the result)"
    DTYPE = "an element type (of the result)"
    SPACE = "a memory space (of the result)"
    BLAYOUT = "a block layout (of the result)"
    SLAYOUT = "an inner layout (of the result)"
    PAD = "a pad value (of the result)"
    INT = "an integer (property)"
    INTS = "a list of constants (property)"
    PAD_TEXT = "a pad value (property)"
    BOOL = "a truth value (property)"
    NUMBER = "a Python number (property, element type of the result)"
    TEXT = "a string (property)"
    ROUND = "a rounding mode (property)"
    LAYOUT = "a tensor layout (of the result)"

    __hash__ = object.__hash__
    """Members are one of a kind; the hash of an Enum is a call of Python code."""


OPERAND_KINDS = frozenset({Kind.VALUE, Kind.SCALAR, Kind.INDEX, Kind.INDICES, Kind.EXTENTS})
UNKNOWN = UnknownLoc()
PROPERTY_KINDS = frozenset({Kind.INT, Kind.INTS, Kind.BOOL, Kind.NUMBER, Kind.TEXT, Kind.ROUND, Kind.PAD_TEXT})

ROUND_MODES = ("none", "rint", "round", "floor", "ceil", "trunc", "odd")


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


class Parameter(NamedTuple):
    """One parameter of a DSL call. `keyword` ones are printed by keyword; `default` REQUIRED means mandatory."""

    name: str
    kind: Kind
    default: Any = REQUIRED
    keyword: bool = False
    spelled: str | None = None
    """The keyword in the DSL where it cannot be the Python name of the field."""

    @property
    def label(self) -> str:
        """The keyword in the DSL."""
        return self.spelled or self.name


class Bound:
    """The arguments of one call by parameter name, as the type rules read them.

    Operands are SSA values (or lists of them), properties and result facts plain Python values.
    """

    def __init__(self, values: dict[str, Any]):
        self.values = values

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The argument, or `default` where it was left out."""
        value = self.values.get(name)
        return default if value is None else value

    def tile(self, name: str) -> TileType:
        """The type of a tile operand; a Diagnostic if it is no tile."""
        value: SSAValue = self.values[name]
        if not isinstance(value.type, TileType):
            raise Diagnostic(f"`{name}` must be a tile", code="wrong-type")
        return value.type

    def type(self, name: str) -> Attribute:
        """The type of an operand."""
        value: SSAValue = self.values[name]
        return value.type


def constant_of(value: SSAValue) -> int | None:
    """The integer a value is known to hold, else None."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def extents_of(values: Sequence[SSAValue]) -> tuple[int, ...]:
    """Extents as a type holds them: numbers where constant, DYNAMIC otherwise."""
    known = [constant_of(v) for v in values]
    return tuple(DYNAMIC if k is None else k for k in known)


class SurfaceOp(IRDLOperation):
    """Base of all ops that can be written in the DSL.

    `NAMESPACE` is the DSL namespace (`tile`, `tensor`, `system`), `SPELLING` the name in it. A subclass
    declares operands, properties, traits, `PARAMETERS` and, if it has a result, `result_type`.
    """

    NAMESPACE: ClassVar[str]
    SPELLING: ClassVar[str]
    PARAMETERS: ClassVar[tuple[Parameter, ...]]
    STATED: ClassVar[bool] = False
    """Whether the result type cannot be inferred and is stated by an annotation."""

    __hash__ = object.__hash__
    """xDSL says the same in Python code: an op is equal to itself only. Analyses look ops up all the time."""

    @classmethod
    def get_trait(cls, trait: type[Trait] | Trait) -> Trait | None:
        """The declared trait, from a table (passes ask for traits of every op)."""
        return trait_of_class(cls, trait) if isinstance(trait, type) else super().get_trait(trait)

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = {},
        attributes: Mapping[str, Attribute] = {},
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """The op of given parts. Ops of the DSL are leaves: no regions, no successors, no properties by default.

        Every pass makes or copies ops; xDSL's way for all of these parts takes more than twice as long.
        """
        if regions or successors:
            return super().create(
                operands=operands,
                result_types=result_types,
                properties=properties,
                attributes=attributes,
                location=location,
                successors=successors,
                regions=regions,
            )
        op = cls.__new__(cls)
        op._operands = SSAValues(operands)
        op._operand_uses = tuple([Use(op, index) for index in range(len(op._operands))])
        for value, use in zip(op._operands, op._operand_uses, strict=True):
            value.add_use(use)
        op.results = SSAValues([OpResult(type_, op, index) for index, type_ in enumerate(result_types)])
        op.properties, op.attributes = dict(properties), dict(attributes)
        op.location = UNKNOWN if location is None else location
        op.regions = ()
        return op

    @classmethod
    def result_type(cls, call: Bound) -> Attribute | None:
        """The type of the result of a call, None for an op without one.

        Raises a Diagnostic (without place) when the arguments do not fit.
        """
        raise NotImplementedError(cls.name)

    @classmethod
    def from_call(cls, call: Bound, result_type: Attribute | None = None) -> "SurfaceOp":
        """The op for bound arguments; the result type is inferred unless given."""
        operands: list[SSAValue] = []
        sizes: list[int] = []
        properties: dict[str, Attribute] = {}
        for parameter in cls.PARAMETERS:
            name, kind = parameter[:2]
            value = call.values.get(name)
            if kind in OPERAND_KINDS:
                before = len(operands)
                if is_value(value):
                    operands.append(value)
                elif value is not None:
                    operands += value
                sizes.append(len(operands) - before)
            elif value is not None and kind in PROPERTY_KINDS:
                properties[name] = as_property(value)
        if _is_segmented(cls):
            properties[AttrSizedOperandSegments.attribute_name] = _segments(tuple(sizes))
        inferred = unplaced(result_type if result_type is not None else cls.result_type(call))
        # `create` takes everything as it is; the constructor would work out from the declaration what is known here
        return cls.create(operands=operands, properties=properties, result_types=[] if inferred is None else [inferred])

    def bound(self) -> Bound:
        """The arguments this op was made of, read back from operands, properties and result type."""
        values: dict[str, Any] = {}
        for parameter in self.PARAMETERS:
            if parameter.kind in OPERAND_KINDS:
                values[parameter.name] = getattr(self, parameter.name)
            elif parameter.kind in PROPERTY_KINDS:
                values[parameter.name] = python_value(self.properties.get(parameter.name))
            else:
                values[parameter.name] = RESULT_FACTS[parameter.kind](self.results[0].type)
        return Bound(values)

    def verify_(self) -> None:
        """The result must have the shape, element type and space that the type rule gives."""
        if not self.results:
            return
        try:
            expected = self.result_type(self.bound())
        except Diagnostic as problem:
            raise VerifyException(problem.message) from problem
        actual = self.results[0].type
        if expected is not None and not agrees(actual, expected):
            raise VerifyException(f"{self.name}: result is {actual}, the operands give {expected}")


@cache
def _is_segmented(kind: type[SurfaceOp]) -> bool:
    """Whether an op class counts its operands per parameter."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in kind.get_irdl_definition().options)


@cache
def _segments(sizes: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def unplaced(type_: Attribute | None) -> Attribute | None:
    """A type without an address: a rule or a pass makes it from that of another tile, which lies elsewhere."""
    if is_one(type_, TileType) and type_.address is not None:
        return type_.replaced(address=None)
    return type_


def agrees(actual: Attribute, expected: Attribute) -> bool:
    """Whether a declared type is what the rule gives, leaving layout and run-time extents aside."""
    if not isinstance(actual, TileType) or not isinstance(expected, TileType):
        return actual == expected
    return (
        actual.shape == expected.shape
        and actual.dtype == expected.dtype
        and (actual.memory is None or expected.memory is None or actual.memory == expected.memory)
        and len(actual.valid) == len(expected.valid)
        and all(a == e or DYNAMIC in (a, e) for a, e in zip(actual.valid, expected.valid, strict=True))
    )


def as_property(value: Any) -> Attribute:
    """A Python number, truth value or string as an attribute."""
    if value.__class__ in (int, bool, str):
        return _plain_property(value, value.__class__)
    if isinstance(value, Attribute):
        return value
    if isinstance(value, float):
        return FloatAttr(value, 64)
    if isinstance(value, Enum):
        return StringAttr(value.value)
    if is_tuple(value) or is_list(value):
        return DenseArrayBase.from_list(i64, value)
    return StringAttr(value)


@lru_cache(maxsize=1024)
def _plain_property(value: int | str, kind: type[int | str]) -> Attribute:
    """The attribute of a number, truth value or string, made once; `kind` tells 1 from True."""
    if isinstance(value, str):
        return StringAttr(value)
    return BoolAttr.from_bool(bool(value)) if kind is bool else IntegerAttr(value, 64)


def python_value(attribute: Attribute | None) -> Any:
    """The Python value of a property; None where it is absent."""
    read = _READERS.get(attribute.__class__)
    return attribute if read is None else read(attribute)


def _read_integer(attribute: Any) -> int | bool:
    kind, number = attribute.type, attribute.value.data
    one_bit = kind.__class__ is IntegerType and kind.width.data == 1 and kind == i1
    return bool(number) if one_bit else number


_READERS: dict[type, Callable[[Any], Any]] = {
    IntegerAttr: _read_integer,
    FloatAttr: lambda attribute: attribute.value.data,
    StringAttr: lambda attribute: attribute.data,
    DenseArrayBase: lambda attribute: tuple(attribute.get_values()),
}
"""How the Python value of an attribute is read, by its class."""


RESULT_FACTS: dict[Kind, Callable[[Any], Any]] = {
    Kind.SHAPE: lambda t: t.shape,
    Kind.DTYPE: lambda t: t.dtype,
    Kind.SPACE: lambda t: t.memory,
    Kind.BLAYOUT: lambda t: t.data.blayout,
    Kind.SLAYOUT: lambda t: t.data.slayout,
    Kind.PAD: lambda t: t.data.pad,
    Kind.LAYOUT: lambda t: t.data.layout,
}
"""How a fact that lives in the result type is read back from it."""


def a_value(name: str) -> Parameter:
    """A tile or tensor operand."""
    return Parameter(name, Kind.VALUE)


def a_scalar(name: str) -> Parameter:
    """A scalar operand that adopts the element type of the first tile when written as a literal."""
    return Parameter(name, Kind.SCALAR)


def indices(name: str) -> Parameter:
    """A list of index operands."""
    return Parameter(name, Kind.INDICES)


def extents(name: str) -> Parameter:
    """An optional list of extents."""
    return Parameter(name, Kind.EXTENTS, default=None)


def shape(name: str = "shape") -> Parameter:
    """A list of constants that is the shape of the result."""
    return Parameter(name, Kind.SHAPE)


def keyword(name: str, kind: Kind, default: Any = REQUIRED) -> Parameter:
    """A parameter printed by keyword."""
    return Parameter(name, kind, default, keyword=True)
