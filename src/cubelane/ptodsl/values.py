"""Traced values: scalars with operators, pointers, registers, predicates (spec/pto.md 2.5)."""

from collections.abc import Callable
from typing import Any, NoReturn
from typing import cast as cast_type

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Operation, SSAValue

from cubelane.ir.pto.types import element_bits
from cubelane.ptodsl.errors import wrong_place, wrong_type
from cubelane.ptodsl.tracer import active, tracing
from cubelane.ptodsl.types import (
    F32,
    I1,
    INDEX,
    AlignType,
    MaskType,
    PointerType,
    ScalarType,
    ValueType,
    VectorType,
    from_ir,
)

Number = int | float | bool


class Value:
    """A value that exists when the kernel runs, not while it is traced."""

    def __init__(self, ssa: SSAValue, kind: ValueType | None = None):
        found = kind if kind is not None else from_ir(ssa.type)
        if found is None:
            raise wrong_type(f"the language has no type for {ssa.type}")
        self.ssa, self.type = ssa, found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of type {self.type}>"

    def __bool__(self) -> bool:
        raise wrong_place(
            "a traced value has no truth while tracing; Python cannot decide this branch",
            "plain `if`, `while` and `for ... in range(...)` on traced values become run-time control flow, unless the "
            "body leaves by return, break or continue",
            instead="with pto.if_(condition) as branch: ...",
            code="traced-condition",
        )

    def __index__(self) -> int:
        raise wrong_place(
            "a traced value is no Python integer; it is known only when the kernel runs",
            instead="use pto.for_(...) for loops, or make it a constexpr argument",
            code="traced-index",
        )


class Pointer(Value):
    """An address in one memory."""

    type: PointerType

    def __add__(self, offset: "Scalar | int") -> "Pointer":
        return addptr(self, offset)


class Vector(Value):
    """A vector register."""

    type: VectorType


class Mask(Value):
    """A predicate register."""

    type: MaskType


class Align(Value):
    """The state of an unaligned stream."""

    type: AlignType


def wrap(ssa: SSAValue) -> Any:
    """The language's value of an SSA value."""
    kind = from_ir(ssa.type)
    if kind is None:
        raise wrong_type(f"the language has no type for {ssa.type}")
    return CLASSES[type(kind)](ssa, kind)


def unwrap_results(results: list[SSAValue]) -> Any:
    """None, one value, or a tuple."""
    values = [wrap(result) for result in results]
    return None if not values else values[0] if len(values) == 1 else tuple(values)


_FLOAT: dict[str, type[Operation]] = {
    "add": arith.AddfOp, "sub": arith.SubfOp, "mul": arith.MulfOp, "div": arith.DivfOp,
    "min": arith.MinimumfOp, "max": arith.MaximumfOp,
}  # fmt: skip
_INT: dict[str, type[Operation]] = {
    "add": arith.AddiOp, "sub": arith.SubiOp, "mul": arith.MuliOp, "floordiv": arith.FloorDivSIOp,
    "div": arith.DivSIOp, "and": arith.AndIOp, "or": arith.OrIOp, "xor": arith.XOrIOp,
    "shl": arith.ShLIOp, "shr": arith.ShRSIOp, "min": arith.MinSIOp, "max": arith.MaxSIOp, "ceildiv": arith.CeilDivSIOp,
}  # fmt: skip
_UNSIGNED: dict[str, type[Operation]] = _INT | {
    "floordiv": arith.DivUIOp, "div": arith.DivUIOp, "mod": arith.RemUIOp, "shr": arith.ShRUIOp,
    "min": arith.MinUIOp, "max": arith.MaxUIOp, "ceildiv": arith.CeilDivUIOp,
}  # fmt: skip
_COMPARE_INT = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_COMPARE_FLOAT = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|",
            "xor": "^", "shl": "<<", "shr": ">>"}  # fmt: skip


class Scalar(Value):
    """A run-time number. Operators give `arith` ops; a comparison gives an i1."""

    type: ScalarType

    def _binary(self, name: str, other: object, swapped: bool = False) -> "Scalar":
        rhs = _partner(self, other)
        if rhs is None:
            raise wrong_type(f"'{_SYMBOLS.get(name, name)}' is not defined between {self.type} and {other!r}")
        lhs, rhs = common(self, rhs)
        if swapped:
            lhs, rhs = rhs, lhs
        if name == "mod" and not lhs.type.is_float and not lhs.type.is_unsigned:
            return lhs - lhs // rhs * rhs  # the remainder of Python; `arith.remsi` takes the sign of its dividend
        table = _FLOAT if lhs.type.is_float else _UNSIGNED if lhs.type.is_unsigned else _INT
        if name not in table:
            raise wrong_type(f"'{_SYMBOLS.get(name, name)}' is not defined for {lhs.type}")
        return _arith(table[name], lhs, rhs)

    def _compared(self, name: str, other: object) -> "Scalar":
        rhs = _partner(self, other)
        if rhs is None:
            raise wrong_type(f"cannot compare {self.type} with {other!r}")
        lhs, rhs = common(self, rhs)
        tracer = tracing("a comparison")
        a, b = carried(lhs), carried(rhs)
        if lhs.type.is_float:
            op: Operation = arith.CmpfOp(a, b, _COMPARE_FLOAT[name])
        else:
            unsigned = 4 if lhs.type.is_unsigned and _COMPARE_INT[name] > 1 else 0
            op = arith.CmpiOp(a, b, _COMPARE_INT[name] + unsigned)
        return Scalar(tracer.insert(op).results[0], I1)

    def __add__(self, other: object) -> "Scalar":
        return self._binary("add", other)

    def __radd__(self, other: object) -> "Scalar":
        return self._binary("add", other, swapped=True)

    def __sub__(self, other: object) -> "Scalar":
        return self._binary("sub", other)

    def __rsub__(self, other: object) -> "Scalar":
        return self._binary("sub", other, swapped=True)

    def __mul__(self, other: object) -> "Scalar":
        return self._binary("mul", other)

    def __rmul__(self, other: object) -> "Scalar":
        return self._binary("mul", other, swapped=True)

    def __truediv__(self, other: object) -> "Scalar":
        return self._binary("div", other)

    def __rtruediv__(self, other: object) -> "Scalar":
        return self._binary("div", other, swapped=True)

    def __floordiv__(self, other: object) -> "Scalar":
        return self._binary("floordiv", other)

    def __rfloordiv__(self, other: object) -> "Scalar":
        return self._binary("floordiv", other, swapped=True)

    def __mod__(self, other: object) -> "Scalar":
        return self._binary("mod", other)

    def __rmod__(self, other: object) -> "Scalar":
        return self._binary("mod", other, swapped=True)

    def __and__(self, other: object) -> "Scalar":
        return self._binary("and", other)

    def __or__(self, other: object) -> "Scalar":
        return self._binary("or", other)

    def __xor__(self, other: object) -> "Scalar":
        return self._binary("xor", other)

    def __rand__(self, other: object) -> "Scalar":
        return self._binary("and", other)

    def __ror__(self, other: object) -> "Scalar":
        return self._binary("or", other)

    def __lshift__(self, other: object) -> "Scalar":
        return self._binary("shl", other)

    def __rshift__(self, other: object) -> "Scalar":
        return self._binary("shr", other)

    def __neg__(self) -> "Scalar":
        return self._binary("sub", 0, swapped=True)

    def __invert__(self) -> "Scalar":
        return self._binary("xor", True if self.type == I1 else -1)

    def __eq__(self, other: object) -> "Scalar":  # type: ignore[override]
        return self._compared("eq", other)

    def __ne__(self, other: object) -> "Scalar":  # type: ignore[override]
        return self._compared("ne", other)

    def __lt__(self, other: object) -> "Scalar":
        return self._compared("lt", other)

    def __le__(self, other: object) -> "Scalar":
        return self._compared("le", other)

    def __gt__(self, other: object) -> "Scalar":
        return self._compared("gt", other)

    def __ge__(self, other: object) -> "Scalar":
        return self._compared("ge", other)

    __hash__ = Value.__hash__


CLASSES: dict[type[ValueType], type[Value]] = {
    PointerType: Pointer,
    VectorType: Vector,
    MaskType: Mask,
    ScalarType: Scalar,
    AlignType: Align,
}
"""The classes of values by their types; modules that add kinds of values add theirs."""


def _partner(left: Scalar, other: object) -> Scalar | None:
    """The other side of an operator: a number takes the type of its partner."""
    if isinstance(other, Scalar):
        return other
    if isinstance(other, bool | int | float):
        if isinstance(other, float) and not left.type.is_float:
            return None
        return Scalar(tracing("an operator").constant(other, left.type), left.type)
    return None


def common(lhs: Scalar, rhs: Scalar) -> tuple[Scalar, Scalar]:
    """Both sides in one type: index wins over integers, the wider integer over the narrower."""
    if lhs.type == rhs.type:
        return lhs, rhs
    if lhs.type.is_float or rhs.type.is_float:
        raise wrong_type(
            f"an operator needs both sides in one type, got {lhs.type} and {rhs.type}",
            instead="convert one side first: pto.cast(value, pto.f32)",
        )
    if INDEX in (lhs.type, rhs.type):
        target = INDEX
    else:
        target = lhs.type if lhs.type.bits >= rhs.type.bits else rhs.type
    return cast(lhs, target), cast(rhs, target)


def _arith(kind: type[Operation], lhs: Scalar, rhs: Scalar) -> Scalar:
    tracer = tracing("an operator")
    a, b = carried(lhs), carried(rhs)
    make = cast_type("Callable[..., Operation]", kind)
    result = tracer.insert(make(a, b)).results[0]
    if result.type != lhs.type.attribute:
        result = tracer.insert(UnrealizedConversionCastOp.get([result], [lhs.type.attribute])).results[0]
    return Scalar(result, lhs.type)


def carried(value: Scalar) -> SSAValue:
    """The value in the type `arith` computes in."""
    carrier = value.type.carrier
    if carrier == value.type.attribute:
        return value.ssa
    return tracing("an operator").insert(UnrealizedConversionCastOp.get([value.ssa], [carrier])).results[0]


def cast(value: object, target: ScalarType) -> Scalar:
    """`pto.cast(value, T)`: a scalar in another type."""
    if isinstance(value, bool | int | float):
        return Scalar(tracing("pto.cast").constant(value, target), target)
    if not isinstance(value, Scalar):
        raise wrong_type(f"only scalars can be converted to {target}, got {value!r}")
    if value.type == target:
        return value
    known = constant_of(value)
    if known is not None and (target.is_float or isinstance(known, int)):
        return Scalar(tracing("pto.cast").constant(known, target), target)
    tracer = tracing("pto.cast")
    source, carrier = carried(value), target.carrier
    if source.type != carrier:
        source = tracer.insert(_conversion(source, carrier)).results[0]
    if carrier != target.attribute:
        source = tracer.insert(UnrealizedConversionCastOp.get([source], [target.attribute])).results[0]
    return Scalar(source, target)


def _conversion(source: SSAValue, target: Attribute) -> Operation:
    kind = source.type
    if isinstance(kind, IndexType) or isinstance(target, IndexType):
        if isinstance(kind, AnyFloat) or isinstance(target, AnyFloat):
            raise wrong_type(
                "an index does not convert to a float directly", instead="pto.cast(pto.cast(i, pto.i64), pto.f32)"
            )
        return arith.IndexCastOp(source, target)
    integers = isinstance(kind, IntegerType), isinstance(target, IntegerType)
    if all(integers):
        before, after = element_bits(kind) or 0, element_bits(target) or 0
        if before > after:
            return arith.TruncIOp(source, _int(after))
        return arith.ExtUIOp(source, _int(after)) if before == 1 else arith.ExtSIOp(source, _int(after))
    if isinstance(kind, AnyFloat) and isinstance(target, AnyFloat):
        narrower = kind.bitwidth > target.bitwidth
        return arith.TruncFOp(source, target) if narrower else arith.ExtFOp(source, target)
    if integers[0] and isinstance(target, AnyFloat):
        return arith.SIToFPOp(source, target)
    if isinstance(kind, AnyFloat) and integers[1]:
        return arith.FPToSIOp(source, _int(element_bits(target) or 0))
    raise wrong_type(f"no conversion from {kind} to {target}")


def _int(bits: int) -> IntegerType:
    return IntegerType(bits)


def constant_of(value: object) -> int | float | None:
    """The number a scalar is known to be."""
    if isinstance(value, bool | int | float):
        return value
    owner = value.ssa.owner if isinstance(value, Scalar) else None
    if isinstance(owner, arith.ConstantOp):
        stored = owner.value
        if isinstance(stored, IntegerAttr):
            return stored.value.data
        if isinstance(stored, FloatAttr):
            return stored.value.data
    return None


def const(value: Number, dtype: object = None) -> Scalar:
    """`pto.const(v, dtype=None)`: a constant; an int is an index, a float an f32 unless a type is given."""
    tracer = tracing("pto.const")
    if isinstance(value, Value):
        raise wrong_type("pto.const takes a Python number, not a traced value", instead="pto.cast(value, dtype)")
    if dtype is None:
        dtype = F32 if isinstance(value, float) else INDEX
    if not isinstance(dtype, ScalarType):
        raise wrong_type(f"dtype must be a PTO scalar type, got {dtype!r}")
    return Scalar(tracer.constant(value, dtype), dtype)


def as_scalar(value: object, kind: ScalarType, what: str) -> SSAValue:
    """An argument that must be a scalar of a type; numbers and other integers are converted."""
    if isinstance(value, bool | int | float):
        if isinstance(value, float) and not kind.is_float:
            raise wrong_type(f"{what} must be an integer, got {value!r}")
        return tracing(what).constant(value, kind)
    if not isinstance(value, Scalar):
        raise wrong_type(f"{what} must be a number or a scalar of type {kind}, got {value!r}")
    if value.type != kind and (kind.is_float or value.type.is_float):
        raise wrong_type(f"{what} must be of type {kind}, got {value.type}", instead=f"pto.cast(value, pto.{kind})")
    return cast(value, kind).ssa


def castptr(value: object, target: object) -> Any:
    """`pto.castptr(x, type)`: integer to pointer, pointer to integer, pointer to pointer of the same memory."""
    tracer = tracing("pto.castptr")
    if not isinstance(target, PointerType | ScalarType):
        raise wrong_type(
            f"pto.castptr needs a pointer or integer type, got {target!r}", instead='pto.ptr(pto.f32, "ub")'
        )
    if isinstance(value, bool | int):
        value = const(value, from_ir(_i64()))
    if not isinstance(value, Scalar | Pointer):
        raise wrong_type(f"pto.castptr needs an integer or a pointer, got {value!r}")
    if isinstance(value, Pointer) and isinstance(target, PointerType) and value.type.space is not target.space:
        raise wrong_type(
            f"a pointer cast must keep the memory: {value.type.space.value} became {target.space.value}",
            instead="cast to an integer first, if the address is really meant for the other memory",
        )
    if isinstance(value, Scalar) and isinstance(target, ScalarType):
        raise wrong_type("one side of pto.castptr must be a pointer", instead="pto.cast(value, dtype)")
    if isinstance(value, Scalar) and value.type == INDEX:
        value = cast(value, from_ir(_i64()))  # pyright: ignore[reportArgumentType]
    return wrap(tracer.emit("castptr", [value.ssa], [target.attribute])[0])


def _i64() -> Attribute:
    return IntegerType(64)


def addptr(pointer: object, offset: object) -> Pointer:
    """`pto.addptr(p, i)`: the pointer `i` elements further."""
    if not isinstance(pointer, Pointer):
        raise wrong_type(f"pto.addptr needs a pointer, got {pointer!r}")
    operands = [pointer.ssa, as_scalar(offset, INDEX, "the offset of pto.addptr")]
    return Pointer(tracing("pto.addptr").emit("addptr", operands, [pointer.ssa.type])[0], pointer.type)


def select(condition: object, first: object, second: object) -> Any:
    """`pto.select(c, a, b)`: a if the condition holds, else b."""
    if not isinstance(condition, Scalar):
        return first if condition else second
    if not isinstance(first, Scalar):
        first, second = (_partner(second, first), second) if isinstance(second, Scalar) else (const(first), second)  # pyright: ignore[reportArgumentType]
    if not isinstance(second, Scalar):
        second = _partner(first, second) if isinstance(first, Scalar) else None
    if not isinstance(first, Scalar) or not isinstance(second, Scalar):
        raise wrong_type("pto.select chooses between two scalars")
    first, second = common(first, second)
    op = arith.SelectOp(as_scalar(condition, I1, "the condition"), first.ssa, second.ssa)
    return wrap(tracing("pto.select").insert(op).results[0])


def minimum(a: Scalar, b: "Scalar | Number") -> Scalar:
    """`pto.minimum(a, b)` of scalars."""
    return a._binary("min", b)  # pyright: ignore[reportPrivateUsage]


def maximum(a: Scalar, b: "Scalar | Number") -> Scalar:
    """`pto.maximum(a, b)` of scalars."""
    return a._binary("max", b)  # pyright: ignore[reportPrivateUsage]


def ceil_div(a: Scalar, b: "Scalar | Number") -> Scalar:
    """`pto.ceil_div(a, b)`: the quotient rounded up."""
    return a._binary("ceildiv", b)  # pyright: ignore[reportPrivateUsage]


class Unassigned:
    """What a variable holds that some path of run-time control flow left without a value."""

    def __init__(self, name: str, reason: str):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_reason", reason)

    def _refuse(self, *_: object) -> NoReturn:
        name, reason = object.__getattribute__(self, "_name"), object.__getattribute__(self, "_reason")
        raise wrong_place(f"variable '{name}' {reason}", instead=f"give '{name}' a value before", code="unassigned")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse
    __index__ = __mod__ = __floordiv__ = __truediv__ = __and__ = __or__ = __call__ = __getitem__ = _refuse


def is_alive(value: object) -> bool:
    """Whether a Python value can still be used: a traced value must be visible."""
    if isinstance(value, Unassigned):
        return False
    tracer = active()
    return not isinstance(value, Value) or tracer is None or tracer.is_visible(value.ssa)
